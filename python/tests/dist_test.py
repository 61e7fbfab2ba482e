"""Jobs of separate processes on this machine."""
import os
import re
import signal
import time
import unittest

import numpy as np

from dist_support import HERE, JobCase, housing_job


def value(text):
    return float.fromhex(text)


class Sync(JobCase):
    def together(self, **options):
        self.start("one", *self.arguments("TOGETHER", [], 2, **options))
        self.wait("one")

    def finish(self, trainers=2):
        for i in range(trainers):
            self.wait("t%d" % i)

    def test_two_by_two_gives_the_bits_of_one_process(self):
        for optimizer in ("sgd", "adam"):
            with self.subTest(optimizer=optimizer):
                # Slices of 16 elements: w1 [6, 8] lies on both servers.
                self.job(optimizer=optimizer, block=16, save="saved")
                self.together(optimizer=optimizer, save="local")
                self.finish()
                self.assertEqual(len(self.weights("one")), 4)
                self.assertEqual(self.weights("t0"), self.weights("one"))
                self.assertEqual(self.weights("t1"), self.weights("one"))
                mean = [(value(a) + value(b)) / 2 for a, b in zip(self.numbers("t0"), self.numbers("t1"))]
                np.testing.assert_allclose(mean, [value(v) for v in self.numbers("one")], rtol=1e-6)
                # What trainer 0 saved is what one process saves, file by file.
                names = sorted(os.listdir(os.path.join(self.dir, "local")))
                self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "saved"))), names)
                for n in names:
                    with open(os.path.join(self.dir, "local", n), "rb") as a, open(os.path.join(self.dir, "saved", n),
                                                                                   "rb") as b:
                        self.assertEqual(a.read(), b.read(), n)
                for s in ("s0", "s1"):
                    self.stop(s)
                self.setUp()

    def test_trainers_without_ids_and_with_other_seeds_train_one_model(self):
        eps = self.endpoints(2)
        for i, e in enumerate(eps):
            self.start("s%d" % i, *self.arguments("PSERVER", eps, 2, endpoint=e))
        for i in range(2):
            self.start("t%d" % i, *self.arguments("TRAINER", eps, 2, seed=100 + 10 * i))
        self.finish()
        self.assertEqual(self.weights("t0"), self.weights("t1"))
        self.assertEqual(len(self.weights("t0")), 4)

    def test_a_script_that_never_closes_does_not_hold_others_up(self):
        eps = self.endpoints(1)
        self.start("s0", *self.arguments("PSERVER", eps, 2, endpoint=eps[0]))
        self.start("t0", *self.arguments("TRAINER", eps, 2, id=0, steps=3, close=0))
        self.start("t1", *self.arguments("TRAINER", eps, 2, id=1, steps=9, close=0))
        self.finish()
        self.assertEqual(len(self.numbers("t1")), 9)

    def test_a_script_that_falls_over_is_waited_for(self):
        eps = self.endpoints(1)
        self.start("s0", *self.arguments("PSERVER", eps, 2, endpoint=eps[0]))
        self.start("t0", *self.arguments("TRAINER", eps, 2, id=0, fall=2, close=0))
        self.start("t1", *self.arguments("TRAINER", eps, 2, id=1, steps=9, close=0))
        self.wait("t0", 1)
        self.wait_for("s0", "waiting for trainer 0 of 2: lost")
        self.assertIsNone(self.processes["t1"].poll())
        self.start("t2", *self.arguments("TRAINER", eps, 2, id=0, steps=2))
        self.wait("t2")
        self.wait("t1")

    def test_a_trainer_without_data_that_closes_is_not_waited_for(self):
        eps = self.endpoints(1)
        self.start("s0", *self.arguments("PSERVER", eps, 2, endpoint=eps[0]))
        self.start("t0", *self.arguments("TRAINER", eps, 2, id=0, steps=0))
        self.start("t1", *self.arguments("TRAINER", eps, 2, id=1, steps=4))
        self.finish()
        self.assertEqual(len(self.numbers("t1")), 4)

    def test_different_networks_are_refused(self):
        eps = self.endpoints(1)
        self.start("s0", *self.arguments("PSERVER", eps, 2, endpoint=eps[0]))
        self.start("t0", *self.arguments("TRAINER", eps, 2, id=0, hidden=9))
        self.wait("t0", 2)
        self.assertRegex(self.log("t0"), r"ConfigError: pserver 127\.0\.0\.1:\d+ refused: 'b1' is float32\[8\] in "
                                         r"this pserver's program and float32\[9\] in the trainer's.*different "
                                         r"networks")
        self.start("t1", *self.arguments("TRAINER", eps, 2, id=1))
        self.wait_for("s0", "trainer 1 .*joined at step 0")
        self.start("t2", *self.arguments("TRAINER", eps, 2, id=0, optimizer="adam"))
        self.wait("t2", 2)
        self.assertRegex(self.log("t2"), "refused: the program differs")
        self.assertIsNone(self.processes["t1"].poll())

    def test_a_pserver_that_is_not_there_is_waited_for_and_then_given_up(self):
        eps = self.endpoints(1)
        self.start("t0", *self.arguments("TRAINER", eps, 1, id=0), env={"FLAGS_rpc_deadline": "1500"})
        self.wait("t0", 7)
        text = self.log("t0")
        self.assertIn("server not ready, wait 3 sec to retry...\nnot ready endpoints:['%s']" % eps[0], text)
        self.assertRegex(text, "PeerError: gave up waiting for the parameter servers 127.0.0.1")
        self.assertEqual(self.output("t0"), "")

    def test_values_that_a_server_loaded_count(self):
        self.together(steps=4, save="model")
        eps = self.endpoints(2)
        for i, e in enumerate(eps):
            self.start("s%d" % i, *self.arguments("PSERVER", eps, 1, endpoint=e, load="model", block=16))
        self.start("t0", *self.arguments("TRAINER", eps, 1, id=0, steps=1, save="after", seed=77, block=16))
        self.wait("t0")
        a, b = (np.fromfile(os.path.join(self.dir, d, "w1"), "uint8")[-6 * 8 * 4:].view("float32")
                for d in ("model", "after"))
        self.assertLess(np.abs(a - b).max(), 0.05)  # one step away, and not a first value of seed 77
        self.assertGreater(np.abs(a - b).max(), 0)


