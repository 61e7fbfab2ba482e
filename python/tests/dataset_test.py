"""paddle.dataset: known sets from files, generated ones, and files for several trainers."""
import contextlib
import gzip
import hashlib
import io
import os
import pickle
import struct
import tempfile
import unittest
from unittest import mock

import numpy as np

import paddle
from paddle.dataset import common, imikolov, mnist, uci_housing


class InPlace(unittest.TestCase):
    """Every test has a home of its own, so that nothing of the machine's data is seen."""

    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        home = {"HOME": os.path.join(self.dir, "home"), "PADDLE_DATA_HOME": ""}
        self.enterContext(mock.patch.dict(os.environ, home))
        self.enterContext(mock.patch.object(common, "data_dir", self.dir))
        self.enterContext(mock.patch.object(common, "_printed", set()))
        self.err = self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def write(self, name, data):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        return path


class Generated(InPlace):
    def test_housing(self):
        train, test = list(uci_housing.train()()), list(uci_housing.test()())
        self.assertEqual((len(train), len(test)), (404, 102))
        x, y = train[0]
        self.assertEqual((x.shape, x.dtype, y.shape), ((13,), np.float32, (1,)))
        every = np.array([x for x, _ in train + test])
        np.testing.assert_allclose(every.mean(0), 0, atol=1e-5)  # over the whole file, before the split
        self.assertEqual(self.err.getvalue().count("\n"), 2)  # one line for each part, and once
        list(uci_housing.train()())
        self.assertIn("no file housing.data in", self.err.getvalue())
        self.assertIn("generated from seed 1", self.err.getvalue())
        self.assertEqual(self.err.getvalue().count("\n"), 2)

    def test_the_same_each_time(self):
        first, again = list(uci_housing.train()()), list(uci_housing.train()())
        np.testing.assert_array_equal([x for x, _ in first], [x for x, _ in again])

    def test_digits(self):
        samples = list(mnist.test()())
        self.assertEqual(len(samples), 1000)
        x, digit = samples[0]
        self.assertEqual((x.shape, x.dtype, type(digit)), ((784,), np.float32, int))
        self.assertEqual({d for _, d in samples}, set(range(10)))
        self.assertIn("generated", self.err.getvalue())

    def test_text(self):
        words = imikolov.build_dict(min_word_freq=50)
        self.assertEqual(sorted(words.values()), list(range(len(words))))
        self.assertEqual(words["<unk>"], len(words) - 1)
        samples = list(imikolov.train(words, 5)())
        self.assertEqual({len(s) for s in samples}, {5})
        # The core's own n-gram reader gives the same records in the same order.
        from paddle import _core
        reader = _core.DataReader("ngram", common.places(), keys={"min_word_freq": 50})
        same = np.concatenate([np.hstack(b) for b in reader])
        np.testing.assert_array_equal(samples, same)
        self.assertIn("sentences are generated", self.err.getvalue())

    def test_sequences(self):
        words = imikolov.build_dict()
        for source, target in list(imikolov.test(words, 8, imikolov.DataType.SEQ)()):
            self.assertEqual(source[0], words["<s>"])
            self.assertEqual(target[-1], words["<e>"])
            self.assertEqual(source[1:], target[:-1])
            self.assertLessEqual(len(source), 8)


