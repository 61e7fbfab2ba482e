"""A job by Slurm: munged, slurmctld and three slurmd of Debian's slurm-wlm, each node a network namespace with its own address."""
import os
import re
import shutil
import signal
import subprocess
import unittest

from cluster import Process, same_model, until, write_job
from net_hosts import NetHosts
from net_hosts import missing as missing_namespaces
from support import DEADLINE, PADDLE, SOURCE, EndToEnd, main

NODES = ["n1", "n2", "n3"]


def missing():
    """What the machine lacks, "" where it has all."""
    lacking = [p for p in ("munged", "slurmctld", "slurmd", "srun") if not shutil.which(p) and not os.path.exists("/usr/sbin/" + p)]
    if lacking:
        return f"{', '.join(lacking)} (the packages slurm-wlm and munge)"
    return missing_namespaces()


@unittest.skipIf(missing(), f"needs {missing()}")
class Slurm(EndToEnd):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        self.hosts = NetHosts(self, [*NODES, "head"])
        self.env = {"PATH": os.environ["PATH"] + ":/usr/sbin", "HOME": self.dir, "SLURM_CONF": self.path("slurm.conf"), "PADDLE": PADDLE}
        self.start_munge()
        self.start_slurm()
        self.job = write_job(self)

    def daemon(self, host, name, *command):
        """On a host with its name, its network and its /etc/hosts; `ip netns exec` would hide the control groups too."""
        process = Process(self.dir, name, self.env)
        self.addCleanup(process.wait)
        self.addCleanup(process.signal, signal.SIGKILL)
        space = self.hosts.space(host)
        return process.start("nsenter", f"--net=/run/netns/{space}", "unshare", "--mount", "--uts", "sh", "-c",
                             'mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@"', f"/etc/netns/{space}/hosts", host, *command)

    def start_munge(self):
        with open(self.path("munge.key"), "wb") as f:
            f.write(os.urandom(128))
        os.chmod(self.path("munge.key"), 0o600)
        os.mkdir(self.path("munge"))
        self.socket = self.path("munge", "socket")
        self.daemon("head", "munged", "munged", "--foreground", "--force", f"--key-file={self.path('munge.key')}", f"--socket={self.socket}",
                    f"--pid-file={self.path('munge', 'pid')}", f"--log-file={self.path('munge', 'log')}", f"--seed-file={self.path('munge', 'seed')}")
        until(lambda: os.path.exists(self.socket), "munged listens")

    def start_slurm(self):
        nodes = "\n".join(f"NodeName={n} NodeHostname={n} NodeAddr={self.hosts.addresses[n]} CPUs=2 State=UNKNOWN" for n in NODES)
        for directory in ("state", *NODES):
            os.mkdir(self.path(directory))
        self.write("slurm.conf", f"""
ClusterName=test
SlurmctldHost=head({self.hosts.addresses['head']})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={self.socket}
StateSaveLocation={self.path('state')}
SlurmdSpoolDir={self.dir}/%n
SlurmctldPidFile={self.path('slurmctld.pid')}
SlurmdPidFile={self.dir}/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=20
{nodes}
PartitionName=all Nodes={','.join(NODES)} Default=YES State=UP MaxTime=INFINITE
""")
        self.daemon("head", "slurmctld", "slurmctld", "-D", "-f", self.path("slurm.conf"))
        for n in NODES:
            self.daemon(n, f"slurmd-{n}", "slurmd", "-D", "-N", n, "-f", self.path("slurm.conf"))
        until(lambda: self.command("sinfo", "-h", "-o", "%D %t").stdout.split() == ["3", "idle"],
              lambda: self.command("sinfo").stdout + self.command("sh", "-c", "tail -n 20 slurm*.log").stdout)

    def command(self, *words):
        return subprocess.run([*self.hosts.inside("head"), *words], cwd=self.dir, env=self.env, capture_output=True, text=True,
                              timeout=DEADLINE, check=False)

    def text(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as f:
            return f.read()

    def sbatch(self, *flags):
        script = os.path.join(SOURCE, "scripts", "cluster", "slurm", "paddle.sbatch")
        done = self.command("sbatch", "--parsable", "--nodes=3", script, f"--config={self.job}", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def log(self, job):
        path = self.path(f"paddle-{job}.log")
        return self.text(path) if os.path.exists(path) else ""

    def ended(self, job):
        """Its state and exit code."""
        words = self.command("scontrol", "show", "job", job).stdout
        fields = dict(w.split("=", 1) for w in words.split() if "=" in w)
        return fields if fields.get("JobState") not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING") else None

    def wait(self, job):
        return until(lambda: self.ended(job), lambda: self.log(job) + self.command("scontrol", "show", "job", job).stdout)

    def test_a_job(self):
        """Three nodes, the same bits as on one machine; workspaces and records by node."""
        job = self.sbatch("--num_passes=2")
        fields = self.wait(job)
        self.assertEqual((fields["JobState"], fields["ExitCode"]), ("COMPLETED", "0:0"), self.log(job))
        root = f"paddle-{job}"
        self.assertIn(f"models are in {self.path(root)}/n1/output", self.log(job))
        self.assertEqual(re.findall(r"watch the job at (.*)", self.log(job)), [f"the address in {self.path(root)}/n1/job/page.txt"])
        for i, n in enumerate(NODES):
            self.assertEqual(self.text(root, n, "nodefile"), f"{i}\n")
            self.assertIn(f"--trainer_id={i}\n", self.text(root, n, "job", f"trainer.{i}.flags"))
            self.assertIn("Pass=1", self.text(root, n, "log", "paddle_trainer.INFO"))
            self.assertEqual(os.path.exists(self.path(root, n, "output")), i == 0)
        self.paddle("launch", f"--config={self.job}", "--worker_num=3", "--num_passes=2", "--workspace=one", "--save_dir=output")
        same_model(self, self.files(self.path("one", "output", "pass-00001")), self.files(self.path(root, "n1", "output", "pass-00001")))
        # A mistake is one sentence, and the job has the exit code of the program.
        job = self.sbatch("--learning_rat=1")
        fields = self.wait(job)
        self.assertEqual((fields["JobState"], fields["ExitCode"]), ("FAILED", "2:0"), self.log(job))
        self.assertIn("learning_rat", self.log(job))

    def test_a_job_is_cancelled(self):
        """scancel stops it cleanly: what runs on the nodes ends."""
        job = self.sbatch("--num_passes=1000000")
        until(lambda: "Pass=0" in self.log(job), lambda: self.log(job))
        self.assertEqual(self.command("scancel", job).returncode, 0)
        fields = self.wait(job)
        self.assertEqual(fields["JobState"], "CANCELLED", self.log(job))
        until(lambda: not self.running(job), lambda: f"no process is left: {self.running(job)}\n{self.log(job)}")
        self.assertIn("stopped by a signal", self.text(f"paddle-{job}", "n2", "log", "paddle_trainer.INFO"))

    @staticmethod
    def running(job):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().decode(errors="replace")
            except OSError:
                continue
            if f"/paddle-{job}/" in words and ("pserver" in words or "trainer" in words or "launch" in words):
                found.append(words)
        return found


if __name__ == "__main__":
    main()
