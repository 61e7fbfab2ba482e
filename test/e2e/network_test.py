"""Five hosts on a switch, 2 pservers and 3 trainers: links that fail, hosts that vanish, names that move.

Sync training ends with the bits of a job that nothing happened to, or as --on_trainer_loss says.
"""
import time
import unittest

from cluster import Process, same_model, write_job
from faults import FULL, RULE, FaultTest
from lossy_hosts import LossyHosts
from lossy_hosts import missing as missing_for_loss
from net_hosts import NetCluster, NetHosts, missing
from support import main

SERVERS, TRAINERS = 2, 3
PASSES = 12
RECORDS = 1500


@unittest.skipIf(missing(), f"needs {missing()}")
class Network(FaultTest):
    calm = {}  # the model of the undisturbed job

    def setUp(self):
        super().setUp()
        self.hosts = NetHosts(self, NetCluster.names(SERVERS, TRAINERS))

    def job(self, *server_flags, flags=()):
        """A job that has begun."""
        def server(i):
            return ["--exit_when_done", f"--snapshot_dir={self.path(f'snapshot{i}')}", "--snapshot_period=50", "--lease_seconds=2", *server_flags]

        job = write_job(self, RULE, records=RECORDS, batch=5)
        cluster = NetCluster(self, self.hosts, job, SERVERS, TRAINERS, server_flags=server,
                             trainer_flags=[f"--num_passes={PASSES}", "--saving_period=1000", "--min_block_size=64", "--log_period=1", *flags])
        return cluster.start()

    def begun(self, *server_flags, **more):
        cluster = self.job(*server_flags, **more)
        self.wait_progress(cluster, RECORDS // TRAINERS * PASSES * 0.2)
        return cluster

    def check_bits(self, cluster, trainers=TRAINERS):
        if not Network.calm:
            reference = NetworkReference("cluster")
            reference.setUp()
            try:
                Network.calm.update(reference.model())
            finally:
                reference.doCleanups()
        try:
            found = cluster.finish()
            for s in cluster.servers:
                s.wait(0)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{cluster.logs()}") from None
        same_model(self, Network.calm, found)

    def pause(self, seconds):
        """How long a fault lasts is what is tested here."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)

    @unittest.skipUnless(FULL, "scripts/test --full runs it")
    def test_a_link_is_cut_for_5_seconds(self):
        cluster = self.begun()
        self.hosts.cut("t1")
        cluster.trainers[0].wait_line(r"waiting for .*trainer 1")
        self.pause(5)
        self.hosts.heal("t1")
        self.check_bits(cluster)

    @unittest.skipUnless(FULL, "scripts/test --full runs it")
    def test_the_link_of_a_pserver_is_cut_for_5_seconds(self):
        cluster = self.begun()
        self.hosts.cut("ps1")
        cluster.trainers[0].wait_line(r"waiting for pserver ps1:7164")
        self.pause(5)
        self.hosts.heal("ps1")
        self.check_bits(cluster)

    def test_one_direction_is_cut(self):
        """The pserver's answers are lost, and its word that it closed the trainer's connection too."""
        cluster = self.begun()
        self.hosts.cut_one_way("ps1", "t2")
        cluster.trainers[2].wait_line(r"waiting for pserver ps1:7164")
        cluster.servers[1].wait_line(r"trainer 2 \(.*is lost: nothing heard")
        self.hosts.heal_one_way("ps1", "t2")
        self.check_bits(cluster)

    @unittest.skipUnless(FULL, "scripts/test --full runs it")
    def test_the_other_direction_is_cut(self):
        """The trainer hears the pserver, which hears nothing and takes it for lost."""
        cluster = self.begun()
        self.hosts.cut_one_way("t2", "ps0")
        cluster.servers[0].wait_line(r"trainer 2 \(.*is lost: nothing heard")
        self.hosts.heal_one_way("t2", "ps0")
        self.check_bits(cluster)

    @unittest.skipUnless(FULL, "scripts/test --full runs it")
    def test_the_switch_goes_down_for_all(self):
        cluster = self.begun()
        self.hosts.switch_off()
        cluster.trainers[0].wait_line(r"waiting for pserver")
        self.pause(3)
        self.hosts.switch_on()
        self.check_bits(cluster)

    def test_a_host_is_gone_for_good_drop(self):
        """The others go on without it, and say so."""
        cluster = self.begun("--on_trainer_loss=drop")
        self.hosts.cut("t2")
        for i in (0, 1):
            cluster.trainers[i].wait(0)
        for server in cluster.servers:
            self.assertRegex(server.log(), r"trainer 2 \(.*is lost: nothing heard")
            server.wait(0)
        self.assertTrue(cluster.trainers[2].running())

    def test_a_host_is_gone_for_good_fail(self):
        cluster = self.begun("--on_trainer_loss=fail")
        self.hosts.cut("t2")
        for i in (0, 1):
            self.assertEqual(cluster.trainers[i].wait(), 7, cluster.trainers[i].log()[-2000:])
            self.assertRegex(cluster.trainers[i].log(), r"trainer 2")

    @unittest.skipUnless(FULL, "scripts/test --full runs it")
    def test_a_host_is_gone_for_good_wait(self):
        """The others wait until their deadline, and name it."""
        cluster = self.begun("--on_trainer_loss=wait", "--peer_timeout=6", flags=["--peer_timeout=6"])
        self.hosts.cut("t2")
        for i in (0, 1):
            cluster.trainers[i].wait(7)
            self.assertRegex(cluster.trainers[i].log(), r"gave up after .*waiting for trainer 2 of 3")

    def test_a_replacement_comes_on_another_host(self):
        """The lost one still runs where it is: nothing of it counts any more."""
        cluster = self.begun("--on_trainer_loss=wait")
        self.hosts.cut("t2")
        lost, again = cluster.trainers[2], Process(self.dir, "again")
        self.addCleanup(again.kill)
        self.addCleanup(lost.kill)
        for server in cluster.servers:
            server.wait_line(r"trainer 2 \(.*is lost: nothing heard")
        again.start(*self.hosts.inside("t1"), *lost.command[len(self.hosts.inside("t2")):])
        cluster.trainers[2] = again
        self.check_bits(cluster)
        self.assertTrue(lost.running())

    def test_a_pserver_gets_another_address(self):
        """The same name and the same snapshots, another address; the old one is dead and answers nobody."""
        cluster = self.begun()
        self.hosts.cut("ps1")
        cluster.servers[1].kill()
        self.hosts.change_address("ps1", "10.77.0.99")
        self.hosts.heal("ps1")
        self.hosts.write_hosts()
        cluster.start_server(1)
        self.check_bits(cluster)


class NetworkReference(Network):
    """The same job, undisturbed, on the same kind of hosts."""

    def model(self):
        return self.job().finish()


@unittest.skipIf(missing() or missing_for_loss(), f"needs {missing() or missing_for_loss()}")
class Packets(FaultTest):
    def test_packets_are_delayed_lost_and_reordered(self):
        """The connections do not break and the job ends with the same bits."""
        flags = ["--num_passes=2"]
        expected = self.cluster("straight-", 1, flags=flags, snapshots=False).run()
        hosts = LossyHosts(self, NetCluster.names(2, 2), seed=12, delay=(0.002, 0.006), loss=0.01, early=0.05)
        straight = self.cluster("lossy-", flags=flags, snapshots=False)
        cluster = NetCluster(self, hosts, straight.job, 2, 2, server_flags=straight.server_flags, trainer_flags=straight.trainer_flags)
        found = cluster.start().finish()
        for server in cluster.servers:
            server.wait(0)
        same_model(self, expected, found)
        self.assertGreater(hosts.counts["lost"], 20, hosts.counts)
        self.assertGreater(hosts.counts["overtaken"], 20, hosts.counts)


def load_tests(loader, tests, pattern):
    """Not those of the reference."""
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (Network, Packets))


if __name__ == "__main__":
    main()
