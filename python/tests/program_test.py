"""Programs, blocks, variables, ops: names as users see them in saved files, texts, changes."""
import os
import unittest

import numpy as np
from support import Case, fresh, line_fit, minimize

import paddle.fluid as fluid
from paddle.fluid import core, framework, unique_name
from paddle.fluid.layer_helper import layer, layers


class Naming(Case):
    def test_layers_parameters_and_temporaries(self):
        with fresh() as net:
            x = layer("data", name="x", shape=[4])
            h = layer("fc", input=[x, x], size=3, act="relu")
            out = layer("fc", input=h, size=2, name="out")
            self.assertEqual([p.name for p in net.main.all_parameters()],
                             ["fc_0.w_0", "fc_0.w_1", "fc_0.b_0", "out.w_0", "out.b_0"])
            self.assertEqual((h.name, out.name), ("fc_0.tmp_4", "out.tmp_1"))
            self.assertEqual(x.name, "x")
            ids = layer("data", name="ids", shape=[1], dtype="int64")
            layer("embedding", input=ids, size=[10, 4])
            self.assertIn("embedding_0.w_0", net.main.global_block().vars)

    def test_startup_ops_stand_in_reverse_order(self):
        with fresh() as net:
            line_fit(None)
            written = [op.output_arg_names for op in net.startup.global_block().ops]
            self.assertEqual(written, [["fc_0.b_0"], ["fc_0.w_0"]])

    def test_gradients_and_optimizer_state(self):
        wanted = {
            "sgd": [], "momentum": ["velocity"], "adagrad": ["moment"], "decayed_adagrad": ["moment"],
            "adam": ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"],
            "adamax": ["moment", "inf_norm", "beta1_pow_acc"], "rmsprop": ["momentum", "mean_square", "mean_grad"],
            "adadelta": ["_avg_squared_grad", "_avg_squared_update"], "ftrl": ["squared", "linear"],
        }
        for optimizer, states in wanted.items():
            with self.subTest(optimizer), fresh() as net:
                line_fit(optimizer)
                persistables = {v.name for v in net.main.list_vars() if v.persistable}
                names = {f"fc_0.{p}_0_{state}_0" for p in "wb" for state in states}
                self.assertEqual(persistables - {"fc_0.w_0", "fc_0.b_0", "learning_rate_0"}, names)
                self.assertIn("fc_0.w_0@GRAD", net.main.global_block().vars)

    def test_op_list_of_a_training_program(self):
        with fresh() as net:
            line_fit()
            ops = net.main.global_block().ops
            self.assertEqual([op.type for op in ops], [
                "mul", "elementwise_add", "elementwise_sub", "square", "mean", "fill_constant", "mean_grad",
                "square_grad", "elementwise_sub_grad", "elementwise_add_grad", "mul_grad", "sgd", "sgd"])
            loss_op = next(op for op in ops if op.type == "mean")
            seed_op = next(op for op in ops if op.type == "fill_constant")
            self.assertEqual((loss_op.attr("op_role"), seed_op.attr("op_role")), (256, 257))
            updates = [op for op in ops if op.type == "sgd"]
            self.assertEqual([op.attr("op_role_var") for op in updates],
                             [["fc_0.b_0", "fc_0.b_0@GRAD"], ["fc_0.w_0", "fc_0.w_0@GRAD"]])  # by name
            self.assertEqual(updates[0].attr("op_role"), 2)

    def test_unique_name(self):
        with unique_name.guard():
            self.assertEqual([unique_name.generate("fc") for _ in range(2)], ["fc_0", "fc_1"])
            with unique_name.guard("A/"):
                self.assertEqual(unique_name.generate("fc"), "A/fc_0")
            self.assertEqual(unique_name.generate("fc"), "fc_2")
            old = unique_name.switch()
            self.assertEqual(unique_name.generate("fc"), "fc_0")
            unique_name.switch(old)
            self.assertEqual(unique_name.generate("fc"), "fc_3")

    def test_a_program_built_in_two_guards(self):
        with fresh() as net:
            x = fluid.layers.data("x", [1])
            with unique_name.guard():
                doubled, added = fluid.layers.scale(x, 2.0), x + 1.0
            with unique_name.guard():
                total, less = fluid.layers.scale(fluid.layers.mean(x), 10.0), fluid.layers.mean(x) - 1.0
            tensors = [fluid.layers.create_tensor("float32").name]
            with unique_name.guard():
                tensors.append(fluid.layers.create_tensor("float32").name)
            self.assertEqual(len(set(tensors)), 2)
            values = net.run({"x": np.array([[1], [2]], "float32")}, [doubled, added, total, less])
        self.assertEqual([v.ravel().tolist() for v in values], [[2, 4], [2, 3], [15], [0.5]])

    def test_name_scope_marks_ops_only(self):
        with fresh() as net:
            with fluid.name_scope("outer"), fluid.name_scope("inner"):
                y = layer("fc", input=layer("data", name="x", shape=[4]), size=1)
            layer("relu", input=y)
            self.assertEqual([op.attr("op_namescope") for op in net.main.global_block().ops],
                             ["/outer/inner/", "/outer/inner/", "/"])
            self.assertEqual(y.name, "fc_0.tmp_1")


