"""What comes to the port of a pserver from anybody, and what its disk does: training is not disturbed, nothing is left behind."""
import os
import re
import socket
import struct
import subprocess
import time
import unittest

from cluster import until
from faults import FULL, SAMPLES, FaultTest
from proxy import Plan, Proxy, Recorder
from support import PADDLE, main

MAGIC = 0x31575350


def header(head, bulk):
    return struct.pack("<IIQ", MAGIC, head, bulk)


# (what is sent, what the log must say of it or None)
GARBAGE = [
    (b"GET / HTTP/1.1\r\nHost: pserver\r\n\r\n", "HTTP"),
    (b"POST /x HTTP/1.0\r\n\r\n", "HTTP"),
    (bytes.fromhex("16030102000100 01fc0303".replace(" ", "")) + os.urandom(500), "TLS"),
    (header(0, 0), "head"),
    (header(1 << 31, 0), "head"),
    (header(24, 1 << 63), None),
    (header(24, 1 << 31) + bytes(24), None),
    (header(1 << 16, 0), "head"),
    (header(0xFFFFFFF8, 0xFFFFFFFFFFFFFFFF), "head"),
    (struct.pack(">IIQ", MAGIC, 24, 0), None),
    (b"PSW1", None),
    (b"", None),
    (bytes(4096), None),
    (b"\xff" * 70000, None),
    (b"SSH-2.0-OpenSSH_9.2p1\r\n", None),
]


