"""Running programs: arrays in and out, what is copied and what is not, threads, Ctrl-C, measuring."""
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
from support import Case, fresh, line_fit

import paddle.fluid as fluid
from paddle.fluid import core
from paddle.fluid.layer_helper import layer

# A program whose one run takes many seconds: 2000 products of 1000 x 1000.
LONG_RUN = """
import sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.layer_helper import layer
x = layer("data", name="x", shape=[1000])
y = x
for _ in range(2000):
    y = layer("matmul", x=y, y=x)
exe = fluid.Executor()
feed = {"x": np.full((1000, 1000), 1e-3, "float32")}
"""


def scaled(scale=2.0, shape=(4,), dtype="float32"):
    x = layer("data", name="x", shape=list(shape), dtype=dtype)
    return layer("scale", input=x, scale=scale)


class Run(Case):
    def test_defaults(self):
        with fresh() as net:
            y = scaled()
            given = np.arange(8, dtype="float32").reshape(2, 4)
            exe = fluid.Executor()
            for fetch in (y, y.name, [y], (y.name,)):
                out = exe.run(feed={"x": given}, fetch_list=fetch)
                self.assertIsInstance(out, list)
                np.testing.assert_array_equal(out[0], given * 2)
            self.assertEqual(exe.run(feed={"x": given}), [])
            self.assertEqual(exe.run(net.main, feed=[{"x": given}], fetch_list=[y])[0].dtype, np.float32)

    def test_results_are_their_own(self):
        with fresh() as net:
            y = scaled()
            first = net.run({"x": np.ones((1, 4), "float32")}, [y])[0]
            second = net.run({"x": np.zeros((1, 4), "float32")}, [y])[0]
            self.assertEqual((first.sum(), second.sum()), (8, 0))
            first += 1
            self.assertTrue(first.flags.owndata or first.base is not None)

    def test_mean_has_one_element(self):
        with fresh() as net:
            loss = layer("mean", input=layer("data", name="x", shape=[4]))
            self.assertEqual(net.run({"x": np.ones((2, 4), "float32")}, [loss])[0].shape, (1,))

    def test_other_forms_of_feeds(self):
        with fresh() as net:
            y = scaled()
            ramp = np.arange(8, dtype="float32").reshape(2, 4)
            tensor = fluid.LoDTensor()
            tensor.set(ramp)
            forms = [ramp.astype("float64"), ramp.astype("int64"), np.asfortranarray(ramp), ramp[::-1][::-1], tensor,
                     ramp.astype(">f4"), np.repeat(ramp, 2, axis=1)[:, ::2], ramp.tolist()]
            for given in forms:
                np.testing.assert_array_equal(net.run({"x": given}, [y])[0], ramp * 2)
            read_only = ramp.copy()
            read_only.flags.writeable = False
            np.testing.assert_array_equal(net.run({"x": read_only}, [y])[0], ramp * 2)

    def test_an_op_that_writes_its_feed_leaves_the_array_alone(self):
        with fresh() as net:
            layer("data", name="x", shape=[1], append_batch_size=False)
            block = net.main.global_block()
            block.append_op("increment", inputs={"X": "x"}, outputs={"Out": "x"}, attrs={"step": 1.0})
            given = np.ones(1, "float32")
            self.assertEqual(net.run({"x": given}, ["x"])[0][0], 2)
            self.assertEqual(given[0], 1)

    def test_batches_of_other_sizes(self):
        with fresh() as net:
            y = scaled()
            for rows in (3, 1, 7, 3):
                given = np.full((rows, 4), rows, "float32")
                np.testing.assert_array_equal(net.run({"x": given}, [y])[0], given * 2)

    def test_changed_programs_are_compiled_again(self):
        with fresh() as net:
            y = scaled()
            given = np.ones((1, 4), "float32")
            self.assertEqual(net.run({"x": given}, [y])[0][0, 0], 2)
            net.main.global_block().ops[0]._set_attr("scale", 5.0)
            self.assertEqual(net.run({"x": given}, [y])[0][0, 0], 5)

    def test_scopes(self):
        with fresh() as net:
            line_fit(None)
            other = fluid.Scope()
            net.exe.run(net.startup, scope=other)
            self.assertIsNone(net.scope.find_var("fc_0.w_0"))
            self.assertEqual(other.find_var("fc_0.w_0").get_tensor().shape(), [13, 1])
            kid = other.new_scope()
            self.assertEqual(kid.find_var("fc_0.w_0").get_tensor().shape(), [13, 1])
            kid.var("own").get_tensor().set(np.zeros(2, "float32"))
            self.assertIsNone(other.find_var("own"))
            with fluid.scope_guard(other):
                self.assertIs(fluid.global_scope(), other)
            other.erase(["fc_0.w_0"])
            self.assertIsNone(other.find_var("fc_0.w_0"))

    def test_a_parameter_can_be_set(self):
        with fresh() as net:
            predicted, _ = line_fit(None)
            net.start()
            ones = np.ones((13, 1), "float32")
            feed = {"x": np.ones((1, 13), "float32")}
            for value in (ones, ones * 2):  # before and after a plan holds its address
                net.scope.find_var("fc_0.w_0").get_tensor().set(value, fluid.CPUPlace())
                self.assertEqual(net.run(feed, [predicted])[0][0, 0], value.sum())

    def test_seeds(self):
        values = []
        for seed in (7, 7, 8):
            with fresh(seed) as net:
                line_fit(None)
                net.start()
                values.append(net.value("fc_0.w_0"))
        np.testing.assert_array_equal(values[0], values[1])
        self.assertFalse(np.array_equal(values[0], values[2]))

    def test_dropout_differs_from_step_to_step(self):
        def masks():
            with fresh() as net:
                y = layer("dropout", input=layer("data", name="x", shape=[64]), dropout_prob=0.5)
                ones = np.ones((1, 64), "float32")
                return [net.run({"x": ones}, [y])[0] for _ in range(2)]
        one, two = masks(), masks()
        self.assertFalse(np.array_equal(one[0], one[1]))
        np.testing.assert_array_equal(one, two)

    def test_closed(self):
        with fresh() as net:
            net.exe.close()
            net.exe.close()
            with self.says(RuntimeError, "Attempted to use a closed Executor"):
                net.start()

    def test_half_of_a_divided_program_runs_itself(self):
        calls = []

        class Half:
            def run(self, executor, *args):
                executor._jobs.add(self)
                calls.append((executor, *args))
                return ["answer"]

            def close(self):
                calls.append("closed")

        with fresh() as net:
            net.main._distributed = Half()
            self.assertEqual(net.run({"x": 1}, ["y"]), ["answer"])
            net.exe.close()
            self.assertEqual(calls, [(net.exe, net.main, {"x": 1}, ["y"], net.scope, True), "closed"])


