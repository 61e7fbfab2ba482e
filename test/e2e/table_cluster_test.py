"""Sparse tables on pservers: the same bits however many shards keep them, saved part by part, resumed anywhere."""
import os
import re
import random

from cluster import Cluster, until
from faults import SEEDS, progress_of
from support import EndToEnd, last_number, main
from table_jobs import same_values, table_rows, write_table_job

RULES = ("sgd", "momentum", "adagrad", "adam", "ftrl", "decayed_adagrad", "rmsprop")
FLAGS = ["--num_passes=2", "--log_period=0"]


class TableCluster(EndToEnd):
    def cluster(self, job, servers=2, trainers=1, name="", flags=(), server_flags=(), **more):
        return Cluster(self, job, servers, trainers, name=name, server_flags=["--exit_when_done", *server_flags],
                       trainer_flags=[*FLAGS, *flags], **more)

    def local(self, job, *flags, name="local"):
        self.train(job, *FLAGS, f"--save_dir={name}", *flags)
        return self.files(self.path(name, sorted(os.listdir(self.path(name)))[-1]))


class SameBits(TableCluster):
    def test_one_trainer_equals_a_local_run(self):
        """Every rule. A local run fuses sgd of the dense layer into its gradient, which rounds otherwise."""
        for rule in RULES:
            with self.subTest(rule):
                job = write_table_job(self, rule)
                local = self.local(job, name=f"local-{rule}")
                self.assertGreater(len(table_rows(local["emb.table"])), 200)
                found = self.cluster(job, name=f"{rule}-").run()
                if rule == "sgd":  # one step of training apart, not one bit
                    self.assertEqual(sorted(table_rows(local["emb.table"])), sorted(table_rows(found["emb.table"])))
                else:
                    same_values(self, local, found)

    def test_any_number_of_shards_and_trainers(self):
        for trainers in (2, 3):
            job = write_table_job(self, "adagrad", records=970)
            first = None
            for servers, ports in ((1, 1), (2, 1), (1, 5)):
                with self.subTest(f"{trainers} trainers, {servers} pservers of {ports} ports"):
                    found = self.cluster(job, servers, trainers, f"{trainers}x{servers}x{ports}-", ports_num=ports).run()
                    first = first or found
                    same_values(self, first, found)

    def test_is_sparse_alone_is_an_array(self):
        """As Fluid has it: the first values are those of the startup program, and the model has one file per variable."""
        for rule, options in (("adagrad", ""), ("adam", ', "lazy_mode": true'), ("sgd", "")):
            with self.subTest(rule):
                job = write_table_job(self, rule, "[500, 8]", kind="is_sparse", options=options, low=0, high=499)
                local = self.local(job, name=f"local-{rule}")
                one = self.cluster(job, 2, 1, f"one-{rule}-")
                found = one.run()
                self.assertIn("emb", found)
                self.assertNotIn("emb.table", found)
                if rule != "sgd":
                    same_values(self, local, found)
                two = self.cluster(job, 1, 2, f"a-{rule}-").run()
                same_values(self, two, self.cluster(job, 2, 2, f"b-{rule}-", ports_num=2).run())
                log = one.trainers[0].log(whole=True)
                self.assertNotIn("is sent whole", log)

    def test_every_mode_learns(self):
        """The model that is saved is the one that was tested while it trained."""
        for mode, flags in (("sync", []), ("async", ["--async"]), ("half_async", ["--half_async"])):
            with self.subTest(mode):
                job = write_table_job(self, "adagrad", batch=20)
                cluster = self.cluster(job, 2, 2, f"{mode}-", flags=[*flags, "--num_passes=6"])
                cluster.run()
                shown = last_number(cluster.trainers[0].log(whole=True), r"Test samples=1000 .*auc=")
                done = self.train(job, "--job=test", f"--init_model_path={cluster.save_dir}/pass-00005")
                tested = last_number(done.stdout + done.stderr, "auc=")
                self.assertGreater(shown, 0.75)
                self.assertAlmostEqual(tested, shown, delta=1e-6)


