"""scripts/bench w5: the click-through model with its sparse table, 2 trainers x 2 pservers on this machine.

Two tables: the core (dist_bench w5) beside the same processes without communication, with torch DDP and a parameter server on
torch RPC where they are there; and a Fleet script of the peers' directory, run by this program and, where PADDLE_REAL names the
Python that has it, by PaddlePaddle 1.8.5. Programs take turns, so that a slow phase of the machine meets all.
"""
import argparse
import json
import os
import sys

import peers
import rows

BATCHES = (100, 1000)
FLEET_GOAL = {100: 6, 1000: 3.5}  # times the rate of PaddlePaddle 1.8.5
TURNS = 3


def median(values):
    return sorted(values)[len(values) // 2] if values else None


def torch_rates(directory, batch):
    """Samples per second of each torch peer, by name."""
    out = {}
    for script, more in (("w5_ddp.py", []), ("w5_rpc.py", ["--servers", "1", "--mode", "sync"]),
                         ("w5_rpc.py", ["--servers", "1", "--mode", "pipe", "--uniq", "0"])):
        for r in peers.run(["/usr/bin/python3", os.path.join(directory, script), "--batch", str(batch), *more], peers.ENV):
            if "median" in r:
                out[r["peer"]] = r["median"]
    return out


def fleet_rate(python, directory, env, batch, mode):
    """Samples per second of the Fleet script; None where a trainer did not report."""
    steps = 600 if batch == 100 else 150
    lines = peers.run([python, os.path.join(directory, "fluid_peer.py"), "w5", "--batch", str(batch), "--mode", mode,
                       "--steps", str(steps)], env)
    return next((r["samples_per_s"] for r in lines if r.get("trainers") == 2), None)


def print_fleet(directory, real, out):
    env = dict(peers.ENV, PYTHONPATH=os.path.join(rows.ROOT, "build", "python"))
    print(f"{'Fleet script, 2 x 2':28} {'this program':>14} {'PaddlePaddle':>14} {'ratio':>6}   goal")
    for mode in ("sync", "async"):
        for batch in BATCHES:
            mine, theirs = [], []
            for _ in range(TURNS):
                mine.append(fleet_rate("/usr/bin/python3", directory, env, batch, mode))
                if real:
                    theirs.append(fleet_rate(real, directory, peers.ENV, batch, mode))
            mine, theirs = median([r for r in mine if r]), median([r for r in theirs if r])
            ratio = mine / theirs if mine and theirs else None
            show = lambda r: f"{r:,.0f}" if r else "-"
            print(f"{mode + ', batch ' + str(batch):28} {show(mine):>14} {show(theirs):>14} {f'{ratio:.2f}' if ratio else '-':>6}   "
                  f">= {FLEET_GOAL[batch]:g} times" + ("" if ratio is None else " reached" if ratio >= FLEET_GOAL[batch] else " MISSED"))
            out.append({"workload": "W5 fleet", "mode": mode, "batch": batch, "ours": mine, "real": theirs})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", default="../shared/peers")
    parser.add_argument("--secs", type=float, default=1)
    parser.add_argument("--out", default=os.path.join(rows.ROOT, "build", "bench_w5.jsonl"))
    args = parser.parse_args()
    directory, real = os.path.abspath(args.peers), os.environ.get("PADDLE_REAL", "")
    out = rows.run([os.path.join(rows.PROGRAMS, "dist_bench"), "w5", str(args.secs)])
    rows.print_rows(out)
    if not os.path.isdir(directory):
        print(f"no peers in {directory}: only this program is measured", file=sys.stderr)
    else:
        for batch in BATCHES:
            for peer, rate in torch_rates(directory, batch).items():
                print(f"{peer + ', batch ' + str(batch):52} {'samples/s':>10} {rate:>9,.0f}")
                out.append({"workload": "W5", "peer": peer, "batch": batch, "median": rate})
        if not real:
            print("PaddlePaddle 1.8.5 was not measured: PADDLE_REAL names no Python that has it", file=sys.stderr)
        print_fleet(directory, real, out)
    with open(args.out, "w") as f:
        f.writelines(json.dumps(line) + "\n" for line in out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
