"""The guide's cluster job by Fabric: paddle.py, conf.py and run.sh, on three nodes with real sshd."""
import glob
import os
import re
import shutil
import signal
import subprocess
import unittest

from cluster import free_ports, until, write_job
from nodes import Nodes, missing
from support import BUILD, DEADLINE, PADDLE, SOURCE, EndToEnd, main

SCRIPT = os.path.join(SOURCE, "scripts", "cluster", "fabric", "paddle.py")
NODES = 3


def with_mark(directory):
    """Processes of jobs below a directory, by their mark and their working directory: pid -> command."""
    found = {}
    for place in glob.glob("/proc/[0-9]*"):
        try:
            with open(place + "/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode()
            if "--comment=paddle_process_by_paddle" in command and os.readlink(place + "/cwd").startswith(directory):
                found[int(os.path.basename(place))] = command
        except OSError:  # it has ended
            continue
    return found


class Refusals(EndToEnd):
    def script(self, *arguments, code):
        done = self.run_program("/usr/bin/python3", SCRIPT, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    @unittest.skipIf(missing(), f"needs {missing()}")
    def test_flags(self):
        conf = self.write("conf.py", 'HOSTS = ["root@127.0.0.9:1"]\n')
        for arguments, code, words in [
            ([], 2, "HOSTS in"),
            ([f"--conf={self.path('none.py')}"], 4, "there is no"),
            ([f"--conf={conf}"], 2, "--job_workspace or --job_dispatch_package should be set"),
            ([f"--conf={conf}", "-j", "/x", "-p", self.dir], 2, "not both"),
            ([f"--conf={conf}", f"-p{self.dir}"], 2, "is no flag"),
            ([f"--conf={conf}", "--job_dispatch_package"], 2, "has no value"),
            ([f"--conf={conf}", "-p", conf], 4, "is not a directory"),
            ([f"--conf={conf}", "-p", self.dir], 2, "--config is missing"),
            ([f"--conf={conf}", "-p", self.dir, "--config=job.json"], 7, "node 0 (root@127.0.0.9:1): ssh does not work"),
        ]:
            with self.subTest(arguments):
                self.assertIn(words, self.script(*arguments, code=code))


@unittest.skipIf(missing(), f"needs {missing()}")
class Fabric(EndToEnd):
    def setUp(self):
        super().setUp()
        self.nodes = Nodes(self, NODES)
        self.package = self.path("package")
        os.mkdir(self.package)
        self.port = free_ports(2)
        self.write("conf.py", f"""
HOSTS = {self.nodes.hosts()}
ROOT_DIR = "$HOME/jobs"
PADDLE = {PADDLE!r}
PYTHON = "/usr/bin/python3"
PADDLE_PORT = {self.port}
SSH_KEY = {self.nodes.key!r}
PADDLE_NIC = "eth0"  # of PaddlePaddle's conf.py, like the next two
PADDLE_PORTS_NUM_FOR_SPARSE = 1
LD_LIBRARY_PATH = "/of/the/nodes"
ENVIRONMENT = {{"PYTHONPATH": {os.path.join(BUILD, "python")!r}}}
""")
        self.addCleanup(self.end)

    def end(self):
        """Nothing of a failed test stays."""
        for pid in with_mark(self.dir):
            os.kill(pid, signal.SIGKILL)

    def job(self):
        write_job(self)
        for name in ("job.json", "data.csv"):
            shutil.move(self.path(name), self.package)

    def command(self, *flags, package=True):
        place = [f"--job_dispatch_package={self.package}"] if package else []
        return ["/usr/bin/python3", SCRIPT, f"--conf={self.path('conf.py')}", *place, "--config=job.json", "--save_dir=./output", *flags]

    def start(self, *flags):
        log = open(self.path("script.log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        env = {"PATH": os.environ["PATH"], "HOME": self.dir}
        return subprocess.Popen(self.command(*flags), cwd=self.dir, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def text(self, *parts):
        with open(os.path.join(*parts), encoding="utf-8") as f:
            return f.read()

    def jobs(self, node):
        return sorted(glob.glob(os.path.join(self.nodes.homes[node], "jobs", "JOB*")))

    def until_training(self):
        """Until every node has a trainer that trains."""
        def trains(i):
            logs = [os.path.join(d, "log", "train.log") for d in self.jobs(i)[-1:]]
            return logs and os.path.exists(logs[0]) and "Pass=0" in self.text(logs[0])

        until(lambda: all(trains(i) for i in range(NODES)), lambda: "all train\n" + self.text(self.path("script.log")))

    def test_dispatch(self):
        """The job runs on all nodes; logs on each, the model on node 0 alone, and nothing is left running."""
        self.job()
        done = self.run_program(*self.command("--num_passes=2", "--log_period=1"), check=0)
        directories = [self.jobs(i)[0] for i in range(NODES)]
        for i, d in enumerate(directories):
            self.assertEqual(self.text(d, "nodefile"), f"{i}\n")
            for log in ("server.log", "train.log", "paddle_trainer.INFO", "paddle_pserver2.INFO"):
                self.assertGreater(os.path.getsize(os.path.join(d, "log", log)), 0, log)
            first = ["events.jsonl"] if i == 0 else []  # it has shown the job
            self.assertEqual(sorted(os.listdir(os.path.join(d, "job"))),
                             first + ["job.json", "launch.flags", "launch.lock", f"pserver.{i}.flags", f"trainer.{i}.flags"])
            record = self.text(d, "job", f"trainer.{i}.flags")
            self.assertIn(f"# flag --trainer_id\n--trainer_id={i}\n", record)
            self.assertRegex(record, r"(?m)^# version: PaddlePaddle (.*\n)*# program digest: \S+$")
            self.assertIn("--exit_when_done=true\n", self.text(d, "job", f"pserver.{i}.flags"))
        self.assertEqual(os.listdir(os.path.join(directories[0], "output")), ["pass-00000", "pass-00001"])
        for d in directories[1:]:
            self.assertFalse(os.path.exists(os.path.join(d, "output")))
        self.assertRegex(done.stdout, r"^\w+@127\.0\.0\.2:\d+:\$HOME/jobs/JOB\d+/output\n$")
        self.assertIn("the job is done", done.stderr)
        self.assertRegex(done.stderr, r"node\.0 \| trainer\.0 \| I\d{4} .*Pass=\d")
        self.assertNotRegex(done.stderr, r"node\.1 \| trainer\.1 \| I")
        self.assertEqual(with_mark(self.dir), {})
        # The same directories again, without copying.
        for i, d in enumerate(directories):
            os.rename(d, os.path.join(self.nodes.homes[i], "mine"))
        self.write("conf.py", self.text(self.path("conf.py")))
        done = self.run_program(*self.command("--num_passes=1", "-j", "$HOME/mine", package=False), check=0)
        self.assertNotIn("copying", done.stderr)

    def test_stop(self):
        """Ctrl-C ends the job on all nodes."""
        self.job()
        script = self.start("--num_passes=100000", "--log_period=1")
        self.until_training()
        self.assertEqual(len(with_mark(self.dir)), 3 * NODES)  # what started them, too
        for pid in with_mark(self.dir):
            with open(f"/proc/{pid}/environ", "rb") as f:
                self.assertIn(b"LD_LIBRARY_PATH=/of/the/nodes", f.read().split(b"\0"))
        self.assertRegex(self.text(self.path("script.log")), r"PADDLE_NIC in \S*conf\.py is not used")
        script.send_signal(signal.SIGINT)
        self.assertEqual(script.wait(DEADLINE), 130)
        self.assertEqual(with_mark(self.dir), {})
        self.assertIn("stopping the job on all nodes", self.text(self.path("script.log")))

    def test_leftovers(self):
        """What a killed paddle.py left running is named by the next one, which waits for its end."""
        self.job()
        script = self.start("--num_passes=100000", "--log_period=1")
        self.until_training()
        # Stopped first, so that the next one certainly finds them.
        launches = [pid for pid, command in with_mark(self.dir).items() if " launch " in command]
        self.assertEqual(len(launches), NODES)
        for pid in launches:
            os.kill(pid, signal.SIGSTOP)
        script.kill()
        script.wait()
        second = subprocess.Popen(self.command("--num_passes=1"), cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"], "HOME": self.dir})
        self.addCleanup(second.kill)
        self.addCleanup(second.stderr.close)
        said = ""
        while len(named := set(re.findall(r"process (\d+) of an earlier job still runs and is stopped", said))) < 3 * NODES:
            line = second.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertLessEqual(set(map(str, launches)), named)
        for pid in launches:
            os.kill(pid, signal.SIGCONT)
        rest = second.stderr.read()
        self.assertEqual(second.wait(DEADLINE), 0, said + rest)
        self.assertEqual(with_mark(self.dir), {})

    def test_failing_trainer(self):
        """Its exit code and the end of its log are shown, and the others are stopped."""
        self.job()
        done = self.run_program(*self.command("--num_passes=1", "--learning_rat=1"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"node \d \(\S+\) ended with code 2")
        self.assertIn("learning_rat", done.stderr)
        self.assertEqual(with_mark(self.dir), {})
        conf = self.text(self.path("conf.py")).replace(repr(PADDLE), "'no-such-program'")
        self.write("conf.py", conf)
        done = self.run_program(*self.command("--num_passes=1"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("there is no 'no-such-program': install the package there", done.stderr)

    def test_demo(self):
        """run.sh: the recommendation demo, a Python script on every node."""
        if not os.path.isdir(os.path.join(BUILD, "python")):
            self.skipTest("needs the Python package: scripts/build build python")
        place = self.path("fabric")
        shutil.copytree(os.path.dirname(SCRIPT), place)
        shutil.copy(self.path("conf.py"), place)
        done = self.run_program("sh", os.path.join(place, "run.sh"), "--num_passes=2", check=0)
        directory = self.jobs(0)[0]
        log = self.text(directory, "log", "train.log")
        costs = [float(c) for c in re.findall(r"Pass \d, Testing cost ([\d.]+)", log)]
        self.assertEqual(len(costs), 2, log)
        self.assertLess(costs[1], costs[0])
        self.assertIn("params_pass_1.tar", os.listdir(os.path.join(directory, "output")))
        self.assertIn("the job is done", done.stderr)
        self.assertEqual(with_mark(self.dir), {})


if __name__ == "__main__":
    main(at_once=1)