class Saved(TableCluster):
    def test_resumed_on_another_number_of_pservers(self):
        for rule in ("adam", "adagrad"):
            job = write_table_job(self, rule)
            whole = self.cluster(job, 2, 2, f"{rule}-whole-", ["--num_passes=4"]).run()
            start = self.cluster(job, 2, 2, f"{rule}-start-")
            start.run()
            model = f"--init_model_path={start.save_dir}/pass-00001"
            for servers in (1, 3, 5):
                with self.subTest(f"{rule} on {servers}"):
                    more = self.cluster(job, servers, 2, f"{rule}-{servers}-", ["--num_passes=4", model, "--seed=1"])
                    same_values(self, whole, more.run())

    def test_a_local_run_goes_on_and_back(self):
        job = write_table_job(self, "adam")
        whole = self.local(job, "--num_passes=4", name="whole")
        start = self.cluster(job, 3, 1, "start-")
        start.run()
        local = self.local(job, "--num_passes=3", f"--init_model_path={start.save_dir}/pass-00001", name="middle")
        self.assertEqual(len(table_rows(local["emb.table"])), len(table_rows(whole["emb.table"])))
        end = self.cluster(job, 2, 1, "end-", ["--num_passes=4", f"--init_model_path={self.path('middle', 'pass-00002')}"])
        same_values(self, whole, end.run())

    def test_a_damaged_table_is_refused(self):
        job = write_table_job(self, "adagrad")
        start = self.cluster(job, 1, 1, "start-")
        start.run()
        table = os.path.join(start.save_dir, "pass-00001", "emb.table")
        os.truncate(table, os.path.getsize(table) // 2)
        more = self.cluster(job, 1, 1, "more-", ["--num_passes=4", f"--init_model_path={start.save_dir}/pass-00001"])
        more.start()
        self.assertNotEqual(more.trainers[0].wait(), 0)
        self.assertIn("emb.table", more.trainers[0].log(whole=True))

    def test_a_full_disk_while_saving(self):
        job = write_table_job(self, "adagrad", "[-1, 64]")
        cluster = self.cluster(job, 1, 1, "full-", ["--num_passes=1", "--save_dir=/dev/full/out"])
        cluster.start()
        self.assertNotEqual(cluster.trainers[0].wait(), 0)
        self.assertIn("/dev/full/out", cluster.trainers[0].log(whole=True))


class Kills(TableCluster):
    """kill -9 of every process at a random moment: the same bits."""

    def long_job(self, name, **more):
        job = write_table_job(self, "adagrad", batch=10, records=2000)
        def server(i):
            return ["--exit_when_done", f"--snapshot_dir={self.path(f'{name}snapshots{i}')}", "--snapshot_period=100"]
        return Cluster(self, job, 2, 2, name=name, server_flags=server,
                       trainer_flags=["--num_passes=12", "--saving_period=1000", "--log_period=1", "--test_period=1000000"], **more)

    def test_each_process(self):
        expected = self.long_job("calm-").run()
        samples = 1000 * 12
        for seed in SEEDS:
            with self.subTest(seed=seed):
                r = random.Random(seed)
                cluster = self.long_job(f"kill{seed}-").start()
                victims = [("server", 0), ("server", 1), ("trainer", 0), ("trainer", 1)]
                r.shuffle(victims)
                for k, (kind, i) in enumerate(victims):
                    watched = cluster.trainers[1 if (kind, i) == ("trainer", 0) else 0]
                    goal = samples * (k * 15 + r.uniform(3, 15)) / 100
                    until(lambda: progress_of(watched) >= goal or not watched.running(), cluster.logs)
                    self.assertTrue(watched.running(), cluster.logs())
                    (cluster.servers if kind == "server" else cluster.trainers)[i].kill()
                    (cluster.start_server if kind == "server" else cluster.start_trainer)(i)
                found = cluster.finish()
                same_values(self, expected, found)
                steps = re.findall(r"go back to step (\d+)", cluster.logs())
                self.assertNotIn("0", steps)
                cluster.close()


if __name__ == "__main__":
    main()
