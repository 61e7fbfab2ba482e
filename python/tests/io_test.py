"""Files: the layouts that PaddlePaddle has, to the byte; what is wrong with a file is reported."""
import os
import pickle
import struct
import tempfile
import unittest

import numpy as np
from support import Case, fresh, line_fit

import paddle.fluid as fluid
from paddle.fluid import core
from paddle.fluid.layer_helper import layer

X, Y = np.ones((4, 13), "float32"), np.ones((4, 1), "float32")


def stream(array):
    """A float32 array of two lengths below 128 as a tensor file."""
    dims = b"".join(b"\x10" + bytes([n]) for n in array.shape)
    desc = b"\x08\x05" + dims
    return struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc + array.tobytes()


def tree(directory):
    out = {}
    for folder, _, files in os.walk(directory):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                out[os.path.relpath(path, directory)] = f.read()
    return out


class Files(Case):
    def setUp(self):
        guard = fresh()
        self.net = guard.__enter__()
        self.addCleanup(guard.__exit__, None, None, None)
        self.predicted, self.loss = line_fit("momentum", momentum=0.9)
        self.net.start()
        self.net.run({"x": X, "y": Y}, [self.loss])
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.dir = temp.name

    def values(self):
        return {v.name: self.net.value(v.name) for v in self.net.main.list_vars() if v.persistable}

    def test_params_and_persistables(self):
        io, exe = fluid.io, self.net.exe
        io.save_params(exe, self.dir + "/params")
        saved = tree(self.dir + "/params")
        self.assertEqual(sorted(saved), ["fc_0.b_0", "fc_0.w_0"])
        self.assertEqual(saved["fc_0.w_0"], stream(self.net.value("fc_0.w_0")))
        io.save_persistables(exe, self.dir + "/all", self.net.main)
        everything = ["fc_0.b_0", "fc_0.b_0_velocity_0", "fc_0.w_0", "fc_0.w_0_velocity_0", "learning_rate_0"]
        self.assertEqual(sorted(tree(self.dir + "/all")), everything)
        io.save_persistables(exe, self.dir, filename="one")
        io.save_params(exe, self.dir, filename="two")
        together = tree(self.dir)
        self.assertEqual(together["one"], b"".join(together["all/" + n] for n in everything))
        self.assertEqual(together["two"], together["all/fc_0.b_0"] + together["all/fc_0.w_0"])

        before = self.values()
        for load in (lambda: io.load_persistables(exe, self.dir + "/all"),
                     lambda: io.load_persistables(exe, self.dir, self.net.main, "one")):
            self.net.run({"x": X, "y": Y})
            self.assertFalse(np.array_equal(self.net.value("fc_0.w_0"), before["fc_0.w_0"]))
            load()
            for name, value in self.values().items():
                np.testing.assert_array_equal(value, before[name])

    def test_chosen_vars(self):
        io, exe = fluid.io, self.net.exe
        block = self.net.main.global_block()
        io.save_vars(exe, self.dir + "/a", vars=[block.var("fc_0.w_0"), "learning_rate_0"])
        self.assertEqual(sorted(tree(self.dir + "/a")), ["fc_0.w_0", "learning_rate_0"])
        io.save_vars(exe, self.dir + "/b", predicate=lambda v: "velocity" in v.name)
        self.assertEqual(sorted(tree(self.dir + "/b")), ["fc_0.b_0_velocity_0", "fc_0.w_0_velocity_0"])
        io.load_vars(exe, self.dir + "/b", predicate=lambda v: v.name.endswith("velocity_0"))
        with self.says(TypeError, "3"):
            io.save_vars(exe, self.dir, vars=[3])

    def test_wrong_files(self):
        io, exe = fluid.io, self.net.exe
        before = self.values()
        with self.says(core.DataError, "fc_0.w_0"):
            os.mkdir(self.dir + "/empty")
            io.load_params(exe, self.dir + "/empty")
        io.save_params(exe, self.dir + "/cut")
        path = self.dir + "/cut/fc_0.w_0"
        with open(path, "r+b") as f:
            f.truncate(40)
        with self.says(core.DataError, "fc_0.w_0"):
            io.load_params(exe, self.dir + "/cut")
        with open(path, "wb") as f:
            f.write(stream(np.zeros((12, 1), "float32")))
        with self.says(core.DataError, "fc_0.w_0", "[12, 1]", "[13, 1]"):
            io.load_params(exe, self.dir + "/cut")
        for name, value in self.values().items():
            np.testing.assert_array_equal(value, before[name])  # all or nothing
        with self.says(core.ConfigError, "dirname"):
            io.save_params(exe, None)
        with fluid.scope_guard(fluid.Scope()):
            with self.says(core.ConfigError, "fc_0.w_0", "startup program"):
                io.save_params(exe, self.dir + "/none")
        self.assertFalse(os.path.exists(self.dir + "/none/fc_0.w_0"))

    def test_inference_model(self):
        io, exe = fluid.io, self.net.exe
        ops = len(self.net.main.global_block().ops)
        names = io.save_inference_model(self.dir + "/m", ["x"], [self.predicted], exe)
        self.assertEqual(names, ["save_infer_model/scale_0.tmp_0"])
        self.assertEqual(sorted(tree(self.dir + "/m")), ["__model__", "fc_0.b_0", "fc_0.w_0"])
        self.assertEqual(len(self.net.main.global_block().ops), ops)
        wanted = self.net.run({"x": X}, [self.predicted], program=self.net.main.clone(True)._prune([self.predicted]))[0]

        io.save_inference_model(self.dir + "/c", ["x"], [self.predicted], exe, model_filename="model",
                                params_filename="params", export_for_deployment=False)
        self.assertEqual(sorted(tree(self.dir + "/c")), ["model", "model.main_program", "params"])
        io.save_inference_model(self.dir + "/p", ["x"], [self.predicted], exe, program_only=True)
        self.assertEqual(sorted(tree(self.dir + "/p")), ["__model__"])
        self.assertEqual(tree(self.dir + "/p")["__model__"], tree(self.dir + "/m")["__model__"])
        for args in ([self.dir + "/m"], [self.dir + "/c", "model", "params"]):
            with fluid.scope_guard(fluid.Scope()):
                program, feeds, targets = io.load_inference_model(args[0], exe, *args[1:])
                self.assertEqual((feeds, [t.name for t in targets]), (["x"], names))
                self.assertEqual([op.type for op in program.global_block().ops],
                                 ["feed", "mul", "elementwise_add", "scale", "fetch"])
                np.testing.assert_array_equal(exe.run(program, feed={"x": X}, fetch_list=targets)[0], wanted)

    def test_inference_model_mistakes(self):
        io, exe = fluid.io, self.net.exe
        with self.says(ValueError, "there is no directory"):
            io.load_inference_model(self.dir + "/nothing", exe)
        with self.says(ValueError, "'y'", "not needed"):
            io.save_inference_model(self.dir + "/m", ["x", "y"], [self.predicted], exe)
        with self.says(ValueError, "x", "neither fed nor computed"):
            io.save_inference_model(self.dir + "/m", [], [self.predicted], exe)
        with self.says(TypeError, "names of variables"):
            io.save_inference_model(self.dir + "/m", [self.predicted], [self.predicted], exe)

    def test_save_and_load(self):
        fluid.save(self.net.main, self.dir + "/deep/net")
        self.assertEqual(sorted(tree(self.dir + "/deep")), ["net.pdmodel", "net.pdopt", "net.pdparams"])
        with open(self.dir + "/deep/net.pdparams", "rb") as f:
            content = f.read()
        self.assertEqual(content[:2], b"\x80\x02")
        self.assertEqual(sorted(pickle.loads(content)), ["fc_0.b_0", "fc_0.w_0"])
        before = self.values()
        self.net.run({"x": X, "y": Y})
        fluid.load(self.net.main, self.dir + "/deep/net", self.net.exe)
        for name, value in self.values().items():
            np.testing.assert_array_equal(value, before[name])
        state = fluid.io.load_program_state(self.dir + "/deep/net")
        state["fc_0.w_0"] = state["fc_0.w_0"][:12]
        del state["learning_rate_0"]
        problem = "'fc_0.w_0' is float32 [13, 1], found float32 [12, 1]"
        with self.says(core.DataError, problem, "'learning_rate_0' is not"):
            fluid.io.set_program_state(self.net.main, state)
        with open(self.dir + "/evil.pdparams", "wb") as f:
            f.write(pickle.dumps({"a": os.system}))
        with self.says(core.DataError, "names", "system", "only numbers, texts and arrays are read"):
            fluid.load(self.net.main, self.dir + "/evil")
        self.assertEqual(os.stat(self.dir + "/deep/net.pdparams").st_mode & 0o007, 0)  # others cannot read it
        with self.says(OSError, "there is no file"):
            fluid.load(self.net.main, self.dir + "/nothing")

    def test_divided_programs_are_collected_first(self):
        class Half:
            def collect(half, executor, program, scope):
                scope.find_var("fc_0.w_0").get_tensor().set(np.full((13, 1), 7, "float32"))
                return self.net.main

        half = fluid.Program()
        half._distributed = Half()
        fluid.io.save_params(self.net.exe, self.dir, half)
        self.assertEqual(tree(self.dir)["fc_0.w_0"], stream(np.full((13, 1), 7, "float32")))

    def test_sequences_keep_their_offsets(self):
        tensor = fluid.create_lod_tensor(np.arange(5, dtype="float32").reshape(5, 1), [[2, 3]], None)
        with fresh() as net:
            block = net.main.global_block()
            block.create_var(name="s", shape=[-1, 1], lod_level=1, persistable=True)
            target = net.scope.var("s").get_tensor()
            target.set(np.array(tensor))
            target.set_lod([[0, 2, 5]])
            fluid.io.save_persistables(net.exe, self.dir, net.main)
            offsets = struct.pack("<IQQQQQ", 0, 1, 24, 0, 2, 5)
            self.assertTrue(tree(self.dir)["s"].startswith(offsets))
            target.set(np.zeros((1, 1), "float32"))
            fluid.io.load_persistables(net.exe, self.dir, net.main)
            self.assertEqual(target.recursive_sequence_lengths(), [[2, 3]])


if __name__ == "__main__":
    unittest.main()