def send_and_close(port, data, reset=False):
    """Sends bytes and reads until the other side has closed, or hangs up at once."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        try:
            s.sendall(data)
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            s.shutdown(socket.SHUT_WR)
            while s.recv(1 << 16):
                pass
        except OSError:
            pass


def hung_up(s):
    """Whether the other side has ended a connection whose buffers are full."""
    try:
        s.send(b"x")
    except BlockingIOError:
        return False
    except OSError:
        return True
    return False


class Drip:
    """A connection that sends `start` at once and then one byte of `rest` a second."""

    def __init__(self, test, port, start, rest):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        test.addCleanup(self.socket.close)
        self.socket.sendall(start)
        self.rest, self.next = rest, time.monotonic()

    def step(self):
        """Whether the other side has closed it; sends the next byte when it is due."""
        try:
            if time.monotonic() >= self.next:
                self.socket.send(self.rest[:1])
                self.rest, self.next = self.rest[1:], self.next + 1
            self.socket.setblocking(False)
            while self.socket.recv(1 << 16):
                pass
            return True
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.socket.setblocking(True)


class Hostile(FaultTest):
    def test_garbage_during_training(self):
        cluster = self.cluster("garbage-").start()
        self.wait_progress(cluster, SAMPLES * 0.1)
        before = cluster.servers[0].state()["bytes"]
        for data, _ in GARBAGE:
            for ports in cluster.ports:
                send_and_close(ports[0], data)
        self.assertTrue(all(t.running() for t in cluster.trainers), "the job was over before the last byte came")
        self.assertLess(cluster.servers[0].state()["bytes"] - before, 64 << 20)
        for _, word in GARBAGE:
            if word:
                cluster.servers[0].wait_line(rf"(?i)127\.0\.0\.1:\d+.*{word}")
        self.check_bits(cluster)

    def test_slow_and_silent_peers(self):
        """Connections that say nothing, or stop within a greeting, hold nobody up."""
        cluster = self.cluster("silent-").start()
        self.wait_progress(cluster, SAMPLES * 0.1)
        held = []
        for data in (b"", b"P", header(64, 0), header(64, 0) + bytes(10)) * 20:
            s = socket.create_connection(("127.0.0.1", cluster.ports[0][0]), timeout=60)
            self.addCleanup(s.close)
            s.sendall(data)
            held.append(s)
        self.check_bits(cluster)

    def test_one_byte_a_second(self):
        """Its deadline ends a peer that greets so slowly; with --full also one that has greeted. Others are served meanwhile."""
        cluster = self.cluster("drip-")
        for i in range(2):
            cluster.start_server(i)
        server = cluster.servers[0]
        ask = self.recorded_status(cluster)
        drips = [Drip(self, cluster.ports[0][0], b"", header(64, 0) + bytes(64))]
        if FULL:
            drips.append(Drip(self, cluster.ports[0][0], ask, header(4096, 0) + bytes(4096)))
        cluster.start_trainer(0).wait_line(r"waiting for .*trainer 1")
        until(lambda: all([drip.step() for drip in drips]), "the connections that send one byte a second are closed", 90)
        server.wait_line(r"closed the connection of 127\.0\.0\.1:\d+: no greeting for 10 s")
        cluster.start_trainer(1)
        self.check_bits(cluster)

    def test_a_peer_that_never_reads(self):
        """It asks and asks: it is not heard any more, memory stays bounded, and with --full its deadline ends it."""
        cluster = self.cluster("deaf-")
        for i in range(2):
            cluster.start_server(i)
        server = cluster.servers[0]
        ask = self.recorded_status(cluster)
        greeting = 16 + struct.unpack("<IIQ", ask[:16])[1]
        question, before = ask[greeting:] * 1000, server.state()["bytes"]
        s = socket.create_connection(("127.0.0.1", cluster.ports[0][0]), timeout=5)
        self.addCleanup(s.close)
        s.sendall(ask[:greeting])
        sent = 0
        with self.assertRaises(TimeoutError, msg="the pserver reads whatever comes"):
            while sent < 1 << 30:
                s.sendall(question)
                sent += len(question)
        self.assertLess(server.state()["bytes"] - before, 32 << 20, "answers that nobody reads pile up")
        cluster.start_trainer(0)
        if FULL:
            s.setblocking(False)
            until(lambda: hung_up(s), "the connection that nobody reads from is closed", 120)
        cluster.start_trainer(1)
        self.check_bits(cluster)

    def test_declared_lengths_take_no_memory(self):
        """Observers that greet and declare 60 MiB each: a pserver takes memory for what comes, and refuses such a message. More
        than 64 observers are refused."""
        cluster = self.cluster("lengths-")
        for i in range(2):
            cluster.start_server(i)
        server, ask = cluster.servers[0], self.recorded_status(cluster)
        greeting = ask[:16 + struct.unpack("<IIQ", ask[:16])[1]]
        before, observers = server.state()["bytes"], []
        for _ in range(40):
            s = socket.create_connection(("127.0.0.1", cluster.ports[0][0]), timeout=20)
            self.addCleanup(s.close)
            s.sendall(greeting + header(60 << 20, 0) + bytes(64))
            observers.append(s)
        for s in observers:  # a Welcome, and the end
            while s.recv(1 << 16):
                pass
        self.assertLess(server.state()["bytes"] - before, 64 << 20, "memory for what was only declared")
        kept = []
        for i in range(65):
            s = socket.create_connection(("127.0.0.1", cluster.ports[0][0]), timeout=20)
            self.addCleanup(s.close)
            s.sendall(greeting)
            kept.append(s.recv(1 << 16))
        self.assertIn(b"this pserver has 64 observers already", kept[64])
        self.assertNotIn(b"observers already", b"".join(kept[:64]))
        for i in range(2):
            cluster.start_trainer(i)
        self.check_bits(cluster)

    def recorded_status(self, cluster):
        """The bytes with which paddle status asks the first shard: a greeting and a question."""
        proxy = Recorder(Plan(0, 0))
        self.addCleanup(proxy.close)
        done = subprocess.run([PADDLE, "status", f"--pservers=127.0.0.1:{proxy.port_for(cluster.ports[0][0])}", "--json",
                               "--ports_num_for_sparse=0"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        until(lambda: len(proxy.frames) == 2, "paddle status has sent two messages")
        return b"".join(proxy.frames)

    @unittest.skipUnless(FULL, "takes two minutes: scripts/test --full")
    def test_an_observer_that_asks_for_nothing(self):
        """Its connection ends after 120 s, so that it keeps none of the 64 places."""
        cluster = self.cluster("observer-")
        for i in range(2):
            cluster.start_server(i)
        ask = self.recorded_status(cluster)
        with socket.create_connection(("127.0.0.1", cluster.ports[0][0]), timeout=135) as s:
            s.sendall(ask[:16 + struct.unpack("<IIQ", ask[:16])[1]])
            begin = time.monotonic()
            while s.recv(1 << 16):  # the Welcome, and the end
                pass
            self.assertGreater(time.monotonic() - begin, 115)
        cluster.close()

    def recorded_greetings(self, cluster):
        """The first bytes that the trainers of a whole job sent to shard 0: real greetings."""
        greetings = []
        class Recorder(Proxy):
            async def serve(self, target, reader, writer):
                start = await reader.readexactly(16)
                start += await reader.readexactly(struct.unpack("<IIQ", start)[1])
                greetings.append(start)
                reader._buffer[:0] = start  # they go on as if nobody had looked
                await super().serve(target, reader, writer)
        proxy = Recorder(Plan(0, 0))
        self.addCleanup(proxy.close)
        cluster.through = proxy
        cluster.start()
        cluster.finish()
        cluster.through = None
        return greetings

    def test_a_thousand_connections_leave_nothing(self):
        """Greetings, halves of greetings and garbage, each followed by a reset; then descriptors, threads and memory are as before."""
        cluster = self.cluster("leak-", servers=1, trainers=1, snapshots=False, flags=["--num_passes=1"])
        cluster.server_flags = ["--lease_seconds=2"]
        greetings = self.recorded_greetings(cluster)
        self.assertGreaterEqual(len(greetings), 2)
        server, port = cluster.servers[0], cluster.ports[0][0]

        def cycle(count):
            for k in range(count):
                g = greetings[k % len(greetings)]
                send_and_close(port, (g, g[:len(g) // 2], g + g, b"GET / HTTP/1.1\r\n\r\n")[k % 4], reset=k % 8 < 4)

        cycle(200)  # what is allocated once is there
        calm = until(lambda: quiet(server), "the connections of the start are gone")
        cycle(1000)
        after = until(lambda: (lambda s: s if s and s["descriptors"] <= calm["descriptors"] else None)(quiet(server)),
                      lambda: f"descriptors go back to {calm}: {server.state()}")
        self.assertEqual(after["threads"], calm["threads"])
        self.assertLess(after["bytes"] - calm["bytes"], 4 << 20)
        # And it still serves.
        cluster.job, cluster.save_dir = cluster.job, cluster.save_dir + "2"
        cluster.start_trainer(0)
        cluster.finish()

    def test_killed_trainers_leave_nothing(self):
        cluster = self.cluster("killed-", servers=1, trainers=2, snapshots=False)
        cluster.server_flags = ["--lease_seconds=2", "--reconnect_seconds=0"]
        cluster.start()
        server = cluster.servers[0]
        calm = None
        for k in range(25):
            self.wait_progress(cluster, 1 if k == 0 else 0)
            cluster.trainers[1].wait_line(r"joined as trainer 1")
            cluster.trainers[1].kill()
            if k == 4:
                calm = server.state()
            cluster.start_trainer(1)
        cluster.trainers[1].wait_line(r"joined as trainer 1")
        until(lambda: server.state()["descriptors"] <= calm["descriptors"] + 2, lambda: f"{calm} {server.state()}")
        self.assertEqual(server.state()["threads"], calm["threads"])
        self.assertLess(server.state()["bytes"] - calm["bytes"], 4 << 20)
        self.check_bits_of_trainers(cluster)

    def check_bits_of_trainers(self, cluster):
        expected = self.undisturbed()
        found = cluster.finish()
        self.assertEqual([n for n in expected if expected[n] != found.get(n)], [], cluster.logs())


def quiet(process):
    """The state of the process, where it has no connections but its port and the door to shared memory beside it; else None."""
    state = process.state()
    sockets = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")
               if os.path.lexists(f"/proc/{process.pid}/fd/{fd}")]
    return state if sum(s.startswith("socket:") for s in sockets) <= 2 else None


class Disks(FaultTest):
    def test_full_disk_under_the_snapshots(self):
        """Training goes on, the log says so, and the job ends with the same bits."""
        where = self.path("small")
        os.mkdir(where)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", where], capture_output=True).returncode:
            self.skipTest("a small file system needs root and mount")
        self.addCleanup(subprocess.run, ["umount", "-l", where])
        cluster = self.cluster("full-", snapshots=False,
                               server_flags=lambda i: [f"--snapshot_dir={where}/{i}", "--snapshot_period=20"])
        cluster.start()
        cluster.servers[0].wait_line(r"(?i)no space left|snapshot.*fail|cannot write")
        self.check_bits(cluster)

    def test_snapshots_that_rot_are_not_used(self):
        """Bits flipped or files cut short in the newest snapshot: an older one is taken, loudly, and the bits are right."""
        cluster = self.cluster("rot-").start()
        self.wait_progress(cluster, SAMPLES * 0.5)
        cluster.servers[1].kill()
        base = self.path("rot-snapshots1")
        steps = sorted((os.path.join(d, n) for d, dirs, files in os.walk(base) for n in dirs + files if re.match(r"step-\d+$", n)),
                       key=lambda p: int(p.rsplit("-", 1)[1]))
        self.assertGreater(len(steps), 1)
        self.damage(steps[-1])
        cluster.start_server(1)
        cluster.servers[1].wait_line(r"the snapshot of step \d+ cannot be used: .*; trying the one before")
        self.check_bits(cluster)

    def damage(self, path):
        files = [path] if os.path.isfile(path) else [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs]
        largest = max(files, key=os.path.getsize)
        with open(largest, "r+b") as f:
            f.seek(os.path.getsize(largest) // 2)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 0x40]))


if __name__ == "__main__":
    main()
