"""docs/gallery.md: every ready job is on it, as scripts/gallery writes it, and quick ones reach the figures that it prints."""
import json
import os
import re
import shlex
import shutil
import sys

from support import CONFIGS, DATA, SOURCE, EndToEnd, main, needs_real_data


class Gallery(EndToEnd):
    def copy(self):
        for part in ("scripts", "docs"):
            os.makedirs(self.path(part))
        shutil.copy(os.path.join(SOURCE, "scripts", "gallery"), self.path("scripts"))
        shutil.copy(os.path.join(SOURCE, "docs", "gallery.md"), self.path("docs"))
        shutil.copytree(os.path.join(SOURCE, "docs", "gallery"), self.path("docs", "gallery"))
        shutil.copytree(CONFIGS, self.path("configs"))

    def gallery(self, *flags, check=None):
        return self.run_program(sys.executable, self.path("scripts", "gallery"), *flags, check=check)

    def part(self, job):
        with open(os.path.join(SOURCE, "docs", "gallery.md"), encoding="utf-8") as f:
            return re.search(rf"(?ms)^## {job}\n(.*?)(?=^## |\Z)", f.read())[1]

    def test_has_every_ready_job(self):
        self.copy()
        self.gallery("--check", check=0)
        for name in os.listdir(CONFIGS):
            if name.endswith(".json"):
                part = self.part(name.removesuffix(".json"))
                self.assertIn(f"paddle train --config=configs/{name}", part)
                self.assertIn(name.replace(".json", ".svg"), part)
        before = self.files(self.path("docs"))
        self.gallery(check=0)
        self.assertEqual(self.files(self.path("docs")), before)

    def test_a_change_is_seen(self):
        self.copy()
        with open(self.path("docs", "gallery", "results.json"), encoding="utf-8") as f:
            results = json.load(f)
        results["din"]["tests"][-1][1] *= 1.5
        results["ctr_lr"]["figures"][-1]["cost"] = 77
        self.write("docs/gallery/results.json", json.dumps(results))
        self.assertIn("not up to date: docs/gallery.md, docs/gallery/din.svg;", self.gallery("--check", check=1).stderr)
        self.write("configs/new.json", "// Something new.\n{}\n")
        self.assertIn("scripts/gallery: new: not both a ready job and among the results", self.gallery(check=1).stderr)
        self.assertIn("there is no ready job 'nwe'", self.gallery("run", "nwe", check=1).stderr)

    def reaches(self, job, *flags):
        """The command of the page, run anew, ends with the last row of its table; a digit may differ on another processor."""
        part = self.part(job)
        names, rows = None, []
        for line in part.split("\n"):
            if line.startswith("| "):
                cells = [cell.strip() for cell in line.strip("| ").split("|")]
                names, rows = (names, [*rows, cells]) if names else (cells, [])
        command = re.search(r"(?m)^paddle (.*)$", part)[1].replace("configs/", CONFIGS + "/")
        self.paddle(*shlex.split(command), f"--event_file={self.path('events')}", *flags)
        with open(self.path("events"), encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
        ended = [e for e in events if e["event"] == "pass_ended"][-1]
        tested = [e for e in events if e["event"] == "test_result"][-1]
        found = {"pass": ended["pass"] + 1, "cost": ended["cost"], **ended["evaluators"], "test cost": tested["cost"],
                 **{"test " + name: value for name, value in tested["evaluators"].items()}}
        self.assertEqual(list(found), names)
        for name, shown in zip(names, rows[-1]):
            self.assertAlmostEqual(found[name], float(shown), delta=0.01 * float(shown), msg=f"{job}: {name}")

    @needs_real_data
    def test_fit_a_line(self):
        self.reaches("fit_a_line", f"--data_dir={DATA}")

    @needs_real_data
    def test_incomes(self):
        self.reaches("ctr_lr", f"--data_dir={DATA}")

    def test_generated_clicks(self):
        self.reaches("dcn")


if __name__ == "__main__":
    main()
