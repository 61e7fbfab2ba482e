"""paddle infer: predictions of saved models for files, and what is said where there are none."""
import json
import math
import os
import random
import shutil

from support import EndToEnd, main

# Words of any 64-bit id in a sparse table, and numbers.
JOB = """{
  "inputs": [{"name": "words", "dtype": "int64", "lod_level": 1}, {"name": "x", "shape": 2},
             {"name": "label", "dtype": "int64"}],
  "layers": [
    {"type": "embedding", "name": "e", "input": "words", "size": [-1, "${width:8}"], "is_distributed": true,
     "param_attr": {"name": "emb"}},
    {"type": "sequence_pool", "name": "s", "input": "e", "pool_type": "sum"},
    {"type": "concat", "name": "all", "input": ["s", "x"], "axis": 1},
    {"type": "fc", "name": "p", "input": "all", "size": 2, "act": "softmax"},
    {"type": "mean", "name": "all_records", "input": "p"},
    {"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}
  ],
  "cost": "cost",
  OUTPUTS
  "optimizer": {"type": "adagrad", "learning_rate": 0.05},
  "data": {"format": "multislot", "batch_size": 50, "files": ["records.txt"], "test_files": ["test.txt"],
           "slots": [{"name": "words", "lod_level": 1}, {"name": "x", "dtype": "float32", "shape": 2},
                     {"name": "label", "dtype": "int64"}]}
}"""


