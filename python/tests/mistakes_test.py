"""A mistake of the user is reported in a sentence: what, where, what to do."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from support import Case, fresh, line_fit

import paddle.fluid as fluid
from paddle.fluid import core
from paddle.fluid.layer_helper import layer

X, Y = np.ones((4, 13), "float32"), np.ones((4, 1), "float32")


class Feeds(Case):
    def setUp(self):
        guard = fresh()
        self.net = guard.__enter__()
        self.addCleanup(guard.__exit__, None, None, None)
        self.predicted, self.loss = line_fit()
        self.net.start()

    def test_wrong_name(self):
        with self.says(core.ConfigError, "cannot feed 'labels_x'", "no variable of that name"):
            self.net.run({"labels_x": X, "y": Y}, [self.loss])
        with self.says(ValueError, "cannot feed 'fc_0.tmp_00'", "did you mean 'fc_0.tmp_0'?"):
            self.net.run({"x": X, "y": Y, "fc_0.tmp_00": Y}, [self.loss])

    def test_wrong_shape(self):
        with self.says(core.ConfigError, "cannot feed 'x'", "[-1, 13]", "[4, 12]"):
            self.net.run({"x": X[:, :12], "y": Y}, [self.loss])
        with self.says(core.ConfigError, "cannot feed 'y'", "[-1, 1]", "[4]"):
            self.net.run({"x": X, "y": Y[:, 0]}, [self.loss])
        self.net.run({"x": X, "y": Y}, [self.loss])  # nothing is broken by it

    def test_missing(self):
        with self.says(core.ConfigError, "'y'", "feed it", "made at", "support.py") as error:
            self.net.run({"x": X}, [self.loss])
        self.assertIn('layer("square_error_cost"', error.text)

    def test_missing_of_a_known_shape(self):
        with fresh() as net:
            x = layer("data", name="x", shape=[4, 13], append_batch_size=False)
            y = layer("scale", input=x, scale=2.0)
            with self.says(core.ConfigError, "'x' is read before anything writes it", os.path.basename(__file__)):
                net.run({}, [y])

    def test_wrong_type(self):
        with fresh() as net:
            ids = layer("data", name="ids", shape=[1], dtype="int64")
            out = layer("embedding", input=ids, size=[10, 2])
            net.start()
            with self.says(core.ConfigError, "cannot feed 'ids'", "int64", "float32", ".astype('int64')"):
                net.run({"ids": np.ones((2, 1), "float32")}, [out])
            self.assertEqual(net.run({"ids": np.ones((2, 1), "int32")}, [out])[0].shape, (2, 2))
            with self.says(core.ConfigError, "cannot feed 'ids'", "<U1"):
                net.run({"ids": np.array([["a"]])}, [out])

    def test_no_array(self):
        with self.says(core.ConfigError, "cannot feed 'x'", "create_lod_tensor"):
            self.net.run({"x": [[1.0], [1.0, 2.0]], "y": Y}, [self.loss])
        with self.says(core.ConfigError, "cannot feed 'x'", "str"):
            self.net.run({"x": "abc", "y": Y}, [self.loss])
        with self.says(core.ConfigError, "cannot feed 'x'", "no value"):
            self.net.run({"x": fluid.LoDTensor(), "y": Y}, [self.loss])
        with self.says(core.ConfigError, "names of variables", "3"):
            self.net.run({3: X}, [self.loss])
        with self.says(TypeError, "feed requires dict"):
            self.net.run("x", [self.loss])
        with self.says(TypeError, "feed requires dict"):
            self.net.run([X], [self.loss])

    def test_an_id_that_is_not_in_the_table(self):
        with fresh() as net:
            ids = layer("data", name="ids", shape=[1], dtype="int64")
            out = layer("embedding", input=ids, size=[10, 2])
            net.start()
            with self.says(core.EnforceNotMet, "10", "lookup_table", "made at", os.path.basename(__file__)):
                net.run({"ids": np.full((2, 1), 10, "int64")}, [out])


class Others(Case):
    def test_unknown_fetch(self):
        with fresh() as net:
            line_fit()
            net.start()
            feed = {"x": X, "y": Y}
            with self.says(core.ConfigError, "'mean_0.tmp_1'", "did you mean 'mean_0.tmp_0'?", "fetched"):
                net.run(feed, ["mean_0.tmp_1"])
            with self.says(TypeError, "fetch_list", "3"):
                net.run(feed, [3])
            with self.says(core.ConfigError, "cannot fetch 'z'", "nothing in this program computes it"):
                net.main.global_block().create_var(name="z", shape=[-1, 1])
                net.run(feed, ["z"])

    def test_startup_not_run(self):
        with fresh() as net:
            _, loss = line_fit()
            with self.says(core.ConfigError, "'fc_0.", "has no value", "startup program"):
                net.run({"x": X, "y": Y}, [loss])
            net.start()
            net.run({"x": X, "y": Y}, [loss])

    def test_a_layer_that_does_not_fit(self):
        with fresh():
            x = layer("data", name="x", shape=[13])
            y = layer("data", name="y", shape=[12])
            here = os.path.basename(__file__)
            with self.says(ValueError, "elementwise_add", "[-1, 13]", "[-1, 12]", "made at", here):
                layer("elementwise_add", x=x, y=y)
            with self.says(ValueError, "there is no layer 'fcc'", "did you mean 'fc'?"):
                layer("fcc", input=x, size=1)
            with self.says(ValueError, "'sise'", "did you mean 'size'?"):
                layer("fc", input=x, sise=1)
            with self.says(ValueError, "'size' must be a whole number", "abc"):
                layer("fc", input=x, size="abc")

    def test_an_op_that_is_not_there(self):
        with fresh() as net:
            with self.says(ValueError, "there is no op 'mull'", "did you mean 'mul'?"):
                net.main.global_block().append_op("mull")
            with self.says(ValueError, "op mul", "'X' is missing", "'Z'"):
                net.main.global_block().append_op("mul", inputs={"Z": ["a"]}, outputs={"Out": ["b"]})

    def test_variables_that_are_not_there(self):
        with fresh() as net:
            layer("data", name="image", shape=[13])
            with self.says(ValueError, "imagee", "did you mean 'image'?"):
                net.main.global_block().var("imagee")
            with self.says(TypeError, "by its name"):
                net.main.global_block().var(3)
            with self.says(core.ConfigError, "there is no block 4"):
                net.main.block(4)

    def test_not_a_number(self):
        with fresh() as net:
            loss = layer("mean", input=layer("log", input=layer("data", name="x", shape=[1])))
            from paddle import _core
            checked = _core.Executor(check_nan_inf=True)
            with self.says(ArithmeticError, "nan", "op log", "made at", os.path.basename(__file__)):
                checked.run(net.main._core, net.scope, {"x": np.full((1, 1), -1, "float32")}, [loss.name])

    def test_places(self):
        with self.says(core.ConfigError, "GPU", "CPUPlace()"):
            fluid.Executor(fluid.CUDAPlace(0))
        with self.says(TypeError, "CPUPlace()"):
            fluid.Executor("cpu")
        self.assertFalse(fluid.is_compiled_with_cuda())
        self.assertEqual(len(fluid.cpu_places(3)), 3)

    def test_no_program(self):
        with self.says(TypeError, "Executor requires Program", "'train'"):
            fluid.Executor().run("train")
        with self.says(core.ConfigError, "random_seed"):
            fluid.Program().random_seed = -1

    def test_kinds_of_exceptions(self):
        bases = {"ConfigError": ValueError, "DataError": ValueError, "FileError": OSError,
                 "NumericError": ArithmeticError, "ProtocolError": ConnectionError, "PeerError": ConnectionError}
        for name, base in bases.items():
            self.assertTrue(issubclass(getattr(core, name), (core.EnforceNotMet,)), name)
            self.assertTrue(issubclass(getattr(core, name), base), name)
        self.assertTrue(issubclass(core.EnforceNotMet, RuntimeError))


class ExitCodes(Case):
    """docs/exit-codes.md: a script ends with the code of what ended it, as the daemons do."""

    def ends(self, *lines):
        script = "\n".join(("import atexit, sys", "from paddle.fluid import core",
                            "atexit.register(print, 'the end', flush=False)", *lines))
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)

    def test_of_exceptions(self):
        codes = {"core.ConfigError": 2, "core.DataError": 3, "core.FileError": 4, "core.NumericError": 5,
                 "core.ProtocolError": 6, "core.PeerError": 7, "core.EnforceNotMet": 1, "ValueError": 1}
        for name, code in codes.items():
            with self.subTest(name):
                done = self.ends(f"raise {name}('why')")
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn("Error: why" if name.endswith("Error") else "EnforceNotMet: why", done.stderr)
                self.assertEqual(done.stdout, "the end\n")

    def test_of_what_was_caught(self):
        for last, code in (("except core.PeerError: pass", 0), ("except core.PeerError: sys.exit(1)", 1),
                           ("finally: sys.exit(3)", 3)):
            with self.subTest(last):
                self.assertEqual(self.ends("try: raise core.PeerError('why')", last).returncode, code)


class AnotherPython(Case):
    def test_a_package_that_was_built_for_another_one(self):
        with tempfile.TemporaryDirectory() as d:
            package = os.path.join(os.environ["PADDLE_TEST_SOURCE"], "python", "paddle")
            shutil.copytree(package, os.path.join(d, "paddle"))
            done = subprocess.run([sys.executable, "-c", "import paddle"], env={"PYTHONPATH": d}, capture_output=True,
                                  text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs the module paddle._core", done.stderr)
        self.assertIn("use the Python that paddle was built for", done.stderr)


if __name__ == "__main__":
    unittest.main()
