"""fluid.DataFeeder."""
import unittest

import numpy as np

import paddle.fluid as fluid


class Feeder(unittest.TestCase):
    def setUp(self):
        self.enterContext(fluid.program_guard(fluid.Program(), fluid.Program()))
        self.x = fluid.layers.data(name="x", shape=[13], dtype="float32")
        self.y = fluid.layers.data(name="y", shape=[1], dtype="int64")
        self.image = fluid.layers.data(name="image", shape=[1, 2, 3], dtype="float32")
        self.ids = fluid.layers.data(name="ids", shape=[1], dtype="int64", lod_level=1)
        self.deep = fluid.layers.data(name="deep", shape=[2], dtype="float32", lod_level=2)

    def feed(self, variables, samples):
        return fluid.DataFeeder(feed_list=variables, place=fluid.CPUPlace()).feed(samples)

    def test_dense(self):
        got = self.feed([self.x, "y"], [(np.full(13, 1.5), 3), ([2.0] * 13, 4)])
        self.assertEqual(list(got), ["x", "y"])
        x, y = np.array(got["x"]), np.array(got["y"])
        self.assertEqual((x.shape, x.dtype, y.shape, y.dtype), ((2, 13), np.float32, (2, 1), np.int64))
        self.assertEqual((x[:, 0].tolist(), y.tolist()), ([1.5, 2.0], [[3], [4]]))

    def test_images_are_reshaped(self):
        got = np.array(self.feed([self.image], [(np.arange(6),), (np.arange(6, 12),)])["image"])
        np.testing.assert_array_equal(got, np.arange(12).reshape(2, 1, 2, 3))

    def test_sequences(self):
        t = self.feed([self.ids], [([1, 2, 3],), ([],), ([4],)])["ids"]
        self.assertEqual((t.shape(), t.lod(), np.array(t).reshape(-1).tolist()), ([4, 1], [[0, 3, 3, 4]], [1, 2, 3, 4]))
        t = self.feed([self.deep], [([[[1, 2]], [[3, 4], [5, 6]]],), ([[[7, 8]]],)])["deep"]
        self.assertEqual((t.shape(), t.recursive_sequence_lengths()), ([4, 2], [[2, 1], [1, 2, 1]]))

    def test_mistakes(self):
        with self.assertRaisesRegex(AssertionError,
                                    r"number of fields in data \(1\) does not match len\(feed_list\) \(2\)"):
            self.feed([self.x, self.y], [(1,)])
        with self.assertRaisesRegex(ValueError, r"shape is \[-1, 1, 2, 3\].*'image'.*\[1, 5\]"):
            self.feed([self.image], [([1.0] * 5,)])
        with self.assertRaisesRegex(ValueError, "'x'"):
            self.feed([self.x], [([1.0] * 13,), ([1.0] * 12,)])
        with self.assertRaisesRegex(TypeError, "list of variable"):
            fluid.DataFeeder(feed_list=[3], place=None)
        with self.assertRaises(ValueError):
            fluid.DataFeeder(feed_list=["no"], place=None)

    def test_decorated_readers(self):
        feeder = fluid.DataFeeder(feed_list=[self.y], place=fluid.CPUPlace())
        batches = lambda: iter([[(1,)], [(2,)], [(3,)]])
        self.assertEqual([np.array(d["y"]).tolist() for d in feeder.decorate_reader(batches, multi_devices=False)()],
                         [[[1]], [[2]], [[3]]])
        groups = list(feeder.decorate_reader(batches, multi_devices=True, num_places=2)())
        self.assertEqual([len(g) for g in groups], [2])
        with self.assertRaisesRegex(ValueError, "do not fill 2 places"):
            list(feeder.decorate_reader(batches, multi_devices=True, num_places=2, drop_last=False)())
        with self.assertRaisesRegex(ValueError, "needs 2 batches"):
            list(feeder.feed_parallel([[(1,)]], 2))

    def test_an_executor_takes_it(self):
        out = fluid.layers.reduce_sum(self.x)
        exe = fluid.Executor(fluid.CPUPlace())
        value, = exe.run(feed=self.feed([self.x], [([1.0] * 13,), ([2.0] * 13,)]), fetch_list=[out])
        self.assertEqual(value.tolist(), [39.0])


if __name__ == "__main__":
    unittest.main()
