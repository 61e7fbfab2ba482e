"""fluid.DatasetFactory and Executor.train_from_dataset."""
import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np

import paddle.fluid as fluid


class Slots(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(fluid.program_guard(fluid.Program(), fluid.Program()))
        self.enterContext(fluid.scope_guard(fluid.Scope()))
        self.enterContext(fluid.unique_name.guard())
        self.dense = fluid.layers.data(name="dense", shape=[2], dtype="float32")
        self.ids = fluid.layers.data(name="ids", shape=[1], dtype="int64", lod_level=1)
        self.label = fluid.layers.data(name="label", shape=[1], dtype="float32")

    def network(self, learning_rate=0.05):
        table = fluid.layers.embedding(self.ids, size=[50, 1], is_sparse=True,
                                       param_attr=fluid.ParamAttr(name="table",
                                                                  initializer=fluid.initializer.Constant(0.0)))
        guess = fluid.layers.fc(self.dense, size=1, bias_attr=False,
                                param_attr=fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.0)))
        guess = guess + fluid.layers.sequence_pool(table, "sum")
        self.cost = fluid.layers.mean(fluid.layers.square_error_cost(guess, self.label))
        self.test_program = fluid.default_main_program().clone(for_test=True)
        fluid.optimizer.SGD(learning_rate=learning_rate).minimize(self.cost)
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.exe.run(fluid.default_startup_program())

    def write(self, files=3, records=20, seed=1):
        """Files of records whose labels are a linear function; the records as lists too."""
        r = random.Random(seed)
        names, out = [], []
        for f in range(files):
            names.append(os.path.join(self.dir, f"part-{f}"))
            with open(names[-1], "w") as file:
                for _ in range(records):
                    d = [round(r.uniform(-1, 1), 3), round(r.uniform(-1, 1), 3)]
                    ids = [r.randrange(50) for _ in range(r.randint(1, 4))]
                    label = round(2 * d[0] - d[1] + sum(i % 3 for i in ids), 3)
                    file.write(f"2 {d[0]} {d[1]} {len(ids)} {' '.join(map(str, ids))} 1 {label}\n")
                    out.append((d, ids, label))
        return names, out

    def dataset(self, kind="QueueDataset", files=(), threads=1, batch=8, command=None):
        d = fluid.DatasetFactory().create_dataset(kind)
        d.set_use_var([self.dense, self.ids, self.label])
        d.set_batch_size(batch)
        d.set_thread(threads)
        d.set_filelist(list(files))
        if command:
            d.set_pipe_command(command)
        return d

    def value(self, name):
        return np.array(fluid.global_scope().find_var(name).get_tensor())

    def test_a_loader_of_a_data_set(self):
        names, records = self.write(files=2, records=10)
        for kind in ("QueueDataset", "InMemoryDataset"):
            d = self.dataset(kind, names, batch=8)
            if kind == "InMemoryDataset":
                d.load_into_memory()
            for drop_last, wanted in ((True, [8, 8]), (False, [8, 8, 4])):
                feeds = list(fluid.io.DataLoader.from_dataset(d, fluid.cpu_places(), drop_last=drop_last)())
                self.assertEqual([len(feed["label"]) for (feed,) in feeds], wanted)
                self.assertEqual(feeds[0][0]["ids"].recursive_sequence_lengths(), [[len(r[1]) for r in records[:8]]])
                np.testing.assert_allclose(feeds[1][0]["dense"].numpy(), [r[0] for r in records[8:16]], rtol=1e-6)
        self.network()
        (cost,) = self.exe.run(self.test_program, feed=feeds[0], fetch_list=[self.cost])
        self.assertAlmostEqual(float(cost[0]), np.mean([r[2]**2 for r in records[:8]]), places=4)
        with self.assertRaisesRegex(TypeError, "QueueDataset or an InMemoryDataset"):
            fluid.io.DataLoader.from_dataset("files", None)

    def test_one_thread_is_the_plain_loop(self):
        names, records = self.write()
        self.network()
        self.exe.train_from_dataset(dataset=self.dataset(files=names))
        trained = self.value("w"), self.value("table")
        self.exe.run(fluid.default_startup_program())
        feeder = fluid.DataFeeder(feed_list=[self.dense, self.ids, self.label], place=fluid.CPUPlace())
        for i in range(0, len(records), 8):
            self.exe.run(feed=feeder.feed(records[i:i + 8]))
        np.testing.assert_array_equal(trained[0], self.value("w"))
        np.testing.assert_array_equal(trained[1], self.value("table"))
        self.assertNotEqual(trained[0].tolist(), [[0.0], [0.0]])

    def test_memory_is_the_same(self):
        names, _ = self.write()
        self.network()
        self.exe.train_from_dataset(dataset=self.dataset(files=names))
        trained = self.value("w")
        self.exe.run(fluid.default_startup_program())
        d = self.dataset("InMemoryDataset", names)
        with self.assertRaisesRegex(RuntimeError, "load_into_memory"):
            self.exe.train_from_dataset(dataset=d)
        d.preload_into_memory(2)
        d.wait_preload_done()
        self.assertEqual(d.get_memory_data_size(), 60)
        self.exe.train_from_dataset(dataset=d, thread=1)
        np.testing.assert_array_equal(trained, self.value("w"))
        self.exe.run(fluid.default_startup_program())
        random.seed(3)
        d.global_shuffle()
        self.exe.train_from_dataset(dataset=d, thread=1)
        self.assertNotEqual(trained.tolist(), self.value("w").tolist())
        np.testing.assert_allclose(trained, self.value("w"), atol=0.2)
        d.release_memory()
        with self.assertRaisesRegex(RuntimeError, "holds no records"):
            d.get_memory_data_size()

    def test_file_instant_is_a_queue(self):
        names, _ = self.write()
        self.network()
        self.exe.train_from_dataset(dataset=self.dataset(files=names))
        trained = self.value("w")
        self.exe.run(fluid.default_startup_program())
        d = self.dataset("FileInstantDataset", names)
        self.assertIn('name: "MultiSlotFileInstantDataFeed"', d.desc())
        self.exe.train_from_dataset(dataset=d)
        np.testing.assert_array_equal(trained, self.value("w"))
        with self.assertRaisesRegex(NotImplementedError, "please use InMemoryDataset"):
            d.local_shuffle()

    def batches(self, d):
        return [{name: np.array(t) for name, t in feed.items()} for _, feed in d._batches()]

    def test_slots_are_shuffled_by_themselves(self):
        names, _ = self.write()
        d = self.dataset("InMemoryDataset", names, batch=60)
        d.load_into_memory()
        (before,), _ = self.batches(d), random.seed(4)
        d.slots_shuffle(["dense"])
        (after,) = self.batches(d)
        self.assertFalse(np.array_equal(before["dense"], after["dense"]))
        np.testing.assert_array_equal(np.sort(before["dense"], 0), np.sort(after["dense"], 0))
        for name in ("ids", "label"):
            np.testing.assert_array_equal(before[name], after[name])
        with self.assertRaisesRegex(ValueError, "no slot 'dens'"):
            d.slots_shuffle(["dens"])
        with self.assertRaisesRegex(TypeError, "takes a list"):
            d.slots_shuffle("dense")

    def test_ids_of_records(self):
        names, _ = self.write(files=1)
        plain = self.dataset("InMemoryDataset", names, batch=60)
        plain.load_into_memory()
        (expected,) = self.batches(plain)
        d = self.dataset("InMemoryDataset", names, batch=60, command="sed 's/^/1 some-id /'")
        d.set_parse_ins_id(True)
        d.load_into_memory()
        (found,) = self.batches(d)
        for name, array in expected.items():
            np.testing.assert_array_equal(array, found[name])
        d = self.dataset("InMemoryDataset", names)
        d.set_parse_ins_id(True)
        with self.assertRaisesRegex(ValueError, "part-0:1: expected '1' and the id of the record"):
            d.load_into_memory()

    def test_merges_records_by_id(self):
        lines = os.path.join(self.dir, "lines")
        with open(lines, "w") as f:
            f.write("1 b 2 0 0 1 7 1 0\n1 a 2 1 2 1 0 1 0\n1 b 2 3 4 1 0 1 1\n1 a 2 0 0 2 5 6 1 0\n"
                    "1 alone 2 1 1 1 9 1 1\n")
        d = self.dataset("InMemoryDataset", [lines], batch=60)
        d.set_merge_by_lineid(2)
        d.load_into_memory()
        self.assertEqual(d.get_memory_data_size(), 5)
        for _ in range(2):  # a second time there is nothing to merge
            d.global_shuffle()
            (found,) = self.batches(d)
            self.assertEqual(sorted(found["dense"].tolist()), [[1, 2], [3, 4]])
            self.assertEqual(sorted(found["label"].reshape(-1).tolist()), [0, 1])
            self.assertEqual(sorted(np.asarray(found["ids"]).reshape(-1).tolist()), [5, 6, 7])
        with self.assertRaisesRegex(RuntimeError, "before the files are loaded"):
            d.set_merge_by_lineid(2)
        with self.assertRaisesRegex(ValueError, "merge_size"):
            self.dataset("InMemoryDataset", []).set_merge_by_lineid(-1)

    def test_threads_learn_together(self):
        names, _ = self.write(files=12, records=100)
        self.network(0.02)
        for kind, threads in (("QueueDataset", 1), ("QueueDataset", 2), ("QueueDataset", 4), ("InMemoryDataset", 3)):
            self.exe.run(fluid.default_startup_program())
            d = self.dataset(kind, names, threads=threads)
            if kind == "InMemoryDataset":
                d.load_into_memory()
            for _ in range(15):
                d.set_filelist(names)
                self.exe.train_from_dataset(dataset=d)
            np.testing.assert_allclose(self.value("w").reshape(-1), [2, -1], atol=0.2)

    def test_prints_to_stdout(self):
        names, _ = self.write()
        self.network()
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.exe.train_from_dataset(dataset=self.dataset(files=names), fetch_list=[self.cost], fetch_info=["loss"],
                                        print_period=3)
        name = self.cost.name
        self.assertRegex(out.getvalue(), rf"^(loss\t{name}\t\tlod: {{}}\n\tdim: 1\n\tlayout: NCHW\n\tdtype: float\n"
                                         r"\tdata: \[[-0-9.e]+\]\n\t\n){2}$")

    def test_inference_changes_nothing(self):
        names, _ = self.write()
        self.network()
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.exe.infer_from_dataset(self.test_program, self.dataset(files=names), fetch_list=[self.cost],
                                        print_period=1)
        self.assertEqual(self.value("w").tolist(), [[0.0], [0.0]])
        self.assertEqual(out.getvalue().count("data: ["), 8)

    def test_debug_tells_costs_on_stderr(self):
        names, _ = self.write(files=1, records=1000)
        script = textwrap.dedent(f"""
            import paddle.fluid as fluid
            dense = fluid.layers.data(name="dense", shape=[2], dtype="float32")
            ids = fluid.layers.data(name="ids", shape=[1], dtype="int64", lod_level=1)
            label = fluid.layers.data(name="label", shape=[1], dtype="float32")
            cost = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(dense, size=1), label))
            fluid.optimizer.SGD(learning_rate=0.01).minimize(cost)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            d = fluid.DatasetFactory().create_dataset()
            d.set_use_var([dense, ids, label]); d.set_batch_size(10); d.set_thread(1); d.set_filelist({names!r})
            exe.train_from_dataset(dataset=d, debug=True)
        """)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertRegex(done.stderr, r"op_name:\[0\]\[\w+\], op_mean_time:\[[0-9.]+s\]")
        self.assertRegex(done.stderr, r"mean read time: [0-9.]+s\nIO percent: [0-9.]+\n *[0-9.]+ instances/s")

    def test_pipe_command(self):
        path = os.path.join(self.dir, "raw")
        with open(path, "w") as f:
            f.write("0.5,0.25,3,9\n" * 5)
        script = os.path.join(self.dir, "generator.py")
        with open(script, "w") as f:
            f.write(textwrap.dedent("""
                from paddle.fluid.incubate.data_generator import MultiSlotDataGenerator
                class Raw(MultiSlotDataGenerator):
                    def generate_sample(self, line):
                        a, b, i, y = line.split(",")
                        return lambda: iter([[("dense", [float(a), float(b)]), ("ids", [int(i)]), ("label",
                        [float(y)])]])
                Raw().run_from_stdin()
            """))
        self.network()
        self.exe.train_from_dataset(dataset=self.dataset(files=[path], command=f"{sys.executable} {script}"))
        self.assertGreater(self.value("w")[0, 0], 0)
        with self.assertRaisesRegex(ValueError, r"raw: the pipe command 'exit 4' ended with exit code 4"):
            self.exe.train_from_dataset(dataset=self.dataset(files=[path], command="exit 4"))

    def test_ctrl_c_ends_a_pass_that_waits(self):
        """And the commands that read the files: the pipe of stderr, which they have, is closed."""
        self.interrupt("QueueDataset", "fluid.Executor(fluid.CPUPlace()).train_from_dataset(dataset=d)")

    def test_ctrl_c_ends_loading(self):
        for call in ("d.load_into_memory()", "d.preload_into_memory(); d.wait_preload_done()"):
            for command in ("sleep 1000", "yes 1 2"):
                with self.subTest(call=call, command=command):
                    self.interrupt("InMemoryDataset", call, command)

    def interrupt(self, kind, call, command="sleep 1000"):
        names, _ = self.write(files=1)
        script = os.path.join(self.dir, "waits.py")
        with open(script, "w") as f:
            f.write(textwrap.dedent(f"""
                import sys
                import paddle.fluid as fluid
                x = fluid.layers.data(name="x", shape=[1], dtype="float32")
                y = fluid.layers.reduce_sum(x)
                d = fluid.DatasetFactory().create_dataset({kind!r})
                d.set_use_var([x]); d.set_thread(2); d.set_filelist({names!r})
                d.set_pipe_command("echo ready >&2; {command}")
                {call}
            """))
        p = subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(p.stderr.readline(), "ready\n")
            p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=60)
        finally:
            p.kill()
            p.wait()
        self.assertIn("KeyboardInterrupt", err)

    def test_mistakes(self):
        names, _ = self.write()
        self.network()
        with self.assertRaisesRegex(RuntimeError, "dataset is need and should be initialized"):
            self.exe.train_from_dataset()
        with self.assertRaisesRegex(RuntimeError, "set thread num"):
            self.exe.train_from_dataset(dataset=self.dataset(files=names, threads=0))
        with self.assertRaisesRegex(ValueError, "datafeed class X does not exist"):
            fluid.DatasetFactory().create_dataset("X")
        with self.assertRaisesRegex(ValueError, "no files"):
            self.exe.train_from_dataset(dataset=self.dataset())
        with self.assertRaisesRegex(OSError, "none"):
            self.exe.train_from_dataset(dataset=self.dataset(files=[names[0] + "-none"]))
        bad = os.path.join(self.dir, "bad")
        with open(bad, "w") as f:
            f.write("2 1 2 1 3 1 1\n2 1 2 0 1 1\n")
        with self.assertRaisesRegex(ValueError, "bad:2: expected at least one value for slot ids"):
            self.exe.train_from_dataset(dataset=self.dataset(files=[bad], threads=2))
        with self.assertRaises(NotImplementedError):
            self.dataset().local_shuffle()
        with self.assertRaisesRegex(ValueError, "only supports dtype"):
            self.dataset().set_use_var([fluid.layers.data(name="d", shape=[1], dtype="float64")])

    def test_desc(self):
        text = self.dataset(command="./gen").desc()
        for line in ('name: "MultiSlotDataFeed"', "batch_size: 8",
                     '    name: "ids"\n    type: "uint64"\n    is_dense: false',
                     '    name: "dense"\n    type: "float"\n    is_dense: true', 'pipe_command: "./gen"'):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
