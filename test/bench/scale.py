"""scale.py MEASURED.jsonl: what a step of sync training costs with up to 1000 trainers and 100 pservers.

MEASURED.jsonl has the lines of `dist_bench w5 SECS` and `dist_bench w5 SECS 4` (2 x 2 and 4 x 4 on one machine). The costs of
the model come from the 2 x 2 lines alone. It must give the 4 x 4 lines, too, before it is asked about more; docs/scale.md says
what it leaves out."""
import argparse
import functools
import json
import math
import random
import sys

SLOTS, WIDTH = 26, 10  # W5: ids of a record, values of a row
DENSE_BYTES = 4 * (273 * 400 + 400 + 2 * (400 * 400 + 400) + 400 * 2 + 2)
ROW_BYTES = 8 + 4 * WIDTH  # of a pushed or pulled row with its id
CONNECTION_BYTES = 320 << 10  # of a trainer on a port, at most (docs/STATUS.md)
CORES = 2  # of the machine of the measurement


@functools.lru_cache(maxsize=None)
def distinct_rows(batch, seed=1):
    """Ids of a batch of W5 without repetitions: ranks by Zipf's law with exponent 1.05, a million per slot."""
    r, e, n = random.Random(seed), 1 - 1.05, 1e6
    return len({(slot, math.floor((1 + r.random() * (n**e - 1))**(1 / e))) for _ in range(batch) for slot in range(SLOTS)})


class Costs:
    """Seconds of CPU time, from two batch sizes of one number of trainers."""

    def __init__(self, lines, trainers):
        rows = {b: distinct_rows(b) for b in (100, 1000)}
        per_trainer = {b: lines[b]["trainers_cpu_us_per_step"] * 1e-6 / trainers for b in rows}
        per_update = {b: lines[b]["pservers_cpu_us_per_step"] * 1e-6 / trainers for b in rows}
        self.compute = {b: lines[b]["alone_cpu_us_per_step"] * 1e-6 / trainers for b in rows}
        send = {b: max(0.0, per_trainer[b] - self.compute[b]) for b in rows}
        span = rows[1000] - rows[100]
        self.send_row = max(0.0, (send[1000] - send[100]) / span)
        self.send = max(0.0, send[100] - self.send_row * rows[100])
        self.serve_row = max(0.0, (per_update[1000] - per_update[100]) / span)
        self.serve = max(0.0, per_update[100] - self.serve_row * rows[100])
        # How much of the cores a step uses: processes wait for each other within it.
        self.busy = {b: self.all_cpu(b, trainers) / CORES * lines[b]["ours"] / (trainers * b) for b in rows}

    def trainer(self, batch):
        """One step of a trainer, with its part of the exchange."""
        return self.compute[batch] + self.send + self.send_row * distinct_rows(batch)

    def served(self, batch):
        """What the pservers do together for one trainer's step."""
        return self.serve + self.serve_row * distinct_rows(batch)

    def all_cpu(self, batch, trainers):
        return trainers * (self.trainer(batch) + self.served(batch))

    def rate_on_one_machine(self, batch, trainers):
        return trainers * batch * CORES * self.busy[batch] / self.all_cpu(batch, trainers)


def round_time(costs, batch, trainers, ports, network, jitter, steps=20, seed=1):
    """Seconds of a step where every trainer and every port has a core, and every machine a network card.

    A trainer computes and sends to all ports; a port takes one gradient after the other in the order of their arrival, and
    when it has all of them it sends the values out, one trainer after the other. All ports have the same work, so one of them
    stands for all; the one with the most rows is somewhat above the mean."""
    r = random.Random(seed)
    rows = distinct_rows(batch) / ports
    most_rows = rows + math.sqrt(2 * math.log(max(2, ports)) * rows)
    service = costs.serve / ports + costs.serve_row * most_rows  # in and out
    wire = (DENSE_BYTES / ports + ROW_BYTES * most_rows) / network
    total = 0.0
    for _ in range(steps):
        own_wire = (DENSE_BYTES + ROW_BYTES * rows * ports) / network
        arrivals = sorted(costs.trainer(batch) * (1 + abs(r.gauss(0, jitter))) + own_wire for _ in range(trainers))
        free = 0.0
        for at in arrivals:
            free = max(free, at) + max(service / 2, wire)
        total += free + trainers * max(service / 2, wire)
    return total / steps


