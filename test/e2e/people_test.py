"""What a person sees: short lines on a terminal, warnings and refusals that say what to do, help of every command."""
import os
import re
import signal
import subprocess

from cluster import write_job
from support import CONFIGS, PADDLE, PSERVER, SOURCE, TRAINER, EndToEnd, Screen, main

DIGITS = os.path.join(CONFIGS, "recognize_digits_mlp.json")
HOUSES = os.path.join(CONFIGS, "fit_a_line.json")
LOG_LINE = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} ")
NUMBER = r"\d[\d.e+-]*"


class People(EndToEnd):
    def screen(self, *arguments, **kwargs):
        """The screen after a command; whatever stood on it fits, and no log line was among it."""
        screen = Screen(self.on_terminal(*arguments, **kwargs))
        for frame in screen.frames:
            self.assertLess(len(frame), kwargs.get("columns", 80), frame)
            self.assertNotRegex(frame, LOG_LINE)
        return screen

    def read(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as f:
            return f.read()

    def sentence(self, done, code):
        """The message of a command that ended early, as its last line, and the only one besides the log."""
        self.refused(done, code)
        lines = [line for line in done.stderr.splitlines() if not LOG_LINE.match(line)]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]


class Terminal(People):
    def test_train(self):
        screen = self.screen("train", f"--config={DIGITS}", "--num_passes=3", "--save_dir=out")
        rate = rf"{NUMBER}( [kM])? samples/s"
        for number in (1, 3):
            self.assertRegex(str(screen), rf"(?m)^pass {number}/3  cost {NUMBER}  accuracy [01]\.\d+  test [01]\.\d+  {rate}$")
        self.assertRegex("\n".join(screen.frames), rf"(?m)^pass 1/3  batch \d+/94  cost {NUMBER}  accuracy {NUMBER}")
        self.assertRegex(str(screen), r"(?m)^recognize_digits_mlp\.json: 6 parameters, 3 passes of 94 batches$")
        self.assertRegex(str(screen), r"(?m)^the model is in out/pass-00002 \(pass 3/3\)$")
        log = self.read("log", "paddle_trainer.INFO")
        for number in range(3):
            self.assertRegex(log, rf"(?m){LOG_LINE.pattern} *\d+ \w+\.cc:\d+\]  Pass={number} Batch=94 ")

    def test_launch(self):
        """One progress line instead of the logs of all processes, which are in files."""
        screen = self.screen("launch", f"--config={DIGITS}", "--num_passes=10", "--workspace=ws", "--save_dir=out")
        moving = "\n".join(screen.frames)
        self.assertRegex(moving, rf"(?m)^pass \d+/10  batch [1-9]\d*/47  cost {NUMBER}  accuracy {NUMBER}  {NUMBER}( [kM])?( samples)?/s  \d+ s left$")
        self.assertNotIn("trainer.0 |", moving)
        self.assertNotIn("stopping", moving)
        self.assertRegex(str(screen), rf"(?m)^pass 10/10  cost {NUMBER}  accuracy {NUMBER}  test {NUMBER}  ")
        self.assertEqual(str(screen).count("warning: the data is generated"), 1)
        self.assertLess(len(screen.lines), 75)
        for name in ("train.0.log", "train.1.log"):
            self.assertRegex(self.read("ws", "log", name), LOG_LINE)

    def test_launch_of_many_passes(self):
        """At most one line a second of each kind, and the last one always."""
        screen = self.screen("launch", f"--config={HOUSES}", "--num_passes=300", "--workspace=ws")
        self.assertLess(len([line for line in screen.lines if "of all trainers" in line]), 100)
        self.assertRegex(str(screen), r"(?m)^pass 300 of all trainers: 404 samples, cost ")
        self.assertRegex(str(screen), r"(?m)^pass 300/300  cost ")

    def test_verbose_shows_the_log(self):
        job = write_job(self)
        out = self.on_terminal("launch", f"--config={job}", "--num_passes=2", "--verbose")
        self.assertRegex(out, rf"trainer\.0 \|\S* {LOG_LINE.pattern}")
        self.assertRegex(out, rf"pserver\.0 \|\S* {LOG_LINE.pattern}")
        self.assertRegex(self.on_terminal("train", f"--config={job}", "--num_passes=2", "--verbose"), rf"{LOG_LINE.pattern}.*Pass=1 ")
        self.assertRegex(self.on_terminal("train", f"--config={job}", "--num_passes=2", "--logtostderr"), rf"{LOG_LINE.pattern}.*Pass=1 ")

    def test_no_terminal_gets_log_lines(self):
        done = self.train(write_job(self), "--num_passes=2")
        self.assertRegex(done.stderr, rf"(?m)^{LOG_LINE.pattern}.*\]  Pass=1 ")
        self.assertNotRegex(done.stderr, r"(?m)^pass \d")

    def test_failure_of_a_process(self):
        job = write_job(self)
        with open(self.path("data.csv"), "a") as f:
            f.write("nonsense\n")
        screen = self.screen("launch", f"--config={job}", "--num_passes=2", check=3)
        self.assertEqual(str(screen).count("data.csv:201"), 1, screen)
        self.assertRegex(str(screen).replace("\n", " "), r"paddle launch: trainer\.\d ended with exit code 3, ")
        self.assertIn("data.csv:", str(screen))

    def test_pserver(self):
        """It says what happens, with the time, and no prefix of a log."""
        port = "--port=0"
        terminal, device = os.openpty()
        process = subprocess.Popen([PADDLE, "pserver", "--host=127.0.0.1", port, "--ports_num_for_sparse=0"], cwd=self.dir, stdout=device, stderr=device,
                                   env={"PATH": os.environ["PATH"], "HOME": self.dir, "TERM": "xterm"})
        os.close(device)
        shown = ""
        while "Server listening" not in shown or not shown.endswith("\n"):
            shown += os.read(terminal, 4096).decode()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)
        os.close(terminal)
        self.assertRegex(shown, r"(?m)^\d\d:\d\d:\d\d Server listening on 127\.0\.0\.1:\d+\r?$")
        self.assertNotRegex(shown, LOG_LINE)

    def test_results_of_a_test(self):
        self.train(HOUSES, "--num_passes=2", "--save_dir=out")
        flags = ("train", f"--config={HOUSES}", "--job=test", "--init_model_path=out/pass-00001")
        self.assertRegex(str(self.screen(*flags)), rf"(?m)^pass 2  cost {NUMBER}  102 samples$")
        self.assertRegex(self.paddle(*flags).stdout, r"^ Pass=1 samples=102 AvgCost=")

    def test_messages_break_between_words(self):
        screen = self.screen("train", f"--config={DIGITS}", "--job=test", check=2)
        self.assertGreater(len(screen.lines), 1)
        self.assertIn("there is no model to test", " ".join(screen.lines))


