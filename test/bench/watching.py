"""What being watched costs a job: processor time and duration of one with two pservers and two trainers, turn by turn without any HTTP
server, with metrics of all four processes asked for every second, and with these and a reader of its live page."""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PADDLE = os.path.join(ROOT, "build", "daemons", "paddle", "paddle")
KINDS = ("alone", "metrics", "metrics and page")
JOBS = {"fit_a_line.json": "--num_passes=4000", "recognize_digits_mlp.json": "--num_passes=30"}


class Watcher:
    """Asks for metrics every second, and reads the page's stream where it is to."""

    def __init__(self, workspace, page):
        self.workspace, self.stop, self.scrapes, self.lines = workspace, threading.Event(), 0, 0
        self.threads = [threading.Thread(target=work) for work in ((self.scrape, self.follow) if page else (self.scrape,))]
        for thread in self.threads:
            thread.start()

    def file(self, *parts):
        try:
            with open(os.path.join(self.workspace, *parts), encoding="utf-8") as f:
                return f.read()
        except OSError:
            return ""

    def token(self):
        names = [n for n in os.listdir(os.path.join(self.workspace, "log")) if n.startswith("token.")]
        return self.file("log", names[0]).strip() if names else ""

    def scrape(self):
        while not self.stop.wait(1):
            try:
                for target in json.loads(self.file("job", "targets.json") or "[]"):
                    ask = urllib.request.Request(f"http://{target['targets'][0]}/metrics", headers={"Authorization": "Bearer " + self.token()})
                    with urllib.request.urlopen(ask, timeout=10) as reply:
                        self.scrapes += reply.read().count(b"paddle_") > 0
            except (OSError, ValueError):
                continue  # it has ended, or begins

    def follow(self):
        while not self.stop.wait(0.1):
            address = self.file("job", "page.txt").strip().replace("/?", "/events?")
            if not address:
                continue
            try:
                with urllib.request.urlopen(address, timeout=10) as reply:
                    while not self.stop.is_set() and reply.readline():
                        self.lines += 1
            except OSError:
                continue

    def close(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def run(job, kind):
    with tempfile.TemporaryDirectory() as directory:
        os.makedirs(os.path.join(directory, "log"))
        flags = {"alone": ["--http_port=-1", "--ui_port=-1"], "metrics": ["--ui_port=-1"]}.get(kind, [])
        command = [PADDLE, "launch", f"--config={ROOT}/configs/{job}", JOBS[job], "--server_num=2", "--worker_num=2", "--log_period=0", "--seed=1",
                   f"--workspace={directory}", *flags]
        watcher = Watcher(directory, kind != "metrics") if kind != "alone" else None
        begin = time.monotonic()
        with open(os.path.join(directory, "said"), "w", encoding="utf-8") as said:
            launch = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        _, status, used = os.wait4(launch.pid, 0)
        launch.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        if watcher:
            watcher.close()
        if launch.returncode != 0:
            with open(os.path.join(directory, "said"), encoding="utf-8") as said:
                raise SystemExit(f"{job} ended with {launch.returncode}:\n{said.read()[-2000:]}")
        return {"job": job, "kind": kind, "cpu_seconds": round(used.ru_utime + used.ru_stime, 3), "seconds": round(seconds, 3),
                "scrapes": watcher.scrapes if watcher else 0, "lines": watcher.lines if watcher else 0}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows = []
    for job in JOBS:
        for _ in range(repeats):
            rows += [run(job, kind) for kind in KINDS]
    with open(os.path.join(ROOT, "build", "bench_watching.jsonl"), "w", encoding="utf-8") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    print("| job | | CPU seconds | median | least | scrapes | lines of the page |\n|---|---|---|---|---|---|---|")
    for job in JOBS:
        for kind in KINDS:
            same = [row for row in rows if row["job"] == job and row["kind"] == kind]
            cpu = [row["cpu_seconds"] for row in same]
            middle = [statistics.median(row[name] for row in same) for name in ("scrapes", "lines")]
            print(f"| {re.sub('.json', '', job)} | {kind} | {'; '.join(f'{c:.2f}' for c in cpu)} | {statistics.median(cpu):.2f} | {min(cpu):.2f} | "
                  f"{middle[0]:g} | {middle[1]:g} |")


if __name__ == "__main__":
    main()
