"""test/bench/scale.py: it gives what it was made of, and says nothing where a point that was measured contradicts it."""
import json
import os
import sys

from support import SOURCE, EndToEnd, main


class Scale(EndToEnd):
    def measured(self, four=1.0):
        """Lines as dist_bench prints them: two cores that are busy nine tenths of the time."""
        lines = []
        for n in (2, 4):
            for batch, trainer, pserver, alone in ((100, 4000, 1500, 2600), (1000, 32000, 5000, 26000)):
                rate = n * batch * 2 * 0.9 / (n * (trainer + pserver) * 1e-6)
                lines.append({"row": f"W5, {n} x {n}, sync, batch {batch}", "ours": rate * (four if n == 4 else 1), "raw": 1,
                              "trainers_cpu_us_per_step": n * trainer, "pservers_cpu_us_per_step": n * pserver,
                              "alone_cpu_us_per_step": n * alone})
        return self.write("measured.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    def test_it_needs_a_point_that_it_was_not_made_of(self):
        path = self.measured()
        with open(path, encoding="ascii") as f:
            lines = [line for line in f if "4 x 4" not in line]
        done = self.run_scale(self.write("two.jsonl", "".join(lines)), 1)
        self.assertIn("4 x 4, batch 100 (not measured)", done.stderr)

    def run_scale(self, path, check):
        return self.run_program(sys.executable, os.path.join(SOURCE, "test", "bench", "scale.py"), path, check=check)

    def test_it_gives_the_measured_points(self):
        out = self.run_scale(self.measured(), 0).stdout
        for n in (2, 4):
            for batch in (100, 1000):
                row = next(line for line in out.splitlines() if line.startswith(f"| {n} x {n}, batch {batch}"))
                self.assertEqual(row.split("|")[-2].strip(), "1.00", row)
        steps = {tuple(line.split("|")[1:4]): float(line.split("|")[4]) for line in out.splitlines() if line.startswith("| 1000 ")}
        one, eight = (steps[" 1000 ", " 100 ", f" {ports} "] for ports in (1, 8))
        self.assertLess(eight, one)  # more ports share the work

    def test_a_point_that_contradicts_it_ends_it(self):
        done = self.run_scale(self.measured(four=0.4), 1)
        self.assertIn("off by more than a factor of 1.5 at 4 x 4", done.stderr)
        self.assertNotIn("| 1000 |", done.stdout)


if __name__ == "__main__":
    main()
