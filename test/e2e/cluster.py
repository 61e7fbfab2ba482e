"""A job of pservers and trainers as real processes on loopback: started, killed, restarted, waited for.

Nothing here sleeps to give others time: every wait is for a file, a line of a log or the end of a process, looks again
every few milliseconds, has a deadline, and ends at once when the process that should answer has died.
"""
import json
import os
import random
import re
import signal
import socket
import subprocess
import time

from support import PADDLE, PSERVER

PATIENCE = int(os.environ.get("PADDLE_TEST_PATIENCE", "120"))  # seconds of any single wait: other work on the machine must not fail a test


def until(look, what, deadline=PATIENCE):
    """The first true value of look(), which is called again and again."""
    end = time.monotonic() + deadline
    while True:
        began = time.monotonic()
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what() if callable(what) else what}: not within {deadline} s")
        time.sleep(max(0.005, 3 * (time.monotonic() - began)))  # at most a quarter of a processor


def free_ports(count):
    """The first of `count` free ports in a row, outside of the range that the kernel takes ports from."""
    for _ in range(1000):
        first = random.randrange(10000, 32000)
        held = []
        try:
            for port in range(first, first + count):
                held.append(socket.socket())
                held[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise AssertionError("no free ports")


class Process:
    """One program; its output of all its lives is in one file."""

    def __init__(self, directory, name, env=None):
        self.directory, self.name = directory, name
        self.env = {"PATH": os.environ["PATH"], "HOME": directory, **(env or {})}
        self.log_path = os.path.join(directory, name + ".log")
        self.popen = None
        self.mark = 0  # where the log of this life begins
        self.command = []

    def start(self, *command):
        assert not self.running(), f"{self.name} runs already"
        self.command = command
        self.mark = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(command, cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def running(self):
        return self.popen is not None and self.popen.poll() is None

    @property
    def pid(self):
        return self.popen.pid

    def log(self, whole=False):
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, "rb") as f:
            f.seek(0 if whole else self.mark)
            return f.read().decode(errors="replace")

    def wait_line(self, pattern, times=1, deadline=PATIENCE):
        """Until a line of this life matches; the last match."""
        def look():
            ended = not self.running()  # before the look: what it wrote last counts
            found = re.findall(pattern, self.log())
            if len(found) >= times:
                return [found[-1]]
            if ended:
                raise AssertionError(f"{self.name} ended with {self.popen.returncode} without '{pattern}':\n{self.log()}")
            return None
        return until(look, lambda: f"{self.name} says '{pattern}'\n{self.log()[-4000:]}", deadline)[0]

    def wait(self, code=None, deadline=PATIENCE):
        try:
            got = self.popen.wait(deadline)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {deadline} s:\n{self.log()[-6000:]}") from None
        if code is not None and got != code:
            raise AssertionError(f"{self.name} ended with {got} instead of {code}:\n{self.log(whole=True)[-6000:]}")
        return got

    def signal(self, number):
        if self.running():
            self.popen.send_signal(number)

    def kill(self):
        """kill -9, and the end of it."""
        self.signal(signal.SIGKILL)
        if self.popen:
            self.popen.wait()

    def state(self):
        """Open descriptors, threads, and resident bytes of a running process."""
        with open(f"/proc/{self.pid}/status") as f:
            text = f.read()
        return {"descriptors": len(os.listdir(f"/proc/{self.pid}/fd")),
                "threads": int(re.search(r"Threads:\s+(\d+)", text)[1]),
                "bytes": int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024}


class Cluster:
    """`servers` pservers and `trainers` trainers of one job. Flags are lists of words or, as the job, functions of the index."""

    def __init__(self, test, job, servers=1, trainers=1, server_flags=(), trainer_flags=(), ports_num=1, name="", through=None):
        self.test, self.job, self.ports_num, self.through = test, job, ports_num, through
        self.server_flags, self.trainer_flags = server_flags, trainer_flags
        self.before_trainer = []  # words before the command of a trainer: another program that becomes it
        self.save_dir = test.path(name + "out")
        self.directory = test.dir
        self.servers = [Process(test.dir, f"{name}pserver{i}") for i in range(servers)]
        self.trainers = [Process(test.dir, f"{name}trainer{i}") for i in range(trainers)]
        # Several ports of one process stand in a row, so they are chosen here; a single one the kernel may choose.
        self.ports = [[free_ports(ports_num + 1) + k for k in range(ports_num)] if ports_num > 1 else None for _ in range(servers)]
        test.addCleanup(self.close)

    @staticmethod
    def words(flags, index):
        return list(flags(index) if callable(flags) else flags)

    def start_server(self, i):
        process, ready = self.servers[i], self.test.path(f"{self.servers[i].name}.ready")
        if os.path.exists(ready):
            os.remove(ready)
        port = self.ports[i][0] if self.ports[i] else 0
        process.start(PSERVER, "--host=127.0.0.1", f"--port={port}", f"--ports_num={self.ports_num}", "--ports_num_for_sparse=0",
                      f"--ready_file={ready}", *self.words(self.server_flags, i))
        if not self.ports[i]:
            self.await_server(i)
        return process

    def await_server(self, i):
        """Until it listens; afterwards it has the same ports for ever."""
        process, ready = self.servers[i], self.test.path(f"{self.servers[i].name}.ready")
        until(lambda: os.path.exists(ready) or not process.running(), lambda: f"{process.name} listens\n{process.log()}")
        if not os.path.exists(ready):
            raise AssertionError(f"{process.name} ended with {process.popen.returncode}:\n{process.log()}")
        with open(ready) as f:
            self.ports[i] = [int(line.rsplit(":", 1)[1]) for line in f if line.startswith("dense ")]
        assert len(self.ports[i]) == self.ports_num, self.ports[i]

    def endpoints(self):
        """host:port of every shard; through the proxy where there is one."""
        ports = [port for ports in self.ports for port in ports]
        return ",".join(f"127.0.0.1:{self.through.port_for(port) if self.through else port}" for port in ports)

    def cluster_flags(self, i):
        return [f"--pservers={self.endpoints()}", f"--trainers={len(self.trainers)}", f"--trainer_id={i}"]

    def start_trainer(self, i, *more):
        job = self.job(i) if callable(self.job) else self.job
        return self.trainers[i].start(*self.before_trainer, PADDLE, "train", f"--config={job}", "--dot_period=0", "--spin_microseconds=0",
                                      f"--save_dir={self.save_dir}", *self.cluster_flags(i), *self.words(self.trainer_flags, i), *more)

    def start(self, *more):
        for i in range(len(self.servers)):
            self.start_server(i)
        for i in range(len(self.servers)):
            self.await_server(i)
        for i in range(len(self.trainers)):
            self.start_trainer(i, *more)
        return self

    def all_end(self, deadline=PATIENCE):
        """All trainers end with 0."""
        for t in self.trainers:
            t.wait(0, deadline)

    def finish(self, deadline=PATIENCE):
        """All trainers end with 0; the files of the last model."""
        self.all_end(deadline)
        return self.model()

    def model(self):
        passes = sorted(os.listdir(self.save_dir))
        assert passes, f"nothing in {self.save_dir}"
        return self.test.files(os.path.join(self.save_dir, passes[-1]))

    def run(self):
        """A whole job without faults: its model. The pservers end by themselves where a flag says so."""
        self.start()
        model = self.finish()
        if "--exit_when_done" in self.words(self.server_flags, 0):
            for s in self.servers:
                s.wait(0)
        self.close()
        return model

    def logs(self):
        return "\n".join(f"==== {p.name}\n{p.log(whole=True)[-3000:]}" for p in self.servers + self.trainers)

    def close(self):
        for p in self.trainers + self.servers:
            if p.popen:
                p.signal(signal.SIGCONT)
                p.kill()


CLASSES, FEATURES = 5, 20


def write_data(test, records, name="data.csv", seed=1):
    """Points around one centre per class; the last column is the class."""
    r = random.Random(seed)
    centres = [[r.uniform(-1, 1) for _ in range(FEATURES)] for _ in range(CLASSES)]
    lines = []
    for _ in range(records):
        c = r.randrange(CLASSES)
        lines.append(",".join(f"{x + r.gauss(0, 0.6):.4f}" for x in centres[c]) + f",{c}")
    return test.write(name, "\n".join(lines) + "\n")


def write_job(test, optimizer='{"type": "momentum", "learning_rate": 0.05}', records=200, batch=10, hidden=32, dropout=0.2, name="job.json",
              data="data.csv"):
    """A small network over data of its own; slices of it are cut with --min_block_size=64."""
    write_data(test, records, data)
    columns = json.dumps([str(i) for i in range(FEATURES)])
    return test.write(name, f"""{{
      "inputs": [{{"name": "x", "shape": {FEATURES}}}, {{"name": "label", "dtype": "int64"}}],
      "layers": [
        {{"type": "fc", "name": "h", "input": "x", "size": {hidden}, "act": "tanh"}},
        {{"type": "dropout", "name": "d", "input": "h", "dropout_prob": {dropout}}},
        {{"type": "fc", "name": "p", "input": "d", "size": {CLASSES}, "act": "softmax"}},
        {{"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}}
      ],
      "cost": "cost",
      "outputs": "p",
      "evaluators": {{"type": "accuracy", "input": "p", "label": "label"}},
      "optimizer": {optimizer},
      "data": {{"format": "csv", "files": "{data}", "batch_size": {batch},
               "csv_fields": [{{"name": "x", "columns": {columns}}},
                              {{"name": "label", "dtype": "int64", "columns": "{FEATURES}", "bound": {CLASSES}}}]}}
    }}""")


def same_model(test, expected, found, why=""):
    """The two directories hold the same files with the same bytes."""
    test.assertEqual(sorted(expected), sorted(found), why)
    differing = [name for name in expected if expected[name] != found[name]]
    test.assertEqual(differing, [], why)
