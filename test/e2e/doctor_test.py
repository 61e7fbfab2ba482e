"""paddle doctor on real pservers: running, frozen, absent, with another token; and on ports of other programs."""
import json
import os
import signal
import socket
import time

from cluster import Process, free_ports, write_job
from support import PADDLE, EndToEnd, main

NOTHING_FOUND, FOUND = 0, 8


class Doctor(EndToEnd):
    def pserver(self, *flags, env=None):
        port = free_ports(1)
        process = Process(self.dir, f"pserver.{port}", env)
        self.addCleanup(process.kill)
        process.start(PADDLE, "pserver", f"--port={port}", "--ports_num_for_sparse=0", *flags)
        process.wait_line("Server listening")
        return process, f"127.0.0.1:{port}"

    def doctor(self, *words, check, **kwargs):
        """Findings by the name of their check."""
        begin = time.monotonic()
        done = self.paddle("doctor", *words, "--json", check=check, **kwargs)
        self.seconds = time.monotonic() - begin
        found = json.loads(done.stdout)
        levels = [f["level"] for f in found["findings"]]
        self.assertEqual(levels.count("problem"), found["problems"])
        self.assertEqual(levels.count("warning"), found["warnings"])
        for f in found["findings"]:
            self.assertEqual(f["level"] == "ok", f["remedy"] == "", f)
        return {f["check"]: f for f in found["findings"]}

    def problem(self, finding, *words):
        self.assertEqual(finding["level"], "problem", finding)
        for word in words:
            self.assertIn(word, finding["what"] + "\n" + finding["remedy"])

    def test_running_absent_and_without_a_name(self):
        process, here = self.pserver()
        free = f"127.0.0.1:{free_ports(1)}"
        found = self.doctor(f"--pservers={here}", check=NOTHING_FOUND)
        self.assertRegex(found[f"pserver {here}"]["what"], r"^answers in [\d.]+ ms \(connected in [\d.]+ ms\), empty$")
        self.assertRegex(found["versions"]["what"], r"^all have PaddlePaddle \d+\.\d+\.\d+, and one protocol$")
        self.assertRegex(found["clocks"]["what"], r"^differ by [\d.]+ ms at most$")
        for check in ("workspace", "open files", "locked memory", "memory", "kernels", "processors", "matrix products", "OpenBLAS"):
            self.assertIn(check, found)
        found = self.doctor(f"--pservers={here},{free},nobody.invalid:7164", check=FOUND)
        self.assertEqual(found[f"pserver {here}"]["level"], "ok")
        self.problem(found[f"pserver {free}"], "Connection refused", "start it: paddle pserver --port=" + free.split(":")[1])
        self.problem(found["pserver nobody.invalid:7164"], "the name has no address")
        process.signal(signal.SIGTERM)
        process.wait(0)

    def test_a_frozen_pserver_costs_no_more_than_the_deadline(self):
        process, here = self.pserver()
        process.signal(signal.SIGSTOP)
        try:
            found = self.doctor(f"--pservers={here}", "--timeout=1", check=FOUND)
        finally:
            process.signal(signal.SIGCONT)
        self.problem(found[f"pserver {here}"], f"(process {process.pid})", "no answer came in time", "kill -CONT")
        self.assertLess(self.seconds, 30)  # of the machine's; the deadline is 2 s
        self.assertEqual(self.doctor(f"--pservers={here}", check=NOTHING_FOUND)[f"pserver {here}"]["level"], "ok")

    def test_another_service_holds_the_port(self):
        with socket.socket() as service:
            service.bind(("127.0.0.1", 0))
            service.listen()
            port = service.getsockname()[1]
            found = self.doctor(f"--port={port}", "--ports_num_for_sparse=0", check=FOUND)
            self.problem(found[f"port {port}"], "Address already in use", f"(process {os.getpid()})", "another --port")
            found = self.doctor(f"--pservers=127.0.0.1:{port}", "--timeout=1", check=FOUND)
            self.problem(found[f"pserver 127.0.0.1:{port}"], f"(process {os.getpid()})", "no answer came in time")
        free = free_ports(1)
        found = self.doctor(f"--port={free}", "--ports_num_for_sparse=0", check=NOTHING_FOUND)
        self.assertEqual(found[f"port {free}"]["what"], "is free for a pserver on this machine")

    def test_tokens(self):
        for name in ("job", "other"):
            self.paddle("token", "--new", f"{name}.token")
        _, here = self.pserver("--token_file=job.token")
        found = self.doctor(f"--pservers={here}", "--token_file=job.token", check=NOTHING_FOUND)
        self.assertIn("job.token is for 'job'", found["token"]["what"])
        found = self.doctor(f"--pservers={here}", "--token_file=other.token", "--timeout=2", check=FOUND)
        self.problem(found[f"pserver {here}"], "token")
        self.assertEqual(found["token"]["level"], "ok")
        self.problem(self.doctor(f"--pservers={here}", "--timeout=2", check=FOUND)[f"pserver {here}"], "token")
        os.chmod(self.path("job.token"), 0o644)
        self.problem(self.doctor("--port=0", "--ports_num_for_sparse=0", "--token_file=job.token", check=FOUND)["token"], "chmod 600")

    def test_certificates(self):
        self.paddle("certs", "--hosts=127.0.0.1", "--dir=certs", "--days=5")
        files = [f"--{kind}_file=certs/{name}" for kind, name in (("cert", "observer.pem"), ("key", "observer.key"), ("ca", "ca.pem"))]
        done = self.paddle("doctor", "--port=0", "--ports_num_for_sparse=0", *files).stdout
        self.assertRegex(done, r"(?m)^warning +certificate +certs/observer.pem \(observer\) is valid until \d{4}-\d\d-\d\d$")
        self.assertIn("make a new one: paddle certs", done)
        self.paddle("doctor", "--port=0", "--ports_num_for_sparse=0", "--strict", *files, check=FOUND)
        self.paddle("certs", "--hosts=127.0.0.1", "--dir=more", "--days=300")
        files[1] = "--key_file=more/observer.key"
        found = self.doctor("--port=0", "--ports_num_for_sparse=0", *files, check=FOUND)
        self.problem(found["TLS"], "does not belong to the certificate")

    def test_a_job_file(self):
        _, here = self.pserver()
        job = write_job(self)
        found = self.doctor(job, f"--pservers={here}", "--save_dir=output", check=NOTHING_FOUND)
        self.assertEqual(found["job file"]["what"], f"{job} can be run")
        self.assertRegex(found["save_dir"]["what"], r"output has .* free of ")
        bad = self.write("bad.json", '{"inputs": [], "nets": 1}')
        self.problem(self.doctor(bad, f"--pservers={here}", check=FOUND)["job file"], "bad.json:1", "nets")
        self.problem(self.doctor("none.json", f"--pservers={here}", check=FOUND)["job file"], "none.json")

    def test_a_directory_that_cannot_be_written(self):
        self.write("file", "")
        found = self.doctor("--port=0", "--ports_num_for_sparse=0", "--workspace=file/below", check=FOUND)
        self.problem(found["workspace"], "nothing can be written to file/below")

    def test_refusals(self):
        self.refused(self.paddle("doctor", "--pservers=h:x", check=None), 2, "pservers", "'h:x'")
        self.refused(self.paddle("doctor", "--timeout=0", check=None), 2, "timeout")


if __name__ == "__main__":
    main()
