"""Histories of the simulator (test/sim) with real daemons, real TCP and real files: what holds there must hold here.

The simulator prints its plan for a seed. Each trainer has a proxy of its own; a fault comes when the job has done the same share of its work.
"""
import asyncio
import os
import re
import shutil
import signal
import subprocess
import time

from counting import STEPS, CountingTest
from faults import progress_of
from freezer import Freezer
from proxy import reset
from runner import shared
from support import BUILD, main

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"
REPLAYS = 24 if FULL else 5
SIM = os.path.join(BUILD, "test", "sim", "sim")
HEAD = re.compile(r"seed (\d+): (\w+), on loss (\w+), (\d+) trainers, (\d+) shards, \d+ parameters, (\d+) batches, snapshots every (\d+) steps, "
                  r"a batch takes (\S+) s, messages up to (\S+) s")
FAULT = re.compile(r"at (\S+) s: (\w+), trainer (\d+), pserver (\d+), for (\S+) s, ways (\d)")
LOSSES = ("kill_pserver", "lose_pserver", "lose_snapshot", "tear_snapshot")


class Plan:
    """One history, as the simulator prints it."""

    def __init__(self, text):
        head = HEAD.match(text)
        self.seed, self.mode, self.policy = int(head[1]), head[2], head[3]
        self.trainers, self.shards, self.period = int(head[4]), int(head[5]), int(head[7])
        length = int(head[6]) * (float(head[8]) + 3 * float(head[9])) + 0.1
        faults = [(float(at) / length, kind, int(t), int(s), float(lasts), int(ways)) for at, kind, t, s, lasts, ways in FAULT.findall(text)]
        self.faults, self.all_faults = sorted(faults), len(text.splitlines()) - 1

    def fits(self):
        """It can be replayed in seconds, with the job of the counting test."""
        return (self.trainers == 2 and self.policy == "wait" and len(self.faults) == self.all_faults >= 2 and
                all(share < 0.9 and lasts < 6 and kind != "vanish_trainer" for share, kind, _, _, lasts, _ in self.faults))


