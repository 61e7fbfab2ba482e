"""Sparse tables on pservers: the same bits however many shards keep them, saved part by part, resumed anywhere."""
import glob
import os
import random
import re
import struct
import subprocess

from cluster import Cluster, until
from faults import SEEDS, progress_of
from support import CONFIGS, EndToEnd, last_number, main
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


    def small_disk(self, where, size):
        os.mkdir(where)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", where], capture_output=True).returncode:
            self.skipTest("a small file system needs root and mount")
        self.addCleanup(subprocess.run, ["umount", "-l", where])


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

    def test_shared_memory_or_tcp(self):
        """Where one side does not share memory, the other one uses its port."""
        job = write_table_job(self, "adagrad", records=970)
        first, own = None, ["--shared_memory=false"]
        for name, flags, server_flags in (("both", [], []), ("none", own, own), ("trainers", [], own), ("pservers", own, [])):
            with self.subTest(name):
                cluster = self.cluster(job, 2, 2, f"{name}-", flags=[*flags, "--v=1"], server_flags=server_flags)
                found = cluster.run()
                first = first or found
                same_values(self, first, found)
                self.assertEqual(name == "both", "through shared memory" in cluster.trainers[0].log(whole=True))

    def test_rows_of_the_next_batch(self):
        """Asked for before their step or not: the same bits in sync. Geo has no use for it."""
        job = write_table_job(self, "adagrad", records=970)
        first = None
        for name, flags in (("ahead", []), ("late", ["--rows_ahead=false"]), ("async", ["--async"]), ("geo", ["--geo_steps=2"])):
            with self.subTest(name):
                cluster = self.cluster(job, 2, 2, f"{name}-", flags=[*flags, "--v=1"])
                found = cluster.run()
                first = first or found
                if name == "late":
                    same_values(self, first, found)
                for t in cluster.trainers:
                    self.assertEqual(name in ("ahead", "async"), "were asked for before their step" in t.log(whole=True))

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
        for mode, flags in (("sync", []), ("async", ["--async"]), ("half_async", ["--half_async"]),
                            ("geo", ["--geo_steps=5"])):
            with self.subTest(mode):
                job = write_table_job(self, "adagrad", batch=20)
                cluster = self.cluster(job, 2, 2, f"{mode}-", flags=[*flags, "--num_passes=6"])
                cluster.run()
                shown = last_number(cluster.trainers[0].log(whole=True), r"Test samples=1000 .*auc=")
                done = self.train(job, "--job=test", f"--init_model_path={cluster.save_dir}/pass-00005")
                tested = last_number(done.stdout + done.stderr, "auc=")
                self.assertGreater(shown, 0.75)
                self.assertAlmostEqual(tested, shown, delta=1e-6)

    def test_geo_of_one_trainer_is_a_local_run(self):
        """But for rounding, and for the optimizer's state, which stays in the trainer. Every rule keeps its state between exchanges."""
        for rule in ("adagrad", "adam"):
            with self.subTest(rule):
                job = write_table_job(self, rule)
                local = self.local(job, name=f"local-{rule}")
                found = self.cluster(job, 2, 1, f"geo-{rule}-", flags=["--geo_steps=3"]).run()
                a, b = table_rows(local["emb.table"]), table_rows(found["emb.table"])
                self.assertEqual(sorted(a), sorted(b))
                for row in a:
                    for x, y in zip(struct.unpack_from("<8f", a[row]), struct.unpack_from("<8f", b[row])):
                        self.assertAlmostEqual(x, y, delta=2e-3, msg=f"row {row}")

    def test_geo_that_forgets(self):
        """Rows that do not fit into the trainer's memory are counted in its log; where all fit, nothing is said."""
        job = write_table_job(self, "adagrad", batch=10, records=2000, count=20000)
        for memory, forgets in (("1m", True), ("1g", False)):
            cluster = self.cluster(job, 2, 1, f"{memory}-", flags=["--geo_steps=3", f"--geo_memory={memory}"])
            cluster.run()
            said = re.findall(r"has forgotten (\d+) more rows", cluster.trainers[0].log(whole=True))
            self.assertEqual(bool(said), forgets)
            self.assertLessEqual(len(said), 2)  # 400 steps

    def test_geo_of_an_array(self):
        """With is_sparse alone: the array of the model is the shards', and a table of one trainer equals a local run."""
        job = write_table_job(self, "adagrad", "[500, 8]", kind="is_sparse", low=0, high=499)
        local = self.local(job)
        one = self.cluster(job, 2, 1, "one-", flags=["--geo_steps=3"])
        found = one.run()
        self.assertNotIn("is sent whole", one.trainers[0].log(whole=True))
        self.assertEqual(sorted(local), sorted(found))
        a, b = (memoryview(m["emb"][-500 * 8 * 4:]).cast("f") for m in (local, found))
        for x, y in zip(a, b):
            self.assertAlmostEqual(x, y, delta=2e-3)

    def test_ctr_dnn_in_geo(self):
        """The click model of the guide on a generated log: as good as in async."""
        config = os.path.join(CONFIGS, "ctr_dnn.json")
        auc = {}
        for mode, flags in (("async", ["--async"]), ("geo", ["--geo_steps=10"])):
            flags = [*flags, "--num_passes=1", "--config_args=hash_size=20011,records=40000"]
            cluster = self.cluster(config, 2, 2, f"{mode}-", flags=flags).start()
            for process in cluster.trainers + cluster.servers:
                process.wait(0, 300)
            auc[mode] = last_number(cluster.trainers[0].log(whole=True), r"Test samples=20000 .*auc=")
        self.assertGreater(auc["geo"], 0.75)
        self.assertGreater(auc["geo"], auc["async"] - 0.01)

    def test_geo_refuses_admission(self):
        job = write_table_job(self, "adagrad", keys=', "min_count": 3')
        done = self.paddle("trainer", f"--config={job}", "--pservers=127.0.0.1:1", "--geo_steps=3", check=None)
        self.refused(done, 2, "the table 'emb' has min_count, and geo cannot keep ids waiting for a row")


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
        """In the middle of the table: the trainer says so, no model appears, and the next trainer goes on where there is room."""
        job = write_table_job(self, "adagrad", "[-1, 512]")
        self.small_disk(self.path("full-out"), "500k")
        calm = self.cluster(job, 1, 1, "calm-", ["--num_passes=1"]).run()
        self.assertGreater(len(calm["emb.table"]), 1000000)
        cluster = self.cluster(job, 1, 1, "full-", ["--num_passes=1"]).start()
        self.assertNotEqual(cluster.trainers[0].wait(), 0)
        self.assertRegex(cluster.trainers[0].log(), r"cannot write '.*full-out/.*emb\.table': No space left on device")
        self.assertEqual(glob.glob(cluster.save_dir + "/pass-*/done"), [])
        subprocess.run(["mount", "-o", "remount,size=10m", cluster.save_dir], check=True)
        cluster.start_trainer(0)
        # The new trainer's auc counts nothing of the pass.
        same_values(self, calm, cluster.finish(), [n for n in calm if n.startswith("_generated_var_")])


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


