"""python/examples, each as separate processes on loopback, sync and async."""
import gzip
import os
import re
import shutil
import sys

from processes import EXAMPLES, Job

MODES = {"sync": {"SYNC_MODE": "1"}, "async": {"SYNC_MODE": "0"}}


def numbers(text, pattern):
    return [float(n) for n in re.findall(pattern + r"([-+0-9.e]+)", text)]


class Examples(Job):
    def each_mode(self, check):
        for name, env in MODES.items():
            with self.subTest(mode=name):
                check(env)

    def falls(self, factor, *losses):
        """Every trainer ends well below where the first one began; without barriers the other may begin late."""
        begin = max(mine[0] for mine in losses)
        for mine in losses:
            self.assertGreater(len(mine), 2)
            self.assertLess(mine[-1], begin * factor, losses)

    def test_fit_a_line(self):
        def check(mode):
            env = {"PADDLE_PSERVER_ENDPOINTS": ",".join(f"127.0.0.1:{self.port()}" for _ in range(2)), "TRAINERS": "2",
                   **mode}
            endpoints = env["PADDLE_PSERVER_ENDPOINTS"].split(",")
            servers = [self.start(f"server{i}", "fit_a_line/fluid_dist.py", PADDLE_TRAINING_ROLE="PSERVER",
                                  PADDLE_CURRENT_ENDPOINT=e, **env) for i, e in enumerate(endpoints)]
            trainers = [self.start(f"trainer{i}", "fit_a_line/fluid_dist.py", PADDLE_TRAINING_ROLE="TRAINER",
                                   TRAINER_ID=str(i), PASSES="30", **env) for i in range(2)]
            self.falls(0.8, *[numbers(t.wait(), "mean loss ") for t in trainers])
            self.assertIn(f"Server listening on {endpoints[0]}", servers[0].log())
            self.stop(*servers)

        self.each_mode(check)

    def test_fit_a_line_alone(self):
        self.falls(0.8, numbers(self.start("alone", "fit_a_line/fluid_dist.py", PASSES="30").wait(), "mean loss "))

    def test_bare_metal(self):
        def check(mode):
            endpoint = f"127.0.0.1:{self.port()}"
            env = {"PSERVERS": endpoint, "SERVER_ENDPOINT": endpoint, **mode}
            script = "bare_metal/notest_dist_fit_a_line.py"
            server = self.start("server", script, TRAINING_ROLE="PSERVER", **env)
            server.until(lambda: f"Server listening on {endpoint}" in server.log(), "Server listening")
            # the same command twice
            trainers = [self.start(f"trainer{i}", script, TRAINING_ROLE="TRAINER", **env) for i in range(2)]
            self.falls(0.5, *[numbers(t.wait(), "mean loss ") for t in trainers])
            self.stop(server)

        self.each_mode(check)

    def test_linear_regression(self):
        script = "linear_regression/fluid_dist.py"

        def check(mode):
            hosts = ("127.0.0.1", "127.0.0.2")
            env = {"PADDLE_PSERVER_IPS": ",".join(hosts), "PADDLE_TRAINERS": "2",
                   "PADDLE_PSERVER_PORT": str(self.port(*hosts)), "EPOCHS": "10", **mode}
            servers = [self.start(f"server{i}", script, PADDLE_TRAINING_ROLE="PSERVER", PADDLE_CURRENT_IP=h, **env)
                       for i, h in enumerate(hosts)]
            trainers = [self.start(f"trainer{i}", script, PADDLE_TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID=str(i),
                                   **env)
                        for i in range(2)]
            losses = [numbers(t.wait(), "loss: ") for t in trainers]
            self.assertEqual([len(mine) for mine in losses], [10 * 5] * 2)
            self.falls(0.9, *[[sum(mine[i:i + 10]) for i in range(0, 50, 10)] for mine in losses])
            self.stop(*servers)

        self.each_mode(check)
        wrong = self.start("wrong", script, PADDLE_TRAINING_ROLE="NOBODY", PADDLE_PSERVER_IPS="127.0.0.1")
        wrong.wait(1)
        self.assertIn("should be one of [TRAINER, PSERVER]", wrong.log())

    def test_fleet(self):
        def check(mode):
            log = os.path.join(self.dir, "logs-" + mode["SYNC_MODE"])
            launcher = self.program("launcher", sys.executable, "-m", "paddle.distributed.launch_ps", "--worker_num",
                                    "2", "--server_num", "2", "--start_port", "0", "--log_dir", log,
                                    os.path.join(EXAMPLES, "fleet_mlp", "dist_train.py"), STEPS="201", **mode)
            launcher.wait()
            for i in range(2):
                with open(os.path.join(log, f"workerlog.{i}")) as f:
                    text = f.read()
                costs = numbers(text, rf"worker_index: {i}, step\d+ cost = ")
                self.assertEqual(len(costs), 3, text)
                self.assertTrue(0.3 < costs[0] < 3, text)  # of first values, which are random
                for cost in costs[1:]:  # there is nothing to learn: ln 2
                    self.assertTrue(0.5 < cost < 0.95, text)
                self.assertTrue(os.path.exists(os.path.join(log, f"serverlog.{i}")))

        self.each_mode(check)

    def lines(self, name):
        with open(os.path.join(self.dir, name), encoding="utf-8") as f:
            return sum(1 for _ in f)

    def test_word2vec(self):
        for name in ("prepare.py", "train.py"):
            shutil.copy(os.path.join(EXAMPLES, "word2vec", name), self.dir)
        self.program("prepare", sys.executable, "prepare.py", SPLIT_COUNT="3").wait()
        for kind in ("train", "test"):
            counts = [self.lines(kind + end) for end in (".txt", ".txt-00000", ".txt-00001", ".txt-00002")]
            self.assertGreater(counts[0], 900)
            self.assertEqual(counts[0], sum(counts[1:]))
        for mode in ("0", "1"):
            with self.subTest(asynchronous=mode):
                self.word2vec(mode)

    def word2vec(self, asynchronous):
        port = self.daemon("pserver" + asynchronous, "--num_gradient_servers=2")
        env = {"PADDLE_CLUSTER_TRAIN": "True", "PADDLE_INIT_USE_GPU": "False", "PADDLE_INIT_TRAINER_COUNT": "1",
               "PADDLE_INIT_PSERVERS": "127.0.0.1", "PADDLE_INIT_PORT": str(port),
               "PADDLE_INIT_PORTS_NUM": "1", "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": "0",
               "PADDLE_INIT_NUM_GRADIENT_SERVERS": "2", "PASSES": "2", "MAX_BATCHES": "101", "ASYNC": asynchronous}
        trainers = [self.program(f"trainer{i}", sys.executable, "-u", "train.py", OMPI_COMM_WORLD_RANK=str(i),
                                 PADDLE_INIT_TRAINER_ID=str(i), **env) for i in range(2)]
        outs = [t.wait() for t in trainers]
        self.falls(0.95, *[numbers(out, "Cost ") + numbers(out, "Testing cost ") for out in outs])
        with gzip.open(os.path.join(self.dir, "params_pass_1.tar.gz")) as f:
            import paddle.v2 as paddle
            parameters = paddle.parameters.Parameters.from_tar(f)
        self.assertEqual(parameters.names()[0], "_proj")
        self.assertEqual(len(parameters), 5)
        self.assertTrue(parameters["_proj"].any())

    def test_word2vec_alone(self):
        for name in ("prepare.py", "train.py"):
            shutil.copy(os.path.join(EXAMPLES, "word2vec", name), self.dir)
        self.program("prepare", sys.executable, "prepare.py").wait()
        out = self.program("alone", sys.executable, "train.py", PASSES="1", MAX_BATCHES="101").wait()
        self.assertRegex(out, r"Pass 0, Batch 100, Cost [0-9.]+, \{'classification_error_evaluator': ")


if __name__ == "__main__":
    import unittest

    unittest.main()
