"""Scripts as processes of one job on loopback: started, waited for, ended. Waits have a deadline and end early where
the process died."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, BUILD = os.environ["PADDLE_TEST_SOURCE"], os.environ["PADDLE_TEST_BUILD"]
EXAMPLES = os.path.join(SOURCE, "python", "examples")
PSERVER = os.path.join(BUILD, "daemons", "pserver", "paddle_pserver")
PATIENCE = int(os.environ.get("PADDLE_TEST_PATIENCE", "120"))  # seconds


class Process:
    """A script; what it prints is in a file each for stdout and stderr."""

    def __init__(self, directory, name, command, env):
        self.name = name
        self.paths = [os.path.join(directory, f"{name}.{kind}") for kind in ("out", "err")]
        clean = {"PATH": os.environ["PATH"], "HOME": directory, "PYTHONPATH": os.path.join(BUILD, "python"),
                 "PYTHONDONTWRITEBYTECODE": "1", **env}
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.popen = subprocess.Popen(command, cwd=directory, env=clean, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=err)

    def read(self, which):
        with open(self.paths[which], encoding="utf-8") as f:
            return f.read()

    @property
    def out(self):
        return self.read(0)

    def log(self):
        return f"==== {self.name}\n{self.out[-3000:]}\n---- stderr\n{self.read(1)[-3000:]}"

    def wait(self, code=0):
        try:
            got = self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {PATIENCE} s\n{self.log()}") from None
        if got != code:
            raise AssertionError(f"{self.name} ended with {got} instead of {code}\n{self.log()}")
        return self.out

    def until(self, look, what):
        end = time.monotonic() + PATIENCE
        while not look():
            if self.popen.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{self.name}: {what} did not come\n{self.log()}")
            time.sleep(0.005)

    def end(self):
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()


class Job(unittest.TestCase):
    """A test with a directory and processes of its own."""

    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory(prefix="paddle-python-"))
        self.processes = []

    def tearDown(self):
        for p in self.processes:
            p.end()

    def start(self, name, script, *arguments, **env):
        """A Python script, given by its path under python/examples or as a file of the test."""
        path = script if os.path.isabs(script) else os.path.join(EXAMPLES, script)
        return self.program(name, sys.executable, "-u", path, *arguments, **env)

    def program(self, name, *command, **env):
        self.processes.append(Process(self.dir, name, command, env))
        return self.processes[-1]

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def port(self, *hosts):
        """A port that is free on all these addresses. It stays bound, not listening, so that no other process is given
        it."""
        for _ in range(100):
            held = []
            try:
                for host in hosts or ("127.0.0.1",):
                    s = socket.socket()
                    held.append(s)
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind((host, held[0].getsockname()[1] if len(held) > 1 else 0))
            except OSError:
                for s in held:
                    s.close()
                continue
            for s in held:
                self.addCleanup(s.close)
            return held[0].getsockname()[1]
        raise AssertionError("no free port")

    def daemon(self, name="pserver", *flags):
        """`paddle pserver` on a port of the kernel's choice: the port."""
        ready = os.path.join(self.dir, name + ".ready")
        p = self.program(name, PSERVER, "--host=127.0.0.1", "--port=0", "--ports_num=1", "--ports_num_for_sparse=0",
                         f"--ready_file={ready}", *flags)
        p.until(lambda: os.path.exists(ready), "its ready file")
        with open(ready) as f:
            return next(int(line.rsplit(":", 1)[1]) for line in f if line.startswith("dense "))

    def stop(self, *processes):
        """Ends pservers as an operator does; they end cleanly."""
        for p in processes:
            p.popen.send_signal(signal.SIGTERM)
        for p in processes:
            p.wait(0)
