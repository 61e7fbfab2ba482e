"""The scripts of the guides, started as their command lines say."""
import os
import random
import re
import shutil
import socket
import sys
import unittest

from dist_support import HERE, LIMIT, JobCase


def guide(name):
    return os.path.join(HERE, "guides", name)


def write_clicks(directory):
    random.seed(4)
    os.mkdir(os.path.join(directory, "raw_data"))
    for part in range(4):
        with open(os.path.join(directory, "raw_data", "part-%d" % part), "w") as f:
            for _ in range(50):
                label = random.randrange(2)
                f.write("\t".join([str(label)] + ["%.2f" % (random.random() + label) for _ in range(13)] +
                                  [str(random.randrange(50) + 50 * label) for _ in range(3)]) + "\n")


class Guides(JobCase):
    def test_quick_start(self):
        eps = self.endpoints(2)
        common = {"PADDLE_PSERVER_ENDPOINTS": ",".join(eps), "TRAINERS": "2", "PASS_NUM": "10"}
        for i, e in enumerate(eps):
            self.start("s%d" % i, script=guide("quick_start.py"),
                       env={"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_ENDPOINT": e, **common})
        for i in range(2):
            self.start("t%d" % i, script=guide("quick_start.py"),
                       env={"PADDLE_TRAINING_ROLE": "TRAINER", "TRAINER_ID": str(i), **common})
        for i in range(2):
            self.wait("t%d" % i)
            lines = self.output("t%d" % i).splitlines()
            self.assertEqual(len(lines) % 10, 0)
            self.assertRegex(lines[0], r"^0 \[[\d.]+\]$")
            losses = [float(re.search(r"\[([^\]]+)", n).group(1)) for n in lines]
            one = len(losses) // 10  # batches of a pass
            self.assertLess(sum(losses[-one:]), sum(losses[:one]))

    def test_role_unset_is_named(self):
        """The scripts end without a word, wait for pservers, or fail for another reason; the cause is named."""
        eps = self.endpoints(1)
        wanted = "no role is set: the environment variable PADDLE_TRAINING_ROLE or TRAINING_ROLE must be TRAINER or"
        self.start("silent", script=guide("quick_start.py"), env={"PADDLE_PSERVER_ENDPOINTS": eps[0], "TRAINERS": "2"})
        self.wait("silent")
        self.assertIn("called transpile() and ended without being a trainer or a pserver; " + wanted,
                      self.log("silent"))
        self.start("empty", script=guide("quick_start.py"))
        self.wait("empty", 2)
        self.assertRegex(self.log("empty"), r"pservers is empty: .*; and " + wanted)
        self.start("wrong", script=guide("quick_start.py"),
                   env={"PADDLE_PSERVER_ENDPOINTS": eps[0], "PADDLE_TRAINING_ROLE": "trainer"})
        self.wait("wrong")
        self.assertIn("PADDLE_TRAINING_ROLE is 'trainer': it must be TRAINER or PSERVER", self.log("wrong"))
        self.start("waits", script=guide("bare_metal.py"), env={"PSERVERS": eps[0], "FLAGS_rpc_deadline": "300"})
        self.wait("waits", 7)
        self.assertRegex(self.log("waits"), r"gave up waiting .* This process is a trainer; " + wanted)

    def test_bare_metal(self):
        eps = self.endpoints(1)
        common = {"PSERVERS": eps[0], "SERVER_ENDPOINT": eps[0]}
        self.start("s0", script=guide("bare_metal.py"), env={"TRAINING_ROLE": "PSERVER", **common})
        self.wait_for("s0", "Server listening on " + eps[0])
        for i in range(2):  # twice the same
            self.start("t%d" % i, script=guide("bare_metal.py"), env={"TRAINING_ROLE": "TRAINER", **common})
        for i in range(2):
            code = self.wait("t%d" % i, None)
            losses = [float(n.split()[1]) for n in self.output("t%d" % i).splitlines()]
            # The guide's rule: 0 at the first loss below 10, 1 where 100 passes bring none (generated data may not).
            self.assertEqual((code, losses[-1] < 10), (0, True) if code == 0 else (1, False), self.log("t%d" % i))
            self.assertGreater(min(losses[:-1]), 9.99)
            self.assertLess(sum(losses[-21:]), 0.7 * sum(losses[:21]))

    def test_linear_regression(self):
        eps = self.endpoints(1)
        # Hosts of one port: two servers need two addresses of this machine.
        common = {"PADDLE_PSERVER_IPS": "127.0.0.1,127.0.0.2", "PADDLE_PSERVER_PORT": eps[0].rpartition(":")[2],
                  "PADDLE_TRAINERS": "2", "EPOCH_NUM": "2"}
        for i in range(2):
            self.start("s%d" % i, script=guide("linear_regression.py"),
                       env={"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_IP": "127.0.0.%d" % (i + 1), **common})
            self.start("t%d" % i, script=guide("linear_regression.py"),
                       env={"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i), **common})
        for i in range(2):
            self.wait("t%d" % i)
            self.assertRegex(self.output("t%d" % i), r"Epoch: 1, Batch: 9, loss: [\d.]+\n")
        self.wait_for("s0", "the job 'default' is done")


# For a script that trains in the same way every time, on this place.
SAME = """import os, random
import numpy
import paddle.fluid
random.seed(int(os.getenv("TRAINER_ID", "0")))
numpy.random.seed(1)
paddle.fluid.default_main_program().random_seed = paddle.fluid.default_startup_program().random_seed = 5
"""
GPU = {} if os.environ.get("PADDLE_TEST_DEVICE") == "real" else {"PADDLE_CUDA_DEVICE": "emulated"}


class OnGpus(JobCase):
    """The scripts with the place that the guides offer beside CPUPlace()."""

    def guide(self, name, place, same=""):
        with open(guide(name)) as f:
            text = f.read()
        self.assertEqual(text.count("fluid.CPUPlace()"), 1)
        path = os.path.join(self.dir, "%d_%s" % (len(os.listdir(self.dir)), name))
        with open(path, "w") as f:
            f.write(same + text.replace("fluid.CPUPlace()", place))
        shutil.copy(guide("criteo_reader.py"), self.dir)
        return path

    def quick_start(self, tag, place, env):
        script, eps = self.guide("quick_start.py", place, SAME), self.endpoints(2)
        env = {"PADDLE_PSERVER_ENDPOINTS": ",".join(eps), "TRAINERS": "2", "PASS_NUM": "2", **env}
        for i, e in enumerate(eps):
            self.start("%s_s%d" % (tag, i), script=script,
                       env={"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_ENDPOINT": e, **env})
        for i in range(2):
            self.start("%s_t%d" % (tag, i), script=script,
                       env={"PADDLE_TRAINING_ROLE": "TRAINER", "TRAINER_ID": str(i), **env})
        losses = []
        for i in range(2):
            self.wait("%s_t%d" % (tag, i))
            losses.append([float(n) for n in re.findall(r"\[([^\]]+)\]", self.output("%s_t%d" % (tag, i)))])
        return losses

    def test_two_trainers_with_a_gpu_each(self):
        cpu = self.quick_start("cpu", "fluid.CPUPlace()", {})
        place = "fluid.CUDAPlace(int(os.getenv('TRAINER_ID', '0')) % len(fluid.cuda_places()))"
        gpu = self.quick_start("gpu", place, GPU)
        self.assertEqual([len(own) for own in gpu], [len(own) for own in cpu])
        self.assertNotEqual(cpu[0], cpu[1])
        for own, want in zip(gpu, cpu):
            for a, b in zip(own, want):
                self.assertAlmostEqual(a, b, delta=1e-5 * b)
        for i in range(2):
            self.assertRegex(self.log("gpu_t%d" % i), r"computing on GPU %s \(" % (i if GPU else r"\d"))
            self.assertNotIn("computing on GPU", self.log("cpu_t%d" % i))

    def test_the_scripts(self):
        eps = self.endpoints(1)
        common = {"PADDLE_PSERVER_IPS": "127.0.0.1", "PADDLE_PSERVER_PORT": eps[0].rpartition(":")[2],
                  "PADDLE_TRAINERS": "1", "EPOCH_NUM": "1", **GPU}
        script = self.guide("linear_regression.py", "fluid.CUDAPlace(0)")
        self.start("s", script=script,
                   env={"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_IP": "127.0.0.1", **common})
        self.start("t", script=script, env={"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0", **common})
        self.wait("t")
        self.assertRegex(self.output("t"), r"Epoch: 0, Batch: 9, loss: [\d.]+\n")
        self.assertIn("computing on GPU 0 (", self.log("t"))
        eps = self.endpoints(1)
        common = {"PSERVERS": eps[0], "SERVER_ENDPOINT": eps[0], "TRAINER_COUNT": "1", **GPU}
        script = self.guide("bare_metal.py", "fluid.CUDAPlace(0)")
        self.start("bare_s", script=script, env={"TRAINING_ROLE": "PSERVER", **common})
        self.start("bare_t", script=script, env={"TRAINING_ROLE": "TRAINER", **common})
        self.wait("bare_t", None)
        losses = [float(n.split()[1]) for n in self.output("bare_t").splitlines()]
        self.assertLess(sum(losses[-21:]), 0.7 * sum(losses[:21]))
        self.assertIn("computing on GPU 0 (", self.log("bare_t"))

    def test_the_scripts_of_fleet(self):
        write_clicks(self.dir)
        for name, said in (("fleet_mlp.py", "worker_index: 0, step29 cost = 0."), ("ctr.py", "epoch2 finished")):
            script = self.guide(name, "fluid.CUDAPlace(0)")
            self.start(name, env={"STEPS": "30", **GPU},
                       command=[sys.executable, "-m", "paddle.distributed.launch_ps", "--start_port=0",
                                "--worker_num=1", "--server_num=1", "--log_dir=" + name + ".logs", script])
            self.wait(name)
            with open(os.path.join(self.dir, name + ".logs", "workerlog.0")) as f:
                log = f.read()
            self.assertIn(said, log)
            self.assertIn("computing on GPU 0 (", log)

    def test_the_quick_start_of_fleet_alone(self):
        self.start("alone", script=guide("mlp_alone.py"), env={"STEPS": "20", **GPU})
        self.wait("alone")
        self.assertEqual(len(re.findall(r"(?m)^step\d+ cost=[01]\.\d+$", self.output("alone"))), 20)
        self.assertIn("computing on GPU 0 (", self.log("alone"))

    @unittest.skipUnless(GPU, "this machine has a GPU")
    def test_where_there_is_none(self):
        self.start("t", script=self.guide("quick_start.py", "fluid.CUDAPlace(0)"))
        self.wait("t", 2)
        self.assertRegex(self.log("t"), r"cannot compute on a GPU: .*; compute on the CPU with fluid.CPUPlace\(\)")


class Fleet(JobCase):
    def run_job(self, tag, **options):
        return self.run_script(tag, "fleet_script.py", *["%s=%s" % item for item in options.items()])

    def run_script(self, tag, name, *arguments):
        eps = self.endpoints(2)
        script = os.path.join(HERE, name)
        env = {"WORKER_NUM": "2", "ENDPOINTS": ",".join(eps)}
        for i in range(2):
            self.start("%s_s%d" % (tag, i), *arguments, script=script,
                       env={"CURRENT_ID": str(i), "IS_WORKER": "0", **env})
            self.start("%s_t%d" % (tag, i), *arguments, script=script,
                       env={"CURRENT_ID": str(i), "IS_WORKER": "1", **env})
        for i in range(2):
            self.wait("%s_t%d" % (tag, i))
        for i in range(2):
            self.stop("%s_s%d" % (tag, i))
        return [self.output("%s_t%d" % (tag, i)).splitlines() for i in range(2)]

    def test_a_model_is_saved_and_loaded_by_the_servers(self):
        first = self.run_job("a", save="model")
        self.assertEqual(first[0][-1], first[1][-1])
        self.assertIn("__model__", os.listdir(os.path.join(self.dir, "model.inference")))
        self.assertEqual(sorted(n for n in os.listdir(os.path.join(self.dir, "model")) if "moment" in n),
                         ["fc_0.b_0_moment_0", "w_moment_0"])
        loaded = self.run_job("b", load="model", steps=1)
        whole = self.run_job("c", steps=1)
        weights = [[float(v) for v in lines[-1].split()[1:]] for lines in (first[0], loaded[0], whole[0])]
        far = [max(abs(a - b) for a, b in zip(weights[0], w)) for w in weights[1:]]
        self.assertLess(far[0], 0.09)  # Adagrad's moments came along: a first step of 0.1 would be longer
        self.assertGreater(far[1], 0.1)

    def test_every_gradient_is_applied_exactly_once(self):
        """All arithmetic is exact (fleet_sum_script.py): one gradient too many or too few is seen."""
        for mode, divided_by in (("async", 1), ("half_async", 1), ("sync", 2)):
            with self.subTest(mode=mode):
                lines = self.run_script("sum_" + mode, "fleet_sum_script.py", mode, "200")
                rows = [{n.split()[0]: [float(v) for v in n.split()[1:]] for n in own} for own in lines]
                self.assertNotEqual(rows[0]["sum"], rows[1]["sum"])
                want = [-sum(values) / divided_by for values in zip(*(own["sum"] for own in rows))]
                self.assertEqual([own["w"] for own in rows], [want, want])

    def test_modes_learn(self):
        for mode in ("half_async", "geo"):  # async merges steps, and Adagrad may go too far with them for a while
            with self.subTest(mode=mode):
                losses = [[float(n.split()[1]) for n in lines if n.startswith("loss")]
                          for lines in self.run_job(mode, mode=mode, steps=30)]
                self.assertEqual([len(own) for own in losses], [30] * len(losses))
                # A worker that starts late begins with what others have learned: the highest first loss is untrained.
                untrained = max(own[0] for own in losses)
                for own in losses:
                    self.assertLess(sum(own[-5:]) / 5, untrained)


UNDER_MPIRUN = """
import sys
sys.modules["mpi4py"] = None  # the processes of this test have only the variables of mpirun
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet

fleet.init(role_maker.MPISymetricRoleMaker())
x = fluid.layers.data("x", [4])
cost = fluid.layers.mean(fluid.layers.fc(x, 1))
fleet.distributed_optimizer(fluid.optimizer.SGD(0.01)).minimize(cost)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    fleet.init_worker()
    exe = fluid.Executor()
    exe.run(fleet.startup_program)
    for _ in range(10):
        exe.run(fleet.main_program, feed={"x": np.ones((2, 4), "float32")})
    fleet.stop_worker()
"""


class Mpi(JobCase):
    def test_servers_end_with_the_workers(self):
        """mpirun waits for all of its processes, and the servers are not stopped."""
        script = os.path.join(self.dir, "mpi.py")
        with open(script, "w") as f:
            f.write(UNDER_MPIRUN)
        port = self.endpoints(1)[0].rsplit(":", 1)[1]
        for rank in ("0", "1"):
            self.start("rank" + rank, script=script,
                       env={"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": rank, "PADDLE_PORT": port})
        for rank in ("0", "1"):
            self.wait("rank" + rank)


TWO_MACHINES = """
import time
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import StrategyFactory, fleet

x = fluid.layers.data("x", [4])
cost = fluid.layers.mean(fluid.layers.fc(fluid.layers.fc(x, 4), 1))
fleet.init(role_maker.PaddleCloudRoleMaker())
fleet.distributed_optimizer(fluid.optimizer.SGD(0.01), StrategyFactory.create_async_strategy()).minimize(cost)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    exe = fluid.Executor()
    exe.run(fleet.startup_program)
    for i in range(20):
        if i == 10 and fleet.worker_index() == 1:
            while "the servers stay" not in open("first.log").read():
                time.sleep(0.02)  # between two looks
        exe.run(fleet.main_program, feed={"x": np.ones((2, 4), "float32")})
    fleet.stop_worker()
    print("worker", fleet.worker_index(), "of", fleet.worker_num(), "has made its steps")
"""


class LaunchPs(JobCase):
    def launch(self, script, *flags, env=None, code=0):
        self.start("launch", env=env, command=[sys.executable, "-m", "paddle.distributed.launch_ps", "--start_port=0",
                                               "--worker_num", "2", "--server_num", "2", *flags, script])
        self.wait("launch", code)

    def read(self, name):
        with open(os.path.join(self.dir, name)) as f:
            return f.read()

    def test_fleet(self):
        self.launch(guide("fleet_mlp.py"), env={"STEPS": "50"})
        for i in range(2):
            text = self.read("logs/workerlog.%d" % i)
            self.assertEqual(len(re.findall(r"worker_index: %d, step\d+ cost = \d\.\d+" % i, text)), 50)
            self.assertIn("Server listening on 127.0.0.1:", self.read("logs/serverlog.%d" % i))
        self.assertIn("all workers exit, going to finish parameter server\nall parameter server are killed",
                      self.log("launch"))
        # The job had a token of its own, and it is gone.
        self.assertNotIn("only processes of this machine can connect", self.read("logs/serverlog.0"))
        self.assertEqual([f for f in os.listdir(os.path.join(self.dir, "logs")) if "token" in f], [])
        # The workspace of every launcher.
        self.assertEqual(self.read("nodefile"), "0\n")
        for i in range(2):
            self.assertEqual(self.read("log/train.%d.log" % i), self.read("logs/workerlog.%d" % i))
            self.assertEqual(self.read("log/server.%d.log" % i), self.read("logs/serverlog.%d" % i))
            self.assertIn("of a Python script", self.read("log/trainer.%d/paddle_trainer.INFO" % i))
            self.assertIn("of a Python script", self.read("log/pserver.%d/paddle_pserver2.INFO" % i))
            self.assertRegex(self.read("job/trainer.%d.flags" % i),
                             r"# command: .*fleet_mlp\.py\n(.*\n)*# program digest: ")
            self.assertIn("# version: PaddlePaddle", self.read("job/pserver.%d.flags" % i))

    def test_a_core_dump_would_not_hold_the_token(self):
        path = self.script("import ctypes, os, time\n"
                           "if os.environ['TRAINING_ROLE'] == 'PSERVER':\n"
                           "    time.sleep(1000)\n"
                           "print('dumps:', ctypes.CDLL(None).prctl(3))\n")
        launch = ("import ctypes\n"
                  "from paddle.distributed.launch_ps import launch\n"
                  "launch(['--worker_num=1', '--server_num=1', '--start_port=0', %r])\n"
                  "print('dumps:', ctypes.CDLL(None).prctl(3))\n")
        self.start("launch", command=[sys.executable, "-c", launch % path])
        self.wait("launch")
        self.assertIn("dumps: 0", self.output("launch"))
        self.assertIn("dumps: 1", self.read("logs/workerlog.0"))  # what users run is theirs to look at

    def test_click_rate(self):
        write_clicks(self.dir)
        self.launch(guide("ctr.py"))
        self.assertIn("epoch2 finished", self.read("logs/workerlog.0"))
        self.assertIn("the job 'default' is done", self.read("logs/serverlog.1"))
        saved = os.listdir(os.path.join(self.dir, "models", "epoch2.model"))
        self.assertIn("__model__", saved)
        self.assertIn("SparseFeatFactors", saved)

    def script(self, text):
        path = os.path.join(self.dir, "script.py")
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_the_first_failure_is_shown_and_nothing_is_left(self):
        path = self.script("import os, sys, time\n"
                           "print(os.getpid(), os.environ['TRAINING_ROLE'], os.environ['PADDLE_TRAINING_ROLE'],"
                           " os.environ['PADDLE_PSERVERS_IP_PORT_LIST'], os.environ['PADDLE_PORT'], flush=True)\n"
                           "if os.environ.get('PADDLE_TRAINER_ID') == '1':\n"
                           "    while not all(os.path.getsize('logs/' + n) for n in os.listdir('logs')):\n"
                           "        time.sleep(0.02)\n"
                           "    sys.exit('no such luck')\n"
                           "time.sleep(1000)\n")
        self.launch(path, code=1)
        self.assertRegex(self.log("launch"), r"worker 1 ended with code 1; the end of logs/workerlog\.1:\n(.*\n)*    "
                                             r"no such luck")
        for name in ("serverlog.0", "serverlog.1", "workerlog.0"):
            pid = int(self.read("logs/" + name).split()[0])
            self.assertFalse(os.path.exists("/proc/%d" % pid), name)

    def test_two_machines(self):
        """Two addresses of this one. The servers of the first serve the second's worker when their own has ended."""
        path = self.script(TWO_MACHINES)
        port = self.port_of("127.0.0.1", "127.0.0.2")
        for i, name in enumerate(("first", "second")):
            self.start(name, command=[sys.executable, "-m", "paddle.distributed.launch_ps", "--worker_num=1",
                                      "--server_num=1", "--cluster_node_ips=127.0.0.1,127.0.0.2",
                                      "--node_ip=127.0.0.%d" % (i + 1), "--start_port=%d" % port, "--log_dir=" + name,
                                      path])
        for i, name in enumerate(("second", "first")):
            self.wait(name)
            self.assertIn("worker %d of 2 has made its steps" % (1 - i), self.read(name + "/workerlog.0"))
            self.assertIn("the job 'default' is done", self.read(name + "/serverlog.0"))

    def port_of(self, *hosts):
        """A port that is free on all these addresses, and kept."""
        for _ in range(100):
            held = []
            try:
                for host in hosts:
                    held.append(socket.socket())
                    held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    held[-1].bind((host, held[0].getsockname()[1] if len(held) > 1 else 0))
            except OSError:
                for s in held:
                    s.close()
                continue
            self.held += held
            return held[0].getsockname()[1]
        self.fail("no free port")

    def test_interrupt(self):
        import signal
        import time
        path = self.script("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1000)\n")
        self.start("launch", command=[sys.executable, "-m", "paddle.distributed.launch_ps", "--start_port=0",
                                      "--worker_num=1",
                                      "--server_num=1", path])
        end = time.monotonic() + LIMIT
        log = os.path.join(self.dir, "logs", "workerlog.0")
        while not (os.path.exists(log) and self.read("logs/workerlog.0")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)  # between two looks
        self.stop("launch", signal.SIGINT, 130)
        self.assertFalse(os.path.exists("/proc/" + self.read("logs/workerlog.0").split()[0]))


if __name__ == "__main__":
    unittest.main()
