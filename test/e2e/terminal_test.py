"""paddle logs and paddle completion."""
import os
import re
import select
import shutil
import subprocess
import time

from cluster import PATIENCE, Process, write_job
from support import PADDLE, EndToEnd, main


class Logs(EndToEnd):
    def test_merged_by_time(self):
        self.paddle("launch", f"--config={write_job(self)}", "--num_passes=2", f"--workspace={self.path('w')}")
        lines = self.paddle("logs", f"--workspace={self.path('w')}").stdout.splitlines()
        names = {line.split("|")[0].strip() for line in lines}
        self.assertEqual(names, {"pserver.0", "pserver.1", "trainer.0", "trainer.1"})
        stamps = re.findall(r"(?m)^\S+ +\| [IWE](\d{4} \S+) ", "\n".join(lines))
        self.assertGreater(len(stamps), 20)
        self.assertEqual(stamps, sorted(stamps))
        # Nothing is left out: as many lines as the files have.
        log = self.files(self.path("w", "log"))
        outputs = [data for name, data in log.items() if re.match(r"(server|train)\.\d\.log$", name)]
        self.assertEqual(len(lines), sum(data.count(b"\n") for data in outputs))
        only = self.paddle("logs", f"--workspace={self.path('w')}", "--role=trainer").stdout
        self.assertIn("trainer.1 | ", only)
        self.assertNotIn("pserver.", re.sub(r"(?m)\|.*$", "", only))
        self.assertEqual(self.paddle("logs", f"--workspace={self.path('w')}", "--since=1d").stdout.splitlines(), lines)

    def test_follow(self):
        self.paddle("launch", f"--config={write_job(self)}", "--num_passes=1", f"--workspace={self.path('w')}")
        follower = Process(self.dir, "follower")
        self.addCleanup(follower.kill)
        follower.start(PADDLE, "logs", f"--workspace={self.path('w')}", "--follow")
        follower.wait_line(r"trainer\.0 \| ")
        with open(self.path("w", "log", "train.1.log"), "a") as f:
            f.write("a line that comes later\nhalf")
            f.flush()
            follower.wait_line(r"trainer\.1 \| a line that comes later")
            self.assertNotIn("half", follower.log())
            f.write(" and the rest\n")
            f.flush()
            follower.wait_line(r"trainer\.1 \| half and the rest")
        follower.signal(2)
        follower.wait(0)

    def stamp(self, seconds_ago):
        return time.strftime("I%m%d %H:%M:%S.000000    50 file.cc:1]", time.localtime(time.time() - seconds_ago))

    def write_log(self, name, text):
        os.makedirs(self.path("w", "log"), exist_ok=True)
        self.write(os.path.join("w", "log", name), text)

    def logs(self, *flags):
        return self.paddle("logs", f"--workspace={self.path('w')}", *flags).stdout.splitlines()

    def test_since(self):
        """Also of a line that has no time of its own: it belongs to the one before it."""
        self.write_log("train.0.log", f"{self.stamp(7200)} old\nmore of the old\n{self.stamp(600)} new\nmore of the new\n")
        self.write_log("server.0.log", f"{self.stamp(7000)} old\n{self.stamp(500)} new\n")
        texts = lambda lines: [line.split("] ")[-1].split("| ")[-1] for line in lines]  # noqa: E731
        self.assertEqual(texts(self.logs()), ["old", "more of the old", "old", "new", "more of the new", "new"])
        for since in ("15m", "0.5h", "1000", "1000s"):
            self.assertEqual(texts(self.logs(f"--since={since}")), ["new", "more of the new", "new"], since)
        self.assertEqual(texts(self.logs("--since=550", "--role=pserver")), ["new"])
        self.assertEqual(self.logs("--since=1s"), [])

    def test_machines(self):
        """Where paddle launch --hosts was started there is one file for each machine."""
        for node in (0, 1):
            self.write_log(f"node.{node}.log", f"launch: begins\npserver.{node} | {self.stamp(30 - node)} listens\n"
                                                 f"trainer.{node} | {self.stamp(20 - node)} trains\ntrainer.{node} | and so on\n")
        names = lambda lines: [line.rsplit(" | ", 1)[0].rstrip() for line in lines]  # noqa: E731
        self.assertEqual(names(self.logs()), ["node.0", "node.1", "node.0 | pserver.0", "node.1 | pserver.1", "node.0 | trainer.0",
                                              "node.0 | trainer.0", "node.1 | trainer.1", "node.1 | trainer.1"])
        self.assertEqual(names(self.logs("--node=1")), ["node.1", "node.1 | pserver.1", "node.1 | trainer.1", "node.1 | trainer.1"])
        self.assertEqual(names(self.logs("--role=trainer", "--node=0")), ["node.0 | trainer.0"] * 2)
        self.assertEqual({line.index(" | ", 10) for line in self.logs("--role=trainer")}, {18}, "columns")
        self.refused(self.paddle("logs", f"--workspace={self.path('w')}", "--node=7", check=None), 2, "no logs", "of node 7")

    def test_colours(self):
        """Each process has one of its own on a terminal."""
        self.write_log("train.0.log", f"{self.stamp(9)} a\n{self.stamp(7)} b\n")
        self.write_log("train.1.log", f"{self.stamp(8)} c\n")
        shown = lambda **how: self.on_terminal("logs", "--workspace=w", **how).splitlines()  # noqa: E731
        found = [re.match(r"\x1b\[(\d+)m(trainer\.\d) \|\x1b\[0m ", line).groups() for line in shown()]
        self.assertEqual([name for _, name in found], ["trainer.0", "trainer.1", "trainer.0"])
        self.assertEqual(found[0], found[2])
        self.assertNotEqual(found[0][0], found[1][0])
        self.assertNotIn("\x1b", "".join(shown(term="dumb") + self.logs()))

    def test_refusals(self):
        self.refused(self.paddle("logs", f"--workspace={self.path('none')}", check=None), 2, "no logs of paddle launch", "--workspace")
        self.write_log("train.0.log", "x\n")
        self.refused(self.paddle("logs", f"--workspace={self.path('w')}", "--node=0", check=None), 2, "--node=0", "paddle launch --hosts")
        self.refused(self.paddle("logs", "--since=soon", check=None), 2, "90s, 15m")


