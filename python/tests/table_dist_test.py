"""Sparse tables of scripts on pservers: the same bits as in one process, tested while they train, saved and loaded."""
import os
import struct
import unittest

import numpy as np
from dist_support import HERE, JobCase

import paddle.fluid as fluid

SCRIPT = os.path.join(HERE, "table_script.py")


class TableJobs(JobCase):
    def job(self, name, servers=2, trainers=1, load="", server_load="", **options):
        """Runs it; the output of trainer 0."""
        endpoints = self.endpoints(servers)
        given = [f"{k}={v}" for k, v in options.items()] + [f"pservers={','.join(endpoints)}", f"trainers={trainers}"]
        for e in endpoints:
            self.start(f"{name}s{e[-5:]}", "role=PSERVER", f"endpoint={e}", f"load={server_load}", *given,
                       script=SCRIPT)
        for i in range(trainers):
            self.start(f"{name}t{i}", "role=TRAINER", f"id={i}", f"load={load}", *given, script=SCRIPT)
        for i in range(trainers):
            self.wait(f"{name}t{i}")
        return self.lines(f"{name}t0")

    def local(self, name, **options):
        self.start(name, *[f"{k}={v}" for k, v in options.items()], script=SCRIPT)
        self.wait(name)
        return self.lines(name)

    def lines(self, name):
        with open(os.path.join(self.dir, name + ".log.out")) as f:
            return [line.strip() for line in f]

    def test_the_bits_of_one_process(self):
        for kind in ("distributed", "sparse"):
            for optimizer in ("adagrad", "adam"):
                with self.subTest(f"{kind} {optimizer}"):
                    keys = {"kind": kind, "optimizer": optimizer}
                    expected = self.local(f"local-{kind}-{optimizer}", **keys)
                    self.assertEqual(len([x for x in expected if x.startswith("test")]), 4)
                    self.assertEqual(self.job(f"{kind}-{optimizer}", **keys), expected)

    def test_two_trainers_over_any_number_of_pservers(self):
        one, three = self.job("one", 1, 2), self.job("three", 3, 2)
        self.assertEqual(one, three)
        self.assertGreater(len(one), 12)

    def test_saved_and_loaded(self):
        """Trainers load parameters, pservers the state of optimizers as well."""
        for kind, optimizer in (("distributed", "adam"), ("distributed", "adagrad"), ("sparse", "adagrad"),
                                ("sparse", "sgd")):
            with self.subTest(f"{kind} {optimizer}"):
                keys = {"kind": kind, "optimizer": optimizer}
                whole = self.local(f"whole-{kind}-{optimizer}", **keys)
                saved = os.path.join(self.dir, f"saved-{kind}-{optimizer}")
                before = self.job(f"before-{kind}-{optimizer}", steps=6, save=saved, **keys)
                self.assertEqual(before, whole[:len(before)])
                self.assertEqual("emb.table" in os.listdir(saved), kind == "distributed")
                self.assertEqual("emb" in os.listdir(saved), kind == "sparse")
                rest = whole[len(before):]
                more = {"first": 6, "steps": 6, "seed": 3, **keys}
                self.assertEqual(self.local(f"more-{kind}-{optimizer}", load=saved, **more), rest)
                if optimizer == "sgd":
                    self.assertEqual(self.job(f"sent-{kind}-{optimizer}", 3, load=saved, **more), rest)
                if optimizer != "adam":  # its powers follow from the step of the job, which begins anew
                    self.assertEqual(self.job(f"kept-{kind}-{optimizer}", 3, server_load=saved, **more), rest)

    def test_fluids_streams(self):
        """A model has them, one for each pserver, and training goes on from them where the optimizer has no state."""
        whole = self.local("whole", optimizer="sgd")
        saved = os.path.join(self.dir, "saved")
        before = self.job("before", optimizer="sgd", steps=6, save=saved)
        streams = os.path.join(saved, "__lookup_table__")
        self.assertEqual(sorted(os.listdir(streams)), ["emb_0", "emb_1"])
        self.assertEqual(sorted(os.listdir(os.path.join(saved + "_inference", "__lookup_table__"))), ["emb_0", "emb_1"])
        for k in range(2):
            with open(os.path.join(streams, f"emb_{k}"), "rb") as f:
                count, = struct.unpack_from("<Q", f.read(12), 4)
                ids = struct.unpack(f"<{count}q", f.read(8 * count))
            self.assertGreater(count, 5)
            self.assertEqual({i % 2 for i in ids}, {k})
        os.remove(os.path.join(saved, "emb.table"))
        rest = whole[len(before):]
        more = {"first": 6, "steps": 6, "seed": 3, "optimizer": "sgd"}
        self.assertEqual(self.local("more", load=saved, **more), rest)
        self.assertEqual(self.job("sent", 3, load=saved, **more), rest)
        self.assertEqual(self.job("kept", 3, server_load=saved, **more), rest)

    def test_an_inference_model(self):
        for kind in ("distributed", "sparse"):
            with self.subTest(kind):
                saved = os.path.join(self.dir, f"model-{kind}")
                lines = self.job(f"model-{kind}", kind=kind, steps=10, save=saved)
                expected = float.fromhex([x for x in lines if x.startswith("test")][-1].split()[1])
                scope = fluid.Scope()
                with fluid.scope_guard(scope):
                    exe = fluid.Executor(fluid.CPUPlace())
                    program, feeds, fetches = fluid.io.load_inference_model(saved + "_inference", exe)
                    ids = np.arange(0, 200, 7, dtype="int64").reshape(-1, 1)
                    score, = exe.run(program, feed={feeds[0]: ids}, fetch_list=fetches)
                self.assertAlmostEqual(float(np.mean((score - 1)**2)), expected, places=5)

    def test_after_the_trainer_has_left(self):
        sparse = self.job("sparse", kind="sparse", after=1)
        self.assertEqual(sparse[-1], "saved")
        tests = [x for x in sparse if x.startswith("test")]
        self.assertNotEqual(tests[-1], tests[-2])
        last = self.job("distributed", after=1)[-1]
        self.assertTrue(last.startswith("refused"), last)
        self.assertIn("are on the pservers, and this trainer has left the job", last)

    def test_geo(self):
        """One trainer equals a local run, but for rounding, also in what is saved."""
        for kind in ("distributed", "sparse"):
            with self.subTest(kind):
                saved = os.path.join(self.dir, f"geo-{kind}")
                expected = self.local(f"whole-geo-{kind}", kind=kind)
                lines = self.job(f"geo-{kind}", kind=kind, mode="geo", save=saved)
                self.assertEqual(len(lines), len(expected))
                for a, b in zip(expected, lines):
                    self.assertAlmostEqual(float.fromhex(a.split()[1]), float.fromhex(b.split()[1]), places=4)
                self.assertEqual("emb.table" in os.listdir(saved), kind == "distributed")
                self.assertEqual("emb" in os.listdir(saved), kind == "sparse")


if __name__ == "__main__":
    unittest.main()
