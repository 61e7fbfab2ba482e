"""Nodes of a cluster on this machine: one real sshd each, on a loopback address and with a home directory of its own."""
import getpass
import os
import shutil
import subprocess

from cluster import free_ports, until
from support import BUILD

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def missing_ssh():
    """What the machine lacks for nodes, "" where it has all."""
    return "" if os.path.exists(SSHD) else "sshd (the package openssh-server)"


def missing():
    """The same for Fabric."""
    if missing_ssh():
        return missing_ssh()
    have = subprocess.run(["/usr/bin/python3", "-c", "import fabric"], capture_output=True)
    return "" if have.returncode == 0 else "Fabric (the package python3-fabric)"


class Nodes:
    def __init__(self, test, count, environment=""):
        self.test, self.environment = test, environment
        self.key, self.user = test.path("key"), getpass.getuser()
        for name in ("key", "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", test.path(name)], check=True)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.port = free_ports(1)
        self.addresses = [f"127.0.0.{i + 2}" for i in range(count)]
        self.homes = [test.path(f"node{i}") for i in range(count)]
        self.servers = []
        for i in range(count):
            os.mkdir(self.homes[i])
            self.start(i)

    def start(self, i):
        config = self.test.write(f"sshd{i}.conf", f"""
Port {self.port}
ListenAddress {self.addresses[i]}
HostKey {self.test.path("host_key")}
AuthorizedKeysFile {self.key}.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
MaxStartups 100
Subsystem sftp internal-sftp
SetEnv HOME={self.homes[i]} PYTHONPATH={os.path.join(BUILD, "python")}{self.environment}
""")
        log = self.test.path(f"sshd{i}.log")
        self.servers.append(subprocess.Popen([SSHD, "-D", "-f", config, "-E", log], stdin=subprocess.DEVNULL))
        self.test.addCleanup(self.servers[-1].wait)
        self.test.addCleanup(self.servers[-1].kill)

        def listens():
            with open(log, encoding="utf-8") as f:
                return "Server listening" in f.read()

        until(lambda: os.path.exists(log) and listens(), f"sshd {i} listens")

    def hosts(self):
        return [f"{self.user}@{a}:{self.port}" for a in self.addresses]
