"""docs/layer-examples.md: every layer of job files has an example, and all of them together are a job that the program takes."""
import json
import os
import re

from support import SOURCE, EndToEnd, main

NOT_IN_A_JOB = {"get_tensor_from_selected_rows", "merge_selected_rows"}  # they take gradients


class LayerExamples(EndToEnd):
    def setUp(self):
        super().setUp()
        with open(os.path.join(SOURCE, "docs", "layer-examples.md"), encoding="utf-8") as f:
            self.page = f.read()
        first, *others = re.findall(r"(?ms)^```json\n(.*?)^```$", self.page)
        self.inputs = json.loads("{" + first + "}")["inputs"]
        self.rows = [row for block in others for row in json.loads("[" + block + "]")]

    def job(self, rows):
        return self.write("job.json", json.dumps({
            "inputs": self.inputs, "layers": rows, "cost": "cost", "outputs": "prediction",
            "optimizer": {"type": "sgd", "learning_rate": 0.1}, "data": {"format": "csv", "files": "none.csv"}}))

    def test_every_layer_has_one(self):
        layers = self.paddle("list_layers").stdout.split("### Layers\n")[1].split("\n### ")[0]
        known = set(re.findall(r"(?m)^\*\*`(\w+)`\*\*:", layers))
        self.assertGreater(len(known), 100)
        self.assertEqual({row["type"] for row in self.rows}, known - NOT_IN_A_JOB)
        for layer in NOT_IN_A_JOB:
            self.assertIn(f"`{layer}`", self.page.split("## Not in a job file")[1])

    def test_the_list_of_layers_shows_them(self):
        """docs/job-files.md is this list."""
        layers = self.paddle("list_layers").stdout.split("### Layers\n")[1].split("\n### ")[0]
        shown = {}
        for part in layers.split("\n**`")[1:]:
            name = part.split("`")[0]
            if found := re.search(r"(?s)\n- example: `(.*?)`", part):
                shown[name] = json.loads(found[1])
        first = {}
        for row in self.rows:
            first.setdefault(row["type"], row)
        self.assertEqual(shown, first)

    def test_the_program_takes_them(self):
        program = self.paddle("dump_config", self.job(self.rows)).stdout
        for op in ("conv2d", "sequence_pool", "huber_loss", "nce", "gather_nd", "sgd"):
            self.assertIn(op, program)

    def test_those_that_stand_outside_do_for_a_reason(self):
        for layer in NOT_IN_A_JOB:
            job = self.job([*self.rows, {"type": layer, "input": "x"}])
            self.refused(self.paddle("dump_config", job, check=None), 2, "must hold selected rows")


if __name__ == "__main__":
    main()
