"""Limits of the system that a job of many processes meets."""
import resource
import signal
import subprocess
import time

from support import DEADLINE, PADDLE, EndToEnd, main


class Limits(EndToEnd):
    def test_a_pserver_may_have_as_many_connections_as_the_system_allows(self):
        """The soft limit of open files is 1024 on most systems: 500 trainers with two connections each."""
        hard = min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])

        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        program = subprocess.Popen([PADDLE, "pserver", "--port=0", f"--ready_file={self.path('ready')}"], cwd=self.dir,
                                   preexec_fn=few_files, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(program.kill)
        end = time.monotonic() + DEADLINE
        found = None
        while time.monotonic() < end and program.poll() is None and found is None:
            try:
                with open(self.path("ready"), encoding="ascii"):
                    with open(f"/proc/{program.pid}/limits", encoding="ascii") as f:
                        found = next(line for line in f if line.startswith("Max open files")).split()[3]
            except FileNotFoundError:
                time.sleep(0.02)  # between two looks
        self.assertEqual(found, str(hard))
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(DEADLINE), 0)


if __name__ == "__main__":
    main()