class Changes(TableCluster):
    """Snapshots that hold what changed since the one before."""

    def job(self, name, where=None, servers=2, flags=()):
        job = write_table_job(self, "adagrad", batch=10, records=2000, count=20000)
        def server(i):
            return ["--exit_when_done", f"--snapshot_dir={where or self.path(name + 'snapshots')}/{i}", "--snapshot_period=20"]
        return Cluster(self, job, servers, 2, name=name, server_flags=server, trainer_flags=[
            "--num_passes=6", "--saving_period=1000", "--log_period=1", "--test_period=1000000", *flags])

    def newest(self, name, server, dumps=2):
        """The newest snapshot of a killed pserver, where it has so many dumps of changes."""
        found = [os.path.dirname(p) for p in glob.glob(self.path(name + "snapshots", str(server), "shard-0", "step-" + 12 * "[0-9]", "done"))]
        return max(found) if found and os.path.exists(f"{max(found)}/table-0.{dumps}") else None

    def kill_in_chain(self, cluster, name, samples):
        """kill -9 of pserver 0 when its newest snapshot holds changes of changes; the directory of that one."""
        watched = cluster.trainers[0]
        until(lambda: progress_of(watched) >= samples and self.newest(name, 0) or not watched.running(), cluster.logs)
        cluster.servers[0].kill()
        while self.newest(name, 0) is None:  # it was about to write a whole one
            cluster.start_server(0)
            until(lambda: self.newest(name, 0) or not watched.running(), cluster.logs)
            self.assertTrue(watched.running(), cluster.logs())
            cluster.servers[0].kill()
        return self.newest(name, 0)

    def test_resumed_elsewhere(self):
        """The model of 2 pservers, one of which came back from a chain of changes, goes on with 1, 3 and 5; there again one comes
        back from a chain."""
        expected = self.job("calm-", flags=["--num_passes=10"]).run()
        start = self.job("start-").start()
        self.kill_in_chain(start, "start-", 2500)
        start.start_server(0)
        start.servers[0].wait_line(r"restored the snapshot of step (\d+)")
        start.finish()
        model = f"--init_model_path={start.save_dir}/pass-00005"
        for servers in (1, 3, 5):
            with self.subTest(servers=servers):
                name = f"on{servers}-"
                more = self.job(name, servers=servers, flags=["--num_passes=10", model, "--seed=1"]).start()
                self.kill_in_chain(more, name, 1000)
                more.start_server(0)
                more.servers[0].wait_line(r"restored the snapshot of step (\d+)")
                same_values(self, expected, more.finish())
                more.close()

    def test_kill_and_damage(self):
        expected = self.job("calm-").run()
        truncate = lambda d: os.truncate(f"{d}/table-0.2", os.path.getsize(f"{d}/table-0.2") - 100)
        def change(d):  # found while its rows are read
            with open(f"{d}/table-0.2", "r+b") as f:
                f.seek(-3, os.SEEK_END)
                byte = f.read(1)
                f.seek(-3, os.SEEK_END)
                f.write(bytes([byte[0] ^ 1]))
        for kind, damage in (("whole", None), ("truncated", truncate), ("changed", change),
                             ("missing", lambda d: os.unlink(f"{d}/table-0.1"))):
            with self.subTest(kind):
                name = kind + "-"
                cluster = self.job(name).start()
                directory = self.kill_in_chain(cluster, name, 2500)
                if damage:
                    damage(directory)
                cluster.start_server(0)
                line = cluster.servers[0].wait_line(
                    r"the snapshot of step (\d+) cannot be used: .*" if damage else r"restored the snapshot of step (\d+)")
                self.assertEqual(int(line), int(directory.rsplit("-", 1)[1]))
                same_values(self, expected, cluster.finish())
                set_aside = f"the damaged snapshot of step {line} is now" in cluster.servers[0].log(whole=True)
                self.assertEqual(set_aside, damage is not None, cluster.servers[0].log(whole=True))
                cluster.close()

    def test_full_disk(self):
        """Snapshots that do not fit any more are left out with a sentence; the job goes on."""
        where = self.path("small")
        self.small_disk(where, "800k")
        expected = self.job("calm-").run()
        cluster = self.job("full-", where).start()
        cluster.servers[0].wait_line(r"there is no snapshot of step \d+: cannot write .*[Nn]o space left")
        same_values(self, expected, cluster.finish())


if __name__ == "__main__":
    main()
