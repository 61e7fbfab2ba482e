"""Memory and files that a stranger, or a mistake, could take or see: a pserver stays within its limits, and what it writes is not for
everybody. Resident memory is measured."""
import json
import os
import re
import socket
import stat
import struct
import subprocess

from cluster import FEATURES, Cluster, until, write_data, write_job
from faults import FaultTest
from hostile_test import header
from proxy import Plan, Proxy
from support import PADDLE, main

MIB = 1 << 20
CONFIG = 2


class Greetings(Proxy):
    """Keeps the first message of each connection."""

    def __init__(self):
        super().__init__(Plan(0, 0))
        self.greetings = []

    async def serve(self, target, reader, writer):
        start = await reader.readexactly(16)
        start += await reader.readexactly(struct.unpack("<IIQ", start)[1])
        self.greetings.append(start)
        reader._buffer[:0] = start  # they go on as if nobody had looked
        await super().serve(target, reader, writer)


def send_all(s, data):
    """False where the other side ended the connection."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


class Strangers(FaultTest):
    def connect(self, port):
        s = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.addCleanup(s.close)
        return s

    def test_connections_that_say_nothing(self):
        """600 of them: little memory each, and the oldest make way, so that trainers get in."""
        cluster = self.cluster("mute-")
        for i in range(2):
            cluster.start_server(i)
        server = cluster.servers[0]
        before = server.state()
        held = [self.connect(cluster.ports[0][0]) for _ in range(600)]
        until(lambda: server.state()["descriptors"] - before["descriptors"] <= 260, lambda: f"{before} {server.state()}")
        self.assertLess(server.state()["bytes"] - before["bytes"], 16 * MIB, "memory for peers that have sent nothing")
        held[0].settimeout(5)  # less than the deadline of a greeting
        self.assertEqual(held[0].recv(1), b"", "the oldest connection is still open")
        held[-1].setblocking(False)
        with self.assertRaises(BlockingIOError, msg="the newest connection was closed"):
            held[-1].recv(1)
        for i in range(2):
            cluster.start_trainer(i)
        self.check_bits(cluster)
        self.assertEqual(len(held), 600)

    def test_long_heads_together(self):
        """Connections that greet as four trainers do, and send 30 MiB each of a message that never ends."""
        proxy = Greetings()
        self.addCleanup(proxy.close)
        first = self.cluster("first-", servers=1, trainers=4, snapshots=False, flags=["--num_passes=1"])
        first.through = proxy
        first.start()
        first.finish()
        cluster = self.cluster("heads-", servers=1, trainers=4, snapshots=False, server_flags=["--memory_limit=256m"],
                               flags=["--num_passes=1"])
        server = cluster.start_server(0)
        before = server.state()["bytes"]
        open_ones = []
        for greeting in proxy.greetings:
            s = self.connect(cluster.ports[0][0])
            s.sendall(greeting)
            s.recv(1 << 16)
            if send_all(s, header(60 * MIB, 0)) and send_all(s, bytes(30 * MIB)):
                open_ones.append(s)
        server.wait_line(r"the memory for messages that are coming in is used up \(65536 KiB, see --memory_limit\)")
        taken = server.state()["bytes"] - before
        self.assertLess(taken, (64 + 40) * MIB, "heads that are coming in take more than their share of --memory_limit")
        status = subprocess.run([PADDLE, "status", f"--pservers=127.0.0.1:{cluster.ports[0][0]}", "--json", "--ports_num_for_sparse=0"],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(status.returncode, 0, status.stderr)
        held, limit = (int(re.search(rf'"{k}": ?(\d+)', status.stdout)[1]) for k in ("memory_held", "memory_limit"))
        self.assertEqual(limit, 256 * MIB)
        self.assertLessEqual(held, 64 * MIB)
        for s in open_ones:
            s.close()

    def test_a_model_above_the_limit(self):
        """It is refused with figures before memory is taken; a smaller one is trained by the same pserver."""
        cluster = Cluster(self, write_job(self, hidden=4000), 1, 1, server_flags=["--memory_limit=3m", "--exit_when_done"],
                          trainer_flags=["--num_passes=1", "--log_period=0"], name="large-")
        server = cluster.start_server(0)
        cluster.start_trainer(0).wait(CONFIG)
        self.assertRegex(cluster.trainers[0].log(), r"this shard would need \S+ MiB \(\S+ \S+ of parameters and state, \S+ \S+ for gradients\), "
                         r"and its pserver may hold 3\.0 MiB \(--memory_limit\), of which 2\.0 MiB are taken: use more pservers, or raise")
        cluster.job = write_job(self)
        cluster.start_trainer(0).wait(0)
        server.wait(0)

    def test_the_limit_as_a_flag(self):
        for value, ok in (("50%", True), ("2g", True), ("64m", True), ("101%", False), ("many", False), ("0", False), ("3", False)):
            done = self.paddle("pserver", f"--memory_limit={value}", "--print_config", check=None)
            self.assertEqual(done.returncode, 0 if ok else CONFIG, done.stderr)
            if not ok:
                self.assertIn("--memory_limit", done.stderr)
                self.assertIn("a share such as 75%", done.stderr)


class LargeModels(FaultTest):
    def test_an_async_trainer_holds_the_model_twice(self):
        """Parameters and gradients, although two trainers push faster than the pserver takes it."""
        write_data(self, 100)
        fc = lambda name, before, size: {"type": "fc", "name": name, "input": before, "size": size}
        columns = [str(c) for c in range(FEATURES)]
        job = self.write("large.json", json.dumps({
            "inputs": [{"name": "x", "shape": FEATURES}, {"name": "y"}],
            "layers": [fc("a", "x", 1024), fc("b", "a", 4096), fc("c", "b", 2048), fc("d", "c", 1),
                       {"type": "square_error_cost", "name": "cost", "input": "d", "label": "y"}],
            "cost": "cost", "optimizer": {"type": "sgd", "learning_rate": 1e-30},
            "data": {"format": "csv", "files": "data.csv", "batch_size": 1,
                     "csv_fields": [{"name": "x", "columns": columns}, {"name": "y", "columns": str(FEATURES)}]}}))
        model = 48 * MIB
        cluster = Cluster(self, job, 1, 2, trainer_flags=["--async", "--num_passes=100", "--log_period=10"], name="large-").start()
        for trainer in cluster.trainers:
            trainer.wait_line(r"Batch=20 ")
            with open(f"/proc/{trainer.pid}/status") as f:
                most = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) * 1024
            self.assertLess(most, 2 * model + 40 * MIB, "memory of a trainer in async")
            self.assertGreater(most, 2 * model)


class Modes(FaultTest):
    def test_files_are_not_for_everybody(self):
        """Snapshots, models and logs: 0640, their directories 0750, whatever the umask of the shell is."""
        logs = self.path("logs")
        cluster = self.cluster("modes-", servers=1, trainers=1, server_flags=[f"--log_dir={logs}"], flags=["--num_passes=3"])
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        cluster.start()
        cluster.finish()
        cluster.servers[0].wait(0)
        os.umask(before)
        found = 0
        for top in (logs, cluster.save_dir, self.path("modes-snapshots0")):
            for directory, _, files in os.walk(top):
                self.assertEqual(oct(stat.S_IMODE(os.stat(directory).st_mode)), oct(0o750), directory)
                for path in (os.path.join(directory, f) for f in files):
                    if not os.path.islink(path):
                        self.assertEqual(oct(stat.S_IMODE(os.stat(path).st_mode)), oct(0o640), path)
                        found += 1
        self.assertGreater(found, 5)


if __name__ == "__main__":
    main()
