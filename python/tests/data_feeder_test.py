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

    def test_a_sample_in_place_of_a_batch_is_reported(self):
        with self.assertRaisesRegex(TypeError, "a batch is a list of samples, each a tuple of 2 values.*such as 1"):
            self.feed([self.x, self.y], [1, 2])


class Loaders(unittest.TestCase):
    def setUp(self):
        self.enterContext(fluid.program_guard(fluid.Program(), fluid.Program()))
        self.x = fluid.layers.data(name="x", shape=[2], dtype="float32")
        self.y = fluid.layers.data(name="y", shape=[1], dtype="int64")
        self.sums = [fluid.layers.reduce_sum(self.x), fluid.layers.reduce_sum(fluid.layers.cast(self.y, "float32"))]
        self.exe = fluid.Executor(fluid.CPUPlace())

    @staticmethod
    def samples():
        return iter([(np.array([i, i]), i) for i in range(5)])

    def run_all(self, loader):
        return [[float(v[0]) for v in self.exe.run(feed=feed, fetch_list=self.sums)] for feed in loader()]

    def test_three_kinds_of_readers_for_two_passes(self):
        want = [[2.0, 1.0], [10.0, 5.0]]
        batches = lambda: iter([[np.array([[0, 0], [1, 1]], "float32"), np.array([[0], [1]])],
                                [np.array([[2, 2], [3, 3]], "float32"), np.array([[2], [3]])]])
        for give in (lambda r: r.decorate_sample_generator(self.samples, 2),
                     lambda r: r.decorate_sample_list_generator(fluid.io.batch(self.samples, 2, drop_last=True)),
                     lambda r: r.decorate_batch_generator(batches)):
            reader = fluid.io.PyReader(feed_list=[self.x, self.y], capacity=2)
            give(reader)
            self.assertEqual([self.run_all(reader), self.run_all(reader)], [want, want])

    def test_data_loader(self):
        loader = fluid.io.DataLoader.from_generator(feed_list=[self.x, self.y], capacity=4, return_list=True)
        loader.set_sample_generator(self.samples, batch_size=3, drop_last=False)
        self.assertIs(loader.iterable, True)
        self.assertIs(fluid.io.PyReader(feed_list=[self.x], capacity=4).iterable, True)
        self.assertEqual([np.array(y).ravel().tolist() for _, y in loader()], [[0, 1, 2], [3, 4]])

    def test_mistakes(self):
        with self.assertRaisesRegex(NotImplementedError, "iterable=True"):
            fluid.io.PyReader(feed_list=[self.x], capacity=4, iterable=False)
        with self.assertRaisesRegex(ValueError, "capacity"):
            fluid.io.PyReader(feed_list=[self.x])
        loader = fluid.io.DataLoader.from_generator(feed_list=[self.x, self.y], capacity=4)
        with self.assertRaisesRegex(RuntimeError, "DataLoader has no reader yet"):
            next(loader())
        loader.set_batch_generator(lambda: iter([[np.ones((1, 2))]]))
        with self.assertRaisesRegex(ValueError, r"gave 1 arrays for the variables \['x', 'y'\]"):
            next(loader())


class ParameterValues(unittest.TestCase):
    def test_by_parameter_and_by_name(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
            w = fluid.layers.create_parameter([2], "float32", name="w",
                                              default_initializer=fluid.initializer.Constant(3.0))
            exe = fluid.Executor(fluid.CPUPlace())
            with self.assertRaisesRegex(ValueError, "startup program"):
                fluid.io.get_parameter_value(w, exe)
            exe.run(fluid.default_startup_program())
            self.assertEqual(fluid.io.get_parameter_value(w, exe).tolist(), [3.0, 3.0])
            self.assertEqual(fluid.io.get_parameter_value_by_name("w", exe).tolist(), [3.0, 3.0])
            with self.assertRaisesRegex(TypeError, "takes a Parameter"):
                fluid.io.get_parameter_value("w", exe)


if __name__ == "__main__":
    unittest.main()
