"""paddle status finds the jobs of this user by itself, and draws their cost."""
import os
import re
import signal

from cluster import Process, free_ports, until, write_job
from support import PADDLE, EndToEnd, main


class LocalStatus(EndToEnd):
    def launch(self, workspace):
        job = Process(self.dir, workspace)
        self.addCleanup(job.kill)
        self.addCleanup(lambda: job.running() and (job.signal(signal.SIGTERM), job.wait()))
        job.start(PADDLE, "launch", f"--config={write_job(self)}", "--num_passes=100000", "--server_num=1", "--worker_num=2", f"--workspace={workspace}")
        until(lambda: "2 of 2 shards" in self.look(workspace) or "joined" in self.look(workspace), lambda: job.log())
        return job

    def look(self, workspace):
        done = self.paddle("status", f"--workspace={workspace}", check=None)
        return done.stdout + done.stderr

    def test_a_launched_job(self):
        """Its port was chosen by the kernel and its token is new: nobody but its processes knows them."""
        job = self.launch("ws")
        done = self.paddle("status", "--workspace=ws")
        self.assertRegex(done.stderr, rf"^{re.escape(self.path('ws'))}: pservers 127\.0\.0\.1:\d+, trainer processes \d+ and \d+, pserver process \d+\n$")
        self.assertIn("joined", done.stdout)
        # The same by a path that is written in another way, and from within.
        self.assertIn("joined", self.look("./ws/../ws/"))
        self.launch("other")
        everything = self.paddle("status").stdout
        self.assertRegex(everything, r"^\d+ jobs run here; name one by --workspace or --pservers:\n")
        for name in ("ws", "other"):
            self.assertRegex(everything, rf"(?m)^  {re.escape(self.path(name))}: pservers 127\.0\.0\.1:\d+, ")
        job.signal(signal.SIGTERM)
        job.wait(143)
        self.refused(self.paddle("status", "--workspace=ws", check=None), 2, "no job with pservers runs in ws", "it has ended")
        self.refused(self.paddle("status", "--workspace=nowhere", check=None), 2, "no job with pservers runs in nowhere", "--pservers")

    def test_a_job_of_one_process(self):
        """No pserver can be asked: its log says how far it is."""
        job = Process(self.dir, "train")
        self.addCleanup(job.kill)
        job.start(PADDLE, "train", f"--config={write_job(self)}", "--num_passes=1000000", "--saving_period=1000000", "--workspace=alone")
        found = rf"(?m)^  {re.escape(self.path('alone'))}: process {job.pid}: Pass=\d+ Batch=\d+ "
        until(lambda: re.search(found, self.look("alone")), lambda: self.look("alone") + job.log()[-2000:])
        everything = self.paddle("status")
        self.assertRegex(everything.stdout + everything.stderr, found)

    def test_a_pserver_without_trainers(self):
        server, port = Process(self.dir, "pserver"), free_ports(1)
        self.addCleanup(server.kill)
        server.start(PADDLE, "pserver", f"--port={port}", "--ports_num_for_sparse=0", "--workspace=alone")
        server.wait_line("Server listening")
        done = self.paddle("status", "--workspace=alone")
        self.assertIn(f"{self.path('alone')}: pservers 127.0.0.1:{port}, pserver process {server.pid}\n", done.stderr)
        self.assertIn("1 of 1 shards answer", done.stdout)

    def test_the_curve(self):
        self.launch("ws")
        watch = Process(self.dir, "watch", {"LANG": "C.UTF-8"})
        self.addCleanup(watch.kill)
        watch.start(PADDLE, "status", "--workspace=ws", "--watch")
        watch.wait_line("cost of the trainers, since this began")
        watch.wait_line(r"┤")
        watch.signal(signal.SIGINT)
        self.assertIn(watch.wait(), (0, 130))
        self.assertTrue(os.path.exists(self.path("ws", "job")))


if __name__ == "__main__":
    main()
