"""paddle.batch, paddle.compat and paddle.reader."""
import gzip
import os
import random
import sys
import tempfile
import threading
import unittest

import numpy as np

import paddle
from paddle import compat, reader


def numbers(n):
    return lambda: iter(range(n))


def failing(n):
    def samples():
        yield from range(n)
        raise KeyError("no more")

    return samples


class Batches(unittest.TestCase):
    def test_keeps_the_short_last_batch(self):
        self.assertEqual(list(paddle.batch(numbers(5), 2)()), [[0, 1], [2, 3], [4]])
        self.assertEqual(list(paddle.batch(numbers(5), 2, drop_last=True)()), [[0, 1], [2, 3]])

    def test_refuses_other_sizes(self):
        for size in (0, -1, 1.5):
            with self.assertRaisesRegex(ValueError, "positive integer"):
                paddle.batch(numbers(3), size)

    def test_v2_has_the_same(self):
        import paddle.v2 as v2
        self.assertIs(v2.batch, paddle.batch)
        self.assertIs(v2.reader, paddle.reader)

    def test_version(self):
        self.assertRegex(paddle.__version__, r"^\d+\.\d+\.\d+")

    def test_an_unknown_name_is_reported(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'flued'"):
            paddle.flued


class InOneThread(unittest.TestCase):
    def test_map_chain_firstn_cache(self):
        self.assertEqual(list(reader.map_readers(lambda a, b: a + b, numbers(3), numbers(4))()), [0, 2, 4])
        self.assertEqual(list(reader.chain(numbers(2), numbers(3))()), [0, 1, 0, 1, 2])
        self.assertEqual(list(reader.firstn(numbers(9), 3)()), [0, 1, 2])
        once = iter(range(3))
        cached = reader.cache(lambda: once)
        self.assertEqual([list(cached()), list(cached())], [[0, 1, 2]] * 2)

    def test_shuffle_gives_the_order_of_random_shuffle(self):
        for n in (1, 2, 3, 8, 100, 1000):
            want = list(range(n))
            random.seed(n)
            random.shuffle(want)
            after = random.random()
            random.seed(n)
            self.assertEqual(list(reader.shuffle(numbers(n), n)()), want)
            self.assertEqual(random.random(), after)  # as many random numbers were drawn

    def test_shuffle_permutes_within_its_buffer(self):
        random.seed(7)
        got = list(reader.shuffle(numbers(100), 10)())
        self.assertNotEqual(got, list(range(100)))
        for i in range(0, 100, 10):
            self.assertEqual(sorted(got[i:i + 10]), list(range(i, i + 10)))
        random.seed(7)
        self.assertEqual(list(reader.shuffle(numbers(100), 10)()), got)

    def test_compose(self):
        pairs = lambda: iter([(1, 2), (3, 4)])
        self.assertEqual(list(reader.compose(pairs, numbers(2))()), [(1, 2, 0), (3, 4, 1)])
        with self.assertRaisesRegex(reader.ComposeNotAligned, "reader 0 of 2 ended after 2 samples"):
            list(reader.compose(pairs, numbers(3))())
        self.assertEqual(list(reader.compose(pairs, numbers(3), check_alignment=False)()), [(1, 2, 0), (3, 4, 1)])

    def test_fake_repeats_the_first_sample(self):
        fake = reader.Fake()
        self.assertEqual(list(fake(numbers(3), 4)()), [0] * 4)
        self.assertEqual(list(fake(numbers(3), 2)()), [0] * 2)


class Threads(unittest.TestCase):
    def test_buffered_gives_the_same(self):
        ahead = reader.buffered(numbers(1000), 10)
        self.assertEqual(list(ahead()), list(range(1000)))
        self.assertEqual(list(ahead()), list(range(1000)))

    def test_buffered_reads_no_further_than_its_size(self):
        read = []
        full = threading.Event()

        def samples():
            for i in range(100):
                read.append(i)
                if len(read) == 6:  # 5 in the buffer, one in hand
                    full.set()
                yield i

        ahead = reader.buffered(samples, 5)()
        self.assertEqual(next(ahead), 0)
        self.assertTrue(full.wait(60))
        self.assertLessEqual(len(read), 7)

    def test_errors_come_at_their_place(self):
        for made in (reader.buffered(failing(3), 2), reader.xmap_readers(lambda x: x, failing(3), 1, 2, order=True)):
            got = []
            with self.assertRaises(KeyError):
                for x in made():
                    got.append(x)
            self.assertEqual(got, [0, 1, 2])

    def test_a_user_who_leaves_early_frees_the_threads(self):
        before = threading.active_count()
        for made in (reader.buffered(numbers(10**9), 2), reader.xmap_readers(lambda x: x, numbers(10**9), 3, 2),
                     reader.xmap_readers(lambda x: x, numbers(10**9), 3, 2, order=True)):
            samples = iter(made())
            next(samples)
            samples.close()
        for t in threading.enumerate():
            if t is not threading.current_thread():
                t.join(60)
        self.assertLessEqual(threading.active_count(), before)

    def test_xmap(self):
        square = lambda x: x * x
        want = [x * x for x in range(500)]
        self.assertEqual(list(reader.xmap_readers(square, numbers(500), 4, 8, order=True)()), want)
        self.assertEqual(sorted(reader.xmap_readers(square, numbers(500), 4, 8)()), want)

    def test_no_sample_is_lost_whatever_the_sizes(self):
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-5)  # threads meet in more places
        for size in (1, 2, 3, 16):
            self.assertEqual(list(reader.buffered(numbers(3000), size)()), list(range(3000)))
            for threads in (1, 3):
                for order in (True, False):
                    made = reader.xmap_readers(lambda x: x, numbers(1000), threads, size, order)
                    self.assertEqual(sorted(made()), list(range(1000)))

    def test_xmap_tells_the_mappers_error(self):
        for order in (False, True):
            with self.assertRaises(ZeroDivisionError):
                list(reader.xmap_readers(lambda x: 1 // (x - 5), numbers(50), 3, 4, order)())


class Processes(unittest.TestCase):
    def test_all_samples_of_all_readers(self):
        for use_pipe in (True, False):
            made = reader.multiprocess_reader([numbers(50), lambda: iter(range(50, 80))], use_pipe)
            self.assertEqual(sorted(made()), list(range(80)))
            self.assertEqual(sorted(made()), list(range(80)))

    def test_a_failure_is_reported(self):
        for use_pipe in (True, False):
            with self.assertRaisesRegex(RuntimeError, r"(?s)reader 1 of .*KeyError: 'no more'"):
                list(reader.multiprocess_reader([numbers(2), failing(3)], use_pipe)())

    def test_a_process_that_dies_is_reported(self):
        def dies():
            yield 1
            os._exit(0)

        for use_pipe in (True, False):
            with self.assertRaisesRegex(RuntimeError, "process of reader 0 .* died"):
                list(reader.multiprocess_reader([dies], use_pipe)())


class Sources(unittest.TestCase):
    def test_pipe_reader(self):
        with tempfile.TemporaryDirectory() as d:
            text = "".join(f"zeile {i} äöü\n" for i in range(1000)) + "last"
            plain, packed = os.path.join(d, "a"), os.path.join(d, "a.gz")
            with open(plain, "w", encoding="utf-8") as f:
                f.write(text)
            with gzip.open(packed, "wt", encoding="utf-8") as f:
                f.write(text)
            self.assertEqual(list(reader.PipeReader("cat " + plain, bufsize=7).get_line()), text.split("\n"))
            self.assertEqual(list(reader.PipeReader("cat " + packed, file_type="gzip").get_line()), text.split("\n"))
            self.assertEqual("".join(reader.PipeReader("cat " + plain).get_line(cut_lines=False)), text)
            with self.assertRaisesRegex(RuntimeError, "ended with exit code"):
                list(reader.PipeReader("cat " + plain + ".none").get_line())
            self.assertEqual(list(reader.creator.text_file(plain)()), text.split("\n"))
        with self.assertRaisesRegex(TypeError, "file_type"):
            reader.PipeReader("true", file_type="zip")

    def test_np_array(self):
        rows = list(reader.creator.np_array(np.arange(6).reshape(3, 2))())
        self.assertEqual([r.tolist() for r in rows], [[0, 1], [2, 3], [4, 5]])


class Compat(unittest.TestCase):
    def test_text_and_bytes(self):
        self.assertEqual(compat.to_text(b"a"), "a")
        self.assertEqual(compat.to_bytes(["a", b"b", 1]), [b"a", b"b", 1])
        words = {b"x"}
        self.assertIs(compat.to_text(words, inplace=True), words)
        self.assertEqual(words, {"x"})

    def test_round_goes_away_from_zero(self):
        self.assertEqual([compat.round(x) for x in (0.5, 1.5, -0.5, 2.4)], [1.0, 2.0, -1.0, 2.0])
        self.assertEqual(compat.round(2.675, 2), 2.68)
        self.assertEqual(compat.floor_division(-7, 2), -4)


if __name__ == "__main__":
    unittest.main()
