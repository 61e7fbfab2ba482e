"""Sparse tables in one process: trained from a job file, saved, resumed with the same bits, refused with a sentence."""
import os

from support import EndToEnd, main
from table_jobs import write_table_job

class Tables(EndToEnd):
    def job(self, *arguments, **keys):
        return write_table_job(self, *arguments, **keys)

    def test_resumed_training_has_the_same_bits(self):
        for optimizer in ("sgd", "adagrad", "adam", "ftrl"):
            with self.subTest(optimizer):
                model = self.same_in_parts(self.job(optimizer), optimizer)
                self.assertGreater(os.path.getsize(os.path.join(model, "emb.table")), 300 * 48)

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
