"""How the cost of a job grows with trainers, parameters and slices: real daemons on loopback, one pserver.

    growth.py memory     peak memory of the pserver and of the trainers, beside the bytes of the model
    growth.py joining    from the start of the last trainer until it has joined, and the longest silence of the pserver
    growth.py steps      steps/s with many small slices; bytes and messages of a step, beside what the cut predicts

Memory is VmHWM of /proc: the largest resident size so far. A ping is a greeting as `paddle status` sends it, on a
connection of its own, every 20 ms; the silence is the longest time between asking and the first byte of the answer."""
import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("PADDLE_BENCH_BUILD", os.path.join(ROOT, "build"))
PADDLE = os.path.join(BUILD, "daemons", "paddle", "paddle")
MIB = 1 << 20
GIVE_UP = 120  # seconds of any single wait; a row that takes longer says so
PING_PERIOD = 0.02


class TooLong(Exception):
    """A wait of this bench did not end in time."""


def until(look, what, seconds=GIVE_UP, period=0.005):
    """The first true value of look()."""
    end = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > end:
            raise TooLong(f"{what}: not within {seconds} s")
        time.sleep(period)
    return found


def peak(pid):
    """Largest resident bytes of a running process so far."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) * 1024


def write_job(directory, sizes, batch=1, records=512, inputs=16):
    """A job of fully connected layers of these sizes over random numbers."""
    with open(os.path.join(directory, "data.csv"), "w") as f:
        for i in range(records):
            f.write(",".join(f"{((i * 37 + c * 11) % 97) / 97 - 0.5:.3f}" for c in range(inputs + 1)) + "\n")
    layers, before = [], "x"
    for i, size in enumerate([*sizes, 1]):
        layers.append({"type": "fc", "name": f"f{i}", "input": before, "size": size})
        before = f"f{i}"
    layers.append({"type": "square_error_cost", "name": "cost", "input": before, "label": "y"})
    columns = [str(c) for c in range(inputs)]
    job = {"inputs": [{"name": "x", "shape": inputs}, {"name": "y"}], "layers": layers, "cost": "cost",
           # Gradients of hundreds of layers in a row are huge: a rate at which the values stay what they are.
           "optimizer": {"type": "sgd", "learning_rate": 1e-30},
           "data": {"format": "csv", "files": "data.csv", "batch_size": batch,
                    "csv_fields": [{"name": "x", "columns": columns}, {"name": "y", "columns": str(inputs)}]}}
    path = os.path.join(directory, "job.json")
    with open(path, "w") as f:
        json.dump(job, f)
    return path


class Job:
    """One pserver and some trainers in a directory of their own; all of them end with the block."""

    def __init__(self, sizes, trainers, *flags, **job):
        self.trainers, self.flags = trainers, flags
        self.home = tempfile.TemporaryDirectory(prefix="paddle-growth-")
        self.config = write_job(self.home.name, sizes, **job)
        self.processes = {}
        self.start("pserver", "pserver", "--host=127.0.0.1", "--port=0", "--ports_num_for_sparse=0", "--ready_file=ready",
                   f"--num_gradient_servers={trainers}")
        ready = os.path.join(self.home.name, "ready")
        until(lambda: os.path.exists(ready), "the pserver listens")
        with open(ready) as f:
            self.endpoint = f.read().split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.home.cleanup()

    def start(self, name, *command):
        env = {"PATH": os.environ["PATH"], "HOME": self.home.name}
        with open(os.path.join(self.home.name, name + ".out"), "wb") as out:
            self.processes[name] = subprocess.Popen([PADDLE, *command], cwd=self.home.name, env=env, stdout=out, stderr=out)

    def start_trainer(self, i):
        self.start(f"trainer.{i}", "trainer", f"--config={self.config}", f"--pservers={self.endpoint}", f"--trainers={self.trainers}",
                   f"--trainer_id={i}", "--num_passes=1000000", "--log_period=0", "--dot_period=0", f"--log_dir=log{i}", *self.flags)

    def said(self, name, pattern, seconds=GIVE_UP):
        """Until the output of a process has a line like this."""
        path = os.path.join(self.home.name, name + ".out")

        def look():
            ended = self.processes[name].poll() is not None
            with open(path, errors="replace") as f:
                text = f.read()
            found = re.search(pattern, text)
            if not found and ended:
                sys.exit(f"{name} ended:\n{text[-2000:]}")
            return found
        return until(look, f"{name} says '{pattern}'", seconds)

    def status(self):
        done = subprocess.run([PADDLE, "status", f"--pservers={self.endpoint}", "--json"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def at_step(self, step):
        """Until the job has done so many steps; what status shows then."""
        def look():
            seen = self.status()
            return seen if seen and seen["shards"][0]["answered"] and seen["shards"][0]["step"] >= step else None
        return until(look, f"step {step}", period=0.25)

    def peaks(self):
        return peak(self.processes["pserver"].pid), [peak(p.pid) for n, p in self.processes.items() if n != "pserver"]


def greeting():
    """The first bytes that `paddle status` sends to a shard."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asks = subprocess.Popen([PADDLE, "status", f"--pservers=127.0.0.1:{listener.getsockname()[1]}"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        connection, _ = listener.accept()
        with connection:
            first = connection.recv(1 << 16)
        asks.wait()
    return first


