"""Small models: the losses of 20 steps are those of an independent implementation in numpy."""
import unittest

import numpy as np
import paddle.fluid as fluid
import reference as ref
from reference import Value

STEPS = 20


class Numeric(unittest.TestCase):

    def check(self, build, batch, loss_of, optimizer, rule, rate=0.1, clip=None, decay=None, factors=None, before=None):
        """Builds with fluid, steps with both, compares losses.

        build() -> loss; batch(rng) -> feed; loss_of({name: Value}, feed) -> loss of the reference.
        """
        main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
        main.random_seed = startup.random_seed = 7
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
            loss = build()
            if before is not None:
                before()
            optimizer().minimize(loss)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            names = [p.name for p in main.global_block().all_parameters() if p.trainable]
            first = {n: np.array(scope.find_var(n).get_tensor()) for n in names}
            own = ref.Trainer(first, rule, rate, clip=clip, decay=decay and {n: decay for n in names}, factors=factors)
            rng = np.random.RandomState(5)
            got, expected = [], []
            for _ in range(STEPS):
                feed = batch(rng)
                got.append(float(exe.run(main, feed=feed, fetch_list=[loss])[0][0]))
                expected.append(own.step(lambda values: loss_of(values, feed)))
            for n in names:
                learned = np.array(scope.find_var(n).get_tensor())
                np.testing.assert_allclose(learned, own.params[n], rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
        self.assertNotAlmostEqual(got[0], got[-1], places=4)
        return got

    # ---- One regression for many optimizers.

    @staticmethod
    def regression():
        x = fluid.layers.data(name="x", shape=[6], dtype="float32")
        y = fluid.layers.data(name="y", shape=[1], dtype="float32")
        hidden = fluid.layers.fc(input=x, size=5, act="tanh")
        return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(input=hidden, size=1), y))

    @staticmethod
    def regression_batch(rng):
        x = rng.uniform(-1, 1, (8, 6)).astype("float32")
        return {"x": x, "y": (x.sum(axis=1, keepdims=True) + 0.5 * x[:, :1]).astype("float32")}

    @staticmethod
    def regression_loss(p, feed):
        hidden = ref.tanh(Value(feed["x"]) @ p["fc_0.w_0"] + p["fc_0.b_0"])
        return ref.cost(ref.square(hidden @ p["fc_1.w_0"] + p["fc_1.b_0"] - Value(feed["y"])))

    def regress(self, optimizer, rule, **more):
        return self.check(self.regression, self.regression_batch, self.regression_loss, optimizer, rule, **more)

    def test_linear_sgd(self):
        def build():
            x = fluid.layers.data(name="x", shape=[6], dtype="float32")
            y = fluid.layers.data(name="y", shape=[1], dtype="float32")
            return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(input=x, size=1), y))

        def loss_of(p, feed):
            return ref.cost(ref.square(Value(feed["x"]) @ p["fc_0.w_0"] + p["fc_0.b_0"] - Value(feed["y"])))

        got = self.check(build, self.regression_batch, loss_of, lambda: fluid.optimizer.SGD(learning_rate=0.1), ref.sgd)
        self.assertLess(got[-1], got[0] / 2)

    def test_mlp_of_every_optimizer(self):
        o = fluid.optimizer
        for name, optimizer, rule, rate in [
                ("sgd", lambda: o.SGDOptimizer(0.1), ref.sgd, 0.1),
                ("momentum", lambda: o.Momentum(0.05, momentum=0.8), ref.momentum(0.8), 0.05),
                ("nesterov", lambda: o.MomentumOptimizer(0.05, 0.8, use_nesterov=True), ref.momentum(0.8, True), 0.05),
                ("adagrad", lambda: o.Adagrad(0.1), ref.adagrad(), 0.1),
                ("adagrad from 0.5", lambda: o.Adagrad(0.1, initial_accumulator_value=0.5), ref.adagrad(first=0.5),
                 0.1),
                ("adam", lambda: o.Adam(learning_rate=0.02, beta1=0.8), ref.adam(b1=0.8), 0.02),
                ("adamax", lambda: o.Adamax(learning_rate=0.02), ref.adamax(), 0.02),
                ("decayed adagrad", lambda: o.DecayedAdagrad(0.01), ref.decayed_adagrad(), 0.01),
                ("rmsprop", lambda: o.RMSProp(0.01, momentum=0.5), ref.rmsprop(mu=0.5), 0.01),
                ("centered", lambda: o.RMSProp(0.01, centered=True), ref.rmsprop(centered=True), 0.01),
                ("adadelta", lambda: o.Adadelta(1.0, epsilon=1e-4), ref.adadelta(epsilon=1e-4), 1.0),
                ("ftrl", lambda: o.Ftrl(0.1, l1=0.01, l2=0.02), ref.ftrl(0.01, 0.02), 0.1)]:
            with self.subTest(name):
                self.regress(optimizer, rule, rate=rate)

    def test_decays(self):
        f = fluid.layers
        for name, schedule, rate in [
                ("exponential", lambda: f.exponential_decay(0.2, 5, 0.5), lambda s: 0.2 * 0.5**(s / 5)),
                ("stairs", lambda: f.exponential_decay(0.2, 5, 0.5, staircase=True), lambda s: 0.2 * 0.5**(s // 5)),
                ("natural", lambda: f.natural_exp_decay(0.2, 5, 0.5), lambda s: 0.2 * np.exp(-0.5 * s / 5)),
                ("inverse", lambda: f.inverse_time_decay(0.2, 5, 0.5), lambda s: 0.2 / (1 + 0.5 * s / 5)),
                ("polynomial", lambda: f.polynomial_decay(0.2, 8, 0.01, power=2.0),
                 lambda s: 0.19 * (1 - min(s, 8) / 8)**2 + 0.01),
                ("piecewise", lambda: f.piecewise_decay([3, 9], [0.2, 0.1, 0.05]),
                 lambda s: 0.2 if s < 3 else 0.1 if s < 9 else 0.05),
                ("noam", lambda: f.noam_decay(16, 4), lambda s: 16**-0.5 * min((s + 1)**-0.5, (s + 1) * 4**-1.5)),
                ("cosine", lambda: f.cosine_decay(0.2, 4, 5), lambda s: 0.1 * (np.cos((s // 4) * np.pi / 5) + 1)),
                ("warmup", lambda: f.linear_lr_warmup(f.exponential_decay(0.2, 5, 0.5), 6, 0.0, 0.1),
                 lambda s: s * 0.1 / 6 if s < 6 else 0.2 * 0.5**(s / 5))]:
            with self.subTest(name):
                self.regress(lambda: fluid.optimizer.SGD(learning_rate=schedule()), ref.sgd, rate=rate)

    def test_regularizers(self):
        r = fluid.regularizer
        for name, decay, formula in [("l1", r.L1Decay(0.05), lambda p: 0.05 * np.sign(p)),
                                     ("l2", r.L2DecayRegularizer(regularization_coeff=0.1), lambda p: 0.1 * p)]:
            with self.subTest(name):
                self.regress(lambda: fluid.optimizer.Momentum(0.05, 0.9, regularization=decay), ref.momentum(0.9),
                             rate=0.05, decay=formula)
        self.regress(lambda: fluid.optimizer.Ftrl(0.1, l1=0.01, regularization=r.L2Decay(0.1)), ref.ftrl(0.01, 0),
                     decay=lambda p: 0.1 * p)

    def test_clips(self):
        c = fluid.clip
        for clip, own in [(c.GradientClipByValue(0.05), ref.clip_value(0.05)),
                          (c.GradientClipByNorm(0.1), ref.clip_norm(0.1)),
                          (c.GradientClipByGlobalNorm(0.2), ref.clip_global_norm(0.2))]:
            with self.subTest(repr(clip)):
                self.regress(lambda: fluid.optimizer.SGD(0.1), ref.sgd, clip=own,
                             before=lambda: c.set_gradient_clip(clip))

    def test_grad_clip_of_minimize(self):
        class Clipped(fluid.optimizer.SGD):
            def minimize(self, loss):
                return super().minimize(loss, grad_clip=fluid.clip.GradientClipByGlobalNorm(0.2))

        self.regress(lambda: Clipped(0.1), ref.sgd, clip=ref.clip_global_norm(0.2))

    def test_parameter_attributes(self):
        """A learning rate, a decay and a clip of one parameter's own, one that does not learn, a layer without bias."""
        start = np.linspace(-1, 1, 30).reshape(6, 5).astype("float32")

        def build():
            x = fluid.layers.data(name="x", shape=[6], dtype="float32")
            y = fluid.layers.data(name="y", shape=[1], dtype="float32")
            attr = fluid.ParamAttr(name="w", learning_rate=0.5, regularizer=fluid.regularizer.L2Decay(0.3),
                                   initializer=fluid.initializer.NumpyArrayInitializer(start),
                                   gradient_clip=fluid.clip.GradientClipByValue(0.02))
            hidden = fluid.layers.fc(input=x, size=5, act="sigmoid", param_attr=attr, bias_attr=False)
            fixed = fluid.ParamAttr(name="fixed", initializer=fluid.initializer.Constant(0.25), trainable=False)
            out = fluid.layers.fc(input=hidden, size=1, param_attr="v", bias_attr=fixed)
            return fluid.layers.mean(fluid.layers.square_error_cost(out, y))

        def loss_of(p, feed):
            hidden = ref.sigmoid(Value(feed["x"]) @ p["w"])
            return ref.cost(ref.square(hidden @ p["v"] + Value(0.25) - Value(feed["y"])))

        def clip(grads):
            return {n: np.clip(g, -0.02, 0.02) if n == "w" else g for n, g in grads.items()}

        def decay(p):
            return 0.3 * p if p.shape == (6, 5) else 0

        self.check(build, self.regression_batch, loss_of, lambda: fluid.optimizer.SGD(0.2), ref.sgd, rate=0.2,
                   clip=clip, decay=decay, factors={"w": 0.5})

    # ---- Classifiers.

    @staticmethod
    def digits_batch(rng):
        label = rng.randint(0, 3, (6, 1)).astype("int64")
        return {"img": (rng.uniform(-1, 1, (6, 1, 6, 6)) + label[:, :, None, None]).astype("float32"), "label": label}

    def test_mlp_softmax(self):
        def build():
            img = fluid.layers.data(name="img", shape=[1, 6, 6], dtype="float32")
            label = fluid.layers.data(name="label", shape=[1], dtype="int64")
            hidden = fluid.layers.fc(input=img, size=10, act="relu")
            hidden = fluid.layers.fc(input=[hidden, img], size=8, act="tanh")
            out = fluid.layers.fc(input=hidden, size=3, act="softmax")
            return fluid.layers.mean(fluid.layers.cross_entropy(input=out, label=label))

        def loss_of(p, feed):
            x = Value(feed["img"].reshape(6, 36))
            first = ref.relu(x @ p["fc_0.w_0"] + p["fc_0.b_0"])
            second = ref.tanh(first @ p["fc_1.w_0"] + x @ p["fc_1.w_1"] + p["fc_1.b_0"])
            return ref.cost(ref.cross_entropy(second @ p["fc_2.w_0"] + p["fc_2.b_0"], feed["label"]))

        self.check(build, self.digits_batch, loss_of, lambda: fluid.optimizer.Momentum(0.02, 0.9), ref.momentum(0.9),
                   0.02)

    def test_conv(self):
        def build():
            img = fluid.layers.data(name="img", shape=[1, 6, 6], dtype="float32")
            label = fluid.layers.data(name="label", shape=[1], dtype="int64")
            pooled = fluid.nets.simple_img_conv_pool(input=img, num_filters=4, filter_size=3, pool_size=2,
                                                     pool_stride=2, conv_padding=1, act="relu")
            out = fluid.layers.fc(input=fluid.layers.conv2d(pooled, num_filters=2, filter_size=2, act="tanh"), size=3)
            return fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(out, label))

        def loss_of(p, feed):
            first = ref.conv2d(Value(feed["img"]), p["conv2d_0.w_0"], 1) + p["conv2d_0.b_0"].reshape(1, 4, 1, 1)
            pooled = ref.max_pool(ref.relu(first), 2)
            second = ref.tanh(ref.conv2d(pooled, p["conv2d_1.w_0"], 0) + p["conv2d_1.b_0"].reshape(1, 2, 1, 1))
            logits = second.reshape(6, 8) @ p["fc_0.w_0"] + p["fc_0.b_0"]
            return ref.cost(ref.cross_entropy(logits, feed["label"]))

        self.check(build, self.digits_batch, loss_of, lambda: fluid.optimizer.Adam(0.01), ref.adam(), 0.01)

    def test_norms(self):
        def build():
            img = fluid.layers.data(name="img", shape=[1, 6, 6], dtype="float32")
            label = fluid.layers.data(name="label", shape=[1], dtype="int64")
            conv = fluid.layers.conv2d(img, num_filters=3, filter_size=3, bias_attr=False)
            hidden = fluid.layers.fc(input=fluid.layers.batch_norm(conv, act="relu"), size=7)
            out = fluid.layers.fc(input=fluid.layers.layer_norm(hidden), size=3, act="softmax")
            return fluid.layers.mean(fluid.layers.cross_entropy(input=out, label=label))

        def loss_of(p, feed):
            conv = ref.conv2d(Value(feed["img"]), p["conv2d_0.w_0"], 0)
            scaled = ref.normalize(conv, (0, 2, 3), 1e-5) * p["batch_norm_0.w_0"].reshape(1, 3, 1, 1)
            normal = ref.relu(scaled + p["batch_norm_0.b_0"].reshape(1, 3, 1, 1))
            hidden = normal.reshape(6, 48) @ p["fc_0.w_0"] + p["fc_0.b_0"]
            hidden = ref.normalize(hidden, 1, 1e-5) * p["layer_norm_0.w_0"] + p["layer_norm_0.b_0"]
            return ref.cost(ref.cross_entropy(hidden @ p["fc_1.w_0"] + p["fc_1.b_0"], feed["label"]))

        self.check(build, self.digits_batch, loss_of, lambda: fluid.optimizer.SGD(0.05), ref.sgd, 0.05)

    # ---- Words.

    def test_ngram_embedding(self):
        def batch(rng):
            words = rng.randint(0, 20, (9, 3))
            return {"a": words[:, :1].astype("int64"), "b": words[:, 1:2].astype("int64"),
                    "next": ((words[:, :1] + words[:, 1:2]) % 20).astype("int64")}

        def loss_of(p, feed):
            both = ref.concat([ref.embedding(p["shared"], feed[n]) for n in "ab"])
            hidden = ref.sigmoid(both @ p["fc_0.w_0"] + p["fc_0.b_0"])
            return ref.cost(ref.cross_entropy(hidden @ p["fc_1.w_0"] + p["fc_1.b_0"], feed["next"]))

        for sparse in (False, True):
            def build():
                words = [fluid.layers.data(name=n, shape=[1], dtype="int64") for n in ("a", "b", "next")]
                rows = [fluid.layers.embedding(input=w, size=[20, 4], is_sparse=sparse, param_attr="shared")
                        for w in words[:2]]
                hidden = fluid.layers.fc(input=fluid.layers.concat(rows, axis=1), size=8, act="sigmoid")
                out = fluid.layers.fc(input=hidden, size=20, act="softmax")
                return fluid.layers.mean(fluid.layers.cross_entropy(input=out, label=words[2]))

            with self.subTest(sparse=sparse):
                self.check(build, batch, loss_of, lambda: fluid.optimizer.Adagrad(0.1), ref.adagrad(), 0.1)

    def test_sequence_pools(self):
        def batch(rng):
            lengths = rng.randint(1, 5, 6)
            ids = rng.randint(0, 30, (lengths.sum(), 1)).astype("int64")
            label = (lengths % 2).reshape(6, 1).astype("float32")
            return {"ids": fluid.create_lod_tensor(ids, [lengths.tolist()], fluid.CPUPlace()), "label": label}

        pools = {
            "sum": lambda x, n: ref.sequence_sum(x, n, lambda k: 1.0),
            "average": lambda x, n: ref.sequence_sum(x, n, lambda k: 1.0 / k),
            "sqrt": lambda x, n: ref.sequence_sum(x, n, lambda k: k**-0.5),
            "max": ref.sequence_max,
        }
        for pool, own in pools.items():
            def build():
                ids = fluid.layers.data(name="ids", shape=[1], dtype="int64", lod_level=1)
                label = fluid.layers.data(name="label", shape=[1], dtype="float32")
                rows = fluid.layers.embedding(input=ids, size=[30, 5], is_sparse=True)
                out = fluid.layers.fc(input=fluid.layers.sequence_pool(rows, pool), size=1)
                return fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(out, label))

            def loss_of(p, feed):
                lengths = np.array(feed["ids"].recursive_sequence_lengths()[0])
                rows = ref.embedding(p["embedding_0.w_0"], np.array(feed["ids"]))
                out = own(rows, lengths) @ p["fc_0.w_0"] + p["fc_0.b_0"]
                return ref.cost(ref.binary_cross_entropy(out, feed["label"]))

            with self.subTest(pool):
                self.check(build, batch, loss_of, lambda: fluid.optimizer.SGD(0.5), ref.sgd, 0.5)

    def test_arithmetic_on_variables(self):
        """Operators, slices and casts are differentiated like layers."""
        def build():
            x = fluid.layers.data(name="x", shape=[6], dtype="float32")
            y = fluid.layers.data(name="y", shape=[1], dtype="float32")
            left = fluid.layers.fc(input=x[:, 1:4], size=2)
            out = 2.0 * left[:, 0:1] - left[:, 1:2] / 4.0 + 1.0
            error = (1.0 - out / 2.0) + (y - 1.0)
            return fluid.layers.mean(error * error)

        def loss_of(p, feed):
            left = Value(feed["x"][:, 1:4]) @ p["fc_0.w_0"] + p["fc_0.b_0"]
            pick = [Value(np.array([[1.0], [0.0]])), Value(np.array([[0.0], [1.0]]))]
            out = Value(2.0) * (left @ pick[0]) - (left @ pick[1]) * Value(0.25) + Value(1.0)
            return ref.cost(ref.square(Value(1.0) - out * Value(0.5) + Value(feed["y"]) - Value(1.0)))

        self.check(build, self.regression_batch, loss_of, lambda: fluid.optimizer.SGD(0.1), ref.sgd)


if __name__ == "__main__":
    unittest.main()
