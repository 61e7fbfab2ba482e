"""A network of its own for one trainer, and the cable to it, which can be pulled: nobody hears of the end of a connection."""
import os
import subprocess

from support import PADDLE


class Cable:
    """Skips the test where network namespaces cannot be made."""

    def __init__(self, test):
        self.space, self.inner, self.outer = (f"{word}{os.getpid()}" for word in ("pd", "pdi", "pdo"))
        net = f"10.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}"
        self.address = f"{net}.1"
        self.before_trainer = ["ip", "netns", "exec", self.space]  # runs a command on the other side
        test.addCleanup(lambda: self.ip("netns", "del", self.space, check=False))
        test.addCleanup(lambda: self.ip("link", "del", self.outer, check=False))
        try:
            self.ip("netns", "add", self.space)
            self.ip("link", "add", self.outer, "type", "veth", "peer", "name", self.inner, "netns", self.space)
            self.ip("addr", "add", f"{net}.1/24", "dev", self.outer)
            self.ip("link", "set", self.outer, "up")
            self.ip("-n", self.space, "addr", "add", f"{net}.2/24", "dev", self.inner)
            self.ip("-n", self.space, "link", "set", self.inner, "up")
            self.ip("-n", self.space, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError) as e:
            test.skipTest(f"network namespaces need root, iproute2 and a kernel with veth: {e}")

    def ip(self, *words, check=True):
        subprocess.run(["ip", *words], check=check, capture_output=True)

    def pull(self):
        self.ip("link", "set", self.outer, "down")

    def plug(self):
        self.ip("link", "set", self.outer, "up")
        self.ip("addr", "replace", f"{self.address}/24", "dev", self.outer)

    def start(self, cluster):
        """All of the job, the last trainer on the other side."""
        cluster.endpoints = lambda: ",".join(f"{self.address}:{ports[0]}" for ports in cluster.ports)
        last = len(cluster.trainers) - 1
        for i in range(len(cluster.servers)):
            cluster.start_server(i)
        for i in range(last):
            cluster.start_trainer(i)
        cluster.before_trainer = self.before_trainer
        cluster.start_trainer(last)


def token_flag(test):
    """Other machines could reach the address of a cable: such a job needs a token."""
    if not os.path.exists(test.path("token")):
        subprocess.run([PADDLE, "token", "--new", test.path("token")], check=True, capture_output=True)
    return f"--token_file={test.path('token')}"
