"""--event_dir: event files for TensorBoard, read back by the tensorboard package itself (PyPI).

`scripts/setup checkers` installs it."""
import glob
import json
import os
import subprocess
import unittest

from cluster import Process, until, write_job
from support import PADDLE, SOURCE, EndToEnd, main

PYTHON = os.path.join(SOURCE, "build-checkers", "bin", "python")
READ = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing import event_file_loader
out = {"scalars": {}, "histograms": {}}
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0})
a.Reload()
for tag in a.Tags()["scalars"]:
    out["scalars"][tag] = [[e.step, e.value] for e in a.Scalars(tag)]
for tag in a.Tags()["histograms"]:
    out["histograms"][tag] = [[e.step, e.histogram_value.num, e.histogram_value.min, e.histogram_value.max,
                               sum(e.histogram_value.bucket)] for e in a.Histograms(tag)]
print(json.dumps(out))
"""


def tensorboard_is_missing():
    return not os.path.exists(PYTHON) or subprocess.run(
        [PYTHON, "-c", "import tensorboard"], capture_output=True, timeout=120, check=False).returncode != 0


class Board(EndToEnd):
    def files(self, directory):
        return sorted(glob.glob(self.path(directory, "events.out.tfevents.*")))

    def events(self, path, kind, trainer):
        with open(path, encoding="utf-8") as f:
            found = [json.loads(line) for line in f if line.endswith("\n")]  # the last one may be half written
        return [e for e in found if e["event"] == kind and e.get("trainer", 0) == trainer and e["role"] == "trainer"]

    def board(self, directory):
        done = subprocess.run([PYTHON, "-c", READ, self.path(directory)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def assert_same(self, seen, told):
        """Steps and numbers; those of TensorBoard are floats of 32 bits, those of the lines have 9 digits."""
        self.assertEqual([step for step, _ in seen], [step for step, _ in told])
        for (step, a), (_, b) in zip(seen, told):
            self.assertAlmostEqual(a, b, delta=2e-7 * abs(b), msg=f"step {step}")

    def launch(self, *flags):
        self.paddle("launch", "--server_num=2", "--worker_num=2", f"--config={write_job(self)}", "--min_block_size=64",
                    "--num_passes=4", "--event_dir=board", f"--event_file={self.path('events.jsonl')}", *flags)

    def test_every_trainer_of_a_launch_has_its_directory(self):
        self.launch()
        self.assertEqual(sorted(os.listdir(self.path("board"))), ["trainer-0", "trainer-1"])
        for i in range(2):
            self.assertEqual(len(self.files(f"board/trainer-{i}")), 1)

    @unittest.skipIf(tensorboard_is_missing(), "needs tensorboard: scripts/setup checkers")
    def test_tensorboard_reads_the_numbers_of_the_event_file(self):
        self.launch("--parameter_period=0")
        for i in range(2):
            board = self.board(f"board/trainer-{i}")
            for group, kind in (("progress", "progress"), ("pass", "pass_ended")):
                told = self.events(self.path("events.jsonl"), kind, i)
                self.assertGreater(len(told), 0)
                self.assert_same(board["scalars"][f"{group}/cost"], [[e["step"], e["cost"]] for e in told])
                for name in told[0]["evaluators"]:
                    self.assert_same(board["scalars"][f"{group}/{name}"], [[e["step"], e["evaluators"][name]] for e in told])
            self.assert_same(board["scalars"]["progress/samples_per_second"],
                             [[e["step"], e["samples_per_second"]] for e in self.events(self.path("events.jsonl"), "progress", i)])
        told = self.events(self.path("events.jsonl"), "parameter", 0)
        board = self.board("board/trainer-0")
        self.assertEqual({f"parameters/{e['name']}" for e in told}, set(board["histograms"]))
        self.assertEqual(len(board["histograms"]), 4)
        for tag, seen in board["histograms"].items():
            same = [e for e in told if f"parameters/{e['name']}" == tag]
            self.assertEqual(len(same), 1 + 4, "before the first batch, and after each pass")
            rounded = [[step, num, float(f"{low:.9g}"), float(f"{high:.9g}"), counted] for step, num, low, high, counted in seen]
            self.assertEqual(rounded, [[e["step"], e["elements"], e["min"], e["max"], e["elements"]] for e in same])

    @unittest.skipIf(tensorboard_is_missing(), "needs tensorboard: scripts/setup checkers")
    def test_a_killed_writer_leaves_what_it_wrote_and_the_next_begins_a_file(self):
        trainer, events = Process(self.dir, "trainer"), self.path("events.jsonl")
        self.addCleanup(trainer.kill)
        trainer.start(PADDLE, "train", f"--config={write_job(self)}", "--num_passes=1000000", "--event_dir=board",
                      f"--event_file={events}", "--saving_period=1000000")
        until(lambda: os.path.exists(events) and len(self.events(events, "progress", 0)) > 4, "some progress")
        trainer.kill()
        first = self.board("board/trainer-0")["scalars"]["progress/cost"]
        self.assertGreater(len(first), 4)
        told = [[e["step"], e["cost"]] for e in self.events(events, "progress", 0)]
        self.assertLessEqual(abs(len(first) - len(told)), 1, "it was killed between the two")
        self.assert_same(first[:len(told)], told[:len(first)])
        self.train(write_job(self), "--num_passes=2", "--event_dir=board")
        self.assertEqual(len(self.files("board/trainer-0")), 2)
        self.assertIn("pass/cost", self.board("board/trainer-0")["scalars"])

    def test_a_directory_that_cannot_be_made(self):
        self.write("file", "x")
        self.refused(self.train(write_job(self), "--event_dir=file", check=None), 4, "file")


if __name__ == "__main__":
    main()