def bounds(costs, batch, trainers, ports, network):
    """What each part needs for one step: the largest one is where it breaks first."""
    rows = distinct_rows(batch)
    volume = DENSE_BYTES + ROW_BYTES * rows
    return {"a trainer's own work": costs.trainer(batch),
            "one port's thread": trainers * costs.served(batch) / ports,
            "a pserver's network card": trainers * volume / ports / network,
            "a trainer's network card": volume / network}


def lines_of(path):
    """Mode, number of trainers and batch -> line."""
    out = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            words = row.get("row", "").replace(",", "").split()  # "W5, 2 x 2, sync, batch 100"
            if words[:1] != ["W5"]:
                continue
            out[words[4], int(words[1]), int(words[6])] = row
    return out


def check(lines, costs, worst):
    """The points that were measured, and what the model says; ends the program where it is off by more than `worst`."""
    print("| measured on one machine, sync | samples/s | the model | ratio |\n|---|---|---|---|")
    bad = [f"4 x 4, batch {b} (not measured)" for b in (100, 1000) if ("sync", 4, b) not in lines]
    for (mode, n, batch), row in sorted(lines.items()):
        if mode != "sync":
            continue
        says = costs.rate_on_one_machine(batch, n)
        ratio = says / row["ours"]
        print(f"| {n} x {n}, batch {batch}{' (costs are from here)' if n == 2 else ''} | {row['ours']:,.0f} | {says:,.0f} | {ratio:.2f} |")
        if not 1 / worst <= ratio <= worst:
            bad.append(f"{n} x {n}, batch {batch}")
    if bad:
        sys.exit(f"scale.py: the model is off by more than a factor of {worst} at {', '.join(bad)}: it says nothing about more")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("--gbit", type=float, default=25, help="network of a machine")
    parser.add_argument("--jitter", type=float, default=0.05, help="deviation of a trainer's time, as a share of it")
    parser.add_argument("--worst", type=float, default=1.5, help="factor by which the model may be off at 4 x 4")
    args = parser.parse_args()
    lines = lines_of(args.measured)
    costs = Costs({b: lines["sync", 2, b] for b in (100, 1000)}, 2)
    check(lines, costs, args.worst)
    network = args.gbit * 1e9 / 8
    for batch in (100, 1000):
        rows = distinct_rows(batch)
        print(f"\nbatch {batch}: {rows} rows of {SLOTS * batch} ids, {(DENSE_BYTES + ROW_BYTES * rows) / 1e6:.2f} MB each way per trainer "
              f"and step; a trainer alone {1e3 * costs.compute[batch]:.2f} ms, its exchange {1e3 * (costs.trainer(batch) - costs.compute[batch]):.2f} ms, "
              f"pservers {1e3 * costs.served(batch):.2f} ms for it\n")
        print("| trainers | pservers | ports each | step, ms | samples/s | of one trainer x n | MB in per pserver and step | connections, MB per port | what it waits for |")
        print("|---|---|---|---|---|---|---|---|---|")
        for trainers, pservers, each in ((2, 2, 1), (10, 10, 1), (100, 10, 1), (100, 100, 1), (1000, 100, 1), (1000, 100, 8), (1000, 1000, 1)):
            ports = pservers * each
            step = round_time(costs, batch, trainers, ports, network, args.jitter)
            # The ports of a pserver share its network card.
            card = trainers * (DENSE_BYTES + ROW_BYTES * rows) / pservers / network
            step = max(step, costs.trainer(batch) + 2 * card)
            need = bounds(costs, batch, trainers, ports, network)
            need["a pserver's network card"] = 2 * card
            rate = trainers * batch / step
            ideal = trainers * batch / costs.compute[batch]
            print(f"| {trainers} | {pservers} | {each} | {1e3 * step:.1f} | {rate:,.0f} | {100 * rate / ideal:.0f} % "
                  f"| {trainers * (DENSE_BYTES + ROW_BYTES * rows) / pservers / 1e6:.1f} | {trainers * CONNECTION_BYTES / 1e6:.0f} "
                  f"| {max(need, key=need.get)} |")


if __name__ == "__main__":
    main()
