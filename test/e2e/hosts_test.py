"""paddle launch --hosts: a job on three machines by ssh, each a real sshd on a loopback address with a home of its own."""
import glob
import os
import pickle
import re
import shutil
import signal
import subprocess
import time
import unittest

from cluster import free_ports, until, write_job
from live_page import answering, lines_of
from nodes import Nodes, missing_ssh
from support import BUILD, DEADLINE, PADDLE, EndToEnd, main

NODES = 3


def processes_below(directory):
    """Command lines of the paddle processes whose working directory is below a directory."""
    found = {}
    for place in glob.glob("/proc/[0-9]*"):
        try:
            with open(place + "/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode()
            if os.readlink(place + "/cwd").startswith(directory) and re.search(r"paddle (launch|pserver|trainer) ", command):
                found[int(os.path.basename(place))] = command
        except OSError:  # it has ended
            continue
    return found


@unittest.skipIf(missing_ssh(), f"needs {missing_ssh()}")
class Hosts(EndToEnd):
    def setUp(self):
        super().setUp()
        self.nodes = Nodes(self, NODES)
        self.package = self.path("package")
        os.mkdir(self.package)
        self.port = free_ports(4)
        self.addCleanup(self.end)

    def end(self):
        """Nothing of a failed test stays."""
        for pid in processes_below(os.path.realpath(self.dir)):
            os.kill(pid, signal.SIGKILL)

    def job(self):
        write_job(self)
        for name in ("job.json", "data.csv"):
            shutil.move(self.path(name), self.package)
        with open(os.path.join(self.package, "job.json"), encoding="utf-8") as f:
            text = f.read().replace(self.path("data.csv"), "data.csv")
        with open(os.path.join(self.package, "job.json"), "w", encoding="utf-8") as f:
            f.write(text)

    def command(self, *flags, hosts=None):
        ssh = f"ssh -F none -i {self.nodes.key} -oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null"
        return [PADDLE, "launch", f"--hosts={','.join(hosts or self.nodes.hosts())}", f"--ssh={ssh}", f"--remote_program={PADDLE}",
                f"--port={self.port}", *flags]

    def dispatching(self, *flags, **kwargs):
        return self.command(f"--job_dispatch_package={self.package}", "--config=job.json", *flags, **kwargs)

    def start(self, *flags):
        log = open(self.path("launch.log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        env = {"PATH": os.environ["PATH"], "HOME": self.dir}
        return subprocess.Popen(self.dispatching(*flags), cwd=self.dir, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def text(self, *parts):
        with open(os.path.join(*parts), encoding="utf-8") as f:
            return f.read()

    def workspace(self, node, name="ws"):
        return os.path.join(self.nodes.homes[node], name)

    def left(self):
        return processes_below(os.path.realpath(self.dir))

    def until_training(self):
        def trains(i):
            log = os.path.join(self.workspace(i), "log", "train.log")
            return os.path.exists(log) and "Pass=0" in self.text(log)

        until(lambda: all(trains(i) for i in range(NODES)), lambda: "all train\n" + self.text(self.path("launch.log")))

    def test_a_job_is_copied_and_runs(self):
        """Logs and records on each host, the model on the first alone; the same bits as on one machine."""
        self.job()
        done = self.run_program(*self.dispatching("--workspace=ws", "--num_passes=2", "--event_file=events"), check=0)
        for i in range(NODES):
            d = self.workspace(i)
            self.assertEqual(self.text(d, "nodefile"), f"{i}\n")
            for log in ("server.log", "train.log", "paddle_trainer.INFO", "paddle_pserver2.INFO"):
                self.assertGreater(os.path.getsize(os.path.join(d, "log", log)), 0, log)
            self.assertEqual(sorted(os.listdir(os.path.join(d, "job"))),
                             ["job.json", "launch.flags", "launch.lock", f"pserver.{i}.flags", f"trainer.{i}.flags"])
            self.assertEqual(os.path.exists(os.path.join(d, "output")), i == 0)
        self.assertEqual(os.listdir(os.path.join(self.workspace(0), "output")), ["pass-00000", "pass-00001"])
        self.assertEqual(done.stdout, f"the model is in {self.nodes.user}@127.0.0.2:ws/output/pass-00001\n")
        self.assertIn("the job is done", done.stderr)
        self.assertRegex(done.stderr, r"node\.0 \| trainer\.0 \| I\d{4} .* Pass=1 ")
        self.assertNotRegex(done.stderr, r"node\.1 \| trainer\.1 \| I")
        self.assertEqual(len(re.findall(r'"event": ?"pass_ended"', self.text(self.path("events")))), 2 * NODES)
        self.assertEqual(self.left(), {})
        logs = self.paddle("logs", "--workspace=ws").stdout
        for i in range(NODES):
            self.assertRegex(logs, rf"(?m)^node\.{i} \| trainer\.{i} \| I\d{{4}} .* Pass=1 ")
            self.assertRegex(logs, rf"(?m)^node\.{i} \| pserver\.{i} \| I\d{{4}} .* Server listening")
        self.assertEqual(set(re.findall(r"(?m)^\S+ \| \S+", self.paddle("logs", "--workspace=ws", "--node=1", "--role=trainer").stdout)),
                         {"node.1 | trainer.1"})
        # On one machine, and again on the same directories of a file of hosts, without copying.
        shutil.copy(os.path.join(self.package, "data.csv"), self.dir)
        self.paddle("launch", f"--config={self.package}/job.json", f"--worker_num={NODES}", "--num_passes=2", "--save_dir=output",
                    "--workspace=one")
        ours, alone = (self.files(os.path.join(d, "output", "pass-00001")) for d in (self.workspace(0), self.path("one")))
        self.assertEqual({n for n in alone if alone[n] != ours.get(n)}, set())
        # Again in the directory that is there, without copying.
        done = self.run_program(*self.command("--config=job.json", "--num_passes=1", "--save_dir=again", f"--workspace={self.workspace(0)}",
                                              hosts=self.nodes.hosts()[:1]), check=0)
        self.assertNotIn("copying", done.stderr)
        self.assertEqual(os.listdir(os.path.join(self.workspace(0), "again")), ["pass-00000"])

    @unittest.skipUnless(os.environ.get("PADDLE_TEST_FULL"), "waits for half a minute: scripts/test --full runs it")
    def test_directories_that_are_there(self):
        """Without copying: the directory of here, which the hosts share."""
        self.job()
        hosts = self.write("machines", "".join(f"{h} slots=1  # a node\n" for h in self.nodes.hosts()[1:]))
        command = [w for w in self.command("--config=job.json", "--num_passes=1", f"--hostfile={hosts}", "--worker_num=2")
                   if not w.startswith("--hosts=")]
        for i in (1, 2):  # one directory, one node: these two are one machine, and would share its files
            shutil.copytree(self.package, self.workspace(i))
        done = self.run_program(*command, f"--workspace={self.workspace(1)}")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("give this one another --workspace", done.stderr)
        self.assertEqual(self.left(), {})

    def test_ctrl_c_ends_all(self):
        """Before that one page shows all hosts: trainers by their events, and what the pservers answer."""
        self.job()
        launch = self.start("--workspace=ws", "--num_passes=100000")
        self.until_training()
        address = re.findall(r"watch the job at (\S+)", self.text(self.path("launch.log")))
        self.assertEqual(len(address), 1, "the launches of the hosts have no pages")
        of_trainers = lambda found: {e["trainer"] for e in found if e.get("event") == "progress"}  # noqa: E731
        lines = lines_of(self, address[0], lambda found: len(of_trainers(found)) == NODES and answering(found) == NODES)
        self.assertTrue(all(e["cost"] is not None for e in lines if e.get("event") == "progress"))
        self.assertIn(address[0], self.paddle("ui", "--workspace=ws").stdout)
        self.assertEqual(len(self.left()), 3 * NODES + 1, self.left())
        launch.send_signal(signal.SIGINT)
        self.assertEqual(launch.wait(DEADLINE), 130, self.text(self.path("launch.log")))
        self.assertEqual(self.left(), {})
        self.assertIn("the job was stopped on all hosts", self.text(self.path("launch.log")))
        self.assertFalse(os.path.exists(self.path("ws", "job", "page.txt")))
        self.assertIn('"joined"', self.text(self.path("ws", "job", "events.jsonl")))  # for paddle ui --workspace

    def test_a_killed_launch_leaves_nothing(self):
        """The processes see that whoever started them is gone. A next launch that comes sooner names them and waits."""
        self.job()
        launch = self.start("--workspace=ws", "--num_passes=100000")
        self.until_training()
        # Stopped first, so that the next launch certainly finds them.
        mine = [pid for pid, command in self.left().items() if " launch " in command and pid != launch.pid]
        self.assertEqual(len(mine), NODES)
        for pid in mine:
            os.kill(pid, signal.SIGSTOP)
        launch.kill()
        launch.wait()
        second = subprocess.Popen(self.dispatching("--workspace=ws", "--num_passes=1"), cwd=self.dir, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env={"PATH": os.environ["PATH"], "HOME": self.dir})
        self.addCleanup(second.stderr.close)
        said = ""
        while said.count("of an earlier run still works in") < 1:
            line = second.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertRegex(said, r"process \d+ on \S+ of an earlier run still works in \.; waiting for its end")
        for pid in mine:
            os.kill(pid, signal.SIGCONT)
        rest = second.stderr.read()
        self.assertEqual(second.wait(DEADLINE), 0, said + rest)
        self.assertEqual(self.left(), {})

    def test_hosts_that_cannot_be_reached(self):
        """All of them are named, at once, and nothing is left running on the others."""
        self.job()
        shutil.copytree(self.package, self.workspace(0))
        hosts = [self.nodes.hosts()[0], "root@127.0.0.9:1", "nobody@127.0.0.3:" + str(self.nodes.port)]
        begin = time.monotonic()
        done = self.run_program(*self.dispatching("--workspace=ws", hosts=hosts))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertLess(time.monotonic() - begin, 40)
        self.assertRegex(done.stderr, r"node 1 \(root@127\.0\.0\.9:1\): ssh does not work: .*refused")
        self.assertRegex(done.stderr, r"node 2 \(nobody@127\.0\.0\.3:\d+\): ssh does not work: .*[Pp]ermission denied")
        self.assertEqual(self.left(), {})

    def test_a_failing_trainer(self):
        """Its sentence stands last, its code is that of the launch, and the others are stopped."""
        self.job()
        done = self.run_program(*self.dispatching("--workspace=ws", "--num_passes=1", "--learning_rat=1"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("learning_rat", done.stderr)
        os.remove(os.path.join(self.package, "data.csv"))
        done = self.run_program(*self.dispatching("--workspace=ws2", "--num_passes=1"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("data.csv", done.stderr.rsplit("it ended because:", 1)[1])
        self.assertEqual(self.left(), {})
        done = self.run_program(*self.dispatching("--workspace=ws", "--remote_program=no-such-program"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("install the package there", done.stderr)

    def test_a_script(self):
        """The guide's workspace, on the hosts of a file: each trainer reads its part of train_data_dir."""
        if not os.path.isdir(os.path.join(BUILD, "python")):
            self.skipTest("needs the Python package: scripts/build build python")
        for name, text in {"train.py": SCRIPT, "my_lib.py": LIBRARY}.items():
            with open(os.path.join(self.package, name), "w", encoding="utf-8") as f:
                f.write(text)
        with open(os.path.join(self.package, "word_dict.pickle"), "wb") as f:
            pickle.dump({"a": 1}, f)
        for kind in ("train", "test"):
            os.mkdir(os.path.join(self.package, kind + "_data_dir"))
            for i in range(NODES):
                with open(os.path.join(self.package, kind + "_data_dir", f"{kind}.txt-{i:05d}"), "w", encoding="utf-8") as f:
                    f.writelines(f"{10 * i + k},{k}\n" for k in range(40))
        machines = self.write("machines", "# the nodes\n" + "".join(f"{h} slots=1  # one\n" for h in self.nodes.hosts()))
        command = [w for w in self.command(f"--job_dispatch_package={self.package}", "--config=train.py", "--python=/usr/bin/python3",
                                           f"--hostfile={machines}") if not w.startswith("--hosts=")]
        done = self.run_program(*command, check=0, env={"PADDLE_INIT_V": "1"})
        self.assertIn("the job is done", done.stderr)
        for i in range(NODES):
            place = glob.glob(os.path.join(self.nodes.homes[i], "paddle", "JOB*"))[0]
            self.assertRegex(self.text(place, "log", "train.log"), rf"trainer {i} of 3: \['\.?/?train_data_dir/train\.txt-0000{i}'\], 1 word")
            self.assertRegex(self.text(place, "log", "train.log"), rf"trainer {i}: pass 1 cost [\d.]+, test [\d.]+")
            self.assertEqual(os.path.exists(os.path.join(place, "output", "pass-00001.tar")), i == 0)


LIBRARY = """
def rows(files):
    def read():
        for path in files:
            with open(path, encoding="utf-8") as f:
                for line in f:
                    x, y = line.split(",")
                    yield [float(x) / 40], [float(y) / 40]
    return read
"""

SCRIPT = """
import os
import pickle
import paddle.v2 as paddle
from my_lib import rows

node_id = os.getenv("OMPI_COMM_WORLD_RANK")
if not node_id:
    raise EnvironmentError("must provied OMPI_COMM_WORLD_RANK")
TRAINER_ID, TRAINER_COUNT = int(node_id), int(os.getenv("PADDLE_INIT_NUM_GRADIENT_SERVERS"))


def mine(directory):
    flist = sorted(os.listdir(directory))
    return [os.path.join(directory, f) for f in flist if int(f.split("-")[1]) % TRAINER_COUNT == TRAINER_ID]


with open("word_dict.pickle", "rb") as f:
    words = pickle.load(f)
print("trainer %d of %d: %s, %d word" % (TRAINER_ID, TRAINER_COUNT, mine("train_data_dir"), len(words)), flush=True)
paddle.init()
x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(1))
y = paddle.layer.data(name="y", type=paddle.data_type.dense_vector(1))
cost = paddle.layer.square_error_cost(input=paddle.layer.fc(input=x, size=1, act=paddle.activation.Linear()), label=y)
parameters = paddle.parameters.create(cost)
trainer = paddle.trainer.SGD(cost=cost, parameters=parameters, update_equation=paddle.optimizer.Momentum(momentum=0), is_local=False)


def event_handler(event):
    if isinstance(event, paddle.event.EndIteration):
        last[0] = event.cost
    if isinstance(event, paddle.event.EndPass):
        result = trainer.test(paddle.batch(rows(mine("test_data_dir")), batch_size=20))
        print("trainer %d: pass %d cost %f, test %f" % (TRAINER_ID, event.pass_id, last[0], result.cost), flush=True)
        if TRAINER_ID == 0:
            os.makedirs("output", exist_ok=True)
            with open("output/pass-%05d.tar" % event.pass_id, "wb") as f:
                trainer.save_parameter_to_tar(f)


last = [0.0]
trainer.train(paddle.batch(rows(mine("train_data_dir")), batch_size=20), num_passes=2, event_handler=event_handler)
"""


if __name__ == "__main__":
    main()
