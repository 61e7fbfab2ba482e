"""The guide's cluster job by OpenMPI: start_mpi_train.sh with the word2vec example, by a real mpirun; on one machine, and with the guide's
commands on a head and three nodes, each a network namespace with its own sshd, address, name and /home."""
import glob
import os
import re
import shutil
import subprocess
import unittest

from cluster import Process, free_ports, until
from net_hosts import NetHosts
from net_hosts import missing as missing_namespaces
from nodes import SSHD, missing_ssh
from support import BUILD, PADDLE, SOURCE, EndToEnd, main

SCRIPT = os.path.join(SOURCE, "scripts", "cluster", "openmpi", "start_mpi_train.sh")
EXAMPLE = os.path.join(SOURCE, "python", "examples", "word2vec")
NODES = 3


def missing():
    if not shutil.which("mpirun"):
        return "mpirun (the package openmpi-bin)"
    return "" if glob.glob(os.path.join(BUILD, "python", "paddle", "_core*")) else "the Python package (scripts/build build python)"


@unittest.skipIf(missing(), f"needs {missing()}")
class OpenMpi(EndToEnd):
    def setUp(self):
        super().setUp()
        for name in ("train.py", "prepare.py"):
            shutil.copy(os.path.join(EXAMPLE, name), self.dir)
        shutil.copy(SCRIPT, self.dir)
        self.write("machines", "# three nodes\n" + "".join(f"127.0.0.{i + 2} slots=1\n" for i in range(NODES)))
        self.env = {"PYTHONPATH": os.path.join(BUILD, "python"), "PADDLE": PADDLE, "PYTHON": "/usr/bin/python3", "PADDLE_BIND": "yes",
                    "PADDLE_INIT_PORT": str(free_ports(2)), "PASSES": "1", "MAX_BATCHES": "5",
                    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def mpirun(self, count=NODES, check=0):
        return self.run_program("mpirun", "--oversubscribe", "-n", str(count), self.path("start_mpi_train.sh"), env=self.env, check=check)

    def text(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as f:
            return f.read()

    def test_job(self):
        self.run_program("/usr/bin/python3", "prepare.py", env=self.env, check=0)
        self.mpirun()
        for i in range(NODES):
            self.assertRegex(self.text("logs", f"train.{i}.log"), r"Pass 0, Testing cost [\d.]+")
            self.assertIn(f"trainer {NODES - 1}", self.text("logs", f"pserver.{i}.log"))
            # The workspace of every launcher; numbered, because the nodes of this test are one machine.
            self.assertIn(f"trainer {NODES - 1}", self.text("log", f"server.{i}.log"))
            self.assertIn("Server listening", self.text("log", f"pserver.{i}", "paddle_pserver2.INFO"))
            self.assertIn("of a Python script", self.text("log", f"trainer.{i}", "paddle_trainer.INFO"))
            self.assertIn("--exit_when_done=true\n", self.text("job", f"pserver.{i}.flags"))
            self.assertRegex(self.text("job", f"train.{i}.flags"), r"# command: .* train\.py\n(.*\n)*# program digest: \S+")
            self.assertEqual(self.text(f"nodefile.{i}"), f"{i}\n")
        self.assertTrue(os.path.exists(self.path("params_pass_0.tar.gz")))
        left = subprocess.run(["pgrep", "-f", f"paddle_cluster_pserver.*{self.dir}"], capture_output=True, text=True, check=False).stdout
        self.assertEqual(left, "")

    def test_failing_script(self):
        """Every node tells its exit code and the end of its log, and no pserver stays."""
        self.write("train.py", "raise SystemExit('the data is not there')\n")
        done = self.mpirun(check=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"node \d: train.py ended with code 1")
        self.assertIn("the data is not there", done.stderr)

    def test_refusals(self):
        done = self.mpirun(count=2, check=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mpirun started 2 processes, and machines lists 3 nodes: use mpirun -n 3", done.stderr)
        self.env["PADDLE_BIND"] = "no"
        self.assertIn("mpirun started 3 processes on this node", self.mpirun(check=None).stderr)
        os.remove(self.path("machines"))
        self.assertIn("there is no file machines", self.mpirun(check=None).stderr)
        done = self.run_program(self.path("start_mpi_train.sh"), check=2)
        self.assertIn("start this script by mpirun", done.stderr)

    def test_fleet(self):
        """MPISymetricRoleMaker: even ranks serve, odd ones work, and all end."""
        script = self.write("fleet.py", FLEET)
        done = self.run_program("mpirun", "--oversubscribe", "-n", "4", "/usr/bin/python3", script,
                                env={**self.env, "PADDLE_PORT": str(free_ports(2))}, check=0)
        self.assertEqual(sorted(re.findall(r"worker (\d) of 2 has made its steps", done.stdout)), ["0", "1"], done.stdout + done.stderr)


FLEET = """
import sys
sys.modules["mpi4py"] = None  # where it is there, too: what is known of the other processes are mpirun's variables
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet

fleet.init(role_maker.MPISymetricRoleMaker())
x = fluid.layers.data("x", [4])
cost = fluid.layers.mean(fluid.layers.fc(fluid.layers.fc(x, 4), 1))
fleet.distributed_optimizer(fluid.optimizer.SGD(0.01)).minimize(cost)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    fleet.init_worker()
    exe = fluid.Executor()
    exe.run(fleet.startup_program)
    for _ in range(10):
        exe.run(fleet.main_program, feed={"x": np.ones((2, 4), "float32")})
    fleet.stop_worker()
    print("worker", fleet.worker_index(), "of", fleet.worker_num(), "has made its steps", flush=True)
"""

# As the guide has them, but for `python`, which Debian calls python3, and for the settings that keep the example short.
HEAD_COMMANDS = """
set -e
cd /home/tutorial
# prepare training data
python3 prepare.py
# copy training data and dict file to MPI nodes
cat machines | xargs -i scp word_dict.pickle train.py start_mpi_train.sh machines {}:/home/tutorial
# creat a directory for storing log files
mpirun -hostfile machines -n 3 mkdir /home/tutorial/logs
# copy training data to every node
scp train.txt-00000 test.txt-00000 10.77.0.2:/home/tutorial
scp train.txt-00001 test.txt-00001 10.77.0.3:/home/tutorial
scp train.txt-00002 test.txt-00002 10.77.0.4:/home/tutorial
# start the job
mpirun -hostfile machines -n 3 -x PASSES -x MAX_BATCHES /home/tutorial/start_mpi_train.sh
"""


@unittest.skipIf(missing() or missing_ssh() or missing_namespaces(), f"needs {missing() or missing_ssh() or missing_namespaces()}")
class Cluster(EndToEnd):
    HOSTS = ["head", "node1", "node2", "node3"]

    def setUp(self):
        super().setUp()
        self.hosts = NetHosts(self, self.HOSTS)
        for name in ("key", "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name)], check=True)
        self.write("sshd.conf", f"""
HostKey {self.path("host_key")}
AuthorizedKeysFile {self.path("key")}.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
MaxStartups 100
Subsystem sftp internal-sftp
SetEnv PATH={os.path.dirname(PADDLE)}:{os.environ["PATH"]} PYTHONPATH={os.path.join(BUILD, "python")} OMPI_ALLOW_RUN_AS_ROOT=1 \
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PASSES=1 MAX_BATCHES=5
""".replace("\\\n", ""))
        self.write("ssh_config", f"IdentityFile {self.path('key')}\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n")
        os.makedirs("/run/sshd", exist_ok=True)
        os.chmod(self.dir, 0o755)
        self.servers = [self.start(host) for host in self.HOSTS]
        for server in self.servers:
            server.wait_line("Server listening on")

    def home(self, host):
        return self.path("home-" + host)

    def start(self, host):
        """Its sshd, which sees a /home of its own."""
        os.mkdir(self.home(host))
        inside = ('mount --bind "$0/hosts" /etc/hosts && hostname "$1" && mount -t tmpfs -o mode=755 none /home && mkdir /home/tutorial && '
                  'mount --bind "$2" /home/tutorial && mount -t tmpfs -o mode=700 none /root && mkdir -m 700 /root/.ssh && '
                  'cp "$3" /root/.ssh/config && mount --bind "$4" /etc/openmpi/openmpi-mca-params.conf && exec "$5" -D -e -f "$6"')
        settings = os.path.join(os.path.dirname(SCRIPT), "docker_cluster", "openmpi-mca-params.conf")
        space = self.hosts.space(host)
        server = Process(self.dir, "sshd-" + host)
        self.addCleanup(self.end, host, server)
        return server.start("nsenter", f"--net=/run/netns/{space}", "unshare", "--mount", "--uts", "sh", "-c", inside, f"/etc/netns/{space}",
                            host, self.home(host), self.path("ssh_config"), settings, SSHD, self.path("sshd.conf"))

    def processes(self, host):
        return subprocess.run(["ip", "netns", "pids", self.hosts.space(host)], capture_output=True, text=True, check=False).stdout.split()

    def end(self, host, server):
        server.kill()
        for pid in self.processes(host):
            subprocess.run(["kill", "-KILL", pid], check=False, capture_output=True)
        until(lambda: not self.processes(host), "its processes have ended")

    def head(self, script):
        """In an ssh session there. Programs of a script that is read from standard input would take the rest of it."""
        with open(os.path.join(self.home("head"), "commands"), "w", encoding="utf-8") as f:
            f.write(script)
        command = ["nsenter", "-t", str(self.servers[0].pid), "--net", "--mount", "--uts", "ssh", "head", "bash /home/tutorial/commands"]
        return self.run_program(*command, stdin=subprocess.DEVNULL)

    def test_the_guides_commands(self):
        for path in (os.path.join(EXAMPLE, "train.py"), os.path.join(EXAMPLE, "prepare.py"), SCRIPT):
            shutil.copy(path, self.home("head"))
        with open(os.path.join(self.home("head"), "machines"), "w", encoding="utf-8") as f:
            f.write("".join(self.hosts.addresses[h] + "\n" for h in self.HOSTS[1:]))
        done = self.head(HEAD_COMMANDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for i, host in enumerate(self.HOSTS[1:]):
            def text(*parts):
                with open(os.path.join(self.home(host), *parts), encoding="utf-8") as f:
                    return f.read()
            self.assertRegex(text("logs", "train.log"), r"Pass 0, Testing cost [\d.]+")
            self.assertIn("Server listening", text("logs", "paddle_pserver2.INFO"))
            self.assertNotIn("--insecure", text("logs", "paddle_pserver2.INFO"))
            self.assertEqual(text("nodefile"), f"{i}\n")
            self.assertEqual(os.path.exists(os.path.join(self.home(host), "params_pass_0.tar.gz")), i == 0)
            self.assertEqual(glob.glob(os.path.join(self.home(host), ".token*")), [])

    def test_fleet_on_two_nodes(self):
        """MPISymetricRoleMaker where the servers listen for other machines, which they do with a token only."""
        for host in self.HOSTS:
            with open(os.path.join(self.home(host), "fleet.py"), "w", encoding="utf-8") as f:
                f.write(FLEET)
        done = self.head("mpirun -host 10.77.0.2:2,10.77.0.3:2 --map-by slot -n 4 -x PADDLE_PSERVERS=10.77.0.2,10.77.0.3 "
                         "/usr/bin/python3 /home/tutorial/fleet.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(re.findall(r"worker (\d) of 2 has made its steps", done.stdout)), ["0", "1"], done.stdout + done.stderr)


if __name__ == "__main__":
    main()
