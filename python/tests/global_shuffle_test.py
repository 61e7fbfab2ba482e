"""Records of the workers of a job: divided anew by global_shuffle; and files that a command brings."""
import contextlib
import io
import os
import tempfile
import unittest

import numpy as np

import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base.fleet_base import Fleet
from paddle.fluid.incubate.fleet.base.role_maker import Role, UserDefinedRoleMaker


def fleet_of(worker, workers):
    fleet = Fleet()
    fleet.init(UserDefinedRoleMaker(current_id=worker, role=Role.WORKER, worker_num=workers,
                                    server_endpoints=["127.0.0.1:7164"]))
    return fleet


class GlobalShuffle(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(fluid.program_guard(fluid.Program(), fluid.Program()))
        self.enterContext(fluid.unique_name.guard())
        self.x = fluid.layers.data(name="x", shape=[1], dtype="int64")
        self.files = []
        for f in range(7):
            self.files.append(os.path.join(self.dir, f"part-{f}"))
            with open(self.files[-1], "w", encoding="ascii") as file:
                for i in range(100):
                    print(1, 1000 * f + i, file=file)

    def dataset(self, files, command="cat"):
        d = fluid.DatasetFactory().create_dataset("InMemoryDataset")
        d.set_use_var([self.x])
        d.set_batch_size(16)
        d.set_thread(2)
        d.set_filelist(files)
        d.set_pipe_command(command)
        return d

    @staticmethod
    def records(d):
        return [int(v) for _, feed in d._batches() for v in np.array(feed["x"]).reshape(-1)]

    def shuffled(self, workers, command="cat"):
        """Fleet and data set of each worker, after one global shuffle."""
        out = []
        for w in range(workers):
            fleet = fleet_of(w, workers)
            d = self.dataset(fleet.split_files(self.files), command)
            d.load_into_memory()
            d.global_shuffle(fleet)
            out.append((fleet, d))
        return out

    def test_every_record_goes_to_one_worker(self):
        for workers in (2, 3, 5):
            for command in ("cat", "cat -"):
                with self.subTest(workers=workers, command=command):
                    jobs = self.shuffled(workers, command)
                    parts = [self.records(d) for _, d in jobs]
                    self.assertEqual(sorted(sum(parts, [])), sorted(1000 * f + i for f in range(7) for i in range(100)))
                    for part in parts:
                        self.assertGreater(len(part), 700 / workers * 0.7)
                        self.assertEqual({r // 1000 for r in part}, set(range(7)))  # of all files
                        self.assertNotEqual(part, sorted(part))

    def test_each_call_divides_anew_and_all_workers_agree(self):
        jobs = self.shuffled(2)
        first = [set(self.records(d)) for _, d in jobs]
        for fleet, d in jobs:
            d.global_shuffle(fleet)
        second = [set(self.records(d)) for _, d in jobs]
        self.assertNotEqual(first[0], second[0])
        self.assertFalse(second[0] & second[1])
        self.assertEqual(len(second[0] | second[1]), 700)

    def test_records_of_one_id_meet(self):
        """Halves of a record that different workers have read are merged."""
        y = fluid.layers.data(name="y", shape=[1], dtype="int64")
        halves = [os.path.join(self.dir, f"half-{k}") for k in range(2)]
        for k, path in enumerate(halves):
            with open(path, "w", encoding="ascii") as file:
                for i in range(1, 201):
                    print(1, f"id-{i}", *((1, i, 1, 0) if k == 0 else (1, 0, 1, i + 5000)), file=file)
        found = []
        for w in range(2):
            fleet = fleet_of(w, 2)
            d = self.dataset(fleet.split_files(halves))
            d.set_use_var([y])
            d.set_merge_by_lineid(2)
            d.load_into_memory()
            d.global_shuffle(fleet)
            own = [pair for _, feed in d._batches() for pair in zip(np.array(feed["x"]).reshape(-1).tolist(),
                                                                    np.array(feed["y"]).reshape(-1).tolist())]
            self.assertGreater(len(own), 50)
            found += own
        self.assertEqual(sorted(found), [(i, i + 5000) for i in range(1, 201)])

    def test_sizes(self):
        fleet = fleet_of(0, 2)
        d = self.dataset(fleet.split_files(self.files))
        d.load_into_memory()
        self.assertEqual(d.get_memory_data_size(), 400)
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(d.get_memory_data_size(fleet), 400)
        self.assertIn("worker 0 alone", err.getvalue())
        d.global_shuffle(fleet)
        self.assertEqual(d.get_shuffle_data_size(fleet), 700)
        self.assertEqual(d.get_memory_data_size(fleet), 700)
        self.assertEqual(d.get_memory_data_size(), len(self.records(d)))
        alone = fleet_of(0, 1)
        d.load_into_memory()
        self.assertEqual(d.get_memory_data_size(alone), 400)
        d.release_memory()
        with self.assertRaisesRegex(RuntimeError, "holds no records"):
            d.get_memory_data_size()

    def test_a_list_that_nobody_split_stays(self):
        fleet = fleet_of(1, 2)
        d = self.dataset(self.files[:2])
        d.load_into_memory()
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            d.global_shuffle(fleet)
        self.assertIn("fleet.split_files(all_files)", err.getvalue())
        self.assertEqual(sorted(self.records(d)), [1000 * f + i for f in range(2) for i in range(100)])

    def test_without_fleet_it_is_local(self):
        d = self.dataset(self.files[:1])
        d.load_into_memory()
        d.global_shuffle()
        self.assertEqual(sorted(self.records(d)), list(range(100)))

    def test_a_file_that_is_gone(self):
        fleet = fleet_of(0, 2)
        d = self.dataset(fleet.split_files(self.files))
        d.load_into_memory()
        os.remove(self.files[6])  # of the other worker
        with self.assertRaisesRegex(OSError, "part-6"):
            d.global_shuffle(fleet)

    def test_sums_over_workers(self):
        total = [0, 0]
        self.assertTrue(fleet_of(0, 1)._role_maker.all_reduce_worker([3, 4], total))
        self.assertEqual(total, [3, 4])
        self.assertFalse(fleet_of(0, 2)._role_maker.all_reduce_worker([5, 6], total))
        self.assertEqual(total, [3, 4])
        with self.assertRaisesRegex(ValueError, "sum, min or max"):
            fleet_of(0, 1)._role_maker.all_reduce_worker([1], [0], "mean")


class FarFiles(GlobalShuffle):
    """Files of a distributed file system, which a command prints."""

    def setUp(self):
        super().setUp()
        hadoop = os.path.join(self.dir, "hadoop")
        with open(hadoop, "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\necho "$@" >> {self.dir}/calls\nfor last; do :; done\n'
                    f'exec cat "{self.dir}/$(basename "$last")"\n')
        os.chmod(hadoop, 0o755)
        self.before = os.environ["PATH"]
        os.environ["PATH"] = self.dir + ":" + self.before
        self.addCleanup(os.environ.__setitem__, "PATH", self.before)
        self.local, self.files = self.files, ["hdfs:/logs/" + os.path.basename(f) for f in self.files]

    def test_a_file_that_is_gone(self):
        fleet = fleet_of(0, 2)
        d = self.dataset(fleet.split_files(self.files))
        d.load_into_memory()
        os.remove(self.local[6])
        with self.assertRaisesRegex(ValueError, "part-6"):
            d.global_shuffle(fleet)

    def test_the_command_gets_the_configuration(self):
        d = self.dataset(self.files[:1])
        d.set_hdfs_config("hdfs://host:9000", "me,secret")
        d.load_into_memory()
        self.assertEqual(self.records(d), list(range(100)))
        with open(os.path.join(self.dir, "calls"), encoding="ascii") as f:
            self.assertEqual(f.read(), "fs -D fs.default.name=hdfs://host:9000 -D hadoop.job.ugi=me,secret -cat "
                                       "hdfs:/logs/part-0\n")

    def test_another_command(self):
        d = self.dataset(["afs:/logs/part-3"])
        d.set_download_cmd(os.path.join(self.dir, "hadoop") + " --get")
        d.load_into_memory()
        self.assertEqual(self.records(d), list(range(3000, 3100)))
        with open(os.path.join(self.dir, "calls"), encoding="ascii") as f:
            self.assertEqual(f.read(), "--get afs:/logs/part-3\n")


if __name__ == "__main__":
    unittest.main()
