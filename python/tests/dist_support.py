"""Processes of a job on this machine, for tests: every one has a name, a log and a deadline."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "dist_script.py")
LIMIT = 120  # seconds that anything may take


def housing_job(optimizer, **data):
    """A job file for the network of the guides' fit_a_line."""
    return json.dumps({
        "inputs": [{"name": "x", "shape": 13}, {"name": "y", "shape": 1}],
        "layers": [{"type": "fc", "name": "fc_0", "input": "x", "size": 1},
                   {"type": "square_error_cost", "name": "cost", "input": "fc_0", "label": "y"}],
        "cost": "cost",
        "optimizer": optimizer,
        "data": {"format": "uci_housing", "batch_size": 20, **data}})


class JobCase(unittest.TestCase):
    """A test with processes: all are gone when it ends, and their logs are shown where it failed."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="paddle_dist_")
        self.processes = {}
        self.held = []

    def tearDown(self):
        for p in self.processes.values():
            if p.poll() is None:
                p.kill()
            p.wait()
        for s in self.held:
            s.close()
        if self._failed():
            for name in self.processes:
                sys.stderr.write("---- %s\n%s\n" % (name, self.log(name)[-3000:]))
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def _failed(self):
        result = self._outcome.result
        return any(test is self for test, _ in result.failures + result.errors)

    def endpoints(self, count):
        """Ports that the kernel chose. The sockets keep them for the servers, which may bind them too."""
        out = []
        for _ in range(count):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", 0))
            self.held.append(s)
            out.append("127.0.0.1:%d" % s.getsockname()[1])
        return out

    def start(self, name, *arguments, script=SCRIPT, env=None, command=None):
        log = os.path.join(self.dir, name + ".log")
        merged = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "TRAINING_", "TRAINER",
                                                                           "FLAGS_", "POD_"))}
        merged.update({k: v for k, v in os.environ.items() if k.startswith("PADDLE_TEST_")})
        merged["FLAGS_rpc_deadline"] = "60000"
        merged.update(env or {})
        with open(log, "ab") as out, open(log + ".out", "ab") as result:
            self.processes[name] = subprocess.Popen(command or [sys.executable, "-u", script, *map(str, arguments)],
                                                    env=merged,
                                                    cwd=self.dir, stdout=result, stderr=out, stdin=subprocess.DEVNULL)
        return self.processes[name]

    def log(self, name):
        with open(os.path.join(self.dir, name + ".log"), errors="replace") as f:
            return f.read()

    def output(self, name):
        with open(os.path.join(self.dir, name + ".log.out"), errors="replace") as f:
            return f.read()

    def wait(self, name, code=0):
        try:
            got = self.processes[name].wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.fail("%s does not end:\n%s" % (name, self.log(name)[-2000:]))
        if code is not None:
            self.assertEqual(got, code, "%s:\n%s" % (name, self.log(name)[-2000:]))
        return got

    def wait_for(self, name, pattern, count=1, output=False):
        """Until the log (or stdout) of a process has the pattern so many times."""
        end = time.monotonic() + LIMIT
        while True:
            text = self.output(name) if output else self.log(name)
            if len(re.findall(pattern, text)) >= count:
                return text
            if self.processes[name].poll() is not None or time.monotonic() > end:
                self.fail("%s never says %r:\n%s" % (name, pattern, text[-2000:]))
            time.sleep(0.02)  # between two looks

    def stop(self, name, number=signal.SIGTERM, code=0):
        self.processes[name].send_signal(number)
        self.wait(name, code)

    # -- whole jobs of dist_script.py

    def job(self, servers=2, trainers=2, env=None, **options):
        """Starts servers s0… and trainers t0… that run the script with these options."""
        eps = self.endpoints(servers)
        for i, e in enumerate(eps):
            self.start("s%d" % i, *self.arguments("PSERVER", eps, trainers, endpoint=e, **options), env=env)
        for i in range(trainers):
            self.start("t%d" % i, *self.arguments("TRAINER", eps, trainers, id=i, **options), env=env)
        return eps

    @staticmethod
    def arguments(role, endpoints, trainers, **options):
        out = ["role=" + role, "pservers=" + ",".join(endpoints), "trainers=%d" % trainers]
        return out + ["%s=%s" % item for item in options.items()]

    def numbers(self, name):
        """What the script printed: the loss of each step, as exact text."""
        return re.findall(r"^loss (\S+)$", self.output(name), re.M)

    def weights(self, name):
        return re.findall(r"^weight (\S+) (\S+)$", self.output(name), re.M)
