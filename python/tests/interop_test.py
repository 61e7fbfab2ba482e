"""Models that PaddlePaddle 1.8.5 wrote give here what they gave there. golden/paddle_1.8.5.tar.xz holds them; the
directory interop says how they were made, and runs those of this package with PaddlePaddle."""
import contextlib
import io
import os
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "interop"))
import exchange  # noqa: E402


class Golden(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.TemporaryDirectory()
        with tarfile.open(os.path.join(HERE, "golden", "paddle_1.8.5.tar.xz")) as tar:
            tar.extractall(cls.root.name)

    @classmethod
    def tearDownClass(cls):
        cls.root.cleanup()

    def replay(self, kind, at_least, but=()):
        cases = {key: make for key, make in exchange.chosen(kind).items() if key not in but
                 and os.path.exists(os.path.join(exchange.folder(self.root.name, kind, key), "case"))}
        self.assertGreaterEqual(len(cases), at_least)
        for key, make in cases.items():
            with self.subTest(key), contextlib.redirect_stdout(io.StringIO()):
                self.assertIsNone(exchange.READERS[kind](make, exchange.folder(self.root.name, kind, key)))

    def test_inference_models(self):
        self.replay("inference", 140)

    def test_training_programs(self):
        branches = ("rate.piecewise", "rate.polynomial_cycle", "rate.warmup", "rate.warmup_cosine")
        self.replay("training", 170, branches)
        for key in branches:  # PaddlePaddle's schedules with conditional blocks
            with self.subTest(key), self.assertRaisesRegex(ValueError, "no op 'conditional_block'"):
                exchange.replay_training(None, exchange.folder(self.root.name, "training", key))

    def test_persistables(self):
        """Programs of this package go on with the values of PaddlePaddle."""
        self.replay("persistables", 170)


if __name__ == "__main__":
    unittest.main()
