"""The schemas as others may use them: what the README says of the protocol, and the Python code that flatc makes of them."""
import ast
import os
import re
import shutil
import unittest

from support import SOURCE, EndToEnd, main

SCHEMAS = os.path.join(SOURCE, "schemas")


def read(*parts):
    with open(os.path.join(SOURCE, *parts), encoding="utf-8") as f:
        return f.read()


class Schemas(EndToEnd):
    def test_the_protocol_number_of_the_readme(self):
        code = re.search(r"protocol_version = (\d+);", read("libcore", "wire", "frame.h"))[1]
        self.assertEqual(re.search(r"`protocol` of `Hello` is (\d+)", read("schemas", "README.md"))[1], code)

    @unittest.skipUnless(shutil.which("flatc"), "flatc is not installed")
    def test_python_code_has_every_field(self):
        """flatc gives its classes methods of its own (Init); a field of that name would replace one."""
        for name in sorted(n for n in os.listdir(SCHEMAS) if n.endswith(".fbs")):
            out = self.path(name)
            self.run_program("flatc", "--python", "-o", out, os.path.join(SCHEMAS, name), check=0)
            files = [os.path.join(d, f) for d, _, fs in os.walk(out) for f in fs if f.endswith(".py")]
            self.assertTrue(files, name)
            for path in files:
                with open(path, encoding="utf-8") as f:
                    tree = ast.parse(f.read(), path)
                for cls in (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)):
                    methods = [n.name for n in cls.body if isinstance(n, ast.FunctionDef)]
                    self.assertEqual(sorted(set(methods)), sorted(methods), f"{name}, {cls.name}: methods that exist twice")


if __name__ == "__main__":
    main()
