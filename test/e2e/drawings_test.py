"""The drawings of docs/ are those that scripts/drawings makes of their texts."""
import os
import shutil
import sys

from support import SOURCE, EndToEnd, main


class Drawings(EndToEnd):
    def copy(self):
        for part in ("scripts", os.path.join("docs", "drawings")):
            os.makedirs(self.path(part))
        shutil.copy(os.path.join(SOURCE, "scripts", "drawings"), self.path("scripts"))
        shutil.copytree(os.path.join(SOURCE, "docs", "drawings"), self.path("docs", "drawings"), dirs_exist_ok=True)

    def draw(self, *flags, check=None):
        return self.run_program(sys.executable, self.path("scripts", "drawings"), *flags, check=check)

    def test_are_those_of_their_texts(self):
        self.copy()
        self.draw("--check", check=0)
        before = self.files(self.path("docs", "drawings"))
        self.assertGreaterEqual(sum(name.endswith(".svg") for name in before), 2)
        self.draw(check=0)
        self.assertEqual(self.files(self.path("docs", "drawings")), before)

    def test_a_change_is_seen(self):
        self.copy()
        with open(self.path("docs", "drawings", "gradient.txt"), "a", encoding="utf-8") as f:
            f.write("note and so on\n")
        self.assertIn("gradient.svg", self.draw("--check", check=1).stderr)
        with open(self.path("docs", "drawings", "gradient.txt"), "a", encoding="utf-8") as f:
            f.write("arrow trainer 0 -> trainer 9: nothing\n")
        self.assertIn("there is no lane 'trainer 9'", self.draw(check=1).stderr)


if __name__ == "__main__":
    main()
