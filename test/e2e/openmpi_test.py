"""The guide's cluster job by OpenMPI: start_mpi_train.sh with the word2vec example, by a real mpirun."""
import glob
import os
import shutil
import subprocess
import unittest

from cluster import free_ports
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
        os.remove(self.path("machines"))
        self.assertIn("there is no file machines", self.mpirun(check=None).stderr)
        done = self.run_program(self.path("start_mpi_train.sh"), check=2)
        self.assertIn("start this script by mpirun", done.stderr)


if __name__ == "__main__":
    main()