class Warnings(People):
    def test_generated_data(self):
        """At the start and at the end, for every job that shows figures of it."""
        done = self.train(HOUSES, "--num_passes=2", "--save_dir=out")
        warnings = [line for line in done.stderr.splitlines() if line.startswith("W")]
        self.assertEqual(len(warnings), 2, done.stderr)
        self.assertRegex(warnings[0], r"\] the data is generated, not real: uci_housing: no file housing\.data in \S+: 404 records generated from seed 1; name real files in the job, or their directory with --data_dir=")
        self.assertRegex(warnings[1], r"\] this training used generated data, and its figures say nothing about real data")
        order = [i for i, line in enumerate(done.stderr.splitlines()) if line.startswith("W") or " Pass=" in line]
        self.assertEqual(len(order), 4)
        tested = self.train(HOUSES, "--job=test", "--init_model_path=out/pass-00001")
        self.assertEqual(len(re.findall(r"(?m)^W.* generated", tested.stderr)), 2, tested.stderr)
        real = self.train(write_job(self), "--num_passes=2")
        self.assertNotIn("generated", real.stderr)

    def test_nothing_was_saved(self):
        job = write_job(self)
        self.assertRegex(self.train(job, "--num_passes=2").stderr, r"\] nothing was saved; --save_dir=output saves a model after every pass\n")
        self.assertIn("nothing was saved; --save_dir=", str(self.screen("train", f"--config={job}", "--num_passes=2")))
        self.assertNotIn("nothing was saved", self.train(job, "--num_passes=2", "--save_dir=out").stderr)

    def test_older_models(self):
        job = write_job(self)
        self.assertNotIn("earlier run", self.train(job, "--num_passes=4", "--save_dir=out").stderr)
        again = self.train(job, "--num_passes=2", "--save_dir=out")
        self.assertRegex(again.stderr, r"(?m)^W.*\] out holds pass-00000 to pass-00003 \(4 models\) of an earlier run: this run writes pass-00000 to pass-00001 there")
        # Going on is no mistake.
        resumed = self.train(job, "--num_passes=5", "--save_dir=out", "--start_pass=4")
        self.assertNotIn("earlier run", resumed.stderr)
        back = self.train(job, "--num_passes=5", "--save_dir=out", "--start_pass=3")
        self.assertRegex(back.stderr, r"out holds pass-00003 and pass-00004 of an earlier run")

    def test_passes_are_counted_alike(self):
        """People read numbers from 1; the sentence at the start says how the log and directories number them."""
        job = write_job(self)
        done = self.train(job, "--num_passes=3", "--save_dir=out", "--show_curve")
        self.assertIn("training passes 1 to 3; log lines and model directories number them from 0\n", done.stderr)
        self.assertIn("the model is in out/pass-00002 (pass 3/3)\n", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^ +1 +pass +3$")
        launched = self.paddle("launch", f"--config={job}", "--num_passes=3")
        self.assertRegex(launched.stderr, r"(?m)^ +1 +pass +3$")
        screen = self.screen("train", f"--config={job}", "--num_passes=3", "--show_curve")
        self.assertRegex(str(screen), r"(?m)^pass 1/3 ")
        self.assertRegex(str(screen), r"(?m)^pass 3/3 ")
        self.assertRegex(str(screen), r"(?m)^ +1 +pass +3$")
        self.assertIn("has done 3 passes, and num_passes is 3: raise --num_passes",
                      self.sentence(self.train(job, "--num_passes=3", "--save_dir=out", "--start_pass=3", check=None), 2))


class Refusals(People):
    def test_no_model_to_test(self):
        message = self.sentence(self.train(HOUSES, "--job=test", check=None), 2)
        self.assertIn("there is no model to test: give --init_model_path=DIR", message)
        self.train(HOUSES, "--num_passes=2", "--save_dir=out")
        message = self.sentence(self.train(HOUSES, "--job=test", "--save_dir=out", check=None), 2)
        self.assertIn("--init_model_path=out/pass-00001 ", message)

    def test_model_of_another_job(self):
        self.train(HOUSES, "--num_passes=1", "--save_dir=out")
        for flags in (("--init_model_path=out/pass-00000",), ("--job=test", "--init_model_path=out/pass-00000")):
            message = self.sentence(self.train(DIGITS, *flags, check=None), 3)
            self.assertRegex(message, r"out/pass-00000 is a model of another job \(fit_a_line\.json\): \d+ of the \d+ variables of recognize_digits_mlp\.json are missing")
        self.train(DIGITS, "--num_passes=1", "--config_args=hidden=20", "--save_dir=small")
        message = self.sentence(self.train(DIGITS, "--init_model_path=small/pass-00000", check=None), 3)
        self.assertIn("is a model of another job (recognize_digits_mlp.json)", message)

    def test_damage_is_no_other_job(self):
        self.train(DIGITS, "--num_passes=1", "--save_dir=out")
        for name in ("hidden1.w_0", "hidden2.w_0", "prediction.w_0"):
            with open(self.path("out", "pass-00000", name), "r+b") as f:
                f.truncate(100)
        done = self.train(DIGITS, "--init_model_path=out/pass-00000", "--num_passes=2", check=None)
        self.refused(done, 3, "is damaged")

    def test_job_file_without_flag(self):
        for command in ("train", "trainer", "launch", "run"):
            with self.subTest(command):
                done = self.paddle(command, HOUSES, check=None)
                self.refused(done, 2, f"unknown command line argument '{HOUSES}': give the job file as --config={HOUSES}")
        self.assertEqual(self.paddle("dump_config", f"--config={HOUSES}").stdout, self.paddle("dump_config", HOUSES).stdout)


class Help(People):
    def commands(self):
        out = self.paddle("--help").stdout
        return re.findall(r"(?m)^    (\w+) ", out)

    def test_every_command(self):
        names = self.commands()
        self.assertGreater(len(names), 10)
        for name in names:
            for words in ((name, "--help"), ("help", name)):
                with self.subTest(words):
                    done = self.paddle(*words)
                    first = done.stdout.split("\n")[0]
                    self.assertRegex(first, r"^usage: paddle " + ("" if name == "help" else rf"{name}\b"))
                    for line in done.stdout.split("\n"):
                        self.assertLessEqual(len(line), 80, line)
        for program in (TRAINER, PSERVER):
            done = self.run_program(program, "--help", check=0)
            self.assertTrue(done.stdout.startswith("usage: paddle"), done.stdout[:100])

    def test_usage_fits(self):
        for line in self.paddle().stdout.split("\n"):
            self.assertLess(len(line), 80, line)

    def test_one_layer(self):
        out = self.paddle("list_layers", "fc").stdout
        self.assertRegex(out, r"^fc, layer: ")
        self.assertIn('{"type": "fc", "name": "hidden", "input": ["x", "y"], "size": 16', out)
        self.assertIn('{"type": "get_tensor_from_selected_rows", "input": …}', self.paddle("list_layers", "get_tensor_from_selected_rows").stdout)
        self.assertRegex(out, r"(?m)^  size \(integer, required\): ")
        self.assertNotIn("conv2d", out)
        for line in out.split("\n"):
            self.assertLess(len(line), 80, line)
        self.assertRegex(self.paddle("list_layers", "adam").stdout, r"^adam, optimizer: ")
        self.assertRegex(self.paddle("list_layers", "csv").stdout, r'^csv, data format: [^\0]*\{"format": "csv"\}')
        self.refused(self.paddle("list_layers", "fcc", check=None), 2, "there is no layer", "'fcc' (did you mean 'fc'?)")


class ExitCodes(People):
    """docs/exit-codes.md says how every program answers a signal; here each is asked."""

    def ends(self, arguments, started, number):
        environment = {"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_PSERVERS": "127.0.0.1", "PADDLE_PORT": "1", "PADDLE_TRAINERS": "1"}
        process = subprocess.Popen([PADDLE, *arguments], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={"PATH": os.environ["PATH"], "HOME": self.dir, **(environment if arguments[0] == "run" else {})})
        for line in process.stdout:
            if started in line:
                break
        process.send_signal(number)
        process.communicate(timeout=120)
        return process.returncode

    def test_signals(self):
        with open(os.path.join(SOURCE, "docs", "exit-codes.md"), encoding="utf-8") as f:
            page = f.read()
        promised = {}
        for program, interrupt, terminate in re.findall(r"(?m)^\| ([^|]+) \| (\d+) \| (\d+) \|$", page):
            for name in re.findall(r"`paddle (\w+)[^`]*`", program):
                promised[name] = {signal.SIGINT: int(interrupt), signal.SIGTERM: int(terminate)}
        job = write_job(self)
        cases = {"train": (["train", f"--config={job}", "--num_passes=1000000", "--dot_period=0"], " Pass=0 "),
                 "trainer": (["trainer", f"--config={job}", "--pservers=127.0.0.1:1", "--trainers=1"], "job "),
                 "pserver": (["pserver", "--host=127.0.0.1", "--port=0"], "Server listening"),
                 "launch": (["launch", f"--config={job}", "--num_passes=1000000"], " Pass=0 "),
                 "status": (["status", "--pservers=127.0.0.1:1", "--watch"], "0 of 1 shards answer"),
                 "ui": (["ui", "--pservers=127.0.0.1:1"], "the page is at "),
                 "logs": (["logs", "--follow", "--workspace=ws"], " Pass=0 ")}
        self.assertEqual(sorted(promised), sorted(cases))
        promised["run"], cases["run"] = promised["trainer"], (["run", *cases["trainer"][0][1:2]], "job ")
        self.paddle("launch", f"--config={job}", "--num_passes=1", "--workspace=ws")
        for name, (arguments, started) in cases.items():
            for number, code in promised[name].items():
                with self.subTest(name, signal=number):
                    self.assertEqual(self.ends(arguments, started, number), code)


if __name__ == "__main__":
    main()
