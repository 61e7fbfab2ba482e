"""What is reported when a trainer fails, is stopped or finds another program at the address of a pserver; plain words."""
import os
import re
import signal
import socket
import threading
import unittest

from cluster import Cluster, write_job
from support import SOURCE, EndToEnd, main


class WebServer:
    """Answers every connection as HTTP does, and counts them."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
                self.connections += 1
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            except OSError:
                if self.listener.fileno() < 0:
                    return


class WrongAddress(EndToEnd):
    def test_somebody_else_listens_there(self):
        """It is asked less and less often, and its answer is shown."""
        web = WebServer()
        self.addCleanup(web.listener.close)
        done = self.train(write_job(self), f"--pservers=127.0.0.1:{web.port}", "--trainers=1", "--peer_timeout=3", check=None)
        self.refused(done, 7, f"gave up waiting for pserver 127.0.0.1:{web.port}: this is no frame of the paddle protocol: it looks like HTTP",
                     "is its address right?")
        self.assertLess(web.connections, 30)  # a data connection and a heartbeat
        self.assertGreater(web.connections, 2)


class FinalError(EndToEnd):
    """Trainer 1 reads a record that is not valid; the processes that wait for it report the reason."""

    def cluster(self, policy, *server_flags):
        good = write_job(self, records=400)
        bad = write_job(self, records=400, name="bad.json", data="bad.csv")
        with open(self.path("bad.csv")) as f:
            lines = f.readlines()
        self.write("bad.csv", "".join(lines[:200]) + "nonsense\n" * 200)
        return Cluster(self, lambda i: bad if i == 1 else good, 2, 2, server_flags=[f"--on_trainer_loss={policy}", *server_flags],
                       trainer_flags=["--num_passes=2", "--min_block_size=64"])

    def test_fail(self):
        cluster = self.cluster("fail").start()
        cluster.trainers[1].wait(3)
        cluster.trainers[0].wait(7)
        self.assertRegex(cluster.trainers[0].log(), r"the job ended: trainer 1 .* was lost .*; its last error: bad.csv:20[12]: ")

    def test_wait(self):
        cluster = self.cluster("wait", "--peer_timeout=10").start()  # paddle status asks before
        cluster.trainers[1].wait(3)
        for s in cluster.servers:
            s.wait_line(r"trainer 1 \(.*\) is lost: .*; its last error: bad.csv:20[12]: ")
        look = self.paddle("status", f"--pservers={cluster.endpoints()}").stdout
        self.assertRegex(look, r"(?m)^1 +lost .* FAILS: bad.csv:20[12]: ")
        self.assertRegex(look, r"waiting for trainer 1 of 2: lost, \S+ failed \(bad.csv:20[12]: .*\) and said nothing for")
        cluster.trainers[0].wait(7)
        self.assertRegex(cluster.trainers[0].log(), r"the job ended: gave up after .*failed \(bad.csv:20[12]: ")


class StoppedWhileWaiting(EndToEnd):
    def check(self, trainer, words):
        trainer.signal(signal.SIGINT)
        trainer.wait(130)
        last = trainer.log().strip().split("\n")[-1]
        self.assertRegex(last, words)
        self.assertNotIn("waiting for nothing", trainer.log())

    def test_for_a_pserver(self):
        cluster = Cluster(self, write_job(self), 1, 1)
        cluster.ports = [[1]]  # nobody is there
        trainer = cluster.start_trainer(0)
        trainer.wait_line(r"job \S+: \d+ parameters")
        self.check(trainer, r"stopped by a signal in pass 1/\d+ after 0 batches; nothing was saved$")

    def test_for_a_trainer(self):
        cluster = Cluster(self, write_job(self), 1, 2)
        cluster.start_server(0)
        for i in (1, 0):
            cluster.start_trainer(i).wait_line("joined as trainer")
            if i == 1:
                self.check(cluster.trainers[1], r"stopped by a signal in pass 1/\d+ after \d batch(es)?$")
        self.check(cluster.trainers[0], r"stopped by a signal in pass 1/\d+ after \d batch(es)?; nothing was saved$")

    def test_the_model_it_goes_on_from(self):
        """The path is right for the same command, with its workspace."""
        cluster = Cluster(self, write_job(self), 1, 2, trainer_flags=["--num_passes=100000", "--workspace=ws", "--save_dir=out"])
        cluster.start()
        cluster.trainers[0].wait_line("saved ws/out/pass-00001")
        cluster.trainers[0].signal(signal.SIGTERM)
        cluster.trainers[0].wait(143)
        found = re.search(r"stopped by a signal in pass (\d+)/100000 .*; go on with (--init_model_path=\S+/pass-\d+)$", cluster.trainers[0].log().strip())
        self.assertTrue(found, cluster.trainers[0].log())
        done = self.train(write_job(self), "--workspace=ws", "--save_dir=out", found[2], f"--num_passes={found[1]}")
        self.assertIn("loaded /", done.stderr)


class NormalEnd(EndToEnd):
    def test_trainers_that_finished(self):
        """A connection that a finished trainer closes is no event; nothing else of a normal end reads like a failure."""
        cluster = Cluster(self, write_job(self), 2, 2, server_flags=["--v=1"], trainer_flags=["--num_passes=2"]).start()
        for process in cluster.trainers:
            process.wait(0)
        for server in cluster.servers:
            for i in (0, 1):
                server.wait_line(rf"trainer {i} \(\S+\) disconnected \((finished|the job has ended)\)")
            server.signal(signal.SIGTERM)
            server.wait(0)
            self.assertNotRegex(server.log(), r"(?m)^[WEF]\d{4} ")
            self.assertNotRegex(server.log(), r"connection of .* ended|lost|failed|refused")


class PlainWords(unittest.TestCase):
    """Words that a new reader would have to decode do not return: in code, comments, messages, names and pages."""

    WORDS = ["one wish", "same_wish", "last[_ ]words", "unheard", "farewell", "deserted", "send_back_the_early", "say_waits",
             "check_saver", "in_vain", "in vain", "impatient", "WaitVoice", "told_type", "Progressed", "slip of the pen", "only looked",
             "in good order", "going down", "took up", "row_room", "say goodbye"]
    KINDS = (".cc", ".h", ".cu", ".py", ".md", ".fbs", ".json", ".service")

    def test_sources_and_pages(self):
        pattern = re.compile("|".join(rf"\b{w}" for w in self.WORDS))
        found = []
        for base in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "configs", "daemons", "docs", "libcore", "python", "schemas", "scripts", "test"):
            for path in self.files(os.path.join(SOURCE, base)):
                with open(path, encoding="utf-8") as f:
                    for number, line in enumerate(f, 1):
                        if hit := pattern.search(line):
                            found.append(f"{os.path.relpath(path, SOURCE)}:{number}: {hit[0]}")
        self.assertEqual(found, [])

    def files(self, base):
        if os.path.isfile(base):
            return [base]
        return [os.path.join(d, n) for d, _, names in os.walk(base) for n in names
                if (n.endswith(self.KINDS) or os.path.basename(d) == "scripts") and n not in ("words_test.py", "lint_python.py")]


if __name__ == "__main__":
    main()
