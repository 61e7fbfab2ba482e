"""docs/api is what the docstrings say, and the public API has docstrings."""
import inspect
import os
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

    def test_layers_say_something_useful(self):
        said = {n: inspect.getdoc(getattr(fluid.layers, n)) for n in fluid.layers.__all__
                if callable(getattr(fluid.layers, n))}
        self.assertGreater(len(said), 80)
        self.assertEqual([n for n, text in said.items() if not text or len(text) < 5], [])
        self.assertIn("size", inspect.getdoc(fluid.layers.fc))


if __name__ == "__main__":
    unittest.main()
