"""Training that was saved, loaded and continued equals training that never stopped, bit for bit."""
import json
import os
import re
import signal
import subprocess
import unittest

from support import CONFIGS, PADDLE, EndToEnd, main

# Dropout, momentum, a schedule and a running evaluator: everything that has a state of its own.
JOB = """{
  "inputs": [{"name": "img", "shape": 784}, {"name": "label", "dtype": "int64"}],
  "layers": [
    {"type": "fc", "name": "h", "input": "img", "size": 16, "act": "relu"},
    {"type": "dropout", "name": "d", "input": "h", "dropout_prob": 0.3},
    {"type": "fc", "name": "p", "input": "d", "size": 10, "act": "softmax"},
    {"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}
  ],
  "cost": "cost",
  "outputs": "p",
  "evaluators": {"type": "accuracy", "input": "p", "label": "label"},
  "optimizer": {"type": "OPTIMIZER", "learning_rate": 0.01, "l2": 0.0001,
                "schedule": {"type": "exponential_decay", "decay_steps": 50, "decay_rate": 0.9}},
  "data": {"format": "mnist", "batch_size": 100, "prefetch": PREFETCH}
}"""


class Resume(EndToEnd):
    def job(self, optimizer, prefetch=4):
        return self.write("job.json", JOB.replace("OPTIMIZER", optimizer).replace("PREFETCH", str(prefetch)))

    def test_between_passes(self):
        for optimizer in ("sgd", "momentum", "adam", "adagrad"):
            with self.subTest(optimizer):
                self.same_in_parts(self.job(optimizer), optimizer)

    def test_within_a_pass(self):
        for prefetch in (0, 7):
            job = self.job("adam", prefetch)
            out = f"p{prefetch}"
            self.train(job, "--num_passes=2", f"--save_dir={out}/whole", "--saving_period_by_batches=25")
            self.train(job, "--num_passes=2", f"--save_dir={out}/parts", f"--init_model_path={out}/whole/pass-00001-001")
            self.same(self.path(out, "whole", "pass-00001"), self.path(out, "parts", "pass-00001"))

    def test_with_another_learning_rate(self):
        text = JOB.replace("OPTIMIZER", "sgd").replace("PREFETCH", "4").replace("0.01,", '"${rate:0.01}",')
        job = self.write("job.json", re.sub(r',\s*"schedule": \{[^}]*\}', "", text))
        self.train(job, "--num_passes=1", "--save_dir=first")
        weights = []
        for rate in ("0.01", "0.02"):
            self.train(job, "--num_passes=2", f"--save_dir={rate}", "--init_model_path=first/pass-00000", f"--config_args=rate={rate}")
            weights.append(self.files(self.path(rate, "pass-00001"))["h.w_0"])
        self.assertNotEqual(*weights)

    def test_same_seed_same_bits_other_seed_other_bits(self):
        job = self.job("sgd")
        for out, seed in (("a", 5), ("b", 5), ("c", 6)):
            self.train(job, "--num_passes=1", f"--save_dir={out}", f"--seed={seed}")
        self.same(self.path("a", "pass-00000"), self.path("b", "pass-00000"))
        self.assertNotEqual(self.files(self.path("a", "pass-00000"))["h.w_0"], self.files(self.path("c", "pass-00000"))["h.w_0"])

    def test_directory_is_fluids(self):
        self.train(self.job("adam"), "--num_passes=1", "--save_dir=out")
        names = set(self.files(self.path("out", "pass-00000")))
        expected = {"h.w_0", "h.b_0", "h.w_0_moment1_0", "h.w_0_beta1_pow_acc_0", "@LR_DECAY_COUNTER@", "__model__",
                    "done", "path.txt", "job.json", "train_state"}
        self.assertLessEqual(expected, names)
        weight = self.files(self.path("out", "pass-00000"))["h.w_0"]
        header = bytes(4) + bytes(8) + bytes(4) + (7).to_bytes(4, "little") + bytes([8, 5, 16, 0x90, 6, 16, 16])
        self.assertEqual(weight[:len(header)], header)
        self.assertEqual(len(weight), len(header) + 784 * 16 * 4)

    def test_only_one(self):
        self.train(self.job("sgd"), "--num_passes=3", "--save_dir=out", "--save_only_one")
        self.assertEqual(os.listdir(self.path("out")), ["pass-00002"])

    def test_interrupted_and_continued(self):
        """A signal ends the job at a batch, with the code for the signal; what was saved is whole."""
        job = self.job("sgd")
        process = subprocess.Popen([PADDLE, "train", f"--config={job}", "--num_passes=100000", "--save_dir=out", "--dot_period=0"],
                                   cwd=self.dir, env={"PATH": os.environ["PATH"], "HOME": self.dir}, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "saved out/pass-00001" in line:
                process.send_signal(signal.SIGINT)
                break
        rest = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130)
        self.assertIn("--init_model_path=out/pass-", rest)
        for name in os.listdir(self.path("out")):
            self.assertIn("done", os.listdir(self.path("out", name)), name)


if __name__ == "__main__":
    main()
