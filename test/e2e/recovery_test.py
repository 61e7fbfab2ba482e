"""What a job and its trainers recover from without help, and what must end with a sentence instead of a wait."""
import os
import re
import shutil
import signal
import time

from cable import Cable, token_flag
from cluster import Cluster, Process, write_job
from faults import SAMPLES, FaultTest
from freezer import Freezer
from support import EndToEnd, main


class Identity(FaultTest):
    """Who is who, when the network hides who is gone: nobody is refused because of its own past, or for a predecessor that vanished."""

    def behind_freezer(self, name, trainer=1, **more):
        """A cluster of which one trainer has its own way to the pservers."""
        freezer = Freezer()
        self.addCleanup(freezer.close)
        cluster = self.cluster(name, **more)
        plain = cluster.cluster_flags
        def flags(i):
            if i != trainer or not cluster.hidden:
                return plain(i)
            ways = ",".join(f"127.0.0.1:{freezer.port_for(port)}" for ports in cluster.ports for port in ports)
            return [f"--pservers={ways}", *plain(i)[1:]]
        cluster.cluster_flags, cluster.hidden = flags, True
        return cluster, freezer

    def test_a_trainer_and_its_own_past(self):
        """One pserver ended its lease, and the other, whose leases are long, still takes its old connections for open: it joins again."""
        cluster, freezer = self.behind_freezer("past-", server_flags=lambda i: [f"--lease_seconds={(2, 300)[i]}"])
        cluster.start()
        self.wait_progress(cluster, SAMPLES * 0.2)
        first, second = (ports[0] for ports in cluster.ports)
        freezer.hold_ends(second)
        freezer.freeze(first)
        cluster.servers[0].wait_line(r"trainer 1 \(.*is lost: nothing heard")
        freezer.release(first)
        self.check_bits(cluster)

    def test_a_replacement_for_one_that_vanished(self):
        """The pservers get no sign that its machine is gone: the next one waits until the lease ends, says so, and joins."""
        cluster, freezer = self.behind_freezer("gone-", server_flags=["--lease_seconds=6"])
        cluster.start()
        self.wait_progress(cluster, SAMPLES * 0.2)
        gone = cluster.trainers[1].pid
        freezer.freeze(*(port for ports in cluster.ports for port in ports))
        cluster.trainers[1].kill()
        cluster.hidden = False
        begin = time.monotonic()
        cluster.start_trainer(1).wait_line(rf"trainer 1 is \S+:{gone}, silent for .*joins when its lease ends, in \d+ s")
        cluster.trainers[1].wait_line("joined as trainer 1 of 2")
        self.assertLess(time.monotonic() - begin, 60)
        self.check_bits(cluster)


class Partition(FaultTest):
    """A cable is pulled: trainer 1 has a network of its own, and its only link to the pservers goes down and comes up again."""

    def setUp(self):
        super().setUp()
        self.cable = Cable(self)

    def parted(self, name, *server_flags, flags=()):
        """The job trains, and trainer 1 is cut off without a word."""
        token = token_flag(self)
        cluster = self.cluster(name, server_flags=[f"--host={self.cable.address}", "--lease_seconds=2", token, *server_flags],
                               flags=[token, *flags])
        self.cable.start(cluster)
        self.wait_progress(cluster, SAMPLES * 0.2)
        self.cable.pull()
        for s in cluster.servers:
            s.wait_line(r"trainer 1 \(.*is lost: nothing heard")
        return cluster

    def test_the_trainer_joins_again_when_the_link_is_back(self):
        cluster = self.parted("link-")
        cluster.trainers[0].wait_line(r"waiting for .*trainer 1")
        self.cable.plug()
        self.check_bits(cluster)

    def test_a_replacement_on_this_side_takes_over(self):
        """The one that was cut off finds its id taken, or the job over, when the link is back, and ends."""
        cluster = self.parted("other-", flags=["--peer_timeout=20"])
        cut_off = cluster.trainers[1]
        cluster.before_trainer = []
        cluster.trainers[1] = Process(self.dir, "other-trainer1b")
        cluster.start_trainer(1).wait_line("joined as trainer 1 of 2")
        self.addCleanup(cut_off.kill)
        self.cable.plug()
        self.check_bits(cluster)
        self.assertIn(cut_off.wait(), (2, 7), cut_off.log())

    def test_those_on_the_other_side_end_by_their_deadline(self):
        cluster = self.parted("ends-", "--peer_timeout=4")
        cluster.trainers[0].wait(7)
        self.assertRegex(cluster.trainers[0].log(), r"gave up after .*waiting for trainer 1 of 2: lost")


