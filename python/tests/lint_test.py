"""scripts/lint_python.py finds what it is there for."""
import os
import sys
import unittest

SOURCE = os.environ["PADDLE_TEST_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "scripts"))

import lint_python


def findings(path, text):
    return list(lint_python.check_python(SOURCE, path, text))


class Lint(unittest.TestCase):
    def finds(self, words, path, text):
        self.assertRegex("\n".join(findings(path, text)), words)

    def test_who_may_import_whom(self):
        doc = '"""x"""\n'
        self.finds("fluid.layers may not import paddle.v2", "python/paddle/fluid/nets.py", doc + "from .. import v2\n")
        self.finds("fluid.values may not import paddle.fluid.executor.Executor", "python/paddle/fluid/core.py",
                   doc + "from .executor import Executor\n")
        self.finds("reader may not import paddle.fluid", "python/paddle/reader/pipe.py", doc + "import paddle.fluid\n")
        self.finds("may not import paddle.fluid.incubate", "python/paddle/fluid/io.py",
                   doc + "def f():\n    from .incubate import fleet\n")
        self.assertEqual(findings("python/paddle/fluid/clip.py", doc + "def f():\n    from . import framework\n"), [])
        self.assertEqual(findings("python/paddle/v2/attr.py", doc + "from ..fluid import clip, initializer\n"), [])
        self.finds("belongs to no part", "python/paddle/fluid/new_module.py", doc)

    def test_imports_change_nothing_else(self):
        doc = '"""x"""\n'
        path = "python/paddle/fluid/io.py"
        self.finds("a call while the module is imported", path, doc + "atexit.register(print)\n")
        self.finds("sets an attribute of another object", path, doc + "Executor._hook = None\n")
        self.finds("registers a function", path, doc + "@atexit.register\ndef f():\n    pass\n")
        self.assertEqual(findings(path, doc + 'if __name__ == "__main__":\n    f()\n'), [])

    def test_sizes_and_words(self):
        path = "python/tests/x.py"
        self.finds("lacks a docstring", path, "x = 1\n")
        self.finds("f has 62 lines", path, '"""x"""\ndef f():\n' + "    x = 1\n" * 61)
        self.finds("121 columns", path, '"""x"""\n# ' + "x" * 119)
        word = "good" + "bye"  # in two parts: lint reads this file too
        self.finds(f"'{word}' makes a stranger guess", path, f'"""Says {word}."""\n')
        self.finds("stdout is the user's", "python/paddle/batch.py", '"""x"""\nprint(1)\n')

    def test_every_module_has_a_part(self):
        for folder, _, files in os.walk(os.path.join(SOURCE, "python", "paddle")):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), SOURCE)
                if name.endswith(".py"):
                    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
                        self.assertEqual(findings(path, f.read()), [])


if __name__ == "__main__":
    unittest.main()