class Sequences(Case):
    def test_pool(self):
        with fresh() as net:
            x = layer("data", name="x", shape=[2], lod_level=1)
            pooled = layer("sequence_pool", input=x, pool_type="sum")
            rows = np.arange(10, dtype="float32").reshape(5, 2)
            tensor = fluid.create_lod_tensor(rows, [[2, 3]], fluid.CPUPlace())
            self.assertEqual((tensor.lod(), tensor.recursive_sequence_lengths()), ([[0, 2, 5]], [[2, 3]]))
            out = net.run({"x": tensor}, [pooled])[0]
            np.testing.assert_array_equal(out, [rows[:2].sum(0), rows[2:].sum(0)])

    def test_fetched_sequences_need_a_lod_tensor(self):
        with fresh() as net:
            y = layer("scale", input=layer("data", name="x", shape=[1], lod_level=1), scale=2.0)
            tensor = fluid.create_lod_tensor([[1.0, 2.0], [3.0]], [[2, 1]], None)
            tensor = fluid.create_lod_tensor(np.array(tensor, "float32"), [[2, 1]], None)
            with self.says(RuntimeError, y.name, "return_numpy=False"):
                net.run({"x": tensor}, [y])
            out = net.run({"x": tensor}, [y], return_numpy=False)[0]
            self.assertEqual(out.recursive_sequence_lengths(), [[2, 1]])
            np.testing.assert_array_equal(np.array(out), [[2], [4], [6]])

    def test_lengths_are_checked(self):
        tensor = fluid.LoDTensor()
        tensor.set(np.zeros((5, 1), "float32"))
        self.assertTrue(tensor.has_valid_recursive_sequence_lengths())
        with self.says(core.DataError, "5"):
            tensor.set_recursive_sequence_lengths([[2, 2]])
        with self.says(core.ConfigError, "[2, 1]"):
            fluid.create_lod_tensor([[1, 2], [3]], [[3]], None)
        ints = fluid.create_random_int_lodtensor([[2, 3]], [1], None, 4, 6)
        values = np.array(ints)
        self.assertTrue(values.shape == (5, 1) and values.min() >= 4 and values.max() <= 6)


