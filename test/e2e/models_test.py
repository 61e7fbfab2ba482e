"""paddle export and paddle compare: on models and runs of real trainings. PADDLE_TEST_REAL names a Python with PaddlePaddle 1.8.5
(python/tests/interop/exported.py says how), which then loads what paddle export wrote of every ready job."""
import os
import shutil
import subprocess

from cluster import write_job
from support import BUILD, CONFIGS, PADDLE, SOURCE, EndToEnd, main
from table_jobs import write_table_job

DIFFERENT = 8


class Compare(EndToEnd):
    def train_two(self, *flags):
        job = write_job(self)
        for name, seed in (("a", 1), ("same", 1), ("b", 2)):
            self.train(job, "--num_passes=2", f"--seed={seed}", f"--workspace={name}", "--save_dir=output", f"--event_file={name}.jsonl", *flags)
        return [os.path.join(name, "output", "pass-00001") for name in ("a", "same", "b")]

    def test_models(self):
        a, same, b = self.train_two()
        out = self.paddle("compare", a, same).stdout
        self.assertRegex(out, r"^same bytes: \d+; different: 0\n")
        self.assertTrue(out.endswith("trained by the same program\nequal\n"), out)
        out = self.paddle("compare", a, b, check=DIFFERENT).stdout
        self.assertRegex(out, r"(?m)^PARAMETER +SHAPE +DIFFER +LARGEST +RELATIVE$")
        self.assertRegex(out, r"(?m)^h\.w_0 +\[\d+, 32\] +(\d+) of \1 +[\d.e-]+ +[\d.e-]+$")
        self.assertTrue(out.endswith("different\n"))
        self.paddle("compare", a, b, "--tolerance=1e9")
        self.paddle("compare", a, os.path.join("a", "output", "pass-00000"), check=DIFFERENT)

    def test_one_number_and_one_file(self):
        a, same, _ = self.train_two()
        name = self.path(same, "h.w_0")
        with open(name, "r+b") as f:
            f.seek(-4, os.SEEK_END)
            f.write(b"\x00\x00\x80\x7f")  # infinity
        self.assertRegex(self.paddle("compare", a, same, check=DIFFERENT).stdout, r"(?m)^h\.w_0 +\[\d+, 32\] +1 of \d+ +1 NaN or Inf$")
        self.paddle("compare", a, same, "--tolerance=1e30", check=DIFFERENT)
        os.remove(name)
        self.assertRegex(self.paddle("compare", a, same, check=DIFFERENT).stdout, rf"(?m)^h\.w_0 +only in {a}$")

    def test_tables(self):
        job = write_table_job(self, records=300)
        for name, flags in (("a", ()), ("same", ()), ("b", ("--num_passes=2",))):
            self.train(job, "--num_passes=1", "--seed=1", f"--save_dir={name}", *flags)
        out = self.paddle("compare", "a/pass-00000", "same/pass-00000").stdout
        self.assertIn("different: 0\n", out)
        out = self.paddle("compare", "a/pass-00000", "b/pass-00001", check=DIFFERENT).stdout
        self.assertRegex(out, r"(?m)^emb\.table +values +\d+ of \d+ ")
        self.assertRegex(out, r"(?m)^emb\.table +state +\d+ of \d+ ")
        # A row less, by way of the text.
        self.paddle("table", "export", "a/pass-00000/emb.table", "--state", "--output=rows.txt")
        with open(self.path("rows.txt"), encoding="ascii") as f:
            lines = f.readlines()
        self.write("less.txt", "".join(lines[:-1]))
        self.paddle("table", "import", "same/pass-00000/emb.table", "--input=less.txt")
        out = self.paddle("compare", "a/pass-00000", "same/pass-00000", check=DIFFERENT).stdout
        self.assertRegex(out, r"(?m)^emb\.table +rows +1 only in a/pass-00000, 0 only in same/pass-00000$")

    def test_runs(self):
        self.train_two()
        out = self.paddle("compare", "a.jsonl", "b.jsonl", check=DIFFERENT).stdout
        self.assertRegex(out, r"(?m)^cost\nPASS +a\.jsonl +b\.jsonl +DIFFERENCE\n0 +[\d.]+ +[\d.]+ +[\d.e-]+\n1 ")
        self.assertTrue(self.paddle("compare", "a.jsonl", "same.jsonl").stdout.endswith("equal\n"))
        for name in ("w1", "w2"):
            self.paddle("launch", f"--config={write_job(self)}", "--num_passes=1", "--seed=3", f"--workspace={name}", "--log_period=%s" % name[1])
        out = self.paddle("compare", "w1", "w2").stdout
        self.assertRegex(out, r"(?m)^OPTION +w1 +w2$")
        self.assertRegex(out, r"(?m)^log_period +1 +2$")

    def test_refusals(self):
        self.write("empty.jsonl", "")
        os.mkdir(self.path("nothing"))
        for words, code, said in (((), 2, "0 are named"), (("empty.jsonl",), 2, "1 are named"), (("none", "none"), 4, "there is no 'none'"),
                                  (("nothing", "nothing"), 2, "neither a saved model"), (("empty.jsonl", "empty.jsonl"), 3, "there is no pass"),
                                  (("empty.jsonl", "empty.jsonl", "--tolerance=-1"), 2, "tolerance")):
            self.refused(self.paddle("compare", *words, check=None), code, said)


