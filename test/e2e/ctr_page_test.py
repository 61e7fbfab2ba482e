"""docs/ctr.md as it stands: its commands are run one after the other, with fewer records."""
import os
import re

from support import BUILD, CONFIGS, SOURCE, EndToEnd, main


class Page(EndToEnd):
    def commands(self):
        """The indented lines of the page up to the part about Python."""
        with open(os.path.join(SOURCE, "docs", "ctr.md"), encoding="utf-8") as f:
            page = f.read().split("## With files")[0]
        lines = re.findall(r"(?m)^    (?! )(.*(?:\\\n.*)*)$", page.replace("\\\n        ", ""))
        return [line.strip() for line in lines]

    def test_from_a_log_to_a_prediction(self):
        os.symlink(CONFIGS, self.path("configs"))
        environment = {"PATH": os.path.join(BUILD, "daemons", "paddle") + ":" + os.environ["PATH"]}
        commands = self.commands()
        self.assertRegex(commands[0], r"^paddle launch --config=configs/ctr_dnn.json ")
        self.assertGreaterEqual(len(commands), 6)
        shown = {}
        for command in commands:
            small = command.replace("hash_size=20011", "hash_size=20011,records=12000")
            shown[command] = self.run_program("/bin/sh", "-c", small, env=environment, check=0)
        by_word = {word: next(done for command, done in shown.items() if word in command)
                   for word in ("launch", "--job=test", "make_clicks", "--output clicks.csv", "head -4", "--data -")}
        launched = by_word["launch"].stdout + by_word["launch"].stderr
        self.assertIn("pass 1 of all trainers: 12000 samples", launched)
        self.assertIn("the model is in ws/output/pass-00000", launched)
        self.assertRegex(by_word["--job=test"].stdout, r"samples=20000 AvgCost=0\.4\d+ Eval: auc=0\.[78]\d+")
        self.assertRegex(by_word["make_clicks"].stdout, r"^1000 records in 1 file of today; the best AUC .* 0\.8386\n$")
        self.assertRegex(by_word["--output clicks.csv"].stdout, r"^wrote clicks.csv: 1000 predictions, \d+ records/s\n$")
        lines = by_word["head -4"].stdout.splitlines()
        self.assertEqual((len(lines), lines[0]), (4, "prediction.0,prediction.1"))
        for line in lines[1:]:
            self.assertAlmostEqual(sum(map(float, line.split(","))), 1, places=5)
        self.assertRegex(by_word["--data -"].stdout, r'^\{"prediction":\[0\.\d+,0\.\d+\]\}\n$')
        # They are predictions: records with a click have a higher one.
        with open(self.path("clicks.csv"), encoding="ascii") as f:
            clicks = [float(line.split(",")[1]) for line in list(f)[1:]]
        with open(self.path("today", "part-0"), encoding="ascii") as f:
            labels = [line[0] == "1" for line in f]
        mean = [sum(c for c, y in zip(clicks, labels) if y == label) / labels.count(label) for label in (True, False)]
        self.assertGreater(mean[0], mean[1] + 0.05)


if __name__ == "__main__":
    main()
