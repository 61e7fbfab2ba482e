"""Runs the real programs as a user does, each test in a directory of its own."""
import contextlib
import fcntl
import os
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest

from runner import main  # noqa: F401 (the test files take it from here)

SOURCE = os.environ["PADDLE_TEST_SOURCE"]
BUILD = os.environ["PADDLE_TEST_BUILD"]
PADDLE = os.path.join(BUILD, "daemons", "paddle", "paddle")
TRAINER = os.path.join(BUILD, "daemons", "trainer", "paddle_trainer")
PSERVER = os.path.join(BUILD, "daemons", "pserver", "paddle_pserver")
DATA = os.path.join(SOURCE, "..", "shared", "data")
CONFIGS = os.path.join(SOURCE, "configs")
DEADLINE = 600  # seconds; no test waits longer for a program


def needs_real_data(test):
    return unittest.skipUnless(os.path.isdir(DATA), "the real data sets are not on this machine")(test)


class EndToEnd(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="paddle-e2e-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text):
        """Whole or not at all: processes of the case may be reading the file of that name."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(self.path(name + ".new"), self.path(name))
        return self.path(name)

    def run_program(self, *command, env=None, check=None, **kwargs):
        """The finished process. Nothing of the user's own environment reaches it but PATH; HOME is the test's directory."""
        clean = {"PATH": os.environ["PATH"], "HOME": self.dir, **(env or {})}
        done = subprocess.run(command, cwd=self.dir, env=clean, capture_output=True, text=True, timeout=DEADLINE, **kwargs)
        if check is not None:
            self.assertEqual(done.returncode, check, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done

    def paddle(self, *arguments, check=0, **kwargs):
        return self.run_program(PADDLE, *arguments, check=check, **kwargs)

    def train(self, config, *flags, check=0, **kwargs):
        if not os.path.isabs(config):
            config = os.path.join(CONFIGS, config)
        return self.paddle("train", f"--config={config}", "--dot_period=0", *flags, check=check, **kwargs)

    def refused(self, done, code, *words):
        """The program ended with `code` and a sentence with these words, and without a stack trace."""
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        for bad in ("terminate called", "Segmentation", "std::", "core dumped"):
            self.assertNotIn(bad, done.stderr)

    def on_terminal(self, *arguments, columns=80, term="xterm", check=0):
        """What a paddle command writes to a terminal, stdout and stderr, as bytes came."""
        terminal, device = os.openpty()
        fcntl.ioctl(device, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        env = {"PATH": os.environ["PATH"], "HOME": self.dir, "TERM": term}
        program = subprocess.Popen([PADDLE, *arguments], cwd=self.dir, env=env, stdout=device, stderr=device)
        os.close(device)
        out = b""
        with contextlib.suppress(OSError):  # the program has closed its end
            while part := os.read(terminal, 65536):
                out += part
        os.close(terminal)
        self.assertEqual(program.wait(DEADLINE), check, out.decode())
        return out.decode()

    def same(self, a, b):
        """Two directories have the same files with the same bytes."""
        a, b = self.files(a), self.files(b)
        self.assertEqual(sorted(a), sorted(b))
        for name in a:
            self.assertEqual(a[name], b[name], f"{name} differs")

    def same_in_parts(self, job, name):
        """Three passes at once, and two and one more in another process, save the same model. Returns its directory."""
        self.train(job, "--num_passes=3", f"--save_dir={name}/whole")
        self.train(job, "--num_passes=2", f"--save_dir={name}/parts")
        self.train(job, "--num_passes=3", f"--save_dir={name}/parts", "--start_pass=2")
        whole = self.path(name, "whole", "pass-00002")
        self.same(whole, self.path(name, "parts", "pass-00002"))
        return whole

    def files(self, directory):
        """Relative name -> bytes of every file below a directory."""
        out = {}
        for base, _, names in os.walk(directory):
            for name in names:
                full = os.path.join(base, name)
                with open(full, "rb") as f:
                    out[os.path.relpath(full, directory)] = f.read()
        return out


class Screen:
    """A terminal that was written to: `lines` as they stand at the end, and `frames`, everything that a line ever was."""

    def __init__(self, written):
        self.lines, self.frames, line, at = [], [], "", 0
        for part in re.findall(r"\x1b\[K|\x1b\[[0-9;]*m|[\r\n]|[^\x1b\r\n]+", written):
            if part == "\r":
                at = 0
            elif part == "\x1b[K":
                self.frames += [line] if line[at:] else []
                line = line[:at]
            elif part == "\n":
                self.frames.append(line)
                self.lines.append(line)
                line, at = "", 0
            elif not part.startswith("\x1b"):
                line = line[:at] + part + line[at + len(part):]
                at += len(part)
        if line:
            self.frames.append(line)
            self.lines.append(line)

    def __str__(self):
        return "\n".join(self.lines)


def last_number(text, pattern):
    """The last number that follows `pattern` in a text."""
    found = re.findall(pattern + r"([-+0-9.e]+)", text)
    if not found:
        raise AssertionError(f"no '{pattern}' in:\n{text}")
    return float(found[-1])
