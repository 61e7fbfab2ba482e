"""The examples of docs/api: each runs, and prints what it shows. What one builds and saves is gone before the next."""
import contextlib
import doctest
import os
import re
import tempfile
import unittest

import numpy as np
import paddle.fluid as fluid

PAGES = os.path.join(os.environ["PADDLE_TEST_SOURCE"], "docs", "api")
# These need what a page of documentation cannot have; where the same is run:
ELSEWHERE = {
    ("distributed.md", "paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler"):
        "guides_test.py::test_fleet",
    ("distributed.md", "paddle.fluid.incubate.fleet.utils.hdfs"): "fleet_utils_test.py",
    ("distributed.md", "paddle.fluid.communicator"): "guides_test.py::test_modes_learn",
    ("distributed.md", "paddle.distributed.launch"): "guides_test.py::test_click_rate",
    ("distributed.md", "paddle.distributed.launch_ps"): "guides_test.py::test_click_rate",
}


def read(page):
    with open(os.path.join(PAGES, page), encoding="utf-8") as f:
        return f.read()


def modules_of(page):
    """(name, [(entry or "", its part of the page)]) of each module."""
    for part in re.split(r"(?m)^## ", read(page))[1:]:
        name, *rest = re.split(r"(?m)^### (?:class )?(\w+)\n", part)
        yield name.split("\n")[0], [("", name), *zip(rest[::2], rest[1::2])]


def code_of(part):
    """The examples in it, as doctest wants them."""
    return "\n".join(block for block in re.findall(r"(?s)```python\n(.*?)\n```", part) if ">>> " in block)


class Examples(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(place.name)

    def run_example(self, where, code, first):
        names = {}
        exec(first, names)
        test = doctest.DocTestParser().get_doctest(code + "\n", names, where, None, 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        np.set_printoptions(precision=4, suppress=True)
        with contextlib.ExitStack() as fresh:
            fresh.enter_context(fluid.program_guard(fluid.Program(), fluid.Program()))
            fresh.enter_context(fluid.scope_guard(fluid.Scope()))
            fresh.enter_context(fluid.unique_name.guard())
            runner.run(test, out=said.append)
        self.assertEqual(said, [], "".join(said))

    def check(self, page):
        first = re.search(r"(?s)```python\n(import numpy.*?)\n```", read("layers.md"))[1]
        ran = 0
        for module, entries in modules_of(page):
            if (page, module) in ELSEWHERE:
                continue
            for entry, part in entries:
                code = code_of(part)
                if code:
                    ran += 1
                    with self.subTest(f"{page}: {module} {entry}"):
                        self.run_example(f"{module}.{entry}", code, first)
        return ran

    def test_layers(self):
        """All of them have one."""
        (_, entries), = modules_of("layers.md")
        self.assertEqual([name for name, part in entries[1:] if not code_of(part)], [])
        self.assertGreater(self.check("layers.md"), 150)

    def test_fluid(self):
        self.assertGreater(self.check("fluid.md"), 40)

    def test_pservers(self):
        self.assertGreater(self.check("distributed.md"), 4)

    def test_data(self):
        self.assertGreater(self.check("data.md"), 15)

    def test_v2(self):
        self.assertGreater(self.check("v2.md"), 6)

    def test_every_module_has_one(self):
        silent = [f"{page}: {module}" for page in sorted(os.listdir(PAGES)) for module, entries in modules_of(page)
                  if not any(code_of(part) for _, part in entries) and (page, module) not in ELSEWHERE]
        self.assertEqual(silent, [])


if __name__ == "__main__":
    unittest.main()
