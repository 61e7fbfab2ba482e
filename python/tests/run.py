"""run.py FILE: runs the tests of a file; the last line on stdout is "N passed, N failed"."""
import importlib.util
import os
import sys
import unittest


def main(path):
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(module))
    parts = [test for test, _ in result.failures + result.errors] + result.unexpectedSuccesses
    bad = len({getattr(test, "test_case", test) for test in parts})  # a test with several bad parts is one
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed", flush=True)
    return 0 if bad == 0 and result.testsRun > 0 else 1


sys.exit(main(sys.argv[1]))
