"""Runs net_bench, or dist_bench beside its peer, and prints their JSON lines as a table.

    rows.py net       a shard over loopback beside raw sockets
    rows.py w1dist    2 trainers x 2 pservers: W1 beside torch DDP, W4's dense part beside two processes on their own"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "build", "test", "bench")
W1_GOAL, W1_AIM = 5, 15  # times the rate of torch DDP


def run(command, required=True):
    """JSON lines of a program."""
    print("running:", " ".join(os.path.basename(c) for c in command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode and required:
        sys.exit(f"{command[0]} failed with code {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def goal_of(r):
    """The goal of a row in words, and whether it is reached; None where it has none."""
    if r.get("goal_percent"):
        return f">= {r['goal_percent']:g} %", r["percent"] >= r["goal_percent"]
    if r.get("goal_times"):
        return f"<= {r['goal_times']:g} x", r["times"] <= r["goal_times"]
    if r.get("goal_at_most"):
        return f"<= {r['goal_at_most']:g}", r["ours"] <= r["goal_at_most"]
    if r.get("goal"):
        return f">= {r['goal']:g}", r["ours"] >= r["goal"]
    return "", None


def number(r, key, form="{:,.4g}"):
    return form.format(r[key]) if key in r else ""


def print_rows(rows):
    print(f"{'what':52} {'unit':>10} {'ours':>9} {'limit':>9} {'%':>5} {'x':>5} {'goal':>9}  {'':7} {'p99':>7} {'limit p99':>9} "
          f"{'CPU us/MiB: trainer':>19} {'pserver':>8}")
    for r in rows:
        goal, reached = goal_of(r)
        what = r["row"] + (f", {r['window']:g} in flight" if "window" in r else "")
        print(f"{what:52} {r['unit']:>10} {number(r, 'ours'):>9} {number(r, 'raw'):>9} {number(r, 'percent', '{:.0f}'):>5} "
              f"{number(r, 'times', '{:.2f}'):>5} {goal:>9}  {'' if reached is None else 'reached' if reached else 'MISSED':7} "
              f"{number(r, 'ours_p99'):>7} {number(r, 'raw_p99'):>9} {number(r, 'trainer_cpu_us_per_mib', '{:,.0f}'):>19} "
              f"{number(r, 'pserver_cpu_us_per_mib', '{:,.0f}'):>8}")


def net(secs):
    lines = run([os.path.join(PROGRAMS, "net_bench"), str(secs)])
    for line in lines:
        if "congestion_control" in line:
            print(f"loopback, congestion control {line['congestion_control']} at both ends of ours and raw, {line['processors']} CPUs")
    print_rows([r for r in lines if "row" in r])
    return lines


def best(records):
    return max(records, key=lambda r: r["median"])


def w1dist(secs):
    ddp = ["/usr/bin/python3", os.path.join(ROOT, "test", "bench", "w1_ddp.py"), "--secs", str(secs)]
    program = os.path.join(PROGRAMS, "dist_bench")
    # The peer stands between two turns of ours, so that a slow phase of the machine meets both.
    first, peers, second = run([program, "w1", str(secs)]), run(ddp, required=False), run([program, "w1", str(secs)])
    mine = best(first + second)
    print(f"W1, batch 20, 2 trainers x 2 pservers, sync: {mine['median']:,.0f} steps/s ({mine['min']:,.0f} to {mine['max']:,.0f}), "
          f"mean squared error {mine['mse_init']} -> {mine['mse_1epoch']}; CPU per step: trainers {mine['trainers_cpu_us_per_step']:.0f} us, "
          f"pservers {mine['pservers_cpu_us_per_step']:.0f} us")
    if peers:
        peer = best(peers)
        same = all(abs(mine[k] - peer[k]) < 2e-4 for k in ("mse_init", "mse_1epoch"))
        ratio = mine["median"] / peer["median"]
        print(f"torch DDP on gloo, 2 processes:               {peer['median']:,.0f} steps/s ({peer['min']:,.0f} to {peer['max']:,.0f}); "
              f"ratio {ratio:.1f}, goal {W1_GOAL} ({'reached' if ratio >= W1_GOAL else 'MISSED'}), aim {W1_AIM}; "
              f"errors {'agree' if same else 'DIFFER'}")
    else:
        print("torch DDP was not measured (is python3-torch installed?)")
    dense = run([program, "w4", str(secs)])
    print_rows(dense)
    return first + peers + second + dense


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("which", choices=["net", "w1dist"])
    parser.add_argument("--secs", type=float, default=1)
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench_cluster.jsonl"))
    args = parser.parse_args()
    lines = net(args.secs) if args.which == "net" else w1dist(args.secs)
    with open(args.out, "a") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
