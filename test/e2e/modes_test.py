"""Async, half-async and geo: they train as well as one process does, within a margin, and exactly once through faults."""
import os
import re
import signal
import unittest

from cluster import Cluster, write_job
from counting import MODES as COUNTING_MODES
from counting import CountingTest, write_counter
from proxy import Plan, Proxy
from runner import shared
from support import DATA, EndToEnd, last_number, main

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"
# Of accuracy on test images, below a local run's. Where more processes than processors share a machine, async computes with
# parameters that are several updates old; that matters less as the learning rate falls.
PASSES = 8
MARGIN, ASYNC_MARGIN = (0.01, 0.01) if FULL else (0.02, 0.03)
MODES = {"async": ["--async"], "half_async": ["--half_async"], "geo": ["--geo_steps=10"]}
ACCURACY = r"Test samples=\d+ cost=[0-9.e-]+ Eval: accuracy="
TESTED = r"samples=\d+ AvgCost=[0-9.e-]+ Eval: accuracy="


class Quality(EndToEnd):
    """recognize_digits_mlp, on the real images where they are, else on drawn ones."""

    def flags(self):
        return [f"--num_passes={PASSES}", "--log_period=0", *([f"--data_dir={DATA}"] if os.path.isdir(DATA) else [])]

    def local_accuracy(self):
        return shared("local accuracy", lambda: last_number(self.train("recognize_digits_mlp.json", *self.flags()).stderr, ACCURACY))

    def reaches(self, mode):
        config = os.path.join(os.environ["PADDLE_TEST_SOURCE"], "configs", "recognize_digits_mlp.json")
        cluster = Cluster(self, config, 2, 2, server_flags=["--exit_when_done"], trainer_flags=[*self.flags(), *MODES.get(mode, [])],
                          name=mode + "-").start()
        for process in cluster.trainers + cluster.servers:
            process.wait(0, 600)
        model = os.path.join(cluster.save_dir, f"pass-{PASSES - 1:05d}")
        found = last_number(self.train(config, "--job=test", f"--init_model_path={model}", *self.flags()).stdout, TESTED)
        self.assertGreater(found, self.local_accuracy() - (ASYNC_MARGIN if mode == "async" else MARGIN))

    @unittest.skipUnless(FULL, "the tests of bits compare sync with one process; its quality with --full")
    def test_sync(self):
        self.reaches("sync")

    def test_async(self):
        self.reaches("async")

    def test_half_async(self):
        self.reaches("half_async")

    def test_geo(self):
        self.reaches("geo")