class Export(EndToEnd):
    def test_predictions_are_the_same(self):
        self.train("fit_a_line.json", "--num_passes=2", "--save_dir=out")
        model = self.path("out", "pass-00001")
        done = self.paddle("export", model, "--output=served")
        self.assertEqual(done.stdout, "wrote served: from x to y_predict, 2 parameters\n")
        self.assertEqual(sorted(os.listdir(self.path("served"))),
                         ["__model__", "done", "fit_a_line.json", "path.txt", "y_predict.b_0", "y_predict.w_0"])
        rows = self.write("rows.txt", "".join(" ".join(str((i * j) % 7 - 3) for j in range(1, 15)) + "\n" for i in range(1, 40)))
        words = ("--data", rows)
        predictions = self.paddle("infer", "--model", model, *words).stdout
        self.assertEqual(predictions.count("\n"), 9)  # the format takes a fifth of the records for tests
        self.assertEqual(self.paddle("infer", "--model", "served", *words).stdout, predictions)
        self.refused(self.paddle("export", model, "--output=served", check=None), 2, "'served' is there already")
        self.loads_in_python("served", 13)

    def loads_in_python(self, directory, width):
        if not os.path.isdir(os.path.join(BUILD, "python", "paddle", "fluid")):
            self.skipTest("needs the Python package: scripts/build build python")
        script = ("import sys, numpy, paddle.fluid as fluid\n"
                  "exe = fluid.Executor(fluid.CPUPlace())\n"
                  "program, feeds, targets = fluid.io.load_inference_model(sys.argv[1], exe)\n"
                  f"print(feeds, exe.run(program, feed={{feeds[0]: numpy.ones((2, {width}), 'float32')}}, fetch_list=targets)[0].shape)\n")
        done = subprocess.run(["/usr/bin/python3", "-c", script, directory], cwd=self.dir, capture_output=True, text=True, timeout=120,
                              env={"PYTHONPATH": os.path.join(BUILD, "python"), "PATH": os.environ["PATH"], "HOME": self.dir})
        self.assertEqual(done.stdout, "['x'] (2, 1)\n", done.stderr)

    def test_every_ready_job_elsewhere(self):
        """Each is exported in both forms, and the other reader predicts the same; without PADDLE_TEST_REAL that is another process."""
        if not os.path.isdir(os.path.join(BUILD, "python", "paddle", "fluid")):
            self.skipTest("needs the Python package: scripts/build build python")
        script = os.path.join(SOURCE, "python", "tests", "interop", "exported.py")
        ours = {"PYTHONPATH": os.path.join(BUILD, "python"), "PADDLE": PADDLE}
        self.run_program("/usr/bin/python3", script, "write", self.path("ours"), env=ours, check=0)
        jobs = sorted(n.removesuffix(".json") for n in os.listdir(CONFIGS) if n.endswith(".json"))
        real = os.environ.get("PADDLE_TEST_REAL")
        reader, env = (real, {}) if real else ("/usr/bin/python3", ours)
        done = self.run_program(reader, script, "replay", self.path("ours"), env=env, check=0)
        self.assertEqual(done.stdout, "".join(f"{job}: the same\n" for job in jobs))
        bias = self.path("ours", "inference", "fit_a_line", "model", "y_predict.b_0")
        with open(bias, "r+b") as f:
            f.seek(-4, os.SEEK_END)
            f.write(b"\x00\x00\xc8\x42")  # 100
        done = self.run_program(reader, script, "replay", self.path("ours"), "fit_a_line", env=env, check=1)
        self.assertRegex(done.stdout, r"^fit_a_line: model: step 0, result 0: .* became .*\n$")

    def test_other_outputs_and_one_file(self):
        self.train("recognize_digits_mlp.json", "--num_passes=1", "--save_dir=out")
        model = self.path("out", "pass-00000")
        done = self.paddle("export", model, "--output=one", "--params_file=params")
        self.assertIn("params", os.listdir(self.path("one")))
        self.assertRegex(done.stdout, r"^wrote one: from \w+ to \w+, 6 parameters\n$")
        self.refused(self.paddle("export", model, "--output=two", "--outputs=nobody", check=None), 2, "'nobody'")
        self.assertFalse(os.path.exists(self.path("two")))

    def test_tables_go_along(self):
        self.train(write_table_job(self, records=300), "--num_passes=1", "--save_dir=out")
        done = self.paddle("export", "out/pass-00000", "--output=served")
        self.assertIn("1 sparse tables, which paddle infer reads and PaddlePaddle does not", done.stdout)
        words = ("--data", "records.txt")
        self.assertEqual(self.paddle("infer", "--model=served", *words).stdout, self.paddle("infer", "--model=out/pass-00000", *words).stdout)

    def test_a_model_without_its_job(self):
        self.train("fit_a_line.json", "--num_passes=1", "--save_dir=out")
        model = self.path("out", "pass-00000")
        for name in ("path.txt", "fit_a_line.json"):
            os.remove(os.path.join(model, name))
        self.refused(self.paddle("export", model, "--output=served", check=None), 2, "has no job file", "--config=JOB.json")
        self.paddle("export", model, "--output=served", f"--config={CONFIGS}/fit_a_line.json")
        os.remove(os.path.join(model, "y_predict.w_0"))
        shutil.rmtree(self.path("served"))
        self.refused(self.paddle("export", model, "--output=served", f"--config={CONFIGS}/fit_a_line.json", check=None), 3, "y_predict.w_0")
        self.assertFalse(os.path.exists(self.path("served")))
        self.refused(self.paddle("export", "none", "--output=x", check=None), 4, "there is no model 'none'")
        self.refused(self.paddle("export", model, check=None), 2, "--output is missing")


if __name__ == "__main__":
    main()
