"""The pictures of docs/ui.md are of the present page, and scripts/screenshots can take them."""
import importlib.machinery
import importlib.util
import os
import re
import sys
import unittest

import browser
from support import BUILD, SOURCE, EndToEnd, main

SCRIPT = os.path.join(SOURCE, "scripts", "screenshots")
PLACE = os.path.join(SOURCE, "docs", "screenshots")


def script():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("screenshots", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("screenshots", loader))
    loader.exec_module(module)
    return module


class Screenshots(EndToEnd):
    def test_are_of_the_present_page(self):
        with open(os.path.join(PLACE, "page.sha256"), encoding="ascii") as f:
            self.assertEqual(f.read(), script().digest(), "daemons/paddle/page has changed: run scripts/screenshots, and look at docs/screenshots")

    def test_the_page_shows_all_of_them(self):
        names = sorted(name for name in os.listdir(PLACE) if name.endswith(".webp"))
        self.assertEqual(names, sorted(name + ".webp" for name in script().PICTURES))
        with open(os.path.join(SOURCE, "docs", "ui.md"), encoding="utf-8") as f:
            self.assertEqual(sorted(re.findall(r"\(screenshots/([^)]+)\)", f.read())), names)

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_are_taken(self):
        self.run_program("/usr/bin/python3", SCRIPT, self.path("new"), env={"PADDLE_TEST_SOURCE": SOURCE, "PADDLE_TEST_BUILD": BUILD}, check=0)
        for name in os.listdir(PLACE):
            with open(self.path("new", name), "rb") as f:
                content = f.read()
            if name.endswith(".webp"):
                self.assertEqual((content[:4], content[8:12]), (b"RIFF", b"WEBP"), name)
                self.assertGreater(len(content), 5000, name)
                self.assertLess(len(content), 100_000, name)


if __name__ == "__main__":
    main()