class Async(EndToEnd):
    def cluster(self, mode, name="", passes=20, servers=2, trainers=2, server_flags=(), **more):
        job = write_job(self, '{"type": "sgd", "learning_rate": 0.05}', records=1000, batch=5, dropout=0.0)
        return Cluster(self, job, servers, trainers, server_flags=["--exit_when_done", *server_flags], name=name,
                       trainer_flags=[f"--num_passes={passes}", "--min_block_size=64", "--log_period=1", *MODES[mode]], **more)

    def learned(self, cluster):
        """The job ends, and every trainer's last pass has a good cost."""
        cluster.finish()
        for t in cluster.trainers:
            self.assertLess(last_number(t.log(), r" Pass=\d+ Batch=\d+ samples=\d+ AvgCost="), 0.3, cluster.logs())

    def test_a_geo_job_of_one_trainer_is_a_local_run(self):
        job = write_job(self, '{"type": "adam", "learning_rate": 0.01}')
        flags = ["--num_passes=3", "--log_period=0"]
        self.train(job, *flags, "--save_dir=local")
        found = Cluster(self, job, 2, 1, server_flags=["--exit_when_done"], trainer_flags=[*flags, "--geo_steps=7", "--min_block_size=64"],
                        name="geo-").run()
        local = self.files(self.path("local", "pass-00002"))
        self.assertEqual(sorted(local), sorted(found))
        for name in ("h.w_0", "p.w_0", "p.b_0"):
            size = 4 * 5
            a, b = (memoryview(m[name][-size:]).cast("f") for m in (local, found))
            for x, y in zip(a, b):
                self.assertAlmostEqual(x, y, delta=1e-4)

    def test_staleness_stays_within_its_bound(self):
        """Too old gradients are dropped, counted and logged; with the bound off nothing is."""
        for bound in (1, 0):
            with self.subTest(bound=bound):
                cluster = self.cluster("async", f"bound{bound}-", servers=1, trainers=3, server_flags=[f"--max_staleness={bound}"])
                self.learned(cluster.start())
                logged = [t for t in cluster.trainers if re.search(r"[1-9]\d* gradients were too old and not applied", t.log())]
                (self.assertTrue if bound else self.assertFalse)(logged, cluster.logs())

    def test_a_killed_trainer_goes_on(self):
        for mode in MODES:
            with self.subTest(mode):
                cluster = self.cluster(mode, mode + "-").start()
                cluster.trainers[1].wait_line(r" Pass=4 ")
                cluster.trainers[1].kill()
                line = cluster.start_trainer(1).wait_line(r"joined as trainer 1 of 2 at step (\d+)")
                self.assertGreater(int(line), 300)
                self.learned(cluster)

    def test_a_killed_pserver_comes_back(self):
        """With a snapshot it goes on from there; without one it gets a trainer's values. Both are logged."""
        for mode in MODES:
            for snapshots in (True, False):
                with self.subTest(mode=mode, snapshots=snapshots):
                    name = f"{mode}-{snapshots}-"
                    keep = [f"--snapshot_dir={self.path(name)}", "--snapshot_period=50"] if snapshots else []
                    cluster = self.cluster(mode, name, server_flags=[], passes=30)
                    cluster.server_flags = lambda i: ["--exit_when_done", *[k + str(i) if "dir" in k else k for k in keep]]
                    cluster.start()
                    cluster.trainers[0].wait_line(r" Pass=5 ")
                    cluster.servers[1].kill()
                    cluster.start_server(1)
                    self.learned(cluster)
                    if not snapshots:
                        self.assertTrue(any("came back empty" in t.log() for t in cluster.trainers), cluster.logs())

    def test_through_a_bad_network(self):
        for mode in MODES:
            with self.subTest(mode):
                proxy = Proxy(Plan(3, faults=15, cut_after=(1, 100000), drop_share=0.1))
                self.addCleanup(proxy.close)
                self.learned(self.cluster(mode, mode + "-", through=proxy).start())
                self.assertGreater(proxy.counts["cuts"], 4, proxy.counts)

    def test_unequal_data_and_one_too_slow(self):
        """Nobody waits for the other: a trainer that stands still does not hold up the rest."""
        for mode in MODES:
            with self.subTest(mode):
                cluster = self.cluster(mode, mode + "-").start()
                cluster.trainers[1].wait_line(r" Pass=1 ")
                cluster.trainers[1].signal(signal.SIGSTOP)
                cluster.trainers[0].wait_line(r" Pass=19 ")
                cluster.trainers[1].signal(signal.SIGCONT)
                self.learned(cluster)


class Numbers(CountingTest):
    """Gradients that are finite, of parameters that would not be."""

    def test_a_parameter_that_would_become_infinite(self):
        job = write_counter(self)
        self.write("ones.csv", "1e38\n" * 4)
        with open(job, encoding="utf-8") as f:
            text = f.read()
        self.write("counter.json", text.replace('"learning_rate": 1}', '"learning_rate": 10}'))
        for mode, code, words in (("half_async", 5, r"trainer 0 \(.*: its gradient for 'w\d', step 0, .* the parameter would become infinite"),
                                  ("async", 5, r"trainer 0 \(.*: its gradient for 'w\d', step 0, .* the parameter would become infinite"),
                                  ("sync", 7, r"the job ended: the update of 'w\d' to version 1 makes NaN or Inf, from a gradient that is finite")):
            with self.subTest(mode):
                cluster = Cluster(self, job, 1, 1, trainer_flags=["--num_passes=3", *COUNTING_MODES[mode]], name=f"infinite-{mode}-").start()
                cluster.trainers[0].wait(code)
                self.assertRegex(cluster.trainers[0].log(), words)
                self.assertRegex(cluster.servers[0].log(), words.replace("the job ended: ", ""))


class Statistics(EndToEnd):
    def test_those_of_batch_norm_begin_anew_with_a_warning(self):
        job = write_job(self, records=1000, batch=5)
        with open(job, encoding="utf-8") as f:
            text = f.read()
        normed = '{"type": "batch_norm", "name": "n", "input": "h"}, {"type": "dropout", "name": "d", "input": "n"'
        self.write("job.json", text.replace('{"type": "dropout", "name": "d", "input": "h"', normed))
        cluster = Cluster(self, job, 1, 2, server_flags=["--exit_when_done"], trainer_flags=["--num_passes=20", "--log_period=1"], name="norm-")
        cluster.start()
        warning = r"the moving statistics n\.w_1 and n\.w_2 live in each trainer and start anew with this process"
        cluster.trainers[1].wait_line(r" Pass=1 ")
        self.assertNotRegex(cluster.trainers[1].log(), warning)
        cluster.trainers[1].kill()
        cluster.start_trainer(1).wait_line(warning)
        cluster.finish()


if __name__ == "__main__":
    main()