class Text(Case):
    def test_is_protobuf_text(self):
        with fresh() as net:
            x = layer("data", name="x", shape=[13])
            layer("scale", input=x, scale=2.0)
            text = str(net.main)
            self.assertTrue(text.startswith("blocks {\n  idx: 0\n  parent_idx: -1\n  vars {\n    name: \"x\"\n"))
            self.assertIn("type: LOD_TENSOR\n      lod_tensor {\n        tensor {\n          data_type: FP32\n"
                          "          dims: -1\n          dims: 13\n", text)
            self.assertIn('type: "scale"', text)
            self.assertIn('name: "scale"\n      type: FLOAT\n      f: 2\n', text)
            self.assertIn('name: "x"\ntype {\n  type: LOD_TENSOR', str(x))
            self.assertIn('parameter: "X"\n  arguments: "x"', str(net.main.global_block().ops[0]))
            self.assertIn("scale", net.main._text())

    def test_round_trip(self):
        with fresh() as net:
            line_fit("adam")
            self.assertEqual(net.main.desc.serialize_to_string(), net.main.serialize_to_string())
            again = fluid.Program.parse_from_string(net.main.serialize_to_string())
            self.assertEqual(again.serialize_to_string(), net.main.serialize_to_string())
            # As PaddlePaddle 1.8 has it: adam advances its powers, so the ops that did are gone.
            types = [op.type for op in net.main.global_block().ops if op.type != "scale"]
            self.assertEqual([op.type for op in again.global_block().ops], types)
            self.assertEqual(str(fluid.Program.parse_from_string(again.serialize_to_string())), str(again))


