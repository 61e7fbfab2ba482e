"""docs/ctr.md as it stands: its commands are run one after the other, with fewer records."""
import os

from pages import read_page, run_steps
from support import CONFIGS, EndToEnd, main


class Page(EndToEnd):
    def test_from_a_log_to_a_prediction(self):
        os.symlink(CONFIGS, self.path("configs"))
        steps = read_page("ctr.md", until="## With files")
        self.assertRegex(steps[0].command, r"^paddle launch --config=configs/ctr_dnn.json ")
        self.assertGreaterEqual(len(steps), 6)
        run_steps(self, steps, {"hash_size=20011": "hash_size=20011,records=12000"})
        printed = {word: "\n".join(next(step.output for step in steps if word in step.command))
                   for word in ("launch", "--job=test", "make_clicks", "--output clicks.csv", "head -4", "--data -")}
        self.assertIn("pass 1 of all trainers: 12000 samples", printed["launch"])
        self.assertIn("the model is in ws/output/pass-00000", printed["launch"])
        self.assertRegex(printed["--job=test"], r"(?m)^pass 1  cost 0\.4\d+  auc 0\.[78]\d+  calibration 1\.\d+  20000 samples$")
        self.assertRegex(printed["make_clicks"], r"^1000 records in 1 file of today; the best AUC .* 0\.8386$")
        self.assertRegex(printed["--output clicks.csv"], r"^wrote clicks.csv: 1000 predictions, \d+ records/s$")
        lines = printed["head -4"].splitlines()
        self.assertEqual((len(lines), lines[0]), (4, "prediction.0,prediction.1"))
        for line in lines[1:]:
            self.assertAlmostEqual(sum(map(float, line.split(","))), 1, places=5)
        self.assertRegex(printed["--data -"], r'^\{"prediction":\[0\.\d+,0\.\d+\]\}$')
        # They are predictions: records with a click have a higher one.
        with open(self.path("clicks.csv"), encoding="ascii") as f:
            clicks = [float(line.split(",")[1]) for line in list(f)[1:]]
        with open(self.path("today", "part-0"), encoding="ascii") as f:
            labels = [line[0] == "1" for line in f]
        mean = [sum(c for c, y in zip(clicks, labels) if y == label) / labels.count(label) for label in (True, False)]
        self.assertGreater(mean[0], mean[1] + 0.05)


if __name__ == "__main__":
    main()
