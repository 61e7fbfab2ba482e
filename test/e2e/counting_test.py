"""Every gradient counts exactly once, or is reported as lost with its number, in every mode and through every event."""
import glob
import os
import random
import re
import signal

from cable import Cable, token_flag
from cluster import until
from counting import MODES, STEPS, TRAINERS, CountingTest
from proxy import Plan, Proxy
from support import main

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"
SEEDS = range(8) if FULL else range(1)
EVENTS = ("trainer_kill", "pserver_kill", "empty_pserver", "cut", "pserver_sigterm") + (("trainer_sigterm",) if FULL else ())


class Counting(CountingTest):
    def disturb(self, cluster, event, r, proxy):
        of_trainer = event.startswith("trainer")
        victim = r.randrange(TRAINERS) if of_trainer else r.randrange(len(cluster.servers))
        # A trainer has to be started again before its part is done: without rounds it may be far ahead of the other one.
        self.until_done(cluster, r.uniform(0.1, 0.4 if of_trainer else 0.6), victim if of_trainer else 0)
        if event == "trainer_kill":
            cluster.trainers[victim].kill()
            cluster.start_trainer(victim)
        elif event == "trainer_sigterm":
            cluster.trainers[victim].signal(signal.SIGTERM)
            cluster.trainers[victim].wait(143)
            cluster.start_trainer(victim)
        elif event == "cut":
            proxy.cut_all()
        else:
            server, self.victim = cluster.servers[victim], victim
            if event == "pserver_sigterm":
                server.signal(signal.SIGTERM)
                server.wait(0)
            else:
                if event == "pserver_kill":  # for a snapshot the disk may take longer than the trainers for all of their steps
                    self.signal_trainers(cluster, signal.SIGSTOP)
                    snapshots = next(flag.split("=")[1] for flag in cluster.server_flags(victim) if flag.startswith("--snapshot_dir"))
                    until(lambda: any(re.search(r"/step-0*[1-9]\d*$", os.path.dirname(done)) for done in glob.glob(f"{snapshots}/shard-0/*/done")),
                          f"{server.name} has a snapshot")
                server.kill()
                self.signal_trainers(cluster, signal.SIGCONT)
            cluster.start_server(victim)

    def signal_trainers(self, cluster, number):
        for trainer in cluster.trainers:
            trainer.signal(number)

    def through(self, mode, event, seed, **more):
        name = f"{mode}-{event}-{seed}-{'rows-' if more.get('table') else ''}"
        proxy = Proxy(Plan(seed, faults=0)) if event == "cut" else None
        if proxy:
            self.addCleanup(proxy.close)
        cluster = self.counter(name, mode, snapshots=event != "empty_pserver", through=proxy, **more).start()
        r = random.Random(f"{seed} {mode} {event}")
        self.disturb(cluster, event, r, proxy)
        self.check(cluster, mode, event)
        if event == "pserver_kill":  # what is lost came after the last snapshot, or was on its way to a disk that may be slow
            self.assertRegex(cluster.servers[self.victim].log(), r"restored the snapshot of step [1-9]", cluster.logs())
        cluster.close()

    def events(self, mode, **more):
        for seed in SEEDS:
            for event in EVENTS:
                with self.subTest(mode=mode, event=event, seed=seed):
                    self.through(mode, event, seed, **more)

    def test_sync(self):
        self.events("sync")

    def test_half_async(self):
        self.events("half_async")

    def test_async(self):
        self.events("async")

    def test_geo(self):
        self.events("geo")

    def test_rows_in_geo(self):
        self.events("geo", table=True)

    def test_three_pservers_and_other_policies(self):
        """Nobody is lost whose connections are cut and made again: the policies of loss change nothing."""
        policies = ("drop", "fail")
        for k, mode in enumerate(MODES):
            for policy in policies if FULL else [policies[k % 2]]:
                with self.subTest(policy=policy, mode=mode):
                    self.through(mode, "cut", 9, servers=3, policy=policy)

    def test_a_cable_is_pulled(self):
        """For longer than the lease of the trainer behind it: it joins again when it is back, and nothing counts twice."""
        cable, token = Cable(self), token_flag(self)
        for mode in MODES if FULL else ("async",):
            with self.subTest(mode=mode):
                cluster = self.counter(f"cable-{mode}-", mode)
                own = cluster.server_flags
                cluster.server_flags = lambda i, own=own: [*own(i), f"--host={cable.address}", "--lease_seconds=2", token]
                cluster.trainer_flags = [*cluster.trainer_flags, token]
                cable.start(cluster)
                self.until_done(cluster, 0.3, trainer=1)
                cable.pull()
                for s in cluster.servers:
                    s.wait_line(r"trainer 1 \(.*is lost: nothing heard")
                cable.plug()
                self.check(cluster, mode, "cut")
                cluster.close()

    def test_a_dropped_trainer_counts_where_it_took_part(self):
        """Sync with `drop`: rounds close without the lost one, each with the mean of those who are there, so every round counts one."""
        cluster = self.counter("dropped-", "sync", policy="drop")
        own = cluster.server_flags
        cluster.server_flags = lambda i: [*own(i), "--lease_seconds=2", "--reconnect_seconds=0"]
        cluster.start()
        self.until_done(cluster, 0.3)
        cluster.trainers[1].kill()
        cluster.servers[0].wait_line(r"trainer 1 .*is lost: .*go on without it")
        cluster.start_trainer(1)
        counts = self.counted(cluster)
        self.assertEqual(len(set(counts)), 1, f"{counts}\n{cluster.logs()}")
        self.assertGreaterEqual(counts[0], STEPS, cluster.logs())
        self.assertLess(counts[0], 2 * STEPS, cluster.logs())


if __name__ == "__main__":
    main()
