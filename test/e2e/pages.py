"""Pages of docs/ whose commands are run as they stand, on a terminal, and whose outputs are compared with what they print.

A block that is indented by four blanks is a command of a shell; one shell runs all commands of a page. A block between ``` lines
without a language that follows is what it prints. There `…` stands for any number of lines; numbers with a fraction may differ a
little, as processors do; what differs from run to run (times, rates, ports) is left out on both sides.
"""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from dataclasses import dataclass

from support import BUILD, DEADLINE, SOURCE, Screen

VARYING = [r"\b\d+ s\b( left)?", r"[\d.]+( [kM])? samples/s", r"\d+ records/s", r"127\.0\.0\.1:\d+", r"http://\S+", r"token\.\d+",
           r"\b[IWE]\d{4} [\d:.]+ +\d+ \w+\.cc:\d+\]"]
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
MARK = "----- step "  # no command prints this


@dataclass
class Step:
    command: str
    shown: list  # lines, or None where the page does not show what it prints
    output: list = None  # lines


def read_page(name, until=None):
    """The steps of docs/<name>, up to the line `until`."""
    with open(os.path.join(SOURCE, "docs", name), encoding="utf-8") as f:
        text = f.read()
    assert until is None or until in text, f"docs/{name} has no '{until}'"
    steps, fence, before = [], None, ""
    for line in (text.split(until)[0] if until else text).split("\n"):
        if line.startswith("```"):
            opened = fence is None
            fence = ([] if line == "```" else "other") if opened else None
            if opened and fence == [] and steps and before == "command":
                steps[-1].shown = fence
            before = ""
        elif fence is not None:
            if fence != "other":
                fence.append(line.rstrip())
        elif line.startswith("    "):
            if before == "command" and steps[-1].shown is None:
                steps[-1].command += line[4:] + "\n"
            else:
                steps.append(Step(line[4:] + "\n", None))
            before = "command"
        elif line.strip() or before != "command":
            before = ""
        else:
            steps[-1].command += "\n"
    return steps


# $0 is the directory of a Debian; the words behind it are run in there, with a /proc of their own.
INSIDE = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'


class Terminal:
    """A shell on a terminal of 80 columns, whose end is the end of all that it started. With `root` it runs in that directory."""

    def __init__(self, test, script, environment, root=None):
        self.terminal, device = pty.openpty()
        fcntl.ioctl(device, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = {"PATH": ":".join([os.path.join(BUILD, "daemons", "paddle"), "/usr/bin", os.environ["PATH"]]), "HOME": test.dir, "TERM": "xterm",
               "LC_ALL": "C.UTF-8", "PYTHONPATH": os.path.join(BUILD, "python"), **environment}
        command = ["/bin/bash", script]
        if root:
            command = ["unshare", "-m", "sh", "-c", INSIDE, root, "/bin/bash", "/" + os.path.relpath(script, root)]
            env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self.shell = subprocess.Popen(command, cwd=test.dir, env=env, stdin=subprocess.DEVNULL, stdout=device,
                                      stderr=device, start_new_session=True)
        os.close(device)
        test.addCleanup(self.close)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.shell.pid, signal.SIGKILL)
        self.shell.wait()
        os.close(self.terminal)

    def read(self):
        """All that was written until the shell ended."""
        written, end = b"", time.monotonic() + DEADLINE
        while time.monotonic() < end:
            ready, _, _ = select.select([self.terminal], [], [], 1)
            if not ready and self.shell.poll() is not None:
                break
            try:
                part = os.read(self.terminal, 65536) if ready else b" "
            except OSError:  # all who could write have ended
                break
            written += part if ready else b""
        else:
            raise AssertionError("the page did not end in time:\n" + written.decode(errors="replace"))
        return written.decode(errors="replace")


def run_steps(test, steps, replace=None, environment=None, root=None):
    """Runs the commands, with other words for some of theirs ({in the page: here}), and gives each its output. A command that
    fails is a failure of the test. With `root` they run in that directory, a Debian, in its /root/page."""
    replace = replace or {}

    def here(text, back=False):
        for word, other in replace.items():
            text = text.replace(other, word) if back else text.replace(word, other)
        return text

    parts = [f"echo '{MARK}{i}'\n{here(step.command)}\n[ $? = 0 ] || exit 1\n" for i, step in enumerate(steps)]
    start = "mkdir -p /root/page && cd /root/page\n" if root else ""
    script = test.write(os.path.join(os.path.relpath(root, test.dir), "page.sh") if root else "page.sh",
                        start + "".join(parts) + f"echo '{MARK}{len(steps)}'\n")
    written = Terminal(test, script, environment or {}, root).read()
    texts = re.split(rf"{MARK}\d+\r?\n", written)[1:]
    for step, text in zip(steps, texts):
        step.output = [line.rstrip() for line in Screen(here(text, back=True)).lines]
        step.output = [line for line in step.output if not re.match(r"\S*page\.sh: line \d+: +\d+ Killed", line)]
    test.assertIn(f"{MARK}{len(steps)}", written, "a command failed:\n" + written)
    return steps


def same_number(a, b):
    if "." not in a + b:
        return a == b
    return abs(float(a) - float(b)) <= 0.03 * max(abs(float(a)), abs(float(b))) + 0.005


def same_line(shown, printed, varying):
    for pattern in varying:
        shown, printed = (re.sub(pattern, "~", line) for line in (shown, printed))
    shown, printed = (re.sub(r"[\u2800-\u28ff\s]+", " ", line).strip() for line in (shown, printed))  # curves may differ by a dot
    return (NUMBER.sub("#", shown) == NUMBER.sub("#", printed)
            and all(map(same_number, NUMBER.findall(shown), NUMBER.findall(printed))))


def same_lines(shown, printed, varying):
    """Whether the lines are the same, where `…` is any number of them."""
    if not shown:
        return not printed
    if shown[0].strip() == "…":
        return any(same_lines(shown[1:], printed[i:], varying) for i in range(len(printed) + 1))
    return bool(printed) and same_line(shown[0], printed[0], varying) and same_lines(shown[1:], printed[1:], varying)


def check_steps(test, steps, varying=()):
    """What the page shows is what was printed."""
    for step in steps:
        if step.shown is not None:
            printed, shown = "\n".join(step.output), "\n".join(step.shown)
            test.assertTrue(same_lines([line for line in step.shown if line], [line for line in step.output if line], [*varying, *VARYING]),
                            f"{step.command}\nprints\n{printed}\n\nand the page shows\n{shown}")