class Deadlines(FaultTest):
    """Every wait ends: with exit code 7, and the name of whom it was for."""

    def test_a_pserver_that_stands_still(self):
        cluster = self.cluster("still-", flags=["--peer_timeout=7"]).start()
        self.wait_progress(cluster, SAMPLES * 0.2)
        cluster.servers[1].signal(signal.SIGSTOP)
        self.addCleanup(lambda: cluster.servers[1].signal(signal.SIGCONT))
        begin = time.monotonic()
        for i, t in enumerate(cluster.trainers):
            t.wait(7)
            self.assertRegex(t.log(), rf"pserver 127.0.0.1:{cluster.ports[1][0]} has not answered for \d+ s \(--peer_timeout")
            # What a pserver said before it stood still is no news: nobody waits for itself.
            self.assertNotRegex(t.log(), rf"waiting for .*which is waiting for trainer {i} ")
        self.assertLess(time.monotonic() - begin, 40)

    def test_a_trainer_that_never_comes(self):
        cluster = self.cluster("never-", server_flags=["--peer_timeout=3"])
        for i in range(2):
            cluster.start_server(i)
        for i in range(2):
            cluster.await_server(i)
        first = cluster.start_trainer(0)
        first.wait(7)
        self.assertRegex(first.log(), r"gave up after \S+ s? ?\(--peer_timeout\): waiting for trainer 1 of 2: not joined yet")


class Copies(FaultTest):
    def test_a_snapshot_that_is_a_copy_of_another(self):
        """It is set aside, and the job goes on from an older one: not back to the same step for ever."""
        cluster = self.cluster("copy-").start()
        self.wait_progress(cluster, SAMPLES * 0.4)
        cluster.servers[1].kill()
        root = self.path("copy-snapshots1", "shard-0")
        oldest, *_, newest = sorted(n for n in os.listdir(root) if re.fullmatch(r"step-\d+", n))
        shutil.rmtree(os.path.join(root, newest))
        shutil.copytree(os.path.join(root, oldest), os.path.join(root, newest))
        cluster.start_server(1).wait_line(rf"{newest}' is that of step {int(oldest[5:])}: somebody copied or renamed it")
        self.check_bits(cluster)


class Late(EndToEnd):
    """Pservers that go on after a job."""

    def finished_job(self, *flags):
        cluster = Cluster(self, write_job(self), 2, 2, trainer_flags=["--num_passes=2", "--log_period=0", "--min_block_size=64", *flags])
        cluster.start().finish()
        for s in cluster.servers:
            s.wait_line("the job 'default' is done")
        return cluster

    def test_a_trainer_that_comes_after_the_end(self):
        cluster = self.finished_job()
        late = cluster.start_trainer(1)
        late.wait_line(r"the job 'default' ended \d+ s ago; a new one begins when all 2 trainers are started again \(1 is here\)")
        late.wait(2)
        self.assertRegex(late.log(), r"refused: the job 'default' ended \d+ s ago, and this trainer came too late for it; .*--new_job or another --job_name")

    def test_the_same_command_for_all_is_a_new_start(self):
        cluster = self.finished_job()
        for i in (1, 0):
            cluster.start_trainer(i)
        cluster.finish()

    def test_a_new_job_begins_at_once(self):
        cluster = self.finished_job()
        cluster.start_trainer(1, "--new_job").wait_line(r"waiting for .*trainer 0 of 2: not joined yet")
        cluster.start_trainer(0)
        cluster.finish()


if __name__ == "__main__":
    main(at_once=6)