def plans(count):
    """The first that fit, of all modes in turn."""
    printed = subprocess.run([SIM, "--seed=1", "--count=4000", "--plans"], capture_output=True, text=True, check=True).stdout
    by_mode = {}
    for text in re.split(r"\n(?=seed )", printed.strip()):
        plan = Plan(text)
        if plan.fits():
            by_mode.setdefault(plan.mode, []).append(plan)
    return [by_mode[mode][i // len(by_mode)] for i in range(count) for k, mode in enumerate(sorted(by_mode)) if i % len(by_mode) == k]


class Ways(Freezer):
    """The connections of one trainer; each way to a shard can be silent for a while."""

    def __init__(self):
        super().__init__()
        self.silent, self.of = set(), {}

    def silence(self, target, ways, on):
        which = {(target, to_target) for to_target, bit in ((True, 1), (False, 2)) if ways & bit}
        self.change(lambda: (self.silent.update if on else self.silent.difference_update)(which))

    def cut(self, target):
        async def do():
            for w in list(self.of.get(target, ())):
                reset(w)
        asyncio.run_coroutine_threadsafe(do(), self.loop).result(20)

    async def carry(self, target, reader, writer, to_target):
        self.of.setdefault(target, set()).add(writer)
        try:
            while data := await reader.read(1 << 16):
                await self.wait_while(self.silent, (target, to_target))
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        await self.wait_while(self.silent, (target, to_target))
        self.of[target].discard(writer)
        writer.close()


class Replay(CountingTest):
    def newest_snapshot(self, name, shard):
        root = self.path(f"{name}snapshots{shard}", "shard-0")
        steps = sorted(n for n in os.listdir(root) if re.fullmatch(r"step-\d+", n)) if os.path.isdir(root) else []
        return os.path.join(root, steps[-1]) if len(steps) > 1 else None

    def damage(self, path, ways):
        """Torn, or a copy of the one before."""
        if path is None:
            return
        if ways == 1:
            with open(os.path.join(path, "manifest"), "r+b") as f:
                f.truncate(os.path.getsize(f.name) // 2)
            return
        before = sorted(n for n in os.listdir(os.path.dirname(path)) if re.fullmatch(r"step-\d+", n))[-2]
        shutil.rmtree(path)
        shutil.copytree(os.path.join(os.path.dirname(path), before), path)

    def strike(self, cluster, name, ways, fault):
        """What happens at once; returns what happens when it has passed."""
        _, kind, t, s, _, bits = fault
        trainer, server, port = cluster.trainers[t], cluster.servers[s], cluster.ports[s][0]
        if kind == "cut":
            return ways[t].cut(port)
        if kind == "silence":
            ways[t].silence(port, bits, True)
            return lambda: ways[t].silence(port, bits, False)
        if kind in ("freeze_trainer", "freeze_pserver"):
            process = trainer if kind == "freeze_trainer" else server
            process.signal(signal.SIGSTOP)
            return lambda: process.signal(signal.SIGCONT)
        if kind == "rot_snapshot":
            return self.damage(self.newest_snapshot(name, s), bits)
        if kind == "kill_trainer":
            if not trainer.running():
                return None
            trainer.kill()
            return lambda: cluster.start_trainer(t)
        if not server.running():
            return None
        if kind == "stop_pserver":
            server.signal(signal.SIGCONT)
            server.signal(signal.SIGTERM)
            server.wait(0)
        else:
            server.kill()
        newest = self.newest_snapshot(name, s)
        if kind == "lose_pserver":
            shutil.rmtree(self.path(f"{name}snapshots{s}"), ignore_errors=True)
        elif kind == "lose_snapshot" and newest:
            shutil.rmtree(newest)
        elif kind == "tear_snapshot":
            self.damage(newest, bits)
        return lambda: cluster.start_server(s)

    def drive(self, cluster, name, ways, plan):
        faults, due, stalled = list(plan.faults), [], time.monotonic() + 60
        done = 0
        while faults or due:
            now = time.monotonic()
            for item in [d for d in due if d[0] <= now]:
                due.remove(item)
                item[1]()
            share = max(progress_of(t) for t in cluster.trainers) / STEPS
            if share > done or due:
                done, stalled = share, now + 60
            self.assertLess(now, stalled, cluster.logs())
            if not any(t.running() for t in cluster.trainers) and not due:
                break
            # Where everybody waits for what stands still, the next fault does not wait for progress.
            if faults and (share >= faults[0][0] or (due and now > min(d[2] for d in due) + 1)):
                fault = faults.pop(0)
                after = self.strike(cluster, name, ways, fault)
                if after:
                    due.append((now + fault[4], after, now))
            time.sleep(0.005)

    def replay(self, plan):
        name = f"replay{plan.seed}-"
        ways = [Ways() for _ in range(plan.trainers)]
        for w in ways:
            self.addCleanup(w.close)
        cluster = self.counter(name, plan.mode, snapshots=plan.period > 0, servers=plan.shards)
        plain = cluster.cluster_flags
        cluster.cluster_flags = lambda i: [
            "--pservers=" + ",".join(f"127.0.0.1:{ways[i].port_for(ports[0])}" for ports in cluster.ports), *plain(i)[1:]]
        cluster.start()
        self.drive(cluster, name, ways, plan)
        losses = sum(kind in LOSSES or (kind == "stop_pserver" and plan.period == 0) for _, kind, *_ in plan.faults)
        killed = any(kind == "kill_trainer" for _, kind, *_ in plan.faults)
        if plan.mode != "sync" and (losses > 1 or any("may apply gradients again" in t.log(whole=True) for t in cluster.trainers)):
            cluster.finish()  # what is lost twice leaves no trace of how much it was
        else:
            self.check(cluster, plan.mode, "trainer_kill" if killed else "pserver_kill" if losses or self.rots(plan) else "cut")
        cluster.close()

    @staticmethod
    def rots(plan):
        return any(kind == "rot_snapshot" for _, kind, *_ in plan.faults)


def replay_of(index):
    def test(self):
        plan = shared("plans", lambda: plans(REPLAYS))[index]
        with self.subTest(seed=plan.seed, mode=plan.mode):
            self.replay(plan)
    return test


for number in range(REPLAYS):
    setattr(Replay, f"test_history_{number}", replay_of(number))


if __name__ == "__main__":
    main()
