"""Every layer function once: built, run, and compared with numpy."""
import inspect
import typing
import unittest

import numpy as np
import paddle.fluid as fluid
from layer_cases import CASES, IDS, IMAGES, L, ONE, X, sigmoid, softmax
from paddle import _core


class Layers(unittest.TestCase):

    def run_case(self, build, feeds, expected):
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = 5
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            inputs, feed = [], {}
            for i, value in enumerate(feeds):
                array = np.asarray(value)
                lod = 0 if isinstance(value, np.ndarray) else 1
                batch = -1 if array.ndim > 1 or array.dtype.name == "int64" else array.shape[0]
                inputs.append(L.data(name=f"in{i}", shape=[batch] + list(array.shape[1:]), append_batch_size=False,
                                     dtype=array.dtype.name, lod_level=lod))
                feed[f"in{i}"] = value
            results = build(*inputs)
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            found = exe.run(main, feed=feed, fetch_list=results, return_numpy=False)
        self.assertEqual(len(found), len(expected))
        for var, got, wanted in zip(results, found, expected):
            got = np.array(got)
            self.assertEqual(got.dtype.name, fluid.core.dtype_name(var.dtype))
            self.assertEqual(len(got.shape), len(var.shape))
            for length, known in zip(got.shape, var.shape):
                self.assertIn(known, (-1, length))
            if wanted is None:
                self.assertTrue(np.isfinite(got).all())
                self.assertGreater(got.std(), 0)
            else:
                wanted = np.asarray(wanted)
                self.assertEqual(got.shape, wanted.shape)
                np.testing.assert_allclose(got.astype("float64"), wanted.astype("float64"), rtol=2e-5, atol=2e-6)

    def test_every_layer(self):
        for name, cases in CASES.items():
            for i, (build, feeds, expected) in enumerate(cases):
                with self.subTest(layer=name, case=i):
                    self.run_case(build, feeds, expected)

    def test_none_is_forgotten(self):
        sparse = {"merge_selected_rows", "get_tensor_from_selected_rows"}  # below
        self.assertEqual(set(L.__all__) - sparse, set(CASES))
        self.assertEqual(len(L.__all__), len(set(L.__all__)))

    def test_every_layer_says_what_it_does(self):
        for name in L.__all__ + fluid.nets.__all__:
            with self.subTest(name):
                layer = getattr(L, name, None) or getattr(fluid.nets, name)
                self.assertGreater(len(inspect.getdoc(layer)), 15)
                self.assertEqual(layer.__name__, name)
                hints = typing.get_type_hints(layer)
                self.assertIn("return", hints)
        self.assertIn("size: number of outputs", inspect.getdoc(L.fc))

    def test_every_row_of_the_core_has_a_layer(self):
        """Rows of the registry that Python reaches under another name."""
        renamed = {"assign_value": "assign", "simple_img_conv_pool": None}
        for row, _, _ in _core.layer_rows():
            if renamed.get(row, row) is not None:
                self.assertTrue(hasattr(L, renamed.get(row, row)), row)

    def test_sparse_gradients(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), \
                fluid.scope_guard(fluid.Scope()):
            ids = L.data(name="ids", shape=[1], dtype="int64")
            rows = L.embedding(ids, size=[10, 2], is_sparse=True, param_attr=ONE)
            (_, grad), = fluid.backward.append_backward(L.reduce_sum(rows))
            out = L.get_tensor_from_selected_rows(L.merge_selected_rows(grad))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            got, = exe.run(feed={"ids": IDS}, fetch_list=[out])
        merged = np.sort(got, axis=0)  # rows that became part of others are left as zeros
        np.testing.assert_allclose(merged, [[0, 0], [1, 1], [1, 1], [2, 2]])

    def test_nets(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), \
                fluid.scope_guard(fluid.Scope()):
            images = L.data(name="images", shape=[3, 6, 6])
            x = L.data(name="x", shape=[6])
            group = fluid.nets.img_conv_group(images, conv_num_filter=[4, 5], pool_size=2, pool_stride=2,
                                              conv_act="relu", conv_with_batchnorm=[True, False],
                                              conv_batchnorm_drop_rate=[0.5, 0.0])
            gated = fluid.nets.glu(x, dim=1)
            words = L.reshape(x, shape=[-1, 3, 2])
            one = fluid.nets.scaled_dot_product_attention(words, words, words)
            two = fluid.nets.scaled_dot_product_attention(words, words, words, num_heads=2, dropout_rate=0.1)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            got = exe.run(feed={"images": IMAGES, "x": X}, fetch_list=[group, gated, one, two])
        self.assertEqual([g.shape for g in got], [(2, 5, 3, 3), (4, 3), (4, 3, 2), (4, 3, 2)])
        np.testing.assert_allclose(got[1], X[:, :3] * sigmoid(X[:, 3:]), rtol=1e-5)
        w = X.reshape(4, 3, 2)
        weights = softmax(w @ w.transpose(0, 2, 1) / np.sqrt(2))
        np.testing.assert_allclose(got[2], weights @ w, rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
