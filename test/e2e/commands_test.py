"""The commands of the front program: what they print, and where."""
import os
import re

from support import CONFIGS, PADDLE, SOURCE, TRAINER, EndToEnd, main


class Commands(EndToEnd):
    def test_version(self):
        lines = self.paddle("version").stdout.split("\n")
        self.assertRegex(lines[0], r"^PaddlePaddle \d+\.\d+\.\d+, compiled with$")
        for key in ("with_avx", "with_gpu", "with_double", "with_python", "with_rdma", "with_timer"):
            self.assertTrue(any(re.match(rf"^    {key}: (ON|OFF)$", line) for line in lines), key)

    def test_help(self):
        self.assertIn("usage: paddle", self.paddle().stdout)
        self.assertIn("train", self.paddle("--help").stdout)
        text = self.paddle("train", "--help").stdout
        for option in ("num_passes", "save_dir", "seed", "PADDLE_INIT_NUM_PASSES"):
            self.assertIn(option, text)

    def test_print_config_tells_sources(self):
        out = self.train("fit_a_line.json", "--print_config", "--seed=3", env={"PADDLE_INIT_TRAINER_COUNT": "2"}).stdout
        self.assertRegex(out, r"seed=3 .*--seed")
        self.assertRegex(out, r"trainer_count=2 .*PADDLE_INIT_TRAINER_COUNT")
        self.assertRegex(out, r"num_passes=100 .*fit_a_line.json:4")
        self.assertRegex(out, r"saving_period=1 .*default")

    def test_make_clicks(self):
        out = os.path.join(self.dir, "logs")
        done = self.paddle("make_clicks", f"--output_dir={out}", "--records=1000", "--files=3", "--seed=4")
        self.assertRegex(done.stdout, r"^1000 records in 3 files of .*; the best AUC that a model can reach is 0\.8\d\d\d\n$")
        lines = []
        for part in range(3):
            with open(os.path.join(out, f"part-{part}")) as f:
                lines += f.read().splitlines()
        self.assertEqual(len(lines), 1000)
        self.assertTrue(all(line.count("\t") == 39 for line in lines))
        self.assertEqual(sorted(os.listdir(out)), ["part-0", "part-1", "part-2"])
        more = os.path.join(self.dir, "more")
        self.paddle("make_clicks", f"--output_dir={more}", "--records=10", "--files=1", "--seed=4", "--first=500")
        with open(os.path.join(more, "part-0")) as f:
            self.assertEqual(f.read().splitlines(), lines[500:510])  # a log can be continued
        self.assertIn("--output_dir is missing", self.paddle("make_clicks", check=2).stderr)
        self.assertIn("more than --records=2", self.paddle("make_clicks", f"--output_dir={out}", "--records=2", check=2).stderr)

    def test_dump_config(self):
        out = self.paddle("dump_config", os.path.join(CONFIGS, "fit_a_line.json")).stdout
        for word in ("mul", "y_predict.w_0", "sgd", "learning_rate_0"):
            self.assertIn(word, out)
        whole = self.paddle("dump_config", os.path.join(CONFIGS, "fit_a_line.json"), "--whole").stdout
        self.assertIn("uniform_random", whole)

    def test_dump_config_of_a_half(self):
        job = os.path.join(CONFIGS, "recognize_digits_mlp.json")
        cluster = ("--pservers=h1,h2", "--ports_num=2", "--trainers=2")
        done = self.paddle("dump_config", job, "--role=trainer", "--trainer_id=1", *cluster)
        for word in ("send_barrier", "split_byref", ".block3.trainer_1", "recv_varnames", "h2:7165"):
            self.assertIn(word, done.stdout)
        self.assertNotIn("LearningRate", done.stdout)
        self.assertRegex(done.stderr, r"(?m)^shard +endpoint +slices +bytes +% of mean$")
        self.assertRegex(done.stderr, r"(?m)^ +3  h2:7165 +\d+ +\d+ +\d+$")
        self.assertRegex(done.stderr, r"(?m)^imbalance: the fullest shard holds 1\.\d\d times the mean$")

        done = self.paddle("dump_config", job, "--role=pserver", *cluster)
        self.assertEqual(done.stdout.count("listen_and_serv"), 4)
        self.assertIn("shard 2 h2:7164\n", done.stdout)
        one = self.paddle("dump_config", job, "--role=pserver", "--endpoint=h2:7164", "--whole", *cluster).stdout
        self.assertEqual(one.count("listen_and_serv"), 1)
        self.assertIn('endpoint="h2:7164"', one)
        self.assertIn("startup program\n", one)
        dot = self.paddle("dump_config", job, "--role=pserver", "--dot", *cluster).stdout
        self.assertEqual(dot.count("digraph program {"), 4)
        self.assertTrue(dot.startswith("// shard 0 h1:7164\ndigraph"))
        placed = self.paddle("dump_config", job, "--role=trainer", "--split_method=round_robin", "--noslice_var_up", *cluster)
        self.assertNotIn("split_byref", placed.stdout)

        for words, flags in ((("trainer", "pserver"), ("--role=server",)), (("trainer_id", "from 0 to 1"), ("--role=trainer", "--trainer_id=2", "--trainers=2")),
                             (("h9:1", "dense shards are"), ("--role=pserver", "--endpoint=h9:1", *cluster)),
                             (("belongs to --role=pserver",), ("--role=trainer", "--endpoint=h1:7164")), (("split_method",), ("--role=trainer", "--split_method=best"))):
            self.refused(self.paddle("dump_config", job, *flags, check=None), 2, *words)

    def test_make_diagram(self):
        self.paddle("make_diagram", os.path.join(CONFIGS, "fit_a_line.json"), "net.dot")
        with open(self.path("net.dot")) as f:
            self.assertTrue(f.read().startswith("digraph"))

    def test_trainer_program_is_the_same(self):
        config = f"--config={CONFIGS}/fit_a_line.json"
        done = self.run_program(TRAINER, config, "--num_passes=2", "--dot_period=0", check=0)
        self.assertIn("Pass=1", done.stderr)

    def test_log_lines(self):
        """The prefix and the lines are glog's and the v2 trainer's; the log file holds the same."""
        done = self.train("recognize_digits_mlp.json", "--num_passes=1", "--log_period=20", "--workspace=ws")
        self.assertRegex(done.stderr, r"(?m)^I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.cc:\d+\]  Batch=20 samples=1280 AvgCost=\S+ CurrentCost=\S+ Eval: accuracy=\S+ CurrentEval: accuracy=\S+$")
        self.assertRegex(done.stderr, r"(?m)\]  Pass=0 Batch=\d+ samples=\d+ AvgCost=\S+ Eval: accuracy=\S+$")
        self.assertRegex(done.stderr, r"(?m)\]  Test samples=\d+ cost=\S+ Eval: accuracy=\S+$")
        with open(self.path("ws", "log", "paddle_trainer.INFO")) as f:
            log = f.read()
        self.assertIn("commandline: paddle_trainer", log)
        self.assertIn(" Pass=0 ", log)

    def test_progress_line(self):
        # Ten rows in batches of 3: the last batch is a short one, and a pass has four all the same.
        rows = self.write("rows.csv", "".join(f"{i}, {2 * i}\n" for i in range(10)))
        job = self.write("job.json", """{"inputs": [{"name": "x"}, {"name": "y"}],
          "layers": [{"type": "fc", "name": "p", "input": "x", "size": 1}, {"type": "square_error_cost", "name": "c", "input": "p",
                     "label": "y"}],
          "cost": "c", "optimizer": {"type": "sgd", "learning_rate": 1e-7},
          "data": {"format": "csv", "files": "%s", "batch_size": 3}}""" % rows)
        flags = ("train", f"--config={job}", "--num_passes=4000", "--log_period=2")
        drawn = self.on_terminal(*flags)
        self.assertEqual(set(re.findall(r"pass \d+/4000  batch \d+/(\d+)", drawn)), {"4"})
        self.assertRegex(drawn, r"cost \S+  [0-9.]+( [kM])? samples/s  ")
        self.assertNotIn(" Batch=2 ", drawn)
        with open(self.path("log", "paddle_trainer.INFO")) as f:
            self.assertIn(" Batch=2 ", f.read())
        for line in re.findall(r"\x1b\[K(pass [^\r\n]*)", self.on_terminal(*flags, columns=40)):
            self.assertLess(len(line), 40)
        plain = self.on_terminal(*flags, "--num_passes=2", term="dumb")
        self.assertNotIn("\x1b", plain)
        self.assertIn(" Batch=2 ", plain)

    def test_jobs_time_test_checkgrad(self):
        self.assertRegex(self.train("fit_a_line.json", "--job=time", "--time_batches=50").stdout, r"50 batches in .* samples/s")
        out = self.train("fit_a_line.json", "--job=time", "--time_batches=50", "--show_layer_stat").stdout
        self.assertRegex(out, r"us  fused_fc: ")
        self.train("fit_a_line.json", "--num_passes=2", "--save_dir=out")
        out = self.train("fit_a_line.json", "--job=test", "--save_dir=out", "--test_pass=0", "--num_passes=2").stdout
        self.assertRegex(out, r"^ Pass=0 samples=102 AvgCost=\S+ Eval: ")
        self.assertEqual(out.count("\n"), 2)
        for config in ("fit_a_line.json", "recognize_digits_mlp.json", "ctr_lr.json", "word2vec.json"):
            out = self.train(config, "--job=checkgrad", "--checkgrad_samples=5").stdout
            self.assertIn("largest relative difference", out)

    def test_threads(self):
        done = self.train("recognize_digits_mlp.json", "--num_passes=1", "--trainer_count=2")
        self.assertIn("Pass=0", done.stderr)


