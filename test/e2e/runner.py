"""Runs the cases of a test file side by side, in processes of their own: most of them wait most of the time."""
import concurrent.futures
import fcntl
import multiprocessing
import os
import pickle
import resource
import shutil
import sys
import tempfile
import time
import unittest

cases = []  # of this file; the processes are forked and have the list
shared_directory = None


def shared(key, make):
    """The value of make(), called by the first case of the file that asks for this key. The value must be picklable."""
    path = os.path.join(shared_directory, key)
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            value = make()
            with open(path, "wb") as f:
                pickle.dump(value, f)
        with open(path, "rb") as f:
            return pickle.load(f)


def flat(suite):
    return [case for part in suite for case in flat(part)] if isinstance(suite, unittest.TestSuite) else [suite]


def processor_seconds():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def run_case(index):
    """Name, reason of a skip or "", [(name, text of a failure)], seconds, seconds of processors."""
    case, result = cases[index], unittest.TestResult()
    begin, used = time.monotonic(), processor_seconds()
    case.run(result)
    bad = [(str(which), text) for which, text in result.failures + result.errors]
    bad += [(str(which), "a success was not expected") for which in result.unexpectedSuccesses]
    skipped = "; ".join(sorted({why for _, why in result.skipped}))
    return case.id().removeprefix("__main__."), skipped, bad, time.monotonic() - begin, processor_seconds() - used


class Runner:
    """For unittest.main: `at_once` cases at a time."""

    def __init__(self, at_once):
        self.at_once = at_once

    def run(self, suite):
        global shared_directory
        cases[:] = flat(suite)
        shared_directory = tempfile.mkdtemp(prefix="paddle-e2e-shared-")
        try:
            context = multiprocessing.get_context("fork")
            with concurrent.futures.ProcessPoolExecutor(min(self.at_once, len(cases) or 1), context) as pool:
                futures = [pool.submit(run_case, i) for i in range(len(cases))]
                return [self.report(f.result()) for f in concurrent.futures.as_completed(futures)]
        finally:
            shutil.rmtree(shared_directory, ignore_errors=True)

    @staticmethod
    def report(row):
        name, skipped, bad, seconds, used = row
        end = "FAILED" if bad else f"skipped: {skipped}" if skipped else "ok"
        print(f"{seconds:6.1f} s ({used:5.1f} of processors)  {name}: {end}", file=sys.stderr, flush=True)
        for which, text in bad:
            print(f"{'=' * 70}\n{which}\n{text}", file=sys.stderr, flush=True)
        return row


def main(at_once=4):
    """Of the file that was started. Fewer cases at once where they would disturb each other, more where they only wait."""
    at_once = int(os.environ.get("PADDLE_TEST_AT_ONCE", at_once))
    rows = unittest.main(exit=False, testRunner=Runner(at_once)).result
    bad = sum(bool(row[2]) for row in rows)
    skipped = sum(bool(row[1]) and not row[2] for row in rows)
    print(f"{len(rows) - bad - skipped} passed, {bad} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if bad else 0)