class Completion(EndToEnd):
    def complete(self, *words):
        """What a real bash offers behind these words."""
        script = self.write("completion.bash", self.paddle("completion", "bash").stdout)
        array = " ".join(f"'{w}'" for w in words)
        run = f'source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _paddle; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "--norc", "-c", run], capture_output=True, text=True, timeout=60, cwd=self.dir)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("paddle", "lau"), ["launch"])
        self.assertIn("list_metrics", self.complete("paddle", "list"))
        self.assertEqual(self.complete("paddle", "launch", "--server_n"), ["--server_num="])
        self.assertEqual(self.complete("paddle", "status", "--wat"), ["--watch"])
        self.assertIn("--snapshot_dir=", self.complete("paddle", "pserver", "--snap"))
        self.write("somejob.json", "{}")
        self.assertEqual(self.complete("paddle", "train", "--config", "=", "somej"), ["somejob.json"])
        self.assertEqual(self.complete("paddle", "version", "--"), [])

    def test_every_flag_of_help(self):
        """Completion and --help come from one table."""
        script = self.paddle("completion", "bash").stdout
        for command in ("train", "pserver", "launch", "status", "doctor", "export", "compare", "ui", "logs", "token", "certs"):
            offered = re.search(rf"(?m)^    {command}\) flags='(.*)' ;;", script)[1]
            for flag in re.findall(r"(?m)^  --(\w+)", self.paddle(command, "--help").stdout):
                self.assertRegex(offered, rf"--{flag}(=| |$)", command)

    def typed_in_zsh(self, words, wanted):
        """Types words and a Tab in a real zsh, until the line has what is wanted."""
        script = self.write("_paddle", self.paddle("completion", "zsh").stdout)
        terminal, device = os.openpty()
        env = {"PATH": os.environ["PATH"], "HOME": self.dir, "TERM": "dumb", "PS1": "ready> "}
        shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=device, stdout=device, stderr=device, env=env, cwd=self.dir, start_new_session=True)
        os.close(device)
        out = b""

        def read_until(what):
            nonlocal out
            end = time.monotonic() + PATIENCE
            while what not in out:
                self.assertLess(time.monotonic(), end, out.decode(errors="replace"))
                if select.select([terminal], [], [], 1)[0]:
                    out += os.read(terminal, 65536)
        try:
            os.write(terminal, f"autoload -U compinit; compinit -D -u; source {script}; echo pre''pared\n".encode())
            read_until(b"prepared")
            os.write(terminal, words.encode() + b"\t")
            read_until(wanted.encode())
        finally:
            shell.kill()
            shell.wait()
            os.close(terminal)

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is missing: apt-get install zsh")
        self.typed_in_zsh("paddle doct", "paddle doctor")
        self.typed_in_zsh("paddle compare --tol", "--tolerance=")
        self.typed_in_zsh("paddle status --work", "--workspace=")

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("fish is missing: apt-get install fish")
        script = self.write("paddle.fish", self.paddle("completion", "fish").stdout)

        def offered(line):
            done = self.run_program("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'", check=0)
            return [row.split("\t")[0] for row in done.stdout.splitlines()]
        self.assertEqual(offered("paddle doct"), ["doctor"])
        self.assertEqual(offered("paddle exp"), ["export"])
        self.assertIn("--tolerance=", [word if word.endswith("=") else word + "=" for word in offered("paddle compare --tol")])
        self.assertIn("--workspace", [word.rstrip("=") for word in offered("paddle status --work")])

    def test_syntax_of_the_others(self):
        for shell in ("zsh", "fish"):
            script = self.write(f"paddle.{shell}", self.paddle("completion", shell).stdout)
            if not shutil.which(shell):
                print(f"{shell} is missing: its completion was not tried")
                continue
            done = subprocess.run([shell, "-n", script], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.refused(self.paddle("completion", "tcsh", check=None), 2, "bash, zsh or fish")


if __name__ == "__main__":
    main()
