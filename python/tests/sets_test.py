"""paddle.dataset: cifar, conll05, imdb, movielens, sentiment, wmt14; from archives and generated."""
import contextlib
import gzip
import io
import itertools
import os
import pickle
import tarfile
import tempfile
import unittest
import zipfile
from unittest import mock

import numpy as np

from paddle.dataset import cifar, common, conll05, imdb, mnist, movielens, sentiment, wmt14


class Sets(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.dict(os.environ, {"HOME": self.dir, "PADDLE_DATA_HOME": ""}))
        self.enterContext(mock.patch.object(common, "DATA_HOME", self.dir))
        self.enterContext(mock.patch.object(common, "data_dir", ""))
        self.enterContext(mock.patch.object(common, "_printed", set()))
        self.err = self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def path(self, set_name, name):
        os.makedirs(os.path.join(self.dir, set_name), exist_ok=True)
        return os.path.join(self.dir, set_name, name)

    def tar(self, set_name, name, members):
        with tarfile.open(self.path(set_name, name), "w:gz") as archive:
            for member, body in members.items():
                info = tarfile.TarInfo(member)
                info.size = len(body)
                archive.addfile(info, io.BytesIO(body))

    def zip(self, set_name, name, members):
        with zipfile.ZipFile(self.path(set_name, name), "w") as archive:
            for member, body in members.items():
                archive.writestr(member, body)


class Generated(Sets):
    def check(self, set_name, *readers):
        """Readers give the same each time, and one line says that they generate."""
        for reader in readers:
            self.assertEqual(repr(list(itertools.islice(reader(), 50))), repr(list(itertools.islice(reader(), 50))))
        self.assertEqual(self.err.getvalue().count(f"paddle.dataset.{set_name}: "), 1)
        self.assertIn("generated from seed 1", self.err.getvalue())

    def test_imdb(self):
        words = imdb.word_dict()
        self.assertEqual(words["<unk>"], len(words) - 1)
        self.assertGreater(len(words), 80)
        train = list(imdb.train(words)())
        self.assertEqual([label for _, label in train], [0] * 500 + [1] * 500)
        self.assertTrue(all(0 <= w < len(words) for ids, _ in train for w in ids))
        self.check("imdb", imdb.train(words), imdb.test(words))
        self.assertIsNone(imdb.fetch())

    def test_sentiment(self):
        numbers = [number for _, number in sentiment.get_word_dict()]
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertEqual((len(list(sentiment.train()())), len(list(sentiment.test()()))), (1600, 400))
        self.check("sentiment", sentiment.train(), sentiment.test())

    def test_cifar(self):
        for reader, classes in ((cifar.train10(), 10), (cifar.test10(), 10), (cifar.train100(), 100)):
            samples = list(reader())
            self.assertEqual((samples[0][0].shape, samples[0][0].dtype.name), ((3072,), "float32"))
            self.assertEqual({label for _, label in samples}, set(range(classes)))
            self.assertTrue(all(0 <= x.min() and x.max() <= 1 for x, _ in samples))
        self.assertEqual(len(list(itertools.islice(cifar.test10(cycle=True)(), 1000))), 1000)
        self.assertEqual(self.err.getvalue().count("generated"), 2)

    def test_movielens(self):
        self.check("movielens", movielens.train(), movielens.test())
        train, test = list(movielens.train()()), list(movielens.test()())
        self.assertEqual(len(train) + len(test), 4000)
        self.assertLess(len(test), 500)
        user, gender, age, job, movie, categories, title, (rating,) = train[0]
        self.assertLessEqual(user, movielens.max_user_id())
        self.assertLessEqual(movie, movielens.max_movie_id())
        self.assertLessEqual(job, movielens.max_job_id())
        self.assertIn(gender, (0, 1))
        self.assertLess(age, len(movielens.age_table))
        self.assertTrue(set(categories) <= set(movielens.movie_categories().values()))
        self.assertTrue(set(title) <= set(movielens.get_movie_title_dict().values()))
        self.assertIn(rating, (-3, -1, 1, 3, 5))
        self.assertEqual(movielens.user_info()[user].value(), [user, gender, age, job])

    def test_conll05(self):
        words, verbs, labels = conll05.get_dict()
        for sample in itertools.islice(conll05.test()(), 20):
            self.assertEqual(len({len(part) for part in sample}), 1)
            self.assertTrue(set(sample[0]) <= set(words.values()) and set(sample[6]) <= set(verbs.values()))
            self.assertTrue(set(sample[8]) <= set(labels.values()))
        with self.assertRaisesRegex(FileNotFoundError, "word vectors"):
            conll05.get_embedding()

    def test_wmt14(self):
        self.check("wmt14", wmt14.train(100), wmt14.test(100), wmt14.gen(100))
        source, target = wmt14.get_dict(100, reverse=False)
        self.assertEqual((len(source), source["<s>"], target["<e>"]), (100, 0, 1))
        self.assertEqual(wmt14.get_dict(100)[0][2], "<unk>")
        for ids, begin, end in itertools.islice(wmt14.train(100)(), 20):
            self.assertEqual((ids[0], ids[-1], begin[0], end[-1]), (0, 1, 0, 1))
            self.assertEqual(begin[1:], end[:-1])

    def test_mnist_fetches_nothing(self):
        mnist.fetch()
        self.assertIn("mnist", self.err.getvalue())


