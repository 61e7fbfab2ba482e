"""Operators, slices and casts of variables; metrics and averages on the side of the script."""
import unittest

import numpy as np
import paddle.fluid as fluid

L = fluid.layers
X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")


def run(build, arrays):
    """build(*variables) -> variable(s), as numpy."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), \
            fluid.scope_guard(fluid.Scope()):
        feed, inputs = {}, []
        for i, a in enumerate(arrays):
            inputs.append(L.data(name=f"v{i}", shape=list(a.shape[1:]), dtype=a.dtype.name))
            feed[f"v{i}"] = a
        out = build(*inputs)
        got = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=out if isinstance(out, list) else [out])
        return got if isinstance(out, list) else got[0]


class Operators(unittest.TestCase):

    def test_values(self):
        Y = np.array([[2.0, 2.0, 2.0], [0.5, -1.0, 3.0]], "float32")
        for text in ["x + y", "x - y", "x * y", "x / y", "x + 2", "2 + x", "x - 0.5", "1.5 - x", "x * 3", "3 * x",
                     "x / 4", "2.0 / x", "-x", "abs_(x) ** 2.0", "2.0 ** x", "x < y", "x <= y", "x > y", "x >= y",
                     "x == y", "x != y", "x > 0.0"]:
            with self.subTest(text):
                got = run(lambda x, y: eval(text, {"x": x, "y": y, "abs_": L.abs}), [X, Y])
                wanted = eval(text, {"x": X, "y": Y, "abs_": np.abs})
                self.assertEqual(got.dtype, wanted.dtype if wanted.dtype == bool else np.float32)
                np.testing.assert_allclose(got, wanted, rtol=1e-5)

    def test_integers(self):
        I = np.array([[7, 8], [9, 10]], "int64")
        for text in ["x // 3", "x % 4", "x + 1", "x * x"]:
            with self.subTest(text):
                got = run(lambda x: eval(text, {"x": x}), [I])
                np.testing.assert_array_equal(got, eval(text, {"x": I}))
                self.assertEqual(got.dtype.name, "int64")

    def test_ops_and_names(self):
        main = fluid.Program()
        with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
            x = L.data(name="x", shape=[3])
            self.assertEqual((x + 2.0).name, "tmp_1")
            1.0 / x
            types = [op.type for op in main.global_block().ops]
            self.assertEqual(types[:2], ["fill_constant", "elementwise_add"])
            self.assertEqual(types[2:], ["fill_constant_batch_size_like", "elementwise_div"])
            fixed = L.zeros([2, 2], "float32")
            1.0 - fixed
            self.assertEqual([op.type for op in main.global_block().ops][-2:], ["fill_constant", "elementwise_sub"])
            self.assertEqual(main.global_block().ops[-2].attr("shape"), [2, 2])

    def test_types_meet(self):
        I = np.array([[1, 2, 3], [4, 5, 6]], "int64")
        np.testing.assert_allclose(run(lambda x, i: x * i, [X, I]), X * I)
        np.testing.assert_array_equal(run(lambda x: x.astype("int64"), [X]), X.astype("int64"))

    def test_hash_and_equality(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
            a, b = L.data(name="a", shape=[1]), L.data(name="b", shape=[1])
            self.assertEqual({a: 1, b: 2}[b], 2)
            self.assertFalse(a is None or a == None)  # noqa: E711
            self.assertTrue(a != "a")
            with self.assertRaises(TypeError):
                a + "b"
            with self.assertRaises(TypeError):
                list(a)

    def test_slices(self):
        T = np.arange(24).reshape(2, 3, 4).astype("float32")
        for text in ["t[0]", "t[:, 1]", "t[:, -1]", "t[..., 2]", "t[:, 1:3]", "t[:, :-1, 1:]", "t[0:1]", "t[:, ::2]",
                     "t[:, ::-1]", "t[:, 0, 3]", "t[..., ::3]", "t[1, 2]", "t[:]"]:
            with self.subTest(text):
                np.testing.assert_array_equal(run(lambda t: eval(text, {"t": t}), [T]), eval(text, {"t": T}))
        self.assertEqual(run(lambda t: t[1, 2, 3], [T]).tolist(), [23.0])

    def test_wrong_slices(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
            x = L.data(name="x", shape=[3])
            for wrong, error, message in [((0, 3), IndexError, "outside of dimension 1 of length 3"),
                                          ((0, 0, 0), IndexError, "3 indices for 2 dimensions"),
                                          (slice(None, None, 2), IndexError, "unknown"), ("a", TypeError, "found str")]:
                with self.subTest(wrong), self.assertRaisesRegex(error, message):
                    x[wrong]


class Metrics(unittest.TestCase):

    def test_accuracy(self):
        m = fluid.metrics.Accuracy()
        with self.assertRaisesRegex(ValueError, "no data"):
            m.eval()
        m.update(value=np.array([0.5]), weight=10)
        m.update(value=np.array([1.0]), weight=30)
        self.assertAlmostEqual(m.eval(), 0.875)
        m.reset()
        self.assertEqual(m.weight, 0)
        with self.assertRaisesRegex(ValueError, "negative"):
            m.update(value=1.0, weight=-1)

    def test_precision_and_recall(self):
        preds, labels = np.array([[0.9], [0.8], [0.2], [0.6]]), np.array([[1], [0], [1], [1]])
        both = fluid.metrics.CompositeMetric()
        both.add_metric(fluid.metrics.Precision())
        both.add_metric(fluid.metrics.Recall("r"))
        both.update(preds, labels)
        np.testing.assert_allclose(both.eval(), [2 / 3, 2 / 3])
        both.update(np.array([[0.1]]), np.array([[1]]))
        np.testing.assert_allclose(both.eval(), [2 / 3, 0.5])

    def test_auc(self):
        rng = np.random.RandomState(1)
        p = rng.uniform(size=200)
        labels = (rng.uniform(size=200) < p).astype("int64")
        m = fluid.metrics.Auc("auc", num_thresholds=4095)
        for part in np.split(np.arange(200), 4):
            m.update(np.stack([1 - p[part], p[part]], axis=1), labels[part][:, None])
        pairs = [(a > b) + 0.5 * (a == b) for a in p[labels == 1] for b in p[labels == 0]]
        self.assertAlmostEqual(m.eval(), np.mean(pairs), places=3)
        m.reset()
        self.assertEqual(m.eval(), 0.0)

    def test_counts(self):
        chunks = fluid.metrics.ChunkEvaluator()
        chunks.update(10, 8, 4)
        np.testing.assert_allclose(chunks.eval(), (0.4, 0.5, 2 * 0.4 * 0.5 / 0.9))
        distance = fluid.metrics.EditDistance("d")
        distance.update(np.array([[0.0], [2.0], [1.0]]), np.array(3))
        self.assertEqual(distance.eval(), (1.0, 2 / 3))

    def test_weighted_average(self):
        a = fluid.average.WeightedAverage()
        with self.assertRaisesRegex(ValueError, "no data"):
            a.eval()
        a.add(value=2.0, weight=1)
        a.add(value=4.0, weight=3)
        self.assertEqual(a.eval(), 3.5)
        with self.assertRaises(ValueError):
            a.add(value="2", weight=1)

    def test_evaluator(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), \
                fluid.scope_guard(fluid.Scope()):
            p = L.data(name="p", shape=[2])
            label = L.data(name="label", shape=[1], dtype="int64")
            accuracy = fluid.evaluator.Accuracy(input=p, label=label)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            rows = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], "float32")
            for _ in range(2):
                accuracy.reset(exe)
                self.assertEqual(accuracy.eval(exe)[0], 0.0)
                batch, = exe.run(feed={"p": rows, "label": np.array([[0], [1], [1], [1]])}, fetch_list=accuracy.metrics)
                self.assertEqual(batch[0], 0.75)
                exe.run(feed={"p": rows[:1], "label": np.array([[1]])})
                self.assertAlmostEqual(float(accuracy.eval(exe)[0]), 0.6, places=6)


if __name__ == "__main__":
    unittest.main()
