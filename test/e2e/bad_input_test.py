"""What a user can get wrong: one sentence with place and remedy, the documented exit code, nothing lost."""
import os
import resource
import subprocess

from support import CONFIGS, EndToEnd, main

CONFIG, DATA_ERROR, IO, NUMERIC = 2, 3, 4, 5

CSV_JOB = """{
  "num_passes": 2,
  "inputs": [{"name": "x", "shape": 2}, {"name": "label", "dtype": "int64"}],
  "layers": [
    {"type": "fc", "name": "p", "input": "x", "size": 3, "act": "softmax"},
    {"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}
  ],
  "cost": "cost",
  "optimizer": {"type": "sgd", "learning_rate": 0.1},
  "data": {"format": "csv", "files": "data.csv", "batch_size": 2,
           "csv_fields": [{"name": "x", "columns": ["0", "1"]}, {"name": "label", "dtype": "int64", "columns": "2", "bound": 3}]}
}"""


class BadJob(EndToEnd):
    def try_job(self, change, *flags):
        with open(os.path.join(CONFIGS, "fit_a_line.json")) as f:
            text = f.read()
        old, new = change
        self.assertIn(old, text)
        return self.train(self.write("job.json", text.replace(old, new)), *flags, check=None)

    def test_unknown_layer(self):
        self.refused(self.try_job(('"type": "fc"', '"type": "fcc"')), CONFIG, "job.json:11:", "no layer 'fcc'", "did you mean 'fc'")

    def test_unknown_layer_argument(self):
        self.refused(self.try_job(('"size": 1}', '"size": 1, "activation": "relu"}')), CONFIG, "job.json:11:", "activation")

    def test_wrong_type(self):
        self.refused(self.try_job(('"size": 1}', '"size": "one"}')), CONFIG, "job.json:11:", "whole number", "the text 'one'")

    def test_unknown_input(self):
        self.refused(self.try_job(('"input": "x"', '"input": "xx"')), CONFIG, "job.json:11:", "'xx'", "did you mean 'x'")

    def test_wrong_shape(self):
        done = self.try_job(('"name": "y", "shape": 1', '"name": "y", "shape": 3'))
        self.refused(done, CONFIG, "job.json:12:", "op elementwise_sub", "[-1, 1]", "[-1, 3]")

    def test_all_at_once(self):
        done = self.try_job(('"size": 1},', '"sise": 1},\n    {"type": "fd"},'), "--num_passes=0", "--no_such_flag")
        self.refused(done, CONFIG, "no_such_flag", "num_passes")
        done = self.try_job(('"size": 1},', '"sise": 1},\n    {"tipe": "fd"},'))
        self.refused(done, CONFIG, "did you mean 'size'", "did you mean 'type'")

    def test_field_shapes(self):
        self.refused(self.try_job(('"shape": 13', '"shape": 12')), CONFIG, "field 'x'", "[-1, 13]", "[-1, 12]")

    def test_field_types(self):
        self.refused(self.try_job(('"name": "y", "shape": 1', '"name": "y", "shape": 1, "dtype": "int64"')), CONFIG, "int64")

    def test_unknown_option_in_environment(self):
        done = self.train("fit_a_line.json", check=None, env={"PADDLE_INIT_NUM_PASES": "3"})
        self.refused(done, CONFIG, "PADDLE_INIT_NUM_PASES", "did you mean")

    def test_missing_and_broken_job_files(self):
        self.refused(self.train("fit_a_line.json", "--data_dir=/nowhere/data", check=None), IO, "/nowhere/data", "leave --data_dir out")
        self.refused(self.train("/nowhere/job.json", check=None), IO, "/nowhere/job.json")
        self.refused(self.train(self.write("empty.json", ""), check=None), CONFIG, "empty.json:1:")
        self.refused(self.train(self.write("half.json", '{"inputs": ['), check=None), CONFIG, "half.json:1:")
        self.refused(self.paddle("train", check=None), CONFIG, "--config")

    def test_unknown_command(self):
        self.refused(self.paddle("trian", check=None), CONFIG, "did you mean 'train'")

    def test_nan_cost(self):
        done = self.try_job(('"${learning_rate:0.01}"', "1e30"))
        self.refused(done, NUMERIC, "the cost is", "learning rate")
        done = self.try_job(('"${learning_rate:0.01}"', "1e30"), "--check_nan_inf")
        self.refused(done, NUMERIC, "after op", "'")


class BadData(EndToEnd):
    def try_rows(self, rows):
        self.write("data.csv", rows)
        return self.train(self.write("job.json", CSV_JOB), check=None)

    def test_good_rows_train(self):
        self.assertEqual(self.try_rows("1,2,0\n3,4,2\n5,6,1\n").returncode, 0)

    def test_rows(self):
        for rows, words in (("", ("data.csv",)),
                            ("1,2,0\n1,2\n", ("data.csv:2",)),
                            ("1,2,0\n1,x,0\n", ("data.csv:2", "'x'")),
                            ("1,2,0\n1,2,7\n", ("data.csv:2", "7"))):
            with self.subTest(rows):
                self.refused(self.try_rows(rows), DATA_ERROR, *words)

    def test_missing_file(self):
        self.refused(self.train(self.write("job.json", CSV_JOB), check=None), IO, "data.csv")


class BadModels(EndToEnd):
    def saved(self):
        self.train("fit_a_line.json", "--num_passes=1", "--save_dir=out")
        return self.path("out", "pass-00000")

    def resume(self, *flags):
        return self.train("fit_a_line.json", "--num_passes=2", "--init_model_path=out/pass-00000", *flags, check=None)

    def test_truncated(self):
        model = self.saved()
        with open(os.path.join(model, "y_predict.w_0"), "r+b") as f:
            f.truncate(40)
        self.refused(self.resume(), DATA_ERROR, "y_predict.w_0", "40")

    def test_foreign(self):
        model = self.saved()
        with open(os.path.join(model, "y_predict.w_0"), "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + bytes(100))
        self.refused(self.resume(), DATA_ERROR, "y_predict.w_0")

    def test_unfinished(self):
        os.remove(os.path.join(self.saved(), "done"))
        self.refused(self.resume(), DATA_ERROR, "done")

    def test_missing_parameter(self):
        model = self.saved()
        os.remove(os.path.join(model, "y_predict.b_0"))
        os.remove(os.path.join(model, "train_state"))
        self.refused(self.resume(), DATA_ERROR, "y_predict.b_0")
        self.assertEqual(self.resume("--load_missing_parameter_strategy=zero").returncode, 0)

    def test_unwritable_save_dir(self):
        self.write("file", "")
        done = self.train("fit_a_line.json", "--num_passes=1", "--save_dir=file/out", check=None)
        self.refused(done, IO, "file/out")
        self.assertNotIn("Pass=0", done.stderr)  # reported before the first pass, not after it

    def test_full_disk_leaves_the_good_model(self):
        """A limit on file sizes stands for a full disk: the write fails, and the model saved before is whole."""
        model = self.saved()
        before = self.files(model)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        done = self.train("fit_a_line.json", "--num_passes=1", "--save_dir=out", "--minloglevel=3", check=None, preexec_fn=limit)
        self.refused(done, IO, "out/pass-00000")
        self.assertEqual(self.files(model), before)
        self.assertEqual(os.listdir(self.path("out")), ["pass-00000"])


if __name__ == "__main__":
    main()
