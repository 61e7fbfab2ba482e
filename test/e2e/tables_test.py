"""Sparse tables in one process: trained from a job file, saved, resumed with the same bits, refused with a sentence."""
import os
import random

from support import EndToEnd, main

# Two slots of several ids share a table of any height; the ids are 64-bit hashes.
JOB = """{
  "inputs": [{"name": "words", "dtype": "int64", "lod_level": 1}, {"name": "more", "dtype": "int64", "lod_level": 1},
             {"name": "label", "dtype": "int64"}],
  "layers": [
    {"type": "embedding", "name": "e1", "input": "words", "size": SIZE, "is_distributed": true,
     "param_attr": {"name": "emb"}KEYS},
    {"type": "embedding", "name": "e2", "input": "more", "size": SIZE, "is_distributed": true,
     "param_attr": {"name": "emb"}KEYS},
    {"type": "sequence_pool", "name": "p1", "input": "e1", "pool_type": "sum"},
    {"type": "sequence_pool", "name": "p2", "input": "e2", "pool_type": "sum"},
    {"type": "concat", "name": "all", "input": ["p1", "p2"], "axis": 1},
    {"type": "fc", "name": "p", "input": "all", "size": 2, "act": "softmax"},
    {"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}
  ],
  "cost": "cost",
  "outputs": "p",
  "evaluators": {"type": "auc", "input": "p", "label": "label"},
  "optimizer": {"type": "OPTIMIZER", "learning_rate": 0.05,
                "schedule": {"type": "exponential_decay", "decay_steps": 20, "decay_rate": 0.9}},
  "data": {"format": "multislot", "batch_size": 50, "files": ["records.txt"], "test_files": ["records.txt"],
           "slots": [{"name": "words", "lod_level": 1}, {"name": "more", "lod_level": 1},
                     {"name": "label", "dtype": "int64"}]}
}"""


class Tables(EndToEnd):
    def job(self, optimizer="adam", size="[-1, 8]", keys="", low=-2**63, high=2**63 - 1):
        draw = random.Random(5)
        ids = [draw.randint(low, high) for _ in range(300)]
        with open(self.path("records.txt"), "w", encoding="ascii") as f:
            for _ in range(1000):
                label = draw.randint(0, 1)
                words = [draw.choice(ids[label * 100:label * 100 + 200]) for _ in range(draw.randint(1, 4))]
                more = [draw.choice(ids) for _ in range(2)]
                print(len(words), *words, len(more), *more, 1, label, file=f)
        return self.write("job.json", JOB.replace("SIZE", size).replace("KEYS", keys).replace("OPTIMIZER", optimizer))

    def same(self, a, b):
        a, b = self.files(a), self.files(b)
        self.assertEqual(sorted(a), sorted(b))
        for name in a:
            self.assertEqual(a[name], b[name], f"{name} differs")

    def test_resumed_training_has_the_same_bits(self):
        for optimizer in ("sgd", "adagrad", "adam", "ftrl"):
            with self.subTest(optimizer):
                job = self.job(optimizer)
                self.train(job, "--num_passes=3", f"--save_dir={optimizer}/whole")
                self.train(job, "--num_passes=2", f"--save_dir={optimizer}/parts")
                self.train(job, "--num_passes=3", f"--save_dir={optimizer}/parts", "--start_pass=2")
                self.same(self.path(optimizer, "whole", "pass-00002"), self.path(optimizer, "parts", "pass-00002"))
                self.assertGreater(os.path.getsize(self.path(optimizer, "whole", "pass-00002", "emb.table")), 300 * 48)

    def test_a_huge_size_costs_nothing(self):
        job = self.job("adagrad", size="[1099511627776, 8]", low=0, high=2**40 - 1)
        self.train(job, "--num_passes=1", "--save_dir=out")
        self.assertFalse(os.path.exists(self.path("out", "pass-00000", "emb")))

    def test_saved_models_are_tested(self):
        job = self.job("adagrad")
        self.train(job, "--num_passes=2", "--save_dir=out")
        done = self.train(job, "--job=test", "--init_model_path=out/pass-00001")
        self.assertIn("auc", (done.stdout + done.stderr).lower())

    def test_wrong_ids_are_named(self):
        job = self.job("adagrad", size="[1000, 8]", low=0, high=2000)
        done = self.train(job, "--num_passes=1", check=None)
        self.refused(done, done.returncode, "is outside of the table 'emb'", "rows 0 to 999")
        self.assertNotEqual(done.returncode, 0)

    def test_options_of_rows(self):
        job = self.job("adagrad", keys=', "bf16": true, "min_count": 3')
        self.train(job, "--num_passes=1", "--save_dir=out")
        self.assertGreater(os.path.getsize(self.path("out", "pass-00000", "emb.table")), 1000)
        done = self.train(self.job("adagrad", keys=', "memory_limit": 100'), "--num_passes=1", check=None)
        self.assertNotEqual(done.returncode, 0)
        self.refused(done, done.returncode, "the table 'emb'")

    def test_a_damaged_table_is_refused(self):
        job = self.job("adagrad")
        self.train(job, "--num_passes=1", "--save_dir=out")
        path = self.path("out", "pass-00000", "emb.table")
        with open(path, "r+b") as f:
            f.seek(os.path.getsize(path) // 2)
            byte = f.read(1)
            f.seek(-1, 1)
            f.write(bytes([byte[0] ^ 1]))
        done = self.train(job, "--num_passes=2", "--save_dir=out", "--start_pass=1", check=None)
        self.refused(done, done.returncode, "emb.table", "checksum")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    main()
