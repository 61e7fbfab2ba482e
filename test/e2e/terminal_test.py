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

    def test_refusals(self):
        self.refused(self.paddle("logs", f"--workspace={self.path('none')}", check=None), 2, "no logs of paddle launch", "--workspace")
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