class Copies(Case):
    """A big array of which the program reads one row: a copy would touch all of it."""

    def growth(self, make):
        code = f"""
import resource
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.layer_helper import layer
x = layer("data", name="x", shape=[1 << 16, 1024], append_batch_size=False)
y = layer("slice", input=x, axes=[0], starts=[0], ends=[1])
exe = fluid.Executor()
given = {make}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
out, = exe.run(feed={{"x": given}}, fetch_list=[y])
assert out.shape == (1, 1024)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        return int(run.stdout) / 1024  # MiB

    def test_contiguous_arrays_are_used_where_they_are(self):
        self.assertLess(self.growth("np.zeros((1 << 16, 1024), 'float32')"), 32)  # the array has 256 MiB

    def test_others_are_converted(self):
        self.assertGreater(self.growth("np.zeros((1024, 1 << 16), 'float32').T"), 200)


class Waiting(Case):
    def test_other_threads_run_meanwhile(self):
        with fresh() as net:
            y = x = layer("data", name="x", shape=[512])
            for _ in range(60):
                y = layer("matmul", x=y, y=x)
            feed = {"x": np.full((512, 512), 1e-3, "float32")}
            net.run(feed, [y])
            counted, stop = [0], threading.Event()

            def count():
                while not stop.is_set():
                    counted[0] += 1

            thread = threading.Thread(target=count)
            thread.start()
            before = counted[0]
            net.run(feed, [y])
            during = counted[0] - before
            stop.set()
            thread.join()
            self.assertGreater(during, 1000)

    def test_one_executor_in_many_threads(self):
        with fresh() as net:
            y = scaled()
            wrong = []

            def work(value):
                given = np.full((3, 4), value, "float32")
                for _ in range(200):
                    if not np.array_equal(net.run({"x": given}, [y])[0], given * 2):
                        wrong.append(value)

            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(wrong, [])

    def test_ctrl_c_ends_a_long_run(self):
        code = LONG_RUN + "print('ready', flush=True)\nexe.run(feed=feed, fetch_list=[y])\nprint('done')"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen([sys.executable, "-c", code], **pipes) as p:
            self.assertEqual(p.stdout.readline(), "ready\n")
            start = time.monotonic()
            os.kill(p.pid, signal.SIGINT)
            out, err = p.communicate(timeout=120)
            took = time.monotonic() - start
        self.assertIn("KeyboardInterrupt", err)
        self.assertEqual(out, "")
        self.assertLess(took, 15)  # all of it takes longer


class Compiled(Case):
    def test_compiled_program(self):
        with fresh() as net:
            predicted, loss = line_fit()
            net.start()
            feed = {"x": np.ones((4, 13), "float32"), "y": np.ones((4, 1), "float32")}
            strategy = fluid.BuildStrategy()
            strategy.reduce_strategy = fluid.BuildStrategy.ReduceStrategy.Reduce
            threads = fluid.ExecutionStrategy()
            threads.num_threads = 2
            compiled = fluid.CompiledProgram(net.main).with_data_parallel(
                loss_name=loss.name, build_strategy=strategy, exec_strategy=threads, places=fluid.cpu_places(2))
            first = net.run(feed, [loss], program=compiled)[0]
            self.assertLess(net.run(feed, [loss], program=compiled)[0][0], first[0])
            halves = [{k: v[:2] for k, v in feed.items()}, {k: v[2:] for k, v in feed.items()}]
            self.assertEqual(net.run(halves, [predicted], program=compiled)[0].shape, (4, 1))

    def test_parallel_executor(self):
        with fresh() as net:
            _, loss = line_fit()
            net.start()
            parallel = fluid.ParallelExecutor(False, loss_name=loss.name, main_program=net.main, scope=net.scope)
            feed = {"x": np.ones((4, 13), "float32"), "y": np.ones((4, 1), "float32")}
            first = parallel.run([loss.name], feed=feed)[0]
            self.assertLess(parallel.run(fetch_list=[loss.name], feed_dict=feed)[0][0], first[0])

    def test_mistakes(self):
        with self.says(AttributeError, "num_threads"):
            fluid.ExecutionStrategy().num_thread = 1
        with self.says(TypeError, "Program"):
            fluid.CompiledProgram(3)
        with self.says(core.ConfigError, "GPU"):
            fluid.ParallelExecutor(True)


class Profiler(Case):
    def test_table(self):
        with fresh() as net, tempfile.TemporaryDirectory() as directory:
            _, loss = line_fit()
            net.start()
            feed = {"x": np.ones((4, 13), "float32"), "y": np.ones((4, 1), "float32")}
            path = os.path.join(directory, "profile")
            out = io.StringIO()
            with contextlib.redirect_stdout(out), fluid.profiler.profiler("CPU", "total", path):
                for _ in range(5):
                    net.run(feed, [loss])
            with open(path) as f:
                self.assertEqual(f.read(), out.getvalue())
            rows = [line.split() for line in out.getvalue().splitlines()]
            mean = next(row for row in rows if row and row[0] == "mean")
            calls, total, least, most, average = int(mean[1]), *map(float, mean[2:6])
            self.assertEqual(calls, 5)
            self.assertTrue(0 < least <= average <= most <= total, mean)
            totals = [float(row[2]) for row in rows[6:]]
            self.assertEqual(totals, sorted(totals, reverse=True))

    def test_stop_reset_and_mistakes(self):
        with fresh() as net:
            y = scaled()
            feed = {"x": np.ones((1, 4), "float32")}
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                fluid.profiler.start_profiler("All")
                net.run(feed, [y])
                fluid.profiler.reset_profiler()
                net.run(feed, [y])
                net.run(feed, [y])
                fluid.profiler.stop_profiler(profile_path=None)
            row = next(line.split() for line in out.getvalue().splitlines() if line.startswith("scale"))
            self.assertEqual(row[1], "2")
            with self.says(ValueError, "TPU"):
                fluid.profiler.start_profiler("TPU")
            with self.says(ValueError, "sorted_key"):
                fluid.profiler.stop_profiler("speed")


if __name__ == "__main__":
    unittest.main()
