"""The systemd units: checked by systemd's own tools, the protocol by a real pserver, and the units by a real systemd.

The last one needs root, systemd-nspawn (package systemd-container) and a Debian in a directory (debian.py), which it boots with a network of
its own.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

from cluster import Process, until
from debian import copy_of_debian
from support import PADDLE, PSERVER, SOURCE, EndToEnd, main

UNITS = os.path.join(SOURCE, "configs", "systemd")
SERVICES = ["paddle-pserver@.service", "paddle-trainer@.service"]
MOST_EXPOSURE = "15"  # of 100


class Files(EndToEnd):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze (the package systemd)")
    def test_units(self):
        for name in [*SERVICES, "paddle-job@.target"]:
            done = self.run_program("systemd-analyze", "verify", "--man=no", os.path.join(UNITS, name))
            self.assertEqual(done.stderr.replace("SO_PASSCRED failed: Operation not permitted\n", ""), "", name)
        for name in SERVICES:
            done = self.run_program("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", os.path.join(UNITS, name))
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_exit_codes_are_those_of_the_page(self):
        """systemd starts again what can succeed the next time, and nothing else."""
        with open(os.path.join(SOURCE, "docs", "exit-codes.md"), encoding="utf-8") as f:
            again = re.search(r"(\d(?:, \d)* and \d) will happen again", f.read())[1]
        for name in SERVICES:
            with open(os.path.join(UNITS, name), encoding="utf-8") as f:
                unit = f.read()
            self.assertIn("\nRestart=on-failure\n", unit)
            self.assertEqual(re.search(r"(?m)^RestartPreventExitStatus=(.*)$", unit)[1].split(), re.findall(r"\d", again), name)


class Protocol(EndToEnd):
    def test_pserver(self):
        """Ready once it listens, alive every second, stopping on SIGTERM."""
        path = self.path("notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(path)
        manager.settimeout(60)
        pserver = Process(self.dir, "pserver", env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "30000000"})
        self.addCleanup(pserver.kill)
        pserver.start(PSERVER, "--host=127.0.0.1", "--port=0", "--ports_num=2", "--ports_num_for_sparse=1", f"--ready_file={self.path('ready')}")
        first = manager.recv(1000).decode()
        with open(self.path("ready"), encoding="utf-8") as f:
            port = f.readline().split(":")[1].strip()
        self.assertEqual(first, f"READY=1\nSTATUS=listening on port {port}")
        for _ in range(2):
            self.assertEqual(manager.recv(1000), b"WATCHDOG=1")
        pserver.signal(signal.SIGTERM)
        while (word := manager.recv(1000)) == b"WATCHDOG=1":
            pass
        self.assertEqual(word, b"STOPPING=1\nSTATUS=stopping")
        pserver.wait(0)


class Systemd(EndToEnd):
    """A job of one pserver and one trainer on a machine that boots."""

    def setUp(self):
        super().setUp()
        if not shutil.which("systemd-nspawn"):
            self.skipTest("needs systemd-nspawn (the package systemd-container)")
        self.root = copy_of_debian(self, "root")
        self.put(PADDLE, "usr/local/bin/paddle")
        for name in [*SERVICES, "paddle-job@.target"]:
            self.put(os.path.join(UNITS, name), "etc/systemd/system/" + name)
        self.put(os.path.join(UNITS, "paddle.sysusers"), "etc/sysusers.d/paddle.conf")
        self.put(os.path.join(UNITS, "paddle.tmpfiles"), "etc/tmpfiles.d/paddle.conf")
        os.makedirs(os.path.join(self.root, "etc", "paddle"), exist_ok=True)
        with open(os.path.join(self.root, "etc", "paddle", "houses.env"), "w", encoding="utf-8") as f:
            f.write("PADDLE_INIT_NUM_GRADIENT_SERVERS=1\nPADDLE_INIT_PSERVERS=127.0.0.1\nPADDLE_INIT_TRAINER_ID=0\n"
                    "PADDLE_TOKEN_FILE=/etc/paddle/houses.token\n"
                    "PADDLE_INIT_CONFIG=/srv/fit_a_line.json\nPADDLE_INIT_NUM_PASSES=100000\nPADDLE_INIT_SAVING_PERIOD=100\n")
        self.put(os.path.join(SOURCE, "configs", "fit_a_line.json"), "srv/fit_a_line.json")
        self.place("etc/paddle/broken.env", "PADDLE_INIT_CONFIG=/srv/fit_a_line.json\nPADDLE_INIT_NUM_PASSES=many\n")
        # The unit's 30 s are a long time for a test.
        self.place("etc/systemd/system/paddle-pserver@.service.d/soon.conf", "[Service]\nWatchdogSec=5\n")
        self.machine = None
        self.boot()

    def place(self, target, text):
        target = os.path.join(self.root, target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)

    def put(self, source, target):
        target = os.path.join(self.root, target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)

    def boot(self):
        log = open(self.path("boot.log"), "ab")
        self.addCleanup(log.close)
        self.machine = subprocess.Popen(["systemd-nspawn", "-q", "-b", "-D", self.root, "--register=no", "--keep-unit", "--private-network"],
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(self.machine.wait)
        self.addCleanup(self.machine.kill)
        self.addCleanup(self.end_inside)
        until(lambda: self.inside("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"), "the machine has booted")

    def leader(self):
        found = subprocess.run(["pgrep", "-P", str(self.machine.pid)], capture_output=True, text=True, check=False).stdout.split()
        return found[0] if found else ""

    def end_inside(self):
        """systemd-nspawn that is killed leaves its machine running."""
        if self.leader():
            os.kill(int(self.leader()), signal.SIGKILL)

    def inside(self, *command):
        leader = self.leader()
        if not leader:
            return subprocess.CompletedProcess(command, 1, "", "")
        return subprocess.run(["nsenter", "-t", leader, "-a", "env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", *command],
                              capture_output=True, text=True, check=False)

    def control(self, *words):
        done = self.inside("systemctl", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + self.inside("journalctl", "-n", "40", "--no-pager").stdout)

    def state(self, unit, what):
        return self.inside("systemctl", "show", "-P", what, unit).stdout.strip()

    def await_active(self, unit):
        until(lambda: self.state(unit, "ActiveState") == "active",
              lambda: f"{unit} runs\n" + self.inside("journalctl", "-n", "60", "--no-pager").stdout)

    def trainer_log(self, name="paddle_trainer.INFO"):
        path = os.path.join(self.root, "var/lib/paddle/houses/log", name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def test_life(self):
        pserver, trainer, job = "paddle-pserver@houses", "paddle-trainer@houses", "paddle-job@houses.target"
        made = self.inside("sh", "-c", "cd /root && paddle token --new houses.token && "
                           "install -m 640 -o root -g paddle houses.token /etc/paddle/houses.token")  # as on the page
        self.assertEqual(made.returncode, 0, made.stderr)
        self.control("enable", pserver, trainer, job)
        self.control("start", job)
        for unit in (pserver, trainer):
            self.await_active(unit)
        self.assertRegex(self.state(pserver, "StatusText"), "listening on port 7164")
        self.assertIn("Server listening on 0.0.0.0:7164", self.inside("journalctl", "-u", pserver, "--no-pager").stdout)
        until(lambda: "Pass=1 " in self.trainer_log(), "it trains")
        self.check_order(pserver, trainer)
        self.check_files(trainer)
        # A killed pserver and a killed trainer come back, and training goes on.
        for unit in (pserver, trainer):
            before, passes = self.state(unit, "MainPID"), self.trainer_log().count("Pass=")
            self.control("kill", "--signal=KILL", "--kill-whom=main", unit)
            until(lambda: self.state(unit, "MainPID") not in ("0", before) and self.state(unit, "ActiveState") == "active", f"{unit} is back")
            until(lambda: self.trainer_log().count("Pass=") > passes + 5, lambda: "it trains again\n" + self.trainer_log()[-3000:])
        # A pserver that does nothing any more is started again: its shards' threads no longer report.
        before, restarts = self.state(pserver, "MainPID"), int(self.state(pserver, "NRestarts"))
        passes = self.trainer_log().count("Pass=")
        self.control("kill", "--signal=STOP", "--kill-whom=main", pserver)
        until(lambda: self.state(pserver, "MainPID") not in ("0", before) and self.state(pserver, "ActiveState") == "active",
              lambda: f"{pserver} is back\n" + self.inside("journalctl", "-n", "60", "--no-pager").stdout)
        self.assertGreater(int(self.state(pserver, "NRestarts")), restarts)
        self.assertIn("Watchdog timeout", self.inside("journalctl", "-u", pserver, "--no-pager").stdout)
        until(lambda: self.trainer_log().count("Pass=") > passes + 5, lambda: "it trains again\n" + self.trainer_log()[-3000:])
        self.check_a_mistake("paddle-trainer@broken")
        # A stop is clean, and the machine starts the job when it boots.
        self.control("stop", job)  # returns when the target has stopped; the services follow it
        for unit in (pserver, trainer):
            until(lambda: self.state(unit, "ActiveState") not in ("active", "deactivating"), f"{unit} has stopped")
            self.assertEqual((self.state(unit, "ActiveState"), self.state(unit, "Result")), ("inactive", "success"), unit)
        self.assertTrue(os.listdir(os.path.join(self.root, "var/lib/paddle/houses/snapshot")))
        self.inside("systemctl", "poweroff")
        self.machine.wait(120)
        self.boot()
        for unit in (pserver, trainer):
            self.await_active(unit)
        self.check_order(pserver, trainer)

    def check_order(self, pserver, trainer):
        """A trainer is started when the pserver listens, not before."""
        listens, starts = (int(self.state(unit, what)) for unit, what in ((pserver, "ActiveEnterTimestampMonotonic"),
                                                                          (trainer, "ExecMainStartTimestampMonotonic")))
        self.assertGreater(listens, 0)
        self.assertLessEqual(listens, starts)

    def check_files(self, trainer):
        """The workspace of every launcher, and who may read it; the same lines in the journal."""
        there = os.path.join(self.root, "var/lib/paddle/houses")
        self.assertLessEqual({"job", "log", "nodefile", "snapshot"}, set(os.listdir(there)))
        with open(os.path.join(there, "nodefile"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "0\n")
        self.assertIn("Pass=1 ", self.trainer_log("train.log"))
        self.assertIn("Server listening on 0.0.0.0:7164", self.trainer_log("server.log"))
        self.assertIn("Server listening on 0.0.0.0:7164", self.trainer_log("paddle_pserver2.INFO"))
        self.assertIn("Pass=1 ", self.inside("journalctl", "-u", trainer, "--no-pager").stdout)
        modes = self.inside("stat", "-c", "%U:%G %a", "/etc/paddle", "/var/lib/paddle", "/var/lib/paddle/houses").stdout.splitlines()
        self.assertEqual(modes, ["root:paddle 750", "paddle:paddle 750", "paddle:paddle 750"])

    def check_a_mistake(self, unit):
        """What will happen again is not tried again."""
        self.control("start", unit)
        until(lambda: self.state(unit, "ActiveState") == "failed", lambda: f"{unit} has failed: " + self.state(unit, "ActiveState"))
        self.assertEqual((self.state(unit, "NRestarts"), self.state(unit, "ExecMainStatus")), ("0", "2"))
        self.assertIn("num_passes", self.inside("journalctl", "-u", unit, "--no-pager").stdout)


if __name__ == "__main__":
    main()