class Infer(EndToEnd):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        ids = [draw.randint(-2**63, 2**63 - 1) for _ in range(200)]
        for name, records in (("records.txt", 1000), ("test.txt", 230)):
            with open(self.path(name), "w", encoding="ascii") as f:
                for _ in range(records):
                    label = draw.randint(0, 1)
                    words = [draw.choice(ids[label * 50:label * 50 + 150]) for _ in range(draw.randint(1, 4))]
                    print(len(words), *words, 2, label + draw.random(), draw.random(), 1, label, file=f)

    def trained(self, *flags, outputs='"outputs": "p",'):
        job = self.write("job.json", JOB.replace("OUTPUTS", outputs))
        self.train(job, "--num_passes=2", "--save_dir=out", *flags)
        return job, self.path("out", "pass-00001")

    def rows(self, text):
        return [[float(x) for x in line.split(",")] for line in text.splitlines() if not line.startswith("p")]

    def test_predictions_are_those_of_the_test(self):
        job, model = self.trained()
        out = self.paddle("infer", "--model", model, "--data", "test.txt").stdout
        self.assertTrue(out.startswith("p.0,p.1\n"))
        found = self.rows(out)
        with open(self.path("test.txt"), encoding="ascii") as f:
            labels = [int(line.split()[-1]) for line in f]
        self.assertEqual(len(found), len(labels))
        cost = -sum(math.log(p[label]) for p, label in zip(found, labels)) / len(labels)
        done = self.train(job, "--job=test", f"--init_model_path={model}")
        self.assertAlmostEqual(float(done.stdout.split("AvgCost=")[1].split()[0]), cost, places=5)

    def test_forms(self):
        _, model = self.trained()
        plain = self.rows(self.paddle("infer", "--model", model, "--data", "test.txt", "--noheader").stdout)
        self.assertEqual(len(plain), 230)
        done = self.paddle("infer", f"--model={model}", "--data=test.txt", "--output=p.json", "--output_format=json")
        self.assertRegex(done.stdout, r"^wrote p.json: 230 predictions, \d+ records/s\n$")
        with open(self.path("p.json"), encoding="ascii") as f:
            self.assertEqual([json.loads(line)["p"] for line in f], plain)
        with open(self.path("test.txt"), encoding="ascii") as f:
            piped = self.paddle("infer", "--model", model, "--data", "-", input=f.read()).stdout
        self.assertEqual(self.rows(piped), plain)
        for flags in (("--batch_size=7",), ("--trainer_count=2",), ("--batch_size=1000",)):
            other = self.rows(self.paddle("infer", *flags, "--model", model, "--data", "test.txt").stdout)
            for a, b in zip(other, plain):
                self.assertAlmostEqual(a[1], b[1], places=5)

    def test_several_files_in_their_order(self):
        _, model = self.trained()
        os.rename(self.path("test.txt"), self.path("part-0"))
        shutil.copy(self.path("records.txt"), self.path("part-1"))
        both = self.rows(self.paddle("infer", "--model", model, "--data", "part-0", "part-1", "--noheader").stdout)
        self.assertEqual(len(both), 1230)
        one = self.rows(self.paddle("infer", "--data", "part-1", "--model", model).stdout)
        for a, b in zip(both[230:], one):  # batches are divided in another way
            self.assertAlmostEqual(a[0], b[0], places=5)
        pattern = self.rows(self.paddle("infer", "--model", model, "--data", "part-*").stdout)
        self.assertEqual(pattern, both)

    def test_the_values_of_placeholders_come_with_the_model(self):
        _, model = self.trained("--config_args=width=5")
        out = self.paddle("infer", "--model", model, "--data", "test.txt", "--noheader").stdout
        self.assertEqual(len(self.rows(out)), 230)
        done = self.paddle("train", "--job=test", f"--init_model_path={model}")  # the same for paddle train
        self.assertIn("samples=230", done.stdout)

    def test_another_job_file_describes_the_data(self):
        _, model = self.trained()
        job = self.write("csv.json", JOB.replace("OUTPUTS", '"outputs": "p",'))
        for name in ("job.json", "path.txt"):
            os.remove(os.path.join(model, name))
        done = self.paddle("infer", "--model", model, "--data", "test.txt", check=None)
        self.refused(done, 2, "has no job file", "--config=JOB.json")
        out = self.paddle("infer", "--model", model, "--data", "test.txt", f"--config={job}").stdout
        self.assertEqual(len(self.rows(out)), 230)

    def test_refusals(self):
        _, model = self.trained()
        self.write("bad.txt", "1 5 2 0.5 0.5 1 0\n1 5 2 0.5 1 0\n")
        self.write("empty.txt", "")
        for words, code, said in (((), 2, "--model is missing"), (("--model", model), 2, "--data is missing"),
                                  (("--model", "none", "--data", "test.txt"), 4, "there is no model 'none'"),
                                  (("--model", model, "--data", "none.txt"), 4, "none.txt"),
                                  (("--model", model, "--data", "bad.txt"), 3, "bad.txt:2"),
                                  (("--model", model, "--data", "empty.txt"), 3, "empty.txt"),
                                  (("--model", model, "--data", "test.txt", "--output=no/where.csv"), 4, "no/where.csv"),
                                  (("--model", model, "--data", "test.txt", "--output_format=xml"), 2, "json"),
                                  (("--model", model, "--data", "test.txt", "--outputs=x"), 2, "--outputs")):
            with self.subTest(words):
                self.refused(self.paddle("infer", *words, "--output=out.csv" if code in (3, 4) and "--output=no/where.csv" not in words
                                         else "--noheader", check=None), code, said)
                self.assertFalse([n for n in os.listdir(self.dir) if n.startswith("out.csv")])

    def test_a_damaged_model_is_refused(self):
        _, model = self.trained()
        table = os.path.join(model, "emb.table")
        with open(table, "r+b") as f:
            f.seek(os.path.getsize(table) // 2)
            byte = f.read(1)
            f.seek(-1, 1)
            f.write(bytes([byte[0] ^ 1]))
        self.refused(self.paddle("infer", "--model", model, "--data", "test.txt", check=None), 3, "checksum")
        os.remove(table)
        self.refused(self.paddle("infer", "--model", model, "--data", "test.txt", check=None), 3, "emb")

    def test_a_model_without_outputs(self):
        _, model = self.trained(outputs="")
        done = self.paddle("infer", "--model", model, "--data", "test.txt", check=None)
        self.refused(done, 2, 'name "outputs" in the job file')

    def test_an_output_that_is_no_prediction(self):
        _, model = self.trained(outputs='"outputs": "all_records",')
        done = self.paddle("infer", "--model", model, "--data", "test.txt", check=None)
        self.refused(done, 2, "'all_records' has 1 rows for 50 records")


if __name__ == "__main__":
    main()
