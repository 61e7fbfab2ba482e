"""Runs train_bench and the peers' programs turn by turn and prints rates, ratios and what is to be reached.

A peer is the best of what a user would write (eager or traced, in Python or C++); hand-written ones are shown beside it.
Where peers or their packages are missing, their columns stay empty and a line says so."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(ROOT, "build", "test", "bench", "train_bench")
GEMM = os.path.join(ROOT, "build", "test", "bench", "gemm_bench")
# (workload, configuration) -> ratio to reach against the best framework peer
GOALS = {
    ("W1", "batch 20 sgd"): 30,
    ("W2", "batch 64 sgd tanh"): 1.8,
    ("W2", "batch 512 sgd tanh"): 1.35,
    ("W2", "batch 64 adam tanh"): 2.2,
    ("W3", "batch 100 sgd"): 1.5,
    ("W4", "batch 100 sgd"): 1.5,
    ("W4", "batch 1000 sgd"): 1.25,
}
# Settings without which OpenBLAS and torch run slow kernels on CPUs that they do not know.
ENV = dict(os.environ, OPENBLAS_CORETYPE="SkylakeX", ATEN_CPU_CAPABILITY="avx512", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
PYTHON_PEERS = {"w1": "eager,manual,manual_jit", "w2": "eager,jit,manual_jit", "w3": "eager,eager_sparse,jit,manual,manual_jit",
                "w4": "eager,bag,jit,manual,manual_jit"}


def with_avx512():
    with open("/proc/cpuinfo") as f:
        return "avx512f" in f.read()


def key_of(record):
    c = record["cfg"]
    return record["workload"], " ".join(str(x) for x in (f"batch {c['batch']}", c["opt"], c.get("act", "")) if x)


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


def agrees(mine, other):
    """Whether two programs computed the same; None where they print nothing to compare. Adam's epsilon is not scaled by the
    bias correction here, as in Fluid, which shows in the fourth digit."""
    keys = [k for k in ("mse_init", "mse_1epoch", "loss0", "loss19") if mine.get(k) and other.get(k)]
    near = 1e-3 if mine["cfg"]["opt"] == "adam" else 2e-4
    return all(abs(mine[k] - other[k]) < near for k in keys) if keys else None


def cell(record):
    return f"{record['median']:,.0f} {record['peer'].replace('torch_', '')}" if record else "-"


def print_table(ours, theirs):
    print(f"{'workload':28} {'this program':>14} {'best framework peer':>30} {'ratio':>7} {'goal':>6} {'hand-written peer':>30} {'ratio':>7}  losses")
    for key, mine in ours.items():
        records = theirs.get(key, [])
        peer, manual = best(records, lambda p: not hand_written(p) and p != "plain_c"), best(records, lambda p: "manual" in p)
        ratio = lambda r: f"{mine['median'] / r['median']:.2f}" if r else "-"
        same = [a for a in (agrees(mine, r) for r in records) if a is not None]
        agree = "agree" if same and all(same) else "DIFFER" if same else "-"
        goal = GOALS.get(key)
        print(f"{' '.join(key):28} {mine['median']:>14,.0f} {cell(peer):>30} {ratio(peer):>7} {goal or '':>6} {cell(manual):>30} {ratio(manual):>7}  {agree}")
        limit = best(records, lambda p: p == "plain_c")
        if limit:
            print(f"{'':28} {'plain C loop (limit):':>20} {limit['median']:,.0f}, of which {100 * mine['median'] / limit['median']:.0f} %")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workloads", nargs="*", default=[])
    parser.add_argument("--peers", default="../shared/peers")
    parser.add_argument("--secs", type=float, default=0.5)
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench.jsonl"))
    args = parser.parse_args()
    ours, theirs = {}, {}
    with tempfile.TemporaryDirectory() as scratch, open(args.out, "w") as out:
        peers = Peers(args.peers, scratch)
        for workload in args.workloads or ["w1", "w2", "w3", "w4"]:
            # Peers stand between two turns of ours, so that a slow phase of the machine meets both.
            turns = [run([BENCH, workload, str(args.secs)], os.environ), peers.measure(workload, args.secs),
                     run([BENCH, workload, str(args.secs)], os.environ)]
            for record in [r for turn in turns for r in turn]:
                out.write(json.dumps(record) + "\n")
                key = key_of(record)
                if record["peer"] == "paddle":
                    old = ours.get(key)
                    ours[key] = record if old is None or record["median"] > old["median"] else old
                else:
                    theirs.setdefault(key, []).append(record)
        for record in run([GEMM, "--summary"], os.environ):
            out.write(json.dumps(record) + "\n")
            print("gemm", json.dumps(record))
    print_table(ours, theirs)
    return 0


sys.exit(main())
