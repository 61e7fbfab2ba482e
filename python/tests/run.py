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
    wrong = [test for test, _ in result.failures + result.errors] + result.unexpectedSuccesses
    wrong = {getattr(test, "test_case", test).id(): test for test in wrong}  # sub-tests are parts of one
    bad = len(wrong)
    ran = [test for test in wrong.values() if isinstance(test, unittest.TestCase)]  # others: a class was not set up
    good = result.testsRun - len(ran) - len(result.skipped)
    print(f"{good} passed, {bad} failed", flush=True)
    return 0 if bad == 0 and result.testsRun > 0 else 1


sys.exit(main(sys.argv[1]))