class FromFiles(InPlace):
    def test_housing(self):
        rows = np.arange(140, dtype=float).reshape(10, 14) ** 1.5
        self.write("uci_housing/housing.data", "\n".join(" ".join(map(str, r)) for r in rows).encode())
        train, test = list(uci_housing.train()()), list(uci_housing.test()())
        self.assertEqual((len(train), len(test)), (8, 2))
        want = (rows - rows.mean(0)) / (rows.max(0) - rows.min(0))
        np.testing.assert_allclose([x for x, _ in train + test], want[:, :13], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose([y[0] for _, y in train + test], rows[:, 13], rtol=1e-6)
        self.assertEqual(self.err.getvalue(), "")

    def test_digits(self):
        pixels = np.arange(3 * 784, dtype=np.uint8).reshape(3, 784)
        head = struct.pack(">IIII", 2051, 3, 28, 28)
        self.write("mnist/train-images-idx3-ubyte.gz", gzip.compress(head + pixels.tobytes()))
        self.write("mnist/train-labels-idx1-ubyte.gz", gzip.compress(struct.pack(">II", 2049, 3) + bytes([7, 0, 9])))
        samples = list(mnist.train()())
        self.assertEqual([d for _, d in samples], [7, 0, 9])
        np.testing.assert_allclose([x for x, _ in samples], pixels / 255.0 * 2 - 1, atol=1e-6)
        self.assertEqual(self.err.getvalue(), "")

    def test_text(self):
        self.write("imikolov/ptb.train.txt", b"a b a\nc a <unk>\n")
        self.write("imikolov/ptb.valid.txt", b"b zz\n")
        words = imikolov.build_dict(min_word_freq=1)
        self.assertEqual(words, {"<e>": 0, "<s>": 1, "a": 2, "b": 3, "<unk>": 4})
        grams = [(1, 2, 3), (2, 3, 2), (3, 2, 0), (1, 4, 2), (4, 2, 4), (2, 4, 0)]
        self.assertEqual(list(imikolov.train(words, 3)()), grams)
        self.assertEqual(list(imikolov.test(words, 4)()), [(1, 3, 4, 0)])
        self.assertEqual(list(imikolov.lines()()), ["a b a", "c a <unk>"])

    def test_a_damaged_file_is_reported(self):
        self.write("uci_housing/housing.data", b"1 2 3\n")
        with self.assertRaisesRegex(ValueError, r"housing.data:1: expected"):
            list(uci_housing.train()())


class Common(InPlace):
    def test_download_never_downloads(self):
        body = b"some bytes"
        md5 = hashlib.md5(body).hexdigest()
        with self.assertRaisesRegex(FileNotFoundError,
                                    r"never downloads: fetch http://x/y/file.tgz and put it at .*/mod/file.tgz"):
            common.download("http://x/y/file.tgz", "mod", md5)
        path = self.write("mod/file.tgz", body)
        self.assertEqual(common.download("http://x/y/file.tgz", "mod", md5), path)
        self.assertEqual(common.md5file(path), md5)
        with self.assertRaisesRegex(ValueError, "MD5 sum"):
            common.download("http://x/y/file.tgz", "mod", "0" * 32)

    def test_split_and_cluster_files(self):
        pattern = os.path.join(self.dir, "part-%05d.pickle")
        common.split(lambda: iter(range(10)), 4, suffix=pattern)
        files = sorted(os.listdir(self.dir))
        self.assertEqual(files, ["part-00000.pickle", "part-00001.pickle", "part-00002.pickle"])
        with open(os.path.join(self.dir, files[2]), "rb") as f:
            self.assertEqual(pickle.load(f), [8, 9])
        glob = os.path.join(self.dir, "part-*.pickle")
        self.assertEqual(list(common.cluster_files_reader(glob, 2, 0)()), [0, 1, 2, 3, 8, 9])
        self.assertEqual(list(common.cluster_files_reader(glob, 2, 1)()), [4, 5, 6, 7])
        with self.assertRaisesRegex(ValueError, "trainer_id must be 0 to 1"):
            common.cluster_files_reader(glob, 2, 2)
        with self.assertRaisesRegex(FileNotFoundError, "no file matches"):
            list(common.cluster_files_reader(glob + "x", 1, 0)())

    def test_cluster_files_run_no_code(self):
        class Evil:
            def __reduce__(self):
                return os.mkdir, (marker,)

        marker = os.path.join(self.dir, "ran")
        path = os.path.join(self.dir, "part-0.pickle")
        with open(path, "wb") as f:
            pickle.dump([(np.arange(3, dtype="float32"), np.int64(7), "text")], f, protocol=2)
        (array, number, word), = common.cluster_files_reader(path, 1, 0)()
        self.assertEqual((array.tolist(), number, word), ([0, 1, 2], 7, "text"))
        with open(path, "wb") as f:
            pickle.dump([Evil()], f)
        with self.assertRaisesRegex(pickle.UnpicklingError, "only numbers, texts and arrays are read"):
            list(common.cluster_files_reader(path, 1, 0)())
        self.assertFalse(os.path.exists(marker))
        list(common.cluster_files_reader(path, 1, 0, loader=pickle.load)())  # where the file is trusted
        self.assertTrue(os.path.exists(marker))

    def test_v2_sees_them_too(self):
        import paddle.v2 as v2
        self.assertIs(v2.dataset, paddle.dataset)


if __name__ == "__main__":
    unittest.main()
