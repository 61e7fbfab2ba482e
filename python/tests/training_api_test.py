"""Names and ops that layers, backward and optimizers make; and what they say to a user's mistakes."""
import contextlib
import unittest

import numpy as np
import paddle.fluid as fluid

L = fluid.layers


@contextlib.contextmanager
def fresh():
    """New programs, names and scope: yields (main, startup)."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        yield main, startup


def types(program):
    return [op.type for op in program.global_block().ops]


def linear():
    x = L.data(name="x", shape=[13], dtype="float32")
    y = L.data(name="y", shape=[1], dtype="float32")
    return L.mean(L.square_error_cost(input=L.fc(input=x, size=1), label=y))


FORWARD = ["mul", "elementwise_add", "elementwise_sub", "square", "mean"]
BACKWARD = ["fill_constant", "mean_grad", "square_grad", "elementwise_sub_grad", "elementwise_add_grad", "mul_grad"]


class Names(unittest.TestCase):

    def test_linear_regression(self):
        with fresh() as (main, startup):
            loss = linear()
            self.assertEqual(loss.name, "mean_0.tmp_0")
            ops, pairs = fluid.optimizer.SGD(learning_rate=0.01).minimize(loss)
            self.assertEqual(types(main), FORWARD + BACKWARD + ["sgd", "sgd"])
            self.assertEqual([op.type for op in ops], ["sgd", "sgd"])
            self.assertEqual([op.input("Param") for op in ops], [["fc_0.b_0"], ["fc_0.w_0"]])  # in the order of names
            self.assertEqual([(p.name, g.name) for p, g in pairs],
                             [("fc_0.w_0", "fc_0.w_0@GRAD"), ("fc_0.b_0", "fc_0.b_0@GRAD")])
            self.assertEqual(list(main.global_block().vars)[:8],
                             ["x", "y", "fc_0.w_0", "fc_0.tmp_0", "fc_0.b_0", "fc_0.tmp_1", "square_error_cost_0.tmp_0",
                              "square_error_cost_0.tmp_1"])
            self.assertEqual(ops[0].input("LearningRate"), ["learning_rate_0"])
            self.assertEqual(main.global_block().var("fc_0.w_0").shape, (13, 1))
            # Init ops are put in front: the last made comes first.
            self.assertEqual([op.output_arg_names for op in startup.global_block().ops],
                             [["learning_rate_0"], ["fc_0.b_0"], ["fc_0.w_0"]])
            self.assertEqual(types(startup), ["fill_constant", "fill_constant", "uniform_random"])

    def test_roles(self):
        with fresh() as (main, _):
            fluid.optimizer.SGD(0.01).minimize(linear())
            roles = [op.attr("op_role") for op in main.global_block().ops]
            self.assertEqual(roles, [0, 0, 0, 0, 256, 257, 1, 1, 1, 1, 1, 2, 2])
            self.assertEqual(main.global_block().ops[-1].attr("op_role_var"), ["fc_0.w_0", "fc_0.w_0@GRAD"])

    def test_state_of_optimizers(self):
        o = fluid.optimizer
        for make, expected in [
                (lambda: o.Momentum(0.1, 0.9), ["velocity"]),
                (lambda: o.Adagrad(0.1), ["moment"]),
                (lambda: o.Adam(), ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"]),
                (lambda: o.Adamax(), ["moment", "inf_norm", "beta1_pow_acc"]),
                (lambda: o.DecayedAdagrad(0.1), ["moment"]),
                (lambda: o.RMSProp(0.1), ["momentum", "mean_square", "mean_grad"]),
                (lambda: o.Adadelta(0.1), ["_avg_squared_grad", "_avg_squared_update"]),
                (lambda: o.Ftrl(0.1), ["squared", "linear"]),
                (lambda: o.Momentum(0.1, 0.9, name="opt"), ["opt_velocity"])]:
            with fresh() as (main, _):
                optimizer = make()
                optimizer.minimize(linear())
                made = [n for n in main.global_block().vars if n.startswith("fc_0.w_0_")]
                self.assertEqual(made, [f"fc_0.w_0_{e}_0" for e in expected])
                w = main.global_block().var("fc_0.w_0")
                first = expected[0][len("opt_"):] if expected[0].startswith("opt_") else expected[0]
                self.assertEqual(optimizer._get_accumulator(first, w).shape, (13, 1))

    def test_decay_regularizer_and_clip(self):
        with fresh() as (main, _):
            loss = linear()
            fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(1.0))
            rate = L.exponential_decay(0.1, 10, 0.5)
            fluid.optimizer.SGD(rate, regularization=fluid.regularizer.L2Decay(0.1)).minimize(loss)
            self.assertEqual(types(main)[0], "increment")  # of the counter, in front of everything
            self.assertIn("@LR_DECAY_COUNTER@", main.global_block().vars)
            schedule = ["cast", "fill_constant", "elementwise_div", "fill_constant", "elementwise_pow", "fill_constant",
                        "elementwise_mul"]
            update = ["clip", "clip", "scale", "sum", "scale", "sum", "sgd", "sgd"]
            self.assertEqual(types(main), ["increment"] + FORWARD + schedule + BACKWARD + update)
            self.assertEqual(main.global_block().ops[-1].input("LearningRate"), [rate.name])

    def test_learning_rate_of_one_parameter(self):
        with fresh() as (main, _):
            x = L.data(name="x", shape=[2])
            loss = L.mean(L.fc(x, size=1, param_attr=fluid.ParamAttr(learning_rate=0.5), bias_attr=False))
            fluid.optimizer.SGD(0.1).minimize(loss)
            scale = main.global_block().ops[-2]
            self.assertEqual((scale.type, scale.attr("op_role"), scale.input("X")), ("scale", 18, ["learning_rate_0"]))

    def test_names_of_the_user(self):
        with fresh() as (main, _):
            x = L.data(name="x", shape=[4])
            out = L.fc([x, x], size=3, name="mine", act="relu")
            self.assertEqual(out.name, "mine.tmp_4")
            names = [p.name for p in main.global_block().all_parameters()]
            self.assertEqual(names, ["mine.w_0", "mine.w_1", "mine.b_0"])
            self.assertEqual(L.concat([x, x], axis=1, name="both").name, "both.tmp_0")
            self.assertEqual(L.relu(x, name="r").name, "r.tmp_0")
            self.assertEqual(L.relu(x).name, "relu_0.tmp_0")

    def test_one_rate_per_optimizer_and_program(self):
        with fresh() as (main, _):
            x = L.data(name="x", shape=[2])
            optimizer = fluid.optimizer.SGD(0.1)
            self.assertIsNone(optimizer._global_learning_rate())
            a, b = L.mean(L.fc(x, size=1)), L.mean(L.fc(x, size=1))
            optimizer.minimize(a)
            optimizer.minimize(b)
            rates = [n for n in main.global_block().vars if n.startswith("learning_rate")]
            self.assertEqual(rates, ["learning_rate_0"])
            self.assertEqual(optimizer._global_learning_rate().name, "learning_rate_0")


class Attributes(unittest.TestCase):

    def test_forms(self):
        with fresh() as (main, startup):
            x = L.data(name="x", shape=[2])
            L.fc(x, size=1, param_attr="by_name", bias_attr=False)
            L.fc(x, size=1, param_attr=fluid.initializer.Constant(3.0), bias_attr=None)
            L.fc(x, size=1, param_attr=fluid.regularizer.L1Decay(0.5), bias_attr=True)
            L.fc([x, x], size=1, param_attr=["left", fluid.ParamAttr(name="right", trainable=False)], bias_attr=False)
            names = [p.name for p in main.global_block().all_parameters()]
            self.assertEqual(names, ["by_name", "fc_1.w_0", "fc_1.b_0", "fc_2.w_0", "fc_2.b_0", "left", "right"])
            self.assertFalse(main.global_block().var("right").trainable)
            self.assertIn("L1Decay", repr(main.global_block().var("fc_2.w_0").regularizer))
            made = {op.output("Out")[0]: op for op in startup.global_block().ops}
            self.assertEqual(made["fc_1.w_0"].type, "fill_constant")
            self.assertEqual(made["fc_1.w_0"].attr("value"), 3.0)

    def test_parameters_remember(self):
        with fresh() as (main, _):
            attr = fluid.ParamAttr(name="w", learning_rate=2.0, regularizer=fluid.regularizer.L2Decay(0.1),
                                   gradient_clip=fluid.clip.GradientClipByNorm(3.0), do_model_average=False)
            L.fc(L.data(name="x", shape=[2]), size=1, param_attr=attr)
            w = main.global_block().var("w")
            self.assertEqual(w.optimize_attr, {"learning_rate": 2.0})
            self.assertTrue(w.trainable and w.persistable)
            self.assertFalse(w.do_model_average)
            self.assertEqual(w.gradient_clip_attr.clip_norm, 3.0)

    def test_wrong_ones(self):
        with fresh():
            x = L.data(name="x", shape=[2])
            with self.assertRaisesRegex(TypeError, "cast to ParamAttr"):
                L.fc(x, size=1, param_attr=3)
            with self.assertRaisesRegex(ValueError, "needs its weight"):
                L.fc(x, size=1, param_attr=False)
            with self.assertRaisesRegex(ValueError, "must not be empty"):
                fluid.ParamAttr(name="")
            with self.assertRaisesRegex(ValueError, "2 parameter attributes for 3 inputs"):
                L.fc([x, x, x], size=1, param_attr=["a", "b"])
            with self.assertRaises(NotImplementedError):
                L.fc(x, size=1, param_attr=fluid.WeightNormParamAttr())

    def test_first_values(self):
        given = np.arange(12).reshape(4, 3).astype("float32")
        i = fluid.initializer
        with fresh() as (_, startup):
            startup.random_seed = 3
            made = {}
            for name, how in [("constant", i.Constant(2.0)), ("uniform", i.Uniform(1.0, 2.0)),
                              ("normal", i.Normal(5.0, 0.1)), ("truncated", i.TruncatedNormal(0.0, 1.0)),
                              ("xavier", i.Xavier(uniform=False, fan_in=2, fan_out=2)), ("msra", i.MSRA()),
                              ("given", i.NumpyArrayInitializer(given))]:
                L.create_parameter([4, 3], "float32", name=name, attr=fluid.ParamAttr(initializer=how))
            L.create_parameter([1, 1, 4, 4], "float32", name="bilinear", default_initializer=i.Bilinear())
            fluid.Executor(fluid.CPUPlace()).run(startup)
            for name in ("constant", "uniform", "normal", "truncated", "xavier", "msra", "given", "bilinear"):
                made[name] = np.array(fluid.global_scope().find_var(name).get_tensor())
        np.testing.assert_array_equal(made["constant"], np.full((4, 3), 2.0))
        np.testing.assert_array_equal(made["given"], given)
        self.assertTrue(((made["uniform"] >= 1) & (made["uniform"] < 2)).all())
        self.assertLess(np.abs(made["normal"] - 5).max(), 1)
        self.assertLess(np.abs(made["truncated"]).max(), 2.001)
        self.assertLess(np.abs(made["msra"]).max(), np.sqrt(6 / 4))
        np.testing.assert_allclose(made["bilinear"][0, 0, 1], [0.1875, 0.5625, 0.5625, 0.1875])

    def test_initializer_as_a_function(self):
        with fresh() as (_, startup):
            var = startup.global_block().create_var(name="v", shape=[2], dtype="float32", persistable=True)
            op = fluid.initializer.Constant(4.0)(var, startup.global_block())
            self.assertEqual(op.type, "fill_constant")
            got, = fluid.Executor(fluid.CPUPlace()).run(startup, fetch_list=["v"])
            np.testing.assert_array_equal(got, [4.0, 4.0])


class Gradients(unittest.TestCase):

    def test_gradients(self):
        with fresh():
            x = L.data(name="x", shape=[3], stop_gradient=False)
            other = L.data(name="other", shape=[3], stop_gradient=False)
            y = L.square(x) * 3.0
            seed = L.fill_constant_batch_size_like(x, shape=[-1, 3], dtype="float32", value=2.0)
            found = fluid.gradients([y], [x, other])
            self.assertIsNone(found[1])
            given = fluid.backward.calc_gradient(L.square(x), x, target_gradients=seed)
            feed = {"x": np.array([[1.0, 2.0, 3.0]], "float32")}
            got = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[found[0], given])
            np.testing.assert_allclose(got[0], 6 * feed["x"])
            np.testing.assert_allclose(got[1], 4 * feed["x"])

    def test_no_grad_set_and_parameter_list(self):
        with fresh():
            loss = linear()
            pairs = fluid.append_backward(loss, parameter_list=["fc_0.b_0"])
            self.assertEqual([p.name for p, _ in pairs], ["fc_0.b_0"])
        with fresh():
            pairs = fluid.append_backward(linear(), no_grad_set={"fc_0.w_0"})
            self.assertEqual([p.name for p, _ in pairs], ["fc_0.b_0"])

    def test_backward_then_apply(self):
        with fresh() as (main, _):
            loss = linear()
            optimizer = fluid.optimizer.Momentum(0.1, 0.9)
            pairs = optimizer.backward(loss)
            doubled = [(p, L.scale(g, scale=2.0)) for p, g in pairs]
            ops = optimizer.apply_gradients(doubled)
            self.assertEqual([op.input("Grad")[0] for op in ops], ["scale_1.tmp_0", "scale_0.tmp_0"])
            self.assertEqual(types(main)[-2:], ["momentum", "momentum"])

    def test_error_clip(self):
        with fresh() as (main, _):
            x = L.data(name="x", shape=[2])
            hidden = L.fc(x, size=1, param_attr=fluid.initializer.Constant(1.0), bias_attr=False)
            hidden.error_clip = fluid.clip.ErrorClipByValue(max=0.5)
            (_, grad), = fluid.append_backward(L.reduce_sum(L.scale(hidden, scale=10.0)))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            got, = exe.run(feed={"x": np.array([[1.0, 2.0]], "float32")}, fetch_list=[grad])
            np.testing.assert_allclose(got, [[0.5], [1.0]])
            clip = [op for op in main.global_block().ops if op.type == "clip"]
            self.assertEqual([(op.attr("min"), op.attr("op_role")) for op in clip], [(-0.5, 1)])

    def test_sum_of_contributions(self):
        with fresh() as (main, _):
            x = L.data(name="x", shape=[2])
            w = L.create_parameter([2, 1], "float32", name="w")
            fluid.append_backward(L.mean(L.mul(x, w) + L.mul(x, w)))
            outputs = [n for op in main.global_block().ops for n in op.output_arg_names]
            self.assertIn("w@GRAD@RENAME@0", outputs)
            self.assertEqual(types(main)[-1], "sum")


class Mistakes(unittest.TestCase):

    def test_learning_rate(self):
        for wrong in (1, "0.1", None):
            with self.assertRaisesRegex(TypeError, "learning rate should be float or Variable, got"):
                fluid.optimizer.SGD(learning_rate=wrong)
        with fresh(), self.assertRaisesRegex(ValueError, r"must have shape \[1\]"):
            fluid.optimizer.SGD(L.zeros([2], "float32")).minimize(linear())

    def test_nothing_to_learn(self):
        with fresh(), self.assertRaisesRegex(ValueError, "depends on no trainable parameter"):
            fluid.optimizer.SGD(0.1).minimize(L.mean(L.data(name="x", shape=[2], stop_gradient=False)))

    def test_loss(self):
        with fresh():
            with self.assertRaisesRegex(TypeError, "should be an instance of Variable"):
                fluid.optimizer.SGD(0.1).minimize("loss")
            x = L.data(name="x", shape=[2])
            with self.assertRaisesRegex(ValueError, "shape"):
                fluid.optimizer.SGD(0.1).minimize(L.fc(x, size=3))
            with self.assertRaisesRegex(ValueError, "fc_0.w"):
                fluid.append_backward(L.mean(L.fc(x, size=1)), parameter_list=["fc_0.w"])

    def test_layers(self):
        with fresh():
            x = L.data(name="x", shape=[2])
            with self.assertRaisesRegex(AttributeError, "did you mean 'sigmoid'"):
                L.sigmoyd(x)
            with self.assertRaisesRegex(AttributeError, "there are no recurrent layers: use sequence_pool"):
                L.dynamic_lstm
            with self.assertRaisesRegex(AttributeError, "update rules"):
                fluid.optimizer.LarsMomentum
            with self.assertRaisesRegex(ValueError, "did you mean 'relu'"):
                L.fc(x, size=1, act="rellu")
            with self.assertRaisesRegex(TypeError, "fc: 'input' must be a Variable"):
                L.fc(np.zeros((2, 2)), size=1)
            with self.assertRaisesRegex(ValueError, "size"):
                L.fc(x, size=-1)
            with self.assertRaisesRegex(ValueError, "declared twice"):
                L.data(name="x", shape=[3])
            with self.assertRaisesRegex(ValueError, r"mul|shape"):
                L.elementwise_add(L.data(name="a", shape=[3]), L.data(name="b", shape=[4]))
            with self.assertRaisesRegex(ValueError, "int32 or int64"):
                L.reshape(x, [1], actual_shape=x)

    def test_the_line_of_the_script(self):
        with fresh(), self.assertRaises(ValueError) as caught:
            L.elementwise_add(L.data(name="a", shape=[3]), L.data(name="b", shape=[4]))
        self.assertIn("training_api_test.py", str(caught.exception))

    def test_clips(self):
        with self.assertRaisesRegex(TypeError, "BaseGradientClipAttr"):
            fluid.clip.set_gradient_clip(1.0)
        with fresh(), self.assertRaisesRegex(TypeError, "grad_clip"):
            fluid.optimizer.SGD(0.1).minimize(linear(), grad_clip=5.0)
        with self.assertRaisesRegex(TypeError, "regularization"):
            fluid.optimizer.SGD(0.1, regularization=0.1)


if __name__ == "__main__":
    unittest.main()
