"""paddle.fluid.incubate.data_generator: what generators print."""
import contextlib
import io
import sys
import unittest
from unittest import mock

from paddle.fluid.incubate.data_generator import MultiSlotDataGenerator, MultiSlotStringDataGenerator


def output_of(run, text=""):
    out = io.StringIO()
    with mock.patch.object(sys, "stdin", io.StringIO(text)), contextlib.redirect_stdout(out):
        run()
    return out.getvalue()


class Clicks(MultiSlotDataGenerator):
    def generate_sample(self, line):
        def samples():
            click, *ids = line.split()
            yield [("ids", [int(i) for i in ids]), ("price", [0.5]), ("click", [int(click)])]

        return samples


class Generators(unittest.TestCase):
    def test_writes_counts_and_values(self):
        self.assertEqual(output_of(Clicks().run_from_stdin, "1 4 9\n0 7\n"), "2 4 9 1 0.5 1 1\n1 7 1 0.5 1 0\n")

    def test_batches_may_be_changed(self):
        class Reversed(Clicks):
            def generate_batch(self, samples):
                return lambda: reversed(samples)

        g = Reversed()
        g.set_batch(2)
        self.assertEqual(output_of(g.run_from_stdin, "1 1\n1 2\n1 3\n"),
                         "1 2 1 0.5 1 1\n1 1 1 0.5 1 1\n1 3 1 0.5 1 1\n")

    def test_from_memory(self):
        class Two(MultiSlotStringDataGenerator):
            def generate_sample(self, line):
                assert line is None
                return lambda: iter([[("a", ["1", "2"])], [("a", ["3"])]])

        self.assertEqual(output_of(Two().run_from_memory), "2 1 2\n1 3\n")

    def refused(self, samples, words, base=MultiSlotDataGenerator):
        class Given(base):
            def generate_sample(self, line):
                return lambda: iter(samples)

        with self.assertRaisesRegex(ValueError, words):
            output_of(Given().run_from_memory)

    def test_mistakes(self):
        self.refused([zip(["a"], [[1]])], "list or tuple")
        self.refused([[("a", [1])], [("b", [1])]], "are not match: require<a>, get<b>")
        self.refused([[("a", [1])], [("a", [1]), ("b", [1])]], "inconsistent")
        self.refused([[("a", [])]], "slot a has no value")
        self.refused([[("a", ["x"])]], "int or float")
        self.refused([[("a", 3)]], "list or a tuple")
        self.refused([[("a", [3])]], "must be str", MultiSlotStringDataGenerator)


if __name__ == "__main__":
    unittest.main()
