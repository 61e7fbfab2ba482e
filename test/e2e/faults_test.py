"""Whatever dies, stops or breaks while a sync job trains: it ends, and its model has the very bits of an undisturbed run."""
import os
import random
import re
import signal
import subprocess
import time
import unittest

from cluster import same_model, until
from faults import FULL, SAMPLES, SEEDS, FaultTest, progress_of
from proxy import Plan, Proxy
from support import main


class Kills(FaultTest):
    def restart(self, cluster, kind, i):
        (cluster.start_server if kind == "server" else cluster.start_trainer)(i)

    def test_each_process_at_a_random_moment(self):
        """Every process of the job once, in random order, each at a random moment."""
        for seed in SEEDS:
            with self.subTest(seed=seed):
                r = random.Random(seed)
                cluster = self.cluster(f"kill{seed}-").start()
                victims = [("server", 0), ("server", 1), ("trainer", 0), ("trainer", 1)]
                r.shuffle(victims)
                for k, (kind, i) in enumerate(victims):
                    watched = 0 if (kind, i) != ("trainer", 0) else 1
                    self.wait_progress(cluster, SAMPLES * (k * 15 + r.uniform(3, 15)) / 100, watched)
                    (cluster.servers if kind == "server" else cluster.trainers)[i].kill()
                    self.restart(cluster, kind, i)
                self.check_bits(cluster)
                cluster.close()

    def test_all_processes_at_once(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                r = random.Random(100 + seed)
                cluster = self.cluster(f"all{seed}-").start()
                self.wait_progress(cluster, SAMPLES * r.uniform(0.1, 0.8))
                everyone = cluster.servers + cluster.trainers
                r.shuffle(everyone)
                for p in everyone:
                    p.kill()
                cluster.start()
                joined = cluster.trainers[0].wait_line(r"joined as trainer 0 of 2 at step (\d+)")
                self.assertGreater(int(joined), 0, "the snapshots were not used")
                self.check_bits(cluster)
                cluster.close()

    def test_a_pserver_without_snapshots_sends_all_back_to_the_start(self):
        cluster = self.cluster("bare-", snapshots=False).start()
        self.wait_progress(cluster, SAMPLES * 0.3)
        cluster.servers[1].kill()
        cluster.start_server(1)
        until(lambda: any("all go back to step 0" in t.log() for t in cluster.trainers), "a trainer says that all go back to step 0")
        self.check_bits(cluster)

    def test_a_pserver_with_snapshots_sends_all_back_a_little(self):
        """The protection of the test before: off there, on here."""
        cluster = self.cluster("kept-").start()
        self.wait_progress(cluster, SAMPLES * 0.5)
        cluster.servers[1].kill()
        cluster.start_server(1)
        self.check_bits(cluster)
        logs = "".join(t.log() for t in cluster.trainers)
        self.assertNotIn("go back to step 0", logs)
        steps = [int(s) for s in re.findall(r"all pservers go back to step (\d+)", logs)]
        self.assertGreater(min(steps), SAMPLES / 5 * 0.5 - 1000)

    def test_a_trainer_and_a_pserver_together(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                r = random.Random(200 + seed)
                cluster = self.cluster(f"pair{seed}-").start()
                self.wait_progress(cluster, SAMPLES * r.uniform(0.1, 0.7))
                s, t = r.randrange(2), r.randrange(2)
                for p in r.sample([cluster.servers[s], cluster.trainers[t]], 2):
                    p.kill()
                for start in r.sample([lambda: cluster.start_server(s), lambda: cluster.start_trainer(t)], 2):
                    start()
                self.check_bits(cluster)
                cluster.close()

    def test_three_trainers_three_pservers(self):
        r = random.Random(7)
        cluster = self.cluster("three-", 3, 3).start()
        for k in range(4):
            self.wait_progress(cluster, SAMPLES * 2 / 3 * (0.1 + 0.2 * k))
            group, i = r.choice([(cluster.servers, r.randrange(3)), (cluster.trainers, r.randrange(1, 3))])
            group[i].kill()
            self.restart(cluster, "server" if group is cluster.servers else "trainer", i)
        self.check_bits(cluster, 3)


class PassEnds(FaultTest):
    def models(self, cluster):
        return {name: self.files(os.path.join(cluster.save_dir, name)) for name in sorted(os.listdir(cluster.save_dir))}

    def test_a_pserver_dies_where_a_pass_ends(self):
        """Of the very step there is a snapshot, and the other pserver may be a step ahead: no model mixes two steps."""
        calm = self.cluster("ends-calm-", 1, snapshots=False, saving_period=1)
        calm.run()
        cluster = self.cluster("ends-", saving_period=1).start()
        for n in (4, 9, 14, 19, 24):
            cluster.trainers[0].wait_line(rf"Pass={n} Batch=\d+ ")
            cluster.trainers[0].wait_line(rf"saved .*pass-{n:05}")
            cluster.servers[0].kill()
            cluster.start_server(0)
        self.check_bits(cluster)
        expected, found = self.models(calm), self.models(cluster)
        self.assertEqual(list(expected), list(found))
        for name in expected:
            same_model(self, expected[name], found[name], name)


class Addresses(FaultTest):
    def test_a_pserver_returns_at_another_address(self):
        """Names are resolved again at every attempt to connect: the trainers see a table of hosts that changes."""
        hosts = self.write("hosts", "127.0.0.1 the-pserver.test\n")
        with_hosts = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
        if os.geteuid() != 0 or subprocess.run([*with_hosts, "true"], capture_output=True).returncode:
            self.skipTest("a table of hosts of one's own needs root and mount")
        cluster = self.cluster("moved-", servers=1)
        address = ["127.0.0.1"]
        own = cluster.server_flags
        cluster.server_flags = lambda i: [*own(i), f"--host={address[0]}"]
        cluster.before_trainer = with_hosts
        cluster.endpoints = lambda: f"the-pserver.test:{cluster.ports[0][0]}"
        cluster.start()
        self.wait_progress(cluster, SAMPLES * 0.3)
        cluster.servers[0].kill()
        address[0] = "127.0.0.2"
        with open(hosts, "r+") as f:  # the same file, as it is mounted
            f.write("127.0.0.2 the-pserver.test\n")
        cluster.start_server(0)
        cluster.servers[0].wait_line(r"Server listening on 127\.0\.0\.2:")
        self.check_bits(cluster)


class Late(FaultTest):
    @unittest.skipUnless(FULL, "takes half a minute: with --full")
    def test_a_trainer_half_a_minute_late(self):
        cluster = self.cluster("late-")
        for i in range(2):
            cluster.start_server(i)
        late = r"waiting for .*trainer 1 .*\((3\d|2[89]) s\)"
        cluster.start_trainer(0).wait_line(late)
        cluster.servers[0].wait_line(late)
        cluster.start_trainer(1)
        self.check_bits(cluster)


class Stops(FaultTest):
    def test_a_trainer_stands_still_and_goes_on(self):
        """Longer than its lease: declared lost, waited for, and taken back."""
        cluster = self.cluster("stop-", server_flags=["--lease_seconds=2"]).start()
        self.wait_progress(cluster, SAMPLES * 0.3)
        cluster.trainers[1].signal(signal.SIGSTOP)
        for s in cluster.servers:
            s.wait_line(r"trainer 1 \(.*is lost: .*rounds wait for its return")
        cluster.trainers[0].wait_line(r"waiting for .*trainer 1")
        cluster.trainers[1].signal(signal.SIGCONT)
        self.check_bits(cluster)

    def test_a_pserver_stands_still_and_goes_on(self):
        cluster = self.cluster("stop-").start()
        self.wait_progress(cluster, SAMPLES * 0.3)
        cluster.servers[1].signal(signal.SIGSTOP)
        # One of them waits for it; the other perhaps for that one, on the pserver that goes on.
        said = f"waiting for pserver 127.0.0.1:{cluster.ports[1][0]}"
        until(lambda: any(said in t.log() for t in cluster.trainers), lambda: f"a trainer says '{said}'\n" + cluster.logs())
        cluster.servers[1].signal(signal.SIGCONT)
        self.check_bits(cluster)

    def test_sigterm_of_a_pserver(self):
        """It ends with 0 and informs its peers, and the job goes on when it returns, from where it was."""
        cluster = self.cluster("term-").start()
        self.wait_progress(cluster, SAMPLES * 0.5)
        cluster.servers[0].signal(signal.SIGTERM)
        cluster.servers[0].wait(0)
        said = re.compile(r"is stopping")
        until(lambda: any(said.search(t.log()) for t in cluster.trainers), lambda: "trainers are informed\n" + cluster.logs())
        cluster.start_server(0)
        self.check_bits(cluster)

    def test_sigterm_twice_is_at_once(self):
        cluster = self.cluster("twice-").start()
        self.wait_progress(cluster, SAMPLES * 0.3)
        for p in cluster.trainers:
            p.signal(signal.SIGSTOP)
        cluster.servers[0].signal(signal.SIGTERM)
        time.sleep(0.3)  # two within 0.2 s are one, as timeout(1) sends it to a process and to its group
        cluster.servers[0].signal(signal.SIGTERM)
        self.assertIn(cluster.servers[0].wait(), (0, 143, -signal.SIGTERM))
        for p in cluster.trainers:
            p.signal(signal.SIGCONT)
        cluster.start_server(0)
        self.check_bits(cluster)

    def test_more_pservers_than_slices(self):
        """One that holds nothing sends nobody back when it dies, and does not keep others from their snapshots."""
        for victim, back in ((0, True), (5, False)):
            with self.subTest(victim=victim):
                cluster = self.cluster(f"idle{victim}-", servers=6, min_block_size=8192).start()
                self.wait_progress(cluster, SAMPLES * 0.5)
                cluster.servers[victim].kill()
                cluster.start_server(victim)
                self.check_bits(cluster)
                steps = [int(n) for t in cluster.trainers for n in re.findall(r"go back to step (\d+)", t.log())]
                self.assertEqual(bool(steps), back, cluster.logs())
                self.assertGreater(min(steps, default=1), 0, cluster.logs())

    def test_sigterm_of_a_trainer(self):
        """It ends with the code for the signal; the same command goes on."""
        cluster = self.cluster("leave-").start()
        self.wait_progress(cluster, SAMPLES * 0.3)
        cluster.trainers[1].signal(signal.SIGTERM)
        cluster.trainers[1].wait(143)
        cluster.start_trainer(1)
        self.check_bits(cluster)


class Losses(FaultTest):
    """--on_trainer_loss: with `drop` the bits differ from the undisturbed run's, which shows that comparing them can fail."""

    def lose(self, policy, *flags):
        cluster = self.cluster(policy + "-", server_flags=[f"--on_trainer_loss={policy}", "--reconnect_seconds=0", "--lease_seconds=2", *flags])
        cluster.start()
        self.wait_progress(cluster, SAMPLES * 0.3)
        cluster.trainers[1].kill()
        return cluster

    def test_wait(self):
        cluster = self.lose("wait")
        cluster.trainers[0].wait_line(r"waiting for .*trainer 1")
        cluster.start_trainer(1)
        self.check_bits(cluster)

    def test_drop(self):
        cluster = self.lose("drop")
        cluster.servers[0].wait_line(r"trainer 1 .*is lost: .*go on without it")
        self.wait_progress(cluster, progress_of(cluster.trainers[0]) + 50)
        cluster.start_trainer(1).wait_line(r"joined as trainer 1 of 2 at step [1-9]")
        found = cluster.finish()
        self.assertEqual(sorted(found), sorted(self.undisturbed()))
        self.assertNotEqual(found["h.w_0"], self.undisturbed()["h.w_0"])
        for s in cluster.servers:
            s.wait(0)

    def test_drop_for_good(self):
        """The lost one never returns: the others end the job, and so do the pservers."""
        cluster = self.lose("drop")
        cluster.trainers[0].wait(0)
        for s in cluster.servers:
            s.wait(0)

    def test_drop_of_one_that_stood_still(self):
        cluster = self.cluster("still-", server_flags=["--on_trainer_loss=drop", "--lease_seconds=2"]).start()
        self.wait_progress(cluster, SAMPLES * 0.2)
        cluster.trainers[1].signal(signal.SIGSTOP)
        cluster.servers[0].wait_line(r"trainer 1 .*is lost: .*go on without it")
        self.wait_progress(cluster, progress_of(cluster.trainers[0]) + 50)
        cluster.trainers[1].signal(signal.SIGCONT)
        cluster.finish()

    def test_fail(self):
        cluster = self.lose("fail")
        self.assertEqual(cluster.trainers[0].wait(), 7)
        self.assertRegex(cluster.trainers[0].log()[-2000:], r"the job ended: trainer 1 \(.*was lost")
        for s in cluster.servers:
            self.assertEqual(s.wait(), 7)
            self.assertRegex(s.log()[-1000:], r"trainer 1 \(.*was lost")


class Networks(FaultTest):
    def through(self, name, seed, plan, **more):
        proxy = Proxy(plan)
        self.addCleanup(proxy.close)
        cluster = self.cluster(name, through=proxy, **more).start()
        self.check_bits(cluster)
        cluster.close()
        return proxy.counts

    def test_cuts(self):
        """Connections end anywhere, within frames, in both directions, by FIN and by RST."""
        for seed in SEEDS:
            with self.subTest(seed=seed):
                counts = self.through(f"cut{seed}-", seed, Plan(seed, faults=12, cut_after=(1, 200000), drop_share=0.1))
                self.assertGreater(counts["cuts"], 1, counts)
                self.assertGreater(counts["cuts"] + counts["drops"], 8, counts)  # a connection is cut, or dropped as it begins

    def test_cuts_in_the_first_bytes(self):
        """Every byte of the greeting and of what follows is the last one once."""
        for seed in SEEDS:
            with self.subTest(seed=seed):
                counts = self.through(f"first{seed}-", seed, Plan(seed, faults=60, cut_after=(1, 700), drop_share=0.2))
                self.assertGreater(counts["cuts"], 20, counts)

    def test_delays_and_stalls(self):
        counts = self.through("slow-", 1, Plan(1, faults=300, delay=(0, 0.02), delay_share=0.1, stall=(0.5, 1.5), stall_share=0.002))
        self.assertGreater(counts["delays"], 50, counts)

    def test_everything_at_once_with_kills(self):
        proxy = Proxy(Plan(5, faults=30, cut_after=(1, 300000), delay=(0, 0.01), delay_share=0.002, drop_share=0.2))
        self.addCleanup(proxy.close)
        cluster = self.cluster("storm-", through=proxy).start()
        self.wait_progress(cluster, SAMPLES * 0.2)
        cluster.servers[0].kill()
        cluster.start_server(0)
        self.wait_progress(cluster, SAMPLES * 0.4)
        cluster.trainers[1].kill()
        proxy.cut_all()
        cluster.start_trainer(1)
        self.check_bits(cluster)


if __name__ == "__main__":
    main()
