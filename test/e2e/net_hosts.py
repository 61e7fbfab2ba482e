"""Hosts of a network on this machine: each a network namespace with its own address and its own /etc/hosts, all on one switch.

A host's processes see nothing but the switch. Links are cut at the switch, in one direction by a wrong hardware address,
and a name gets another address by a change of the hosts' files.
"""
import os
import shutil
import subprocess
import uuid

from cluster import Cluster
from support import PADDLE

NETWORK = "10.77.0"


def missing():
    """What the machine lacks, "" where namespaces work."""
    if os.geteuid() != 0:
        return "root, for network namespaces"
    if not shutil.which("ip"):
        return "ip (the package iproute2)"
    name = "pd" + uuid.uuid4().hex[:8]
    try:
        run_ip("netns", "add", name)
        run_ip("-n", name, "link", "add", "br0", "type", "bridge")
        run_ip("-n", name, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        return ""
    except subprocess.CalledProcessError as e:
        return f"a kernel with network namespaces, bridges and veth: {e.stderr.strip()}"
    finally:
        run_ip("netns", "del", name, check=False)


def run_ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class NetHosts:
    def __init__(self, test, names):
        """One host per name. Other names may be given to addresses by set_name()."""
        self.test, self.names = test, list(names)
        self.tag = "pd" + uuid.uuid4().hex[:6]
        self.addresses = {name: f"{NETWORK}.{i + 1}" for i, name in enumerate(self.names)}
        self.aliases = {}  # name -> address
        test.addCleanup(self.close)
        self.switch = self.tag + "sw"
        self.make_switch()
        for i, name in enumerate(self.names):
            space = self.space(name)
            run_ip("netns", "add", space)
            self.plug_in(i, space)
            run_ip("-n", space, "link", "set", "lo", "up")
            run_ip("-n", space, "link", "set", "eth0", "up")
            run_ip("-n", space, "addr", "add", f"{self.addresses[name]}/24", "dev", "eth0")
        self.write_hosts()

    def make_switch(self):
        run_ip("netns", "add", self.switch)
        run_ip("-n", self.switch, "link", "add", "br0", "type", "bridge", "forward_delay", "0")
        run_ip("-n", self.switch, "link", "set", "br0", "up")

    def plug_in(self, i, space):
        """Gives the host its eth0."""
        run_ip("-n", self.switch, "link", "add", f"p{i}", "type", "veth", "peer", "name", "eth0", "netns", space)
        run_ip("-n", self.switch, "link", "set", f"p{i}", "master", "br0", "up")

    def space(self, name):
        return f"{self.tag}{self.names.index(name)}"

    def close(self):
        for space in [self.switch, *map(self.space, self.names)]:
            run_ip("netns", "del", space, check=False)
            shutil.rmtree(f"/etc/netns/{space}", ignore_errors=True)

    def write_hosts(self):
        """In place: running processes have the file itself mounted."""
        lines = ["127.0.0.1 localhost", *(f"{a} {n}" for n, a in {**self.addresses, **self.aliases}.items())]
        for name in self.names:
            directory = f"/etc/netns/{self.space(name)}"
            os.makedirs(directory, exist_ok=True)
            with open(os.path.join(directory, "hosts"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")

    def set_name(self, name, address):
        """A name besides those of the hosts, or another address for it."""
        self.aliases[name] = address
        self.write_hosts()

    def inside(self, name):
        """Words before a command that runs on a host."""
        return ["ip", "netns", "exec", self.space(name)]

    # ---- faults

    def port(self, name):
        return f"p{self.names.index(name)}"

    def cut(self, name):
        """The cable of one host, both directions, without a word to anybody."""
        run_ip("-n", self.switch, "link", "set", self.port(name), "nomaster")

    def heal(self, name):
        run_ip("-n", self.switch, "link", "set", self.port(name), "master", "br0")

    def cut_one_way(self, sender, receiver):
        """What `sender` sends to `receiver` is lost; the other direction works."""
        run_ip("-n", self.space(sender), "neigh", "replace", self.addresses[receiver], "lladdr", "02:00:00:00:de:ad", "dev", "eth0",
               "nud", "permanent")

    def heal_one_way(self, sender, receiver):
        run_ip("-n", self.space(sender), "neigh", "del", self.addresses[receiver], "dev", "eth0")

    def switch_off(self):
        run_ip("-n", self.switch, "link", "set", "br0", "down")

    def switch_on(self):
        run_ip("-n", self.switch, "link", "set", "br0", "up")

    def change_address(self, name, address):
        """The host itself gets another address; names are changed apart from it."""
        run_ip("-n", self.space(name), "addr", "flush", "dev", "eth0")
        run_ip("-n", self.space(name), "addr", "add", f"{address}/24", "dev", "eth0")
        self.addresses[name] = address

    def token(self):
        """Flags for processes that listen beyond their own host: a token where the program has them."""
        path = self.test.path("token")
        if not os.path.exists(path):
            made = subprocess.run([PADDLE, "token", f"--new={path}"], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                return []
        return [f"--token_file={path}"]


class NetCluster(Cluster):
    """A job whose processes run on hosts of their own: pservers ps0, ps1, …, trainers t0, t1, …"""

    PORT = 7164

    def __init__(self, test, hosts, job, servers, trainers, **more):
        super().__init__(test, job, servers, trainers, **more)
        self.hosts = hosts
        self.ports = [[self.PORT]] * servers

    @staticmethod
    def names(servers, trainers):
        return [f"ps{i}" for i in range(servers)] + [f"t{i}" for i in range(trainers)]

    def endpoints(self):
        return ",".join(f"ps{i}:{self.PORT}" for i in range(len(self.servers)))

    def start_server(self, i):
        return self.servers[i].start(*self.hosts.inside(f"ps{i}"), PADDLE, "pserver", f"--port={self.PORT}", "--ports_num_for_sparse=0",
                                     f"--num_gradient_servers={len(self.trainers)}", f"--log_dir={self.test.path(f'log{i}')}",
                                     *self.hosts.token(), *self.words(self.server_flags, i))

    def await_server(self, i):
        self.servers[i].wait_line("Server listening on")

    def start_trainer(self, i, *more):
        self.before_trainer = self.hosts.inside(f"t{i}")
        return super().start_trainer(i, *self.hosts.token(), *more)