class FromArchives(Sets):
    def tearDown(self):
        self.assertNotIn("generated", self.err.getvalue())

    def test_imdb(self):
        self.tar("imdb", imdb.FILE, {
            f"aclImdb/{part}/{kind}/{n}.txt": text.encode() for part in ("train", "test") for n in range(2)
            for kind, text in (("pos", "Good, good film!\n"), ("neg", "A bad film."))})
        words = imdb.build_dict(r"aclImdb/train/.*\.txt$", 1)
        self.assertEqual(words, {"film": 0, "good": 1, "a": 2, "bad": 3, "<unk>": 4})
        self.assertEqual(list(imdb.train(words)()), [([1, 1, 0], 0)] * 2 + [([2, 3, 0], 1)] * 2)
        self.assertEqual(len(list(imdb.test({"<unk>": 0})())), 4)

    def test_sentiment(self):
        self.zip("sentiment", sentiment.FILE, {f"movie_reviews/{kind}/{n}.txt": f"{kind} film, {n}" for n in range(2)
                                               for kind in ("neg", "pos")})
        words = dict(sentiment.get_word_dict())
        self.assertEqual([(len(ids), label) for ids, label in sentiment.train()()], [(4, 0), (4, 1)] * 2)
        self.assertEqual(next(sentiment.train()())[0], [words[w] for w in ("neg", "film", ",", "0")])

    def test_cifar(self):
        def batch(labels, **others):
            return pickle.dumps({b"data": np.full((2, 3072), 51, "uint8"), labels: [3, 4], **others}, protocol=2)

        self.tar("cifar", "cifar-10-python.tar.gz", {
            "cifar-10-batches-py/data_batch_1": batch(b"labels"), "cifar-10-batches-py/data_batch_2": batch(b"labels"),
            "cifar-10-batches-py/test_batch": batch(b"labels"), "cifar-10-batches-py/batches.meta": b"x"})
        self.tar("cifar", "cifar-100-python.tar.gz", {"cifar-100-python/train": batch(b"fine_labels")})
        for reader, count in ((cifar.train10(), 4), (cifar.test10(), 2), (cifar.train100(), 2)):
            samples = list(reader())
            self.assertEqual([label for _, label in samples], [3, 4] * (count // 2))
            np.testing.assert_allclose(samples[0][0], 0.2)

    def test_archives_call_nothing(self):
        class Evil:
            def __reduce__(self):
                return os.mkdir, (target,)

        target = os.path.join(self.dir, "made")
        self.tar("cifar", "cifar-10-python.tar.gz", {"x/test_batch": pickle.dumps(Evil())})
        with self.assertRaisesRegex(pickle.UnpicklingError, "mkdir"):
            list(cifar.test10()())
        self.assertFalse(os.path.exists(target))

    def test_movielens(self):
        self.zip("movielens", movielens.FILE, {
            "ml-1m/users.dat": "1::F::25::3::0\n2::M::1::7::0\n",
            "ml-1m/movies.dat": "9::Toy Story (1995)::Comedy|Animation\n",
            "ml-1m/ratings.dat": "1::9::5::0\n" * 30 + "2::9::1::0\n"})
        self.assertEqual((movielens.max_user_id(), movielens.max_movie_id(), movielens.max_job_id()), (2, 9, 7))
        samples = [*movielens.train()(), *movielens.test()()]
        self.assertEqual(len(samples), 31)
        self.assertIn([1, 1, 2, 3, 9, [1, 0], [1, 0], [5.0]], samples)
        self.assertIn([2, 0, 0, 7, 9, [1, 0], [1, 0], [-3.0]], samples)
        self.assertEqual(movielens.movie_info()[9].title.strip(), "Toy Story")

    def test_conll05(self):
        base = "conll05st-release/test.wsj/"
        self.tar("conll05st", conll05.FILE, {
            base + "words/test.wsj.words.gz": gzip.compress(b"The\ndog\nbarked\nloudly\n\n"),
            base + "props/test.wsj.props.gz": gzip.compress(b"- (A0*\n- *)\nbark (V*)\n- *\n\n")})
        for name, lines in (("wordDict.txt", "<unk>\nbos\neos\nThe\ndog\nbarked\n"), ("verbDict.txt", "bark\n"),
                            ("targetDict.txt", "B-A0\nI-A0\nB-V\nI-V\nO\n")):
            with open(self.path("conll05st", name), "w") as f:
                f.write(lines)
        (sample,) = conll05.test()()
        self.assertEqual(sample, ([3, 4, 5, 0], [3] * 4, [4] * 4, [5] * 4, [0] * 4, [2] * 4, [0] * 4, [1, 1, 1, 1],
                                  [0, 1, 2, 4]))

    def test_wmt14(self):
        words = "<s>\n<e>\n<unk>\n"
        self.tar("wmt14", wmt14.FILE, {
            "wmt14/src.dict": (words + "le\nchat\nvert\n").encode(), "wmt14/trg.dict": (words + "the\ncat\n").encode(),
            "wmt14/train/train": b"le chat vert\tthe cat\nno tab\n" + b"le " * 90 + b"\tthe\n", "wmt14/test/test": b""})
        self.assertEqual(list(wmt14.train(5)()), [([0, 3, 4, 2, 1], [0, 3, 4], [3, 4, 1])])
        self.assertEqual(list(wmt14.test(5)()), [])


if __name__ == "__main__":
    unittest.main()
