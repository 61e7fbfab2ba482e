"""paddle.distributed.launch_ps and paddle.distributed.launch on two machines: network namespaces with addresses of their own."""
import os
import unittest

from cluster import Process
from net_hosts import NetHosts
from net_hosts import missing as missing_namespaces
from support import BUILD, EndToEnd, main

SCRIPT = """
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import StrategyFactory, fleet

x = fluid.layers.data("x", [4])
cost = fluid.layers.mean(fluid.layers.fc(fluid.layers.fc(x, 4), 1))
fleet.init(role_maker.PaddleCloudRoleMaker())
fleet.distributed_optimizer(fluid.optimizer.SGD(0.01), StrategyFactory.create_sync_strategy()).minimize(cost)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    exe = fluid.Executor()
    exe.run(fleet.startup_program)
    for i in range(20):
        exe.run(fleet.main_program, feed={"x": np.ones((2, 4), "float32")})
    fleet.stop_worker()
    print("worker", fleet.worker_index(), "of", fleet.worker_num(), "has made its steps")
"""


def missing():
    if not os.path.exists(os.path.join(BUILD, "python", "paddle", "__init__.py")):
        return "the Python package: scripts/build build python"
    return missing_namespaces()


@unittest.skipIf(missing(), f"needs {missing()}")
class TwoMachines(EndToEnd):
    def setUp(self):
        super().setUp()
        self.hosts = NetHosts(self, ["m0", "m1"])
        self.script = self.write("script.py", SCRIPT)

    def run_on_both(self, flags_of):
        """The same command on each machine, but for flags_of(number)."""
        token = self.hosts.token()
        env = {"PYTHONPATH": os.path.join(BUILD, "python"), **({"PADDLE_TOKEN_FILE": token[0].split("=", 1)[1]} if token else {})}
        processes = []
        for i in (0, 1):
            process = Process(self.dir, f"m{i}", env)
            self.addCleanup(process.kill)
            processes.append(process.start(*self.hosts.inside(f"m{i}"), "/usr/bin/python3", "-m", *flags_of(i), f"--log_dir=w{i}/logs", self.script))
        for process in reversed(processes):
            try:
                process.wait(0)
            except AssertionError as e:
                logs = {f"m{i} {name}": data.decode() for i in (0, 1) for name, data in self.files(self.path(f"w{i}", "logs")).items()}
                raise AssertionError(f"{e}\n{logs}") from None
        for i in (0, 1):
            def text(*parts):
                with open(self.path(f"w{i}", *parts), encoding="utf-8") as f:
                    return f.read()
            self.assertIn(f"worker {i} of 2 has made its steps", text("logs", "workerlog.0"))
            self.assertIn("the job 'default' is done", text("logs", "serverlog.0"))
            # The workspace of every launcher.
            self.assertEqual(text("nodefile"), f"{i}\n")
            self.assertEqual(text("log", "train.log"), text("logs", "workerlog.0"))
            self.assertIn("the job 'default' is done", text("log", "server.log"))
            self.assertIn("of a Python script", text("log", "paddle_trainer.INFO"))
            self.assertIn("the job 'default' is done", text("log", "paddle_pserver2.INFO"))
            self.assertIn("# program digest: ", text("job", f"trainer.{i}.flags"))
            self.assertIn("# version: ", text("job", f"pserver.{i}.flags"))

    def test_launch_ps(self):
        addresses = [self.hosts.addresses[m] for m in ("m0", "m1")]
        self.run_on_both(lambda i: ["paddle.distributed.launch_ps", "--worker_num=1", "--server_num=1",
                                    f"--cluster_node_ips={','.join(addresses)}", f"--node_ip={addresses[i]}", "--start_port=6170"])

    def test_launch_with_the_names_of_2x(self):
        """One command for all machines: each finds its own servers and workers in the lists."""
        places = [f"{self.hosts.addresses[m]}:6170" for m in ("m0", "m1")]
        self.run_on_both(lambda i: ["paddle.distributed.launch", "--run_mode=ps", f"--servers={','.join(places)}",
                                    f"--workers={self.hosts.addresses['m0']},{self.hosts.addresses['m1']}"])

    def test_refusals(self):
        env = {"PYTHONPATH": os.path.join(BUILD, "python")}
        for flags, words in (([], "collective training is not supported"), (["--run_mode=collective"], "collective training is not supported"),
                             (["--run_mode=ps", "--servers=127.0.0.1:1"], "belong together"),
                             (["--run_mode=ps", "--servers=10.99.0.1:1", "--workers=10.99.0.1"], "--host=ADDRESS"),
                             (["--run_mode=ps", "--servers=127.0.0.1:1", "--workers=127.0.0.1,10.99.0.1,127.0.0.1"], "one after the other"),
                             (["--servers=127.0.0.1:1", "--workers=127.0.0.1", "--server_num=2"], "give one of the two")):
            done = self.run_program("/usr/bin/python3", "-m", "paddle.distributed.launch", *flags, self.script, env=env)
            self.assertNotEqual(done.returncode, 0, flags)
            self.assertIn(words, " ".join(done.stderr.split()))
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    main()
