"""Checkers of types accept right scripts and find mistakes, such as fc(siz=1)."""
import ast
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["PADDLE_TEST_SOURCE"]
SCRIPTS = os.path.join(SOURCE, "python", "tests", "types")


PROGRAMS = os.path.join(SOURCE, "build-checkers", "bin")  # scripts/setup checkers
needs_checkers = unittest.skipUnless(os.path.exists(os.path.join(PROGRAMS, "mypy")),
                                     "needs mypy and pyright: scripts/setup checkers")


def examples():
    """Folders with scripts."""
    return sorted({folder for folder, _, names in os.walk(os.path.join(SOURCE, "python", "examples"))
                   if any(name.endswith(".py") for name in names)})


def marked(path):
    with open(path, encoding="utf-8") as f:
        return {number for number, line in enumerate(f, 1) if line.rstrip().endswith("# wrong")}


class Types(unittest.TestCase):
    """mypy and pyright where they are installed; what they need of the package always."""

    def check(self, errors, text):
        """`errors`: by file the lines with one; `text`: what the checker printed."""
        wrong = os.path.join(SCRIPTS, "wrong.py")
        self.assertEqual(errors.pop(wrong, set()), marked(wrong), text)
        self.assertEqual(errors, {}, text)

    @needs_checkers
    def test_mypy(self):
        errors, text = {}, ""
        for folder in (SCRIPTS, *examples()):  # scripts of two folders may have the same name
            done = subprocess.run(
                [os.path.join(PROGRAMS, "mypy"), "--python-executable", sys.executable, "--follow-imports=silent",
                 "--cache-dir=/dev/null", *sorted(glob.glob(os.path.join(folder, "*.py")))],
                text=True, stdout=subprocess.PIPE, cwd="/",
                env={**os.environ, "MYPYPATH": os.path.join(SOURCE, "python")})
            text += done.stdout
            for path, line in re.findall(r"^([^:\n]+):(\d+): error", done.stdout, re.M):
                errors.setdefault(os.path.join("/", path), set()).add(int(line))
        self.check(errors, text)

    @needs_checkers
    def test_pyright(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "pyrightconfig.json")
            with open(config, "w", encoding="utf-8") as f:
                json.dump({"typeCheckingMode": "basic", "include": [SCRIPTS, *examples()],
                           "extraPaths": [os.path.join(SOURCE, "python"), *examples()]}, f)
            done = subprocess.run(
                [os.path.join(PROGRAMS, "basedpyright"), "-p", config, "--pythonpath", sys.executable, "--outputjson"],
                text=True, stdout=subprocess.PIPE, check=False)
        errors = {}
        for one in json.loads(done.stdout)["generalDiagnostics"]:
            if one["severity"] == "error":
                errors.setdefault(one["file"], set()).add(one["range"]["start"]["line"] + 1)
        self.check(errors, done.stdout)

    def trees(self):
        fluid = os.path.join(SOURCE, "python", "paddle", "fluid")
        layers = [f"layers/{name}" for name in os.listdir(os.path.join(fluid, "layers")) if name.endswith(".py")]
        for path in (os.path.join(fluid, name) for name in ["__init__.py", "optimizer.py", *layers]):
            with open(path, encoding="utf-8") as f:
                yield path, ast.parse(f.read())

    def test_names_are_declared_so_that_checkers_see_them(self):
        """A list of names that is computed is an empty one to mypy, and a __getattr__ gives every name the type Any."""
        for path, tree in self.trees():
            for node in tree.body:
                self.assertNotEqual(getattr(node, "name", ""), "__getattr__", path)
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                    plain = isinstance(node.value, ast.List) or path.endswith("__init__.py")
                    self.assertTrue(plain, f"{path}: __all__ must be a plain list")

    def test_layers_say_the_types_of_their_arguments(self):
        for path, tree in self.trees():
            if os.path.join("fluid", "layers") not in path or os.path.basename(path).startswith("_call"):
                continue
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    self.assertIsNotNone(node.returns, f"{path}: {node.name}")

    def test_the_package_says_that_it_has_types(self):
        self.assertTrue(os.path.exists(os.path.join(SOURCE, "python", "paddle", "py.typed")))


if __name__ == "__main__":
    unittest.main()