class Pings(threading.Thread):
    """Greets a shard every 20 ms until stopped; `longest` is the longest wait for an answer in seconds."""

    def __init__(self, endpoint, hello):
        super().__init__(daemon=True)
        host, port = endpoint.rsplit(":", 1)
        self.address, self.hello = (host, int(port)), hello
        self.longest, self.ends = 0, threading.Event()
        self.start()

    def run(self):
        while not self.ends.wait(PING_PERIOD):
            asked = time.monotonic()
            try:
                self.ping()
            except OSError:  # refused or cut: an answer all the same
                pass
            self.longest = max(self.longest, time.monotonic() - asked)

    def ping(self):
        with socket.create_connection(self.address, timeout=GIVE_UP) as connection:
            connection.sendall(self.hello)
            connection.settimeout(0.02)
            while not self.ends.is_set():
                try:
                    connection.recv(1)
                    return
                except TimeoutError:
                    pass

    def stop(self):
        self.ends.set()
        self.join()
        return self.longest


def row(what, shown, goal="", reached=None, **values):
    """Prints a line of the table, and returns it for the JSON lines."""
    verdict = "" if reached is None else "reached" if reached else "MISSED"
    print(f"{what:58} {shown:>34} {goal:>16}  {verdict}", flush=True)
    return {"row": what, "goal": goal, **({} if reached is None else {"reached": reached}), **values}


def memory():
    sizes = [1024, 3456, 3072]  # 1024 x 3456 + 3456 x 3072 floats are 54 MiB, the rest is next to nothing
    for trainers, flags in ((1, ()), (2, ()), (4, ()), (8, ()), (4, ("--async",))):
        mode = "async" if flags else "sync"
        with Job(sizes, trainers, *flags, records=64) as job:
            for i in range(trainers):
                job.start_trainer(i)
            seen = job.at_step(6 * (trainers if flags else 1))
            model = sum(s["bytes"] for s in seen["shards"][0]["slices"])
            server, others = job.peaks()
        times, largest = server / model, max(others) / MIB
        yield row(f"pserver memory / model of {model / MIB:.0f} MiB, {mode}, trainers: {trainers}", f"{times:.2f} x", "<= 3.5 x", times <= 3.5,
                  times=times, mode=mode, trainers=trainers)
        goal = ("<= 127 MiB x 1.15", largest <= 127 * 1.15) if flags else ("", None)
        yield row(f"  largest trainer, {mode}", f"{largest:.0f} MiB", *goal, mib=largest, mode=mode, trainers=trainers)


def joining():
    hello = greeting()
    for layers, goal in ((400, 0.3), (5000, 3)):
        slices = 2 * layers + 2
        with Job([16] * layers, 2) as job:
            pings = Pings(job.endpoint, hello)
            limits = f"<= {goal:g} s", "<= 50 ms"
            try:
                job.start_trainer(0)
                job.said("trainer.0", r"joined as trainer")
                begin = time.monotonic()
                job.start_trainer(1)
                job.said("trainer.1", r"job \S+: \d+ parameters")
                built = time.monotonic() - begin
                job.said("trainer.1", r"joined as trainer")
                joined = time.monotonic() - begin
                yield row(f"start to joined, {slices} slices", f"{joined:.2f} s (program built {built:.2f} s)", limits[0], joined <= goal,
                          slices=slices, seconds=joined, built_seconds=built)
            except TooLong as e:
                yield row(f"start to joined, {slices} slices", f"> {GIVE_UP} s ({e})"[:34], limits[0], False, slices=slices)
            silence = pings.stop()
        yield row(f"  longest silence of the pserver, {slices} slices", f"{1000 * silence:.0f} ms", limits[1], silence <= 0.05,
                  slices=slices, silence_seconds=silence)


def traffic(first, last, steps):
    """Per step and trainer, over all connections of trainers: bytes and messages both ways. None where status does not show them."""
    keys = ("bytes_in", "bytes_out", "messages_in", "messages_out")
    of = lambda seen: [t for s in seen["shards"] for t in s["trainers"]]
    if not all(k in t for t in of(last) for k in keys):
        return None
    trainers = len(last["trainers"])
    return {k: (sum(t[k] for t in of(last)) - sum(t[k] for t in of(first))) / steps / trainers for k in keys}


def steps(seconds=3):
    for layers in (100, 400):
        slices = 2 * layers + 2
        with Job([16] * layers, 2, records=100000) as job:
            job.start_trainer(0)
            job.start_trainer(1)
            try:
                first = job.at_step(50)
            except TooLong as e:
                yield row(f"steps/s, {slices} slices of 16 x 16, 2 trainers", str(e)[:34], "", False, slices=slices)
                continue
            began = time.monotonic()
            time.sleep(seconds)
            last = job.status()
            passed = time.monotonic() - began
        done = last["shards"][0]["step"] - first["shards"][0]["step"]
        rate, each = done / passed, 1e6 * passed / done / slices
        yield row(f"steps/s, {slices} slices of 16 x 16, 2 trainers", f"{rate:,.0f}", "", None, slices=slices, steps_per_second=rate)
        yield row("  a slice and step", f"{each:.2f} us", "<= 2.5 us", each <= 2.5, slices=slices, microseconds=each)
        if moved := traffic(first, last, done):
            shown = "{messages_in:.2f} + {messages_out:.2f} messages".format(**moved)
            yield row("  a step and trainer, to and from the pserver", shown, "", None, slices=slices, **moved)
            yield row("  bytes of it, to and from the pserver", "{bytes_in:,.0f} + {bytes_out:,.0f}".format(**moved), "", None)


def main():
    parts = {"memory": memory, "joining": joining, "steps": steps}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[], help="memory, joining, steps; all of them where none is named")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench_growth.jsonl"))
    args = parser.parse_args()
    if unknown := set(args.parts) - set(parts):
        parser.error(f"unknown part {', '.join(sorted(unknown))}")
    print(f"{'what':58} {'measured':>34} {'goal':>16}", flush=True)
    with open(args.out, "w") as out:
        for name in args.parts or parts:
            for line in parts[name]():
                out.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
