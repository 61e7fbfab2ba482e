"""paddle help TOPIC, and the manual page of every command."""
import os
import re
import shutil
import subprocess

from support import BUILD, SOURCE, EndToEnd, main

MAN = os.path.join(BUILD, "daemons", "paddle")


class Pages(EndToEnd):
    def commands(self):
        found = re.findall(r"(?m)^    (\w+) ", self.paddle("--help").stdout)
        self.assertIn("doctor", found)
        return found

    def read(self, *parts):
        with open(os.path.join(SOURCE, *parts), encoding="utf-8") as f:
            return f.read()

    def test_pages(self):
        self.assertEqual(self.paddle("help", "modes").stdout, self.read("docs", "modes.md"))
        self.assertEqual(self.paddle("help", "docs/modes.md").stdout, self.read("docs", "modes.md"))
        self.assertEqual(self.paddle("help", "Readme").stdout, self.read("README.md"))
        self.assertIn("'paddle help tutorial' begins the documentation", self.paddle().stdout)
        self.assertEqual(self.paddle("help", "tutorial").stdout, self.read("docs", "tutorial", "README.md"))
        self.assertEqual(self.paddle("help", "2-four-processes").stdout, self.read("docs", "tutorial", "2-four-processes.md"))
        topics = self.paddle("help", "topics").stdout
        for name in os.listdir(os.path.join(SOURCE, "docs")):
            if name.endswith(".md"):
                heading = self.read("docs", name).splitlines()[0].removeprefix("# ")
                self.assertRegex(topics, rf"(?m)^{re.escape(name[:-3].lower())} +{re.escape(heading)}$")

    def test_commands_come_first(self):
        self.assertEqual(self.paddle("help", "ui").stdout, self.paddle("ui", "--help").stdout)
        self.assertEqual(self.paddle("help", "ui.md").stdout, self.read("docs", "ui.md"))
        self.assertEqual(self.paddle("help").stdout, self.paddle("--help").stdout)

    def test_a_wrong_word(self):
        self.refused(self.paddle("help", "exitcodes", check=None), 2, "neither a command nor a page 'exitcodes'", "did you mean 'exit-codes'?")
        self.refused(self.paddle("help", "zzzzzz", check=None), 2, "'paddle help topics' the pages")
        self.refused(self.paddle("help", "modes", "ui", check=None), 2, "usage: paddle help")

    def test_every_command_has_a_manual_page(self):
        built = {name for name in os.listdir(MAN) if name.endswith(".1")}
        self.assertEqual(built, {"paddle.1"} | {f"paddle-{name}.1" for name in self.commands()})
        for name in self.commands():
            page = self.paddle("man_page", name).stdout
            with open(os.path.join(MAN, f"paddle-{name}.1"), encoding="utf-8") as f:
                self.assertEqual(f.read(), page, f"{name}: the page was built by another program")
            for flag in re.findall(r"(?m)^  --(\w+)", self.paddle(name, "--help").stdout if name != "help" else ""):
                if page.count(".SH OPTIONS"):
                    self.assertIn(rf"\fB\-\-{flag}\fR", page, name)
        self.refused(self.paddle("man_page", "stats", check=None), 2, "there is no command 'stats' (did you mean 'status'?)")

    def test_pages_are_sound(self):
        checks = [command for command in (["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"], ["mandoc", "-T", "lint", "-W", "warning"])
                  if shutil.which(command[0])]
        if not checks:
            self.skipTest("man and mandoc are missing: apt-get install man-db mandoc")
        for name in ["paddle"] + [f"paddle-{c}" for c in self.commands()]:
            for command in checks:
                done = subprocess.run([*command, os.path.join(MAN, name + ".1")], capture_output=True, text=True, timeout=60,
                                      env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
                said = done.stderr + (done.stdout if command[0] == "mandoc" else "")
                said = re.sub(r'(?m)^.*missing date, using "": TH\n', "", said)  # a page has the version instead
                self.assertEqual(said, "", f"{command[0]}: {name}.1")

    def test_installed(self):
        """meson install puts the pages where man looks for them."""
        plan = self.run_program("meson", "introspect", "--install-plan", BUILD)
        if plan.returncode != 0:
            self.skipTest("meson is missing")
        for name in ["paddle.1", "paddle-doctor.1"]:
            self.assertRegex(plan.stdout, rf'man1/{re.escape(name)}"')


if __name__ == "__main__":
    main()