class Faults(JobCase):
    def killed_server(self, env):
        eps = self.endpoints(2)

        def server(i):
            own = {k: os.path.join(self.dir, v) for k, v in env.items() if k.endswith("DIR")}
            self.start("s%d" % i, *self.arguments("PSERVER", eps, 2, endpoint=eps[i], block=16), env={**env, **own})

        for i in range(2):
            server(i)
            self.start("t%d" % i, *self.arguments("TRAINER", eps, 2, id=i, steps=40, pause=0.02, block=16))
        self.wait_for("t0", "(?m)^loss", 10, output=True)
        self.stop("s1", signal.SIGKILL, -signal.SIGKILL)
        server(1)
        for i in range(2):
            self.wait("t%d" % i)
        self.assertEqual(self.weights("t0"), self.weights("t1"))
        self.assertEqual(len(self.numbers("t0")), 40)
        return self.log("t0")

    def test_a_server_that_comes_back_from_a_snapshot(self):
        log = self.killed_server({"PADDLE_INIT_SNAPSHOT_DIR": "snapshots", "PADDLE_INIT_SNAPSHOT_PERIOD": "4"})
        self.assertRegex(log, "all pservers are back: going on with step")
        back = re.search(r"the (\d+) batches since then are not repeated", log)
        if back:
            self.assertLessEqual(int(back.group(1)), 12)

    def test_a_server_that_comes_back_empty(self):
        log = self.killed_server({})
        self.assertRegex(log, "the pservers are at step 0, .* batches since then are not repeated")

    def test_a_server_that_was_stopped_and_started_again_changes_no_bit(self):
        env = {"PADDLE_INIT_SNAPSHOT_DIR": os.path.join(self.dir, "snapshots")}
        eps = self.endpoints(2)
        for i in range(2):
            self.start("s%d" % i, *self.arguments("PSERVER", eps, 2, endpoint=eps[i], block=16), env=env)
            self.start("t%d" % i, *self.arguments("TRAINER", eps, 2, id=i, steps=60, pause=0.01, block=16))
        self.wait_for("t0", "(?m)^loss", 10, output=True)
        self.stop("s1")  # SIGTERM: a snapshot of this step is its last act
        self.start("s1", *self.arguments("PSERVER", eps, 2, endpoint=eps[1], block=16), env=env)
        self.start("one", *self.arguments("TOGETHER", [], 2, steps=60))
        for name in ("t0", "t1", "one"):
            self.wait(name)
        self.assertIn("restored the snapshot of step", self.log("s1"))
        self.assertNotIn("not repeated", self.log("t0") + self.log("t1"))
        self.assertEqual(self.weights("t0"), self.weights("one"))
        self.assertEqual(self.weights("t1"), self.weights("one"))

    def test_a_trainer_that_was_killed_and_started_again(self):
        eps = self.job(steps=30, pause=0.02)
        self.wait_for("t1", "(?m)^loss", 5, output=True)
        self.stop("t1", signal.SIGKILL, -signal.SIGKILL)
        self.start("t2", *self.arguments("TRAINER", eps, 2, id=1, steps=5))
        self.wait("t2")
        self.wait("t0")
        self.assertIn("this trainer takes part from step", self.log("t2"))

    def test_interrupts_end_waits(self):
        eps = self.endpoints(1)
        self.start("t0", *self.arguments("TRAINER", eps, 2, id=0))
        self.wait_for("t0", "server not ready")
        self.stop("t0", signal.SIGINT, -signal.SIGINT)
        self.start("s0", *self.arguments("PSERVER", eps, 2, endpoint=eps[0]))
        self.wait_for("s0", "Server listening on " + eps[0])
        self.start("t1", *self.arguments("TRAINER", eps, 2, id=0))  # waits for the other trainer inside a step
        self.wait_for("s0", "trainer 0 .*joined at step 0")
        begun = time.monotonic()
        self.stop("t1", signal.SIGINT, -signal.SIGINT)
        self.stop("s0", signal.SIGINT, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", self.log("t1"))
        self.assertIn("KeyboardInterrupt", self.log("s0"))
        self.assertLess(time.monotonic() - begun, 40)  # FLAGS_rpc_deadline is 60 s


class Modes(JobCase):
    def check(self, mode):
        self.job(mode=mode, steps=150, pause=0.002, save="saved")
        losses = []
        for i in range(2):
            self.wait("t%d" % i)
            losses.append([value(v) for v in self.numbers("t%d" % i)])
        self.assertEqual([len(own) for own in losses], [150, 150])
        untrained = max(sum(own[:20]) for own in losses)  # who starts late begins with what the other has learned
        for own in losses:
            self.assertLess(sum(own[-20:]), 0.7 * untrained)
        self.assertIn("w1", os.listdir(os.path.join(self.dir, "saved")))

    def test_async(self):
        self.check("async")

    def test_half_async(self):
        self.check("half_async")

    def test_geo(self):
        self.check("geo")


class Daemons(JobCase):
    """Python and the daemons together."""

    def setUp(self):
        super().setUp()
        self.build = os.environ.get("PADDLE_TEST_BUILD", "")
        self.pserver = os.path.join(self.build, "daemons", "pserver", "paddle_pserver")
        self.trainer = os.path.join(self.build, "daemons", "trainer", "paddle_trainer")
        if not os.path.exists(self.pserver) or not os.path.exists(self.trainer):
            self.skipTest("the daemons are not built")

    def test_a_python_trainer_against_a_pserver_daemon(self):
        eps = self.endpoints(1)
        port = eps[0].rpartition(":")[2]
        self.start("s0", command=[self.pserver, "--host=127.0.0.1", "--port=" + port, "--ports_num_for_sparse=0",
                                  "--num_gradient_servers=2", "--exit_when_done", "--log_dir="])
        for i in range(2):
            self.start("t%d" % i, *self.arguments("TRAINER", eps, 2, id=i))
        self.start("one", *self.arguments("TOGETHER", [], 2))
        for name in ("t0", "t1", "one", "s0"):
            self.wait(name)
        self.assertEqual(self.weights("t0"), self.weights("one"))

    def test_a_job_with_a_token(self):
        """Pserver and trainers are scripts. A trainer without the token is refused, with a ConfigError."""
        eps = self.endpoints(1)
        token = os.path.join(self.dir, "token")
        with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write("5a" * 32 + "\n")
        has = {"PADDLE_TOKEN_FILE": token}
        self.start("s0", *self.arguments("PSERVER", eps, 2, endpoint=eps[0]), env=has)
        self.wait_for("s0", "Server listening")
        self.start("stranger", *self.arguments("TRAINER", eps, 2, id=0))
        self.wait("stranger", 2)
        self.assertRegex(self.log("stranger"), "ConfigError.*--token_file")
        for i in range(2):
            self.start("t%d" % i, *self.arguments("TRAINER", eps, 2, id=i), env=has)
        self.start("one", *self.arguments("TOGETHER", [], 2))
        for name in ("t0", "t1", "one"):
            self.wait(name)
        self.assertEqual(self.weights("t0"), self.weights("one"))
        os.chmod(token, 0o644)
        self.start("open", *self.arguments("TRAINER", eps, 2, id=0), env=has)
        self.wait("open", 2)
        self.assertRegex(self.log("open"), "ConfigError.*chmod 600")
        self.stop("s0")

    def test_a_trainer_daemon_against_a_pserver_in_python(self):
        """The networks of the script and of the job file are the same; the daemon places slices as scripts do."""
        eps = self.endpoints(1)
        job = os.path.join(self.dir, "job.json")
        with open(job, "w") as f:
            f.write(housing_job({"type": "sgd", "learning_rate": 0.001}))
        self.start("s0", script=os.path.join(HERE, "guides", "bare_metal.py"),
                   env={"PSERVERS": eps[0], "SERVER_ENDPOINT": eps[0], "TRAINING_ROLE": "PSERVER",
                        "TRAINER_COUNT": "1"})
        self.wait_for("s0", "Server listening")
        self.start("t0", command=[self.trainer, "--config=" + job, "--pservers=" + eps[0], "--split_method=round_robin",
                                  "--num_passes=2", "--save_dir=out", "--num_gradient_servers=1", "--log_dir="])
        self.wait("t0")
        self.wait_for("s0", "the job 'default' is done")
        self.assertIn("fc_0.w_0", os.listdir(os.path.join(self.dir, "out", "pass-00001")))
        self.stop("s0")


if __name__ == "__main__":
    unittest.main()
