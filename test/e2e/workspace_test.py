"""The workspace that every launcher leaves: logs, models, and a record from which another person repeats the run."""
import os
import signal

from cluster import Process, free_ports, until, write_job
from support import BUILD, PADDLE, EndToEnd, main


class Workspace(EndToEnd):
    def text(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as f:
            return f.read()

    def same_model(self, a, b):
        a, b = self.files(self.path(*a)), self.files(self.path(*b))
        self.assertEqual(sorted(a), sorted(b))
        for name, data in a.items():
            if name not in ("job.json", "path.txt"):
                self.assertEqual(data, b[name], name)

    def test_a_run_is_repeated_from_its_record(self):
        """Values of a flag, a variable, the job file and the clock; the repeat has none of them but the record."""
        job = write_job(self, optimizer='{"type": "adam", "learning_rate": 0.01}')
        self.paddle("train", f"--config={job}", "--seed=0", "--workspace=a", "--save_dir=output", "--dot_period=0",
                    env={"PADDLE_INIT_NUM_PASSES": "2"})
        record = self.text("a", "job", "train.flags")
        self.assertRegex(record, r"# the clock\n--seed=[1-9]\d*\n")
        self.assertIn("# environment variable PADDLE_INIT_NUM_PASSES\n--num_passes=2\n", record)
        self.assertRegex(record, r"# version: PaddlePaddle \S+, compiled with")
        self.assertRegex(record, r"# program digest: \S+")
        self.assertEqual(self.text("a", "job", "job.json"), self.text("job.json"))
        os.remove(self.path("job.json"))
        self.paddle("train", "--flagfile=a/job/train.flags", "--workspace=b")
        self.same_model(("a", "output", "pass-00001"), ("b", "output", "pass-00001"))

    def test_a_launch_is_repeated_from_its_record(self):
        job = write_job(self)
        self.paddle("launch", f"--config={job}", "--seed=0", "--workspace=a", "--save_dir=output", "--snapshot_dir=snapshot",
                    "--num_passes=2", "--server_num=2", "--worker_num=2")
        self.assertEqual(sorted(os.listdir(self.path("a"))), ["job", "log", "nodefile", "output", "snapshot"])
        self.assertEqual(self.text("a", "nodefile"), "0\n")
        self.assertEqual(sorted(os.listdir(self.path("a", "job"))),
                         ["events.jsonl", "job.json", "launch.flags", "pserver.0.flags", "pserver.1.flags", "trainer.0.flags", "trainer.1.flags"])
        self.assertIn("# flag --trainer_id\n--trainer_id=1\n", self.text("a", "job", "trainer.1.flags"))
        self.assertEqual(sorted(os.listdir(self.path("a", "snapshot"))), ["pserver.0", "pserver.1"])
        os.remove(self.path("job.json"))
        self.paddle("launch", "--flagfile=a/job/launch.flags", "--workspace=b")
        self.same_model(("a", "output", "pass-00001"), ("b", "output", "pass-00001"))

    def test_logs_by_severity_and_size(self):
        """Warnings stand in a file of their own; no log grows over its limit."""
        job = write_job(self, records=400, batch=1)
        self.paddle("train", f"--config={job}", "--workspace=ws", "--num_passes=40", "--log_period=1", "--dot_period=0",
                    "--max_log_size=1", "--max_log_files=2", "--logtostderr=false", "--save_dir=output", "--save_only_one=true")
        names = [n for n in os.listdir(self.path("ws", "log")) if ".log.INFO." in n]
        self.assertEqual(len(names), 2, names)
        for name in names:
            self.assertLessEqual(os.path.getsize(self.path("ws", "log", name)), 1 << 20)
        self.assertIn("Pass=39", self.text("ws", "log", "paddle_trainer.INFO"))
        # What is said is also in the files of its severity and of those below, and nothing else is.
        self.write("broken.csv", "1,2\n")
        with open(job, encoding="utf-8") as f:
            broken = self.write("broken.json", f.read().replace("data.csv", "broken.csv"))
        self.paddle("train", f"--config={broken}", "--workspace=bad", check=2)
        for severity in ("INFO", "WARNING", "ERROR"):
            self.assertIn("broken.csv", self.text("bad", "log", "paddle_trainer." + severity), severity)
        self.assertNotRegex(self.text("bad", "log", "paddle_trainer.WARNING"), r"(?m)^I\d{4}")
        self.assertNotRegex(self.text("bad", "log", "paddle_trainer.ERROR"), r"(?m)^[IW]\d{4}")
        server = Process(self.dir, "server").start(PADDLE, "pserver", "--port=0", "--workspace=open", "--insecure")
        self.addCleanup(server.kill)
        server.wait_line("Server listening on")
        self.assertIn("can read and change the model", self.text("open", "log", "paddle_pserver2.WARNING"))
        self.assertFalse(os.path.exists(self.path("open", "log", "paddle_pserver2.ERROR")))
        self.assertEqual(sorted(os.listdir(self.path("ws"))), ["job", "log", "nodefile", "output"])

    def test_what_a_process_prints_is_kept(self):
        """Without a launcher, as by systemd or in a pod: stdout and stderr as they are, and the same in the workspace."""
        job = write_job(self)
        done = self.paddle("train", f"--config={job}", "--num_passes=1", "--save_dir=output", "--workspace=ws")
        timed = self.paddle("train", f"--config={job}", "--job=time", "--time_batches=5", "--workspace=ws")
        self.assertIn("5 batches in", timed.stdout)
        self.assertTrue(self.text("ws", "log", "train.log").startswith(done.stderr))
        for line in (done.stderr + timed.stderr + timed.stdout).splitlines():
            self.assertIn(line, self.text("ws", "log", "train.log"))
        self.assertEqual(self.text("ws", "nodefile"), "0\n")
        # A pserver that is killed has kept its last line, too; a new one goes on behind it.
        server = Process(self.dir, "server")
        self.addCleanup(server.kill)
        for times in (1, 2):
            server.start(PADDLE, "pserver", "--port=0", "--ports_num_for_sparse=0", "--workspace=ws").wait_line("Server listening on")
            server.kill()
            until(lambda: self.text("ws", "log", "server.log").count("Server listening on") == times, "it is in the file")  # noqa: B023
        self.assertEqual(self.text("ws", "log", "server.log"), server.log(whole=True))
        # It stays bounded, as the logs.
        self.write("ws/log/train.log", "x" * (1 << 20))
        self.paddle("train", f"--config={job}", "--num_passes=1", "--workspace=ws", "--max_log_size=1")
        self.assertLess(os.path.getsize(self.path("ws", "log", "train.log")), 1 << 16)
        self.assertGreaterEqual(os.path.getsize(self.path("ws", "log", "train.log.1")), 1 << 20)
        # A launcher that keeps it itself is not disturbed, nor is a terminal.
        self.paddle("launch", f"--config={job}", "--num_passes=1", "--workspace=launched", "--server_num=1", "--worker_num=1")
        self.assertEqual(self.text("launched", "log", "train.log").count("commandline: "), 1)
        self.on_terminal("train", f"--config={job}", "--num_passes=1", "--workspace=seen")
        self.assertFalse(os.path.exists(self.path("seen", "log", "train.log")))

    def test_the_guides_line_for_the_background(self):
        """A hang-up of the terminal does not end the pserver; its output is in the file."""
        port = free_ports(2)
        line = (f"stdbuf -oL /usr/bin/nohup {PADDLE} pserver --port={port} --ports_num=1 --ports_num_for_sparse=1 --num_gradient_servers=1 "
                "&> pserver.log & echo $!")
        pid = int(self.run_program("bash", "-c", line, check=0).stdout)
        self.addCleanup(lambda: os.path.exists(f"/proc/{pid}") and os.kill(pid, signal.SIGKILL))
        until(lambda: f"Server listening on 127.0.0.1:{port}" in self.text("pserver.log"), lambda: self.text("pserver.log"))
        os.kill(pid, signal.SIGHUP)
        self.paddle("status", f"--pservers=127.0.0.1:{port}")
        os.kill(pid, signal.SIGTERM)
        until(lambda: not os.path.exists(f"/proc/{pid}"), "it ends")

    def test_a_python_script(self):
        """A v2 script by launch: its role's logs and the output of all processes are in the workspace."""
        if not os.path.isdir(os.path.join(BUILD, "python")):
            self.skipTest("needs the Python package: scripts/build build python")
        script = self.write("train.py", SCRIPT)
        done = self.paddle("launch", f"--config={script}", "--python=/usr/bin/python3", "--workspace=ws", "--server_num=1", "--worker_num=2",
                           env={"PYTHONPATH": os.path.join(BUILD, "python")})
        self.assertIn("done in", done.stderr)
        self.assertNotIn("no model was saved", done.stderr)  # nobody knows what a script saves
        for i in (0, 1):
            self.assertRegex(self.text("ws", "log", f"train.{i}.log"), rf"trainer {i}: pass 1 cost [\d.]+")
            self.assertRegex(self.text("ws", "log", f"trainer.{i}", "paddle_trainer.INFO"), r"(?m)^I\d{4} .*of a Python script")
            record = self.text("ws", "job", f"trainer.{i}.flags")
            self.assertRegex(record, r"(?m)^# version: PaddlePaddle (.*\n)*# command: .*train\.py\n(.*\n)*# program digest: \S+$")
            self.assertIn("# environment variable PADDLE_INIT_", record)
        self.assertIn("Server listening", self.text("ws", "log", "paddle_pserver2.INFO"))


SCRIPT = '''
import os
import paddle.v2 as paddle

paddle.init()
x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(13))
predict = paddle.layer.fc(input=x, size=1, act=paddle.activation.Linear())
y = paddle.layer.data(name="y", type=paddle.data_type.dense_vector(1))
cost = paddle.layer.square_error_cost(input=predict, label=y)
parameters = paddle.parameters.create(cost)
trainer = paddle.trainer.SGD(cost=cost, parameters=parameters, update_equation=paddle.optimizer.Momentum(momentum=0), is_local=False)


def event_handler(event):
    if isinstance(event, paddle.event.EndPass):
        print("trainer %s: pass %d cost %f" % (os.environ["PADDLE_INIT_TRAINER_ID"], event.pass_id, last[0]), flush=True)
    elif isinstance(event, paddle.event.EndIteration):
        last[0] = event.cost


last = [0.0]
trainer.train(reader=paddle.batch(paddle.dataset.uci_housing.train(), batch_size=20), num_passes=2, event_handler=event_handler)
'''


if __name__ == "__main__":
    main()
