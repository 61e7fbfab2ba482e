"""Fleet and ports: one that the system chooses, workers that do not wait for any, workers that train again."""
import os
import socket
import subprocess
import sys
import time
import unittest

NET = """
import paddle.fluid as fluid
loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [2]), 1))
"""
SERVER = NET + """
fluid.optimizer.SGD(0.1).minimize(loss)
t = fluid.DistributeTranspiler()
t.transpile(trainer_id=0, pservers="127.0.0.1:0", trainers=1)
program, startup = t.get_pserver_programs("127.0.0.1:0")
exe = fluid.Executor()
exe.run(startup)
exe.run(program)
"""
WORKER = NET + """
import sys
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
fleet.init(role_maker.UserDefinedRoleMaker(role=role_maker.Role.WORKER, worker_num=1,
                                           server_endpoints=["127.0.0.1:" + sys.argv[1]]))
strategy = fluid.DistributeTranspilerConfig()
strategy.wait_port = sys.argv[2] == "wait"
fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(loss)
fleet.init_worker()
print("ready", flush=True)
"""

AGAIN = """
import sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
role, number, workers = sys.argv[2:]
fleet.init(role_maker.UserDefinedRoleMaker(
    current_id=int(number), role=role_maker.Role.WORKER if role == "worker" else role_maker.Role.SERVER,
    worker_num=int(workers), server_endpoints=["127.0.0.1:" + sys.argv[1]]))
w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.0))
loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [1]), 1, bias_attr=False, param_attr=w))
fleet.distributed_optimizer(fluid.optimizer.Momentum(1.0, 0.5)).minimize(loss)
if role == "server":
    fleet.init_server()
    fleet.run_server()
exe = fluid.Executor()
exe.run(fleet.startup_program)
for _ in range(3):
    fleet.init_worker()
    for _ in range(2):
        fluid.Executor().run(fleet.main_program, feed={"x": np.ones((1, 1), "float32")})
    fleet.stop_worker()
    print(float(np.array(fluid.global_scope().find_var("w").get_tensor())[0, 0]), flush=True)
"""


class Again(unittest.TestCase):
    def run_workers(self, count):
        """(exit code, stdout, stderr) of each worker."""
        with socket.socket() as held:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
            roles = [("server", "0"), *(("worker", str(n)) for n in range(count))]
            started = [subprocess.Popen(
                [sys.executable, "-c", AGAIN, str(held.getsockname()[1]), role, number, str(count)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for role, number in roles]
            try:
                texts = [worker.communicate(timeout=120) for worker in started[1:]]
                return [(worker.returncode, *text) for worker, text in zip(started[1:], texts)]
            finally:
                for process in started:
                    process.kill()
                    process.communicate()

    def test_a_worker_trains_again_after_stop_worker(self):
        """Values and momenta go on: with a gradient of 1, v = 0.5 v + 1."""
        ((code, out, err),) = self.run_workers(1)
        self.assertEqual((code, out.split()), (0, ["-2.5", "-6.125", "-10.03125"]), err)

    def test_several_workers_do_not(self):
        for code, out, err in self.run_workers(2):
            self.assertEqual((code, out.split()), (1, ["-2.5"]), err)
            self.assertIn("several workers cannot train again", err)


class Ports(unittest.TestCase):
    def test_a_port_that_the_system_chooses(self):
        server = subprocess.Popen([sys.executable, "-c", SERVER], stderr=subprocess.PIPE)
        path = f"/tmp/paddle.{server.pid}.selected_port"
        try:
            end = time.monotonic() + 60
            while not os.path.exists(path):
                self.assertIsNone(server.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)  # between two looks
            with open(path) as f:
                port = int(f.read())
            with socket.create_connection(("127.0.0.1", port), timeout=10):
                pass
            server.terminate()
            self.assertEqual(server.wait(60), 0)
            self.assertIn(f"127.0.0.1:{port}".encode(), server.stderr.read())
        finally:
            server.kill()
            server.wait()
            server.stderr.close()
            if os.path.exists(path):
                os.remove(path)

    def worker(self, how):
        with socket.socket() as taken:  # bound and not listening: nothing answers there
            taken.bind(("127.0.0.1", 0))
            return subprocess.run([sys.executable, "-c", WORKER, str(taken.getsockname()[1]), how], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                                  env={**os.environ, "FLAGS_rpc_deadline": "500"})

    def test_a_worker_waits_for_the_servers_unless_it_is_not_to(self):
        waits, goes_on = self.worker("wait"), self.worker("no")
        self.assertNotEqual(waits.returncode, 0)
        self.assertIn("gave up waiting for the parameter servers", waits.stderr)
        self.assertEqual((goes_on.returncode, goes_on.stdout), (0, "ready\n"), goes_on.stderr)


if __name__ == "__main__":
    unittest.main()
