"""Checkers of types accept right scripts and find mistakes, such as fc(siz=1)."""
import ast
import os
import re
import subprocess
import sys
import unittest

SOURCE = os.environ["PADDLE_TEST_SOURCE"]
SCRIPTS = os.path.join(SOURCE, "python", "tests", "types")


def has_mypy():
    return subprocess.run([sys.executable, "-m", "mypy", "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def marked(path):
    with open(path, encoding="utf-8") as f:
        return {number for number, line in enumerate(f, 1) if line.rstrip().endswith("# wrong")}


class Types(unittest.TestCase):
    """mypy itself where it is installed; what it needs of the package always."""

    def errors(self, path):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir=/dev/null", path], text=True,
            stdout=subprocess.PIPE, env={**os.environ, "MYPYPATH": os.path.join(SOURCE, "python")})
        return {int(n) for n in re.findall(r"^[^:]+:(\d+): error", done.stdout, re.M)}, done.stdout

    @unittest.skipUnless(has_mypy(), "mypy is not installed")
    def test_mypy(self):
        found, text = self.errors(os.path.join(SCRIPTS, "right.py"))
        self.assertEqual(found, set(), text)
        path = os.path.join(SCRIPTS, "wrong.py")
        found, text = self.errors(path)
        self.assertEqual(found, marked(path), text)
        for folder, _, names in os.walk(os.path.join(SOURCE, "python", "examples")):
            for name in names:
                if name.endswith(".py"):
                    found, text = self.errors(os.path.join(folder, name))
                    self.assertEqual(found, set(), text)

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
