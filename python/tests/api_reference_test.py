"""docs/api is what the docstrings say, and the public API has docstrings."""
import inspect
import os
import re
import subprocess
import sys
import unittest

import paddle.fluid as fluid

SOURCE = os.environ["PADDLE_TEST_SOURCE"]


class Reference(unittest.TestCase):
    def test_pages_are_up_to_date(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "api_reference"), "--check"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_lines_are_short_enough_to_read(self):
        self.assertEqual([f"{page}:{i}" for page, i, line in self.lines() if len(line) > 120], [])

    def test_signatures_show_their_arguments(self):
        """*args and **kwargs say nothing to a reader. Those below really take any number or any name."""
        real = {"init(**options", "create_var(**ignored", "create_parameter(**ignored", "append_op(**ignored",
                "chain(*readers", "compose(*readers", "map_readers(*readers"}
        found = set()
        for _, _, line in self.lines(joined=True):
            call = re.match(r"(?:- `)?(\w+)\((.*)\)", line)
            if call:
                found |= {f"{call[1]}({star}" for star in re.findall(r"(?:^|, )(\*\*?\w+)", call[2])}
        self.assertEqual(found, real)

    def test_transpile_is_described_by_its_present_form(self):
        arguments = inspect.signature(fluid.DistributeTranspiler.transpile).parameters
        self.assertEqual(list(arguments)[:7], ["self", "trainer_id", "program", "pservers", "trainers", "sync_mode",
                                               "startup_program"])

    @staticmethod
    def lines(joined=False):
        """(page, number, line) of docs/api; `joined`: what is indented belongs to the line before it."""
        folder = os.path.join(SOURCE, "docs", "api")
        for page in sorted(os.listdir(folder)):
            with open(os.path.join(folder, page), encoding="utf-8") as f:
                text = f.read()
            for i, line in enumerate((re.sub(r"\n +", " ", text) if joined else text).split("\n"), 1):
                yield page, i, line

    def test_layers_say_something_useful(self):
        said = {n: inspect.getdoc(getattr(fluid.layers, n)) for n in fluid.layers.__all__
                if callable(getattr(fluid.layers, n))}
        self.assertGreater(len(said), 80)
        self.assertEqual([n for n, text in said.items() if not text or len(text) < 5], [])
        self.assertIn("size", inspect.getdoc(fluid.layers.fc))


if __name__ == "__main__":
    unittest.main()
