"""The peers: programs outside of this project that train the same workloads."""
import json
import os
import shutil
import subprocess
import sys

# Settings without which OpenBLAS and torch run slow kernels on CPUs that they do not know.
ENV = dict(os.environ, OPENBLAS_CORETYPE="SkylakeX", ATEN_CPU_CAPABILITY="avx512", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
PYTHON_PEERS = {"w1": "eager,manual,manual_jit", "w2": "eager,jit,manual_jit", "w3": "eager,eager_sparse,jit,manual,manual_jit",
                "w4": "eager,bag,jit,manual,manual_jit"}


def with_avx512():
    with open("/proc/cpuinfo") as f:
        return "avx512f" in f.read()


def hand_written(peer):
    return "manual" in peer or peer in ("plain_c",)


def run(command, env, cwd=None):
    """JSON lines of a program; nothing, and a word on stderr, where it fails."""
    print("running:", " ".join(os.path.basename(c) for c in command[:3]), file=sys.stderr, flush=True)
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode and not records:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"  not measured: {last}", file=sys.stderr)
    return records


class Peers:
    """Programs outside this project, built into a scratch directory."""

    def __init__(self, directory, scratch):
        self.dir = os.path.abspath(directory)
        self.scratch = scratch
        self.present = os.path.isdir(self.dir)
        if not self.present:
            print(f"no peers in {self.dir}: only this program is measured", file=sys.stderr)
            return
        for name in os.listdir(self.dir):
            if name.endswith((".py", ".c", ".cpp")):
                shutil.copy(os.path.join(self.dir, name), scratch)
        self.libtorch = self.build("w_libtorch", ["g++", "-O2", "-std=c++17", "w_libtorch.cpp", "-o", "w_libtorch",
                                                  "-I/usr/include/torch/csrc/api/include", "-ltorch_cpu", "-ltorch", "-lc10"])
        self.plain_c = self.build("w1_c", ["gcc", "-O3", "-march=native", "-ffast-math", "w1_c.c", "-o", "w1_c", "-lm"])

    def build(self, name, command):
        done = subprocess.run(command, cwd=self.scratch, capture_output=True, text=True)
        if done.returncode:
            print(f"peer {name} could not be built (is libtorch-dev installed?)", file=sys.stderr)
        return done.returncode == 0

    def measure(self, workload, secs):
        if not self.present:
            return []
        env = dict(ENV)
        if not with_avx512():
            env.update(OPENBLAS_CORETYPE="Haswell", ATEN_CPU_CAPABILITY="avx2")
        arguments = [] if workload == "w1" else ["--secs", str(secs)]
        if workload == "w2":
            arguments += ["--act", "tanh,relu"]
        records = run(["/usr/bin/python3", f"{workload}.py", "--threads", "1", "--peer", PYTHON_PEERS[workload], *arguments], env,
                      self.scratch)
        if self.libtorch:
            records += run(["./w_libtorch", workload, "1", str(secs)], env, self.scratch)
        if workload == "w1" and self.plain_c:
            records += run(["./w1_c"], env, self.scratch)
        return records


def best(records, choose):
    chosen = [r for r in records if choose(r["peer"])]
    return max(chosen, key=lambda r: r["median"]) if chosen else None