class Objects(Case):
    def test_variables(self):
        with fresh() as net:
            predicted, _ = line_fit()
            block = net.main.global_block()
            self.assertEqual(str(predicted.dtype), "VarType.FP32")
            self.assertEqual(predicted.shape, (-1, 1))
            self.assertEqual(predicted.dtype, core.VarDesc.VarType.FP32)
            self.assertEqual(predicted.type, core.VarDesc.VarType.LOD_TENSOR)
            self.assertIs(block.var("x"), block.vars["x"])
            weight = block.var("fc_0.w_0")
            self.assertIsInstance(weight, framework.Parameter)
            self.assertTrue(weight.trainable and weight.persistable)
            self.assertEqual(weight.optimize_attr, {"learning_rate": 1.0})
            self.assertTrue(block.var("x").stop_gradient)
            self.assertEqual(predicted.op.type, "elementwise_add")
            weight.stop_gradient = True
            self.assertTrue(net.main.global_block().var("fc_0.w_0").stop_gradient)

    def test_block_edits(self):
        with fresh() as net:
            block = net.main.global_block()
            x = block.create_var(name="x", shape=[2, 3], dtype="float32")
            out = block.create_var(name="out", shape=[2, 3], dtype=np.float32)
            op = block.append_op("scale", inputs={"X": x}, outputs={"Out": [out]}, attrs={"scale": 3})
            self.assertEqual(op.attr("scale"), 3.0)
            first = block._prepend_op(type="scale", inputs={"X": ["x"]}, outputs={"Out": ["early"]})
            self.assertEqual([o.idx for o in (first, op)], [0, 1])
            self.assertEqual({first, op}, set(block.ops))
            self.assertEqual(block.var("early").shape, (2, 3))
            op._set_attr("scale", 4.0)
            given = np.ones((2, 3), "float32")
            np.testing.assert_array_equal(net.run({"x": given}, [out])[0], given * 4)
            block._rename_var("out", "result")
            self.assertEqual((out.name, op.output("Out")), ("result", ["result"]))
            block._remove_op(0)
            with self.says(core.ConfigError, "removed"):
                first.type
            self.assertEqual(len(block.ops), 1)
            block._remove_var("early")
            with self.says(ValueError, "early"):
                block.var("early")

    def test_clone_and_prune(self):
        with fresh() as net:
            x = layer("data", name="x", shape=[4])
            dropped = layer("dropout", input=x, dropout_prob=0.5)
            kept = layer("scale", input=x, scale=2.0)
            test = net.main.clone(for_test=True)
            given = np.ones((3, 4), "float32")
            self.assertEqual(net.run({"x": given}, [dropped], program=test)[0].min(), 0.5)
            pruned = net.main._prune([kept])
            self.assertEqual([op.type for op in pruned.global_block().ops], ["scale"])
            self.assertEqual(sorted(pruned.global_block().vars), sorted(["x", kept.name]))

    def test_sub_blocks(self):
        program = fluid.Program()
        block = program._create_block()
        self.assertEqual((block.idx, block.parent_idx, program.num_blocks), (1, 0, 2))
        self.assertIs(program.current_block(), block)
        program._rollback()
        self.assertIs(program.current_block(), program.global_block())

    def test_results_of_several_outputs(self):
        with fresh():
            x = layer("data", name="x", shape=[4])
            values, indices = layers("topk", input=x, k=2)
            self.assertEqual((values.shape, indices.dtype), ((-1, 2), core.VarDesc.VarType.INT64))

    def test_guards_restore(self):
        before = fluid.default_main_program(), fluid.default_startup_program()
        with self.assertRaises(KeyError), fluid.program_guard(fluid.Program(), fluid.Program()):
            raise KeyError
        self.assertEqual((fluid.default_main_program(), fluid.default_startup_program()), before)
        self.assertIs(fluid.default_trainer_program(), fluid.default_startup_program())
        with self.says(TypeError, "program_guard"), fluid.program_guard("main"):
            pass


class Origins(Case):
    def test_ops_know_the_users_line(self):
        with fresh() as net:
            x = layer("data", name="x", shape=[4])
            loss = layer("mean", input=layer("fc", input=x, size=1))  # the line of the fc
            minimize(loss)
            ops = {op.type: op._core.origin for op in net.main.global_block().ops}
            for kind in ("mul", "mul_grad", "mean_grad"):
                self.assertIn(os.path.basename(__file__), ops[kind])
                self.assertIn('size=1))  # the line of the fc', ops[kind])
            self.assertIn("call(_core.minimize", ops["sgd"])

    def test_is_no_part_of_the_program(self):
        texts = []
        for _ in range(2):
            with fresh() as net:
                layer("scale", input=layer("data", name="x", shape=[4]), scale=1.0)
                origin = net.main.global_block().ops[0]._core.origin
                net.main.global_block().ops[0]._core.origin = origin + str(len(texts))
                texts.append((net.main.serialize_to_string(), net.main._core.digest(), net.main._text()))
        self.assertEqual(*texts)


if __name__ == "__main__":
    unittest.main()
