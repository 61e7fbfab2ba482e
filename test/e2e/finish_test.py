"""The end of a sync job: some or all trainers have finished, and then something dies. The model has the bits of an undisturbed run."""
import os
import signal

from cluster import same_model, write_job
from faults import PASSES, RECORDS, RULE, SAMPLES, FaultTest
from proxy import Plan, Proxy
from support import main


class UnevenTest(FaultTest):
    def uneven(self, short, name, **more):
        """A cluster whose trainer `short` has a tenth of the data of the other."""
        cluster = self.cluster(name, **more)
        few = write_job(self, RULE, records=RECORDS // 10, batch=5, name="few.json", data="few.csv")
        many = cluster.job
        cluster.job = lambda i: few if i == short else many
        return cluster


class Finished(UnevenTest):
    """Trainer 1 has a tenth of the data: it is done early, stays, and is there when the job has to go back."""

    calm = None

    def check(self, cluster):
        if Finished.calm is None:
            Finished.calm = self.uneven(1, "calm-", servers=1, snapshots=False).run()
        try:
            same_model(self, Finished.calm, cluster.finish())
        except AssertionError as e:
            raise AssertionError(f"{e}\n{cluster.logs()}") from None

    def waiting(self, name, **more):
        """Trainer 1 has finished and waits for trainer 0, who is in the middle of its work."""
        cluster = self.uneven(1, name, **more).start()
        for s in cluster.servers:
            s.wait_line(r"trainer 1 \(.*has finished")
        self.wait_progress(cluster, SAMPLES * 0.4)
        return cluster

    def test_a_pserver_is_killed(self):
        for snapshots in (True, False):
            with self.subTest(snapshots=snapshots):
                cluster = self.waiting(f"server-{snapshots}-", snapshots=snapshots)
                cluster.servers[1].kill()
                cluster.start_server(1)
                self.check(cluster)

    def test_the_finished_trainer_is_killed(self):
        cluster = self.waiting("trainer-")
        cluster.trainers[1].kill()
        cluster.start_trainer(1)
        self.check(cluster)

    def test_its_connections_are_cut(self):
        proxy = Proxy(Plan(9, faults=0))
        self.addCleanup(proxy.close)
        cluster = self.waiting("cut-", through=proxy)
        proxy.cut_all()
        self.check(cluster)


class Dropped(FaultTest):
    """`drop`, and the lost one is trainer 0, which alone saves."""

    def test_the_others_end_the_job(self):
        cluster = self.cluster("first-", server_flags=["--on_trainer_loss=drop", "--reconnect_seconds=0", "--lease_seconds=2"], saving_period=1)
        cluster.start()
        self.wait_progress(cluster, SAMPLES * 0.2)
        cluster.trainers[0].kill()
        cluster.trainers[1].wait(0)
        for s in cluster.servers:
            s.wait(0)
            self.assertIn("there is no model of the end of this job", s.log())
        saved = sorted(name for name in os.listdir(cluster.save_dir) if name.startswith("pass-"))
        self.assertEqual(saved[0], "pass-00000")
        self.assertLess(saved[-1], f"pass-{PASSES - 1:05d}")


class Saving(UnevenTest):
    """Trainer 0 has a tenth of the data. All have finished, and it has not saved yet: the others are still there when a pserver fails."""

    def test_a_pserver_is_killed(self):
        for snapshots in (True, False):
            with self.subTest(snapshots=snapshots):
                cluster = self.finished(f"save-{snapshots}-", snapshots=snapshots)
                cluster.servers[1].kill()
                cluster.start_server(1)
                cluster.trainers[0].signal(signal.SIGCONT)
                self.check(cluster)
                for s in cluster.servers:
                    s.wait(0)

    def test_trainer_0_is_killed(self):
        """The others wait for it, and it saves when it is back."""
        cluster = self.finished("again-")
        cluster.trainers[0].kill()
        cluster.trainers[1].wait_line(r"waiting for trainer 0 to save")
        cluster.start_trainer(0)
        self.check(cluster)

    def test_trainer_0_does_not_return(self):
        cluster = self.finished("never-", server_flags=["--peer_timeout=6"])
        cluster.trainers[0].kill()
        cluster.trainers[1].wait(7)
        self.assertIn("trainer 0 has finished, and went away before it saved", cluster.trainers[1].log())

    def check(self, cluster):
        calm = self.uneven(0, "calm-", servers=1, snapshots=False).run()
        same_model(self, calm, cluster.finish(), cluster.logs())

    def finished(self, name, **more):
        """All pservers know that all have finished, and trainer 0 stands still."""
        cluster = self.uneven(0, name, **more).start()
        for s in cluster.servers:
            s.wait_line(r"trainer 0 \(.*has finished")
        cluster.trainers[0].signal(signal.SIGSTOP)
        for s in cluster.servers:
            s.wait_line(r"trainer 1 \(.*has finished")
        return cluster


if __name__ == "__main__":
    main()