class Documents(EndToEnd):
    def test_commands_of_the_readme_exist(self):
        """Every `paddle …` line in README.md and docs/*.md parses: its flags and files are there."""
        files = ["README.md"] + [f"docs/{f}" for f in os.listdir(os.path.join(SOURCE, "docs")) if f.endswith(".md")]
        seen = 0
        for name in files:
            with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
                for line in f:
                    m = re.match(r"^\s*(?:build/daemons/paddle/)?paddle train (--config=\S+(?: --\S+)*)", line)
                    if not m:
                        continue
                    seen += 1
                    flags = m[1].replace("--config=configs/", f"--config={CONFIGS}/").split()
                    with self.subTest(f"{name}: {line.strip()}"):
                        self.run_program(PADDLE, "train", *flags, "--print_config", check=0)
        self.assertGreater(seen, 2)

    def test_tables_of_job_files_are_what_the_program_prints(self):
        """After a change of layers: put the output of `paddle list_layers` between the two marks."""
        with open(os.path.join(SOURCE, "docs", "job-files.md"), encoding="utf-8") as f:
            page = f.read().split("<!-- paddle list_layers -->\n")[1].split("<!-- end -->")[0]
        self.assertEqual(page, self.paddle("list_layers").stdout)

    def test_lines_of_the_pages_fit(self):
        """All pages stay within 120 columns, code and what programs print included."""
        pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] + [f"docs/{f}" for f in os.listdir(os.path.join(SOURCE, "docs")) if f.endswith(".md")]
        long = []
        for name in pages:
            with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
                long += [f"{name}:{i}: {len(line)} columns" for i, line in enumerate(f.read().split("\n"), 1) if len(line) > 120]
        self.assertEqual(long, [])

    def test_the_tests_that_the_guides_page_names_exist(self):
        """Every row names a test, which is there and in the list of those that run."""
        def text(*parts):
            with open(os.path.join(SOURCE, *parts), encoding="utf-8") as f:
                return f.read()

        rows = re.findall(r"(?m)^- .*\n(?:  .*\n)*", text("docs", "guides.md"))
        self.assertGreater(len(rows), 50)
        for row in rows:
            with self.subTest(row):
                self.assertNotIn("(open)", row)
                tests = re.findall(r"`([\w/]+_test\.(?:py|cc))(?:::(\w+))?`", row)
                self.assertTrue(tests)
                for path, name in tests:
                    directory, file = os.path.split(path)
                    listed = file if path.endswith(".cc") else file.removesuffix("_test.py")
                    self.assertIn(f"'{listed}'", text(directory, "meson.build"))
                    if name:
                        self.assertIn(f"    def {name}(self):", text(path))
                    else:
                        self.assertTrue(text(path))

    def test_list_events(self):
        out = self.paddle("list_events").stdout
        self.assertIn("### progress", out)
        with open(os.path.join(SOURCE, "libcore", "obs", "event.h"), encoding="utf-8") as f:
            structs = dict((kind, name) for name, kind in re.findall(r'struct (\w+) \{\n  static constexpr const char\* kind = "(\w+)"', f.read()))
        self.assertEqual(sorted(structs), sorted(re.findall(r"(?m)^### (\w+)$", out)))
        code = ""
        for base in ("libcore", "daemons"):
            for directory, _, files in os.walk(os.path.join(SOURCE, base)):
                for name in files:
                    if name.endswith((".cc", ".h")):
                        with open(os.path.join(directory, name), encoding="utf-8") as f:
                            code += f.read()
        for kind, name in structs.items():
            self.assertTrue(f"event::{name}{{" in code, f"no code emits {kind}")
        self.refused(self.paddle("list_events", "x", check=None), 2, "takes no arguments")

    def test_example_of_job_files_trains(self):
        """The first job of docs/job-files.md is a job."""
        with open(os.path.join(SOURCE, "docs", "job-files.md"), encoding="utf-8") as f:
            example = f.read().split("```json\n")[1].split("```")[0]
        job = self.write("example.json", example)
        self.paddle("train", f"--config={job}", "--num_passes=1", "--config_args=hidden=8", "--dot_period=0")
        self.assertIn("cross_entropy", self.paddle("dump_config", job).stdout)


if __name__ == "__main__":
    main()
