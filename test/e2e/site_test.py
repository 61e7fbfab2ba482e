"""scripts/site: the documentation as a site, with all of its links, and as a browser shows it."""
import os
import re
import shutil
import subprocess
import sys

import browser
import runner
from cluster import until
from support import BUILD, SOURCE, EndToEnd, main


class Site(EndToEnd):
    def setUp(self):
        super().setUp()
        self.site = os.path.join(runner.shared_directory, "built")

    def built(self):
        """The site of this source, built once."""
        runner.shared("site", self.build)

    def build(self, source=SOURCE, check=0):
        target = self.site if source == SOURCE else self.path("site")
        done = self.run_program(sys.executable, os.path.join(source, "scripts", "site"), target, check=None)
        if done.returncode == 4 and done.stderr.startswith("scripts/site: needs "):
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, check, done.stdout + done.stderr)
        return done.stderr

    def text(self, name):
        with open(os.path.join(self.site, name), encoding="utf-8") as f:
            return f.read()

    def copy_of_docs(self):
        names = subprocess.run(["git", "-C", SOURCE, "ls-files"], capture_output=True, text=True, check=False).stdout.split("\n")
        if len(names) < 10:
            self.skipTest("needs a clone")
        for name in filter(None, names):
            os.makedirs(os.path.dirname(self.path("source", name)), exist_ok=True)
            if os.path.exists(os.path.join(SOURCE, name)):
                shutil.copy(os.path.join(SOURCE, name), self.path("source", name))
        return self.path("source")

    def test_pages_and_their_order(self):
        self.built()
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
            table = f.read().split("## The guides, in reading order")[1]
        rows = re.findall(r"(?m)^\| .*?\]\(([^)#]+\.md)\)", table)
        front = self.text("index.html")
        sidebar = front[front.index("sidebar-tree"):front.index("</aside>", front.index("sidebar-tree"))]
        places = [sidebar.find(f'href="{row[:-3]}.html"') for row in rows]
        self.assertGreater(min(places), 0, dict(zip(rows, places)))
        self.assertEqual(places, sorted(places))
        self.assertEqual(len(re.findall(r'href="docs/guide-[a-z0-9-]+\.html"', sidebar)), 5)  # one for each guide
        self.assertIn("<th", self.text("docs/guide-clusters-v2.html"))
        self.assertIn("the guide says", self.text("docs/guide-clusters-v2.html"))
        self.assertIn('"titles"', self.text("searchindex.js").replace("titles:", '"titles":'))
        for name, data in self.files(self.site).items():
            if name.endswith((".html", ".css")):
                outside = re.findall(rb'(?:<link[^>]*stylesheet[^>]*href|<script[^>]*src|<img[^>]*src)="(?:https?:)?//[^"]*|@import url\(/[^)]*', data)
                self.assertEqual(outside, [], name)

    def test_bad_links_are_errors(self):
        source = self.copy_of_docs()
        modes = os.path.join(source, "docs", "modes.md")
        with open(modes, encoding="utf-8") as f:
            good = f.read()
        with open(modes, "w", encoding="utf-8") as f:
            f.write(good + "\nSee [there](cluster.md#no-such-place) and [here](#nor-this-one).\n")
        said = self.build(source, 1)
        self.assertIn("cluster.md#no-such-place", said)
        self.assertIn("#nor-this-one", said)
        with open(modes, "w", encoding="utf-8") as f:
            f.write(good + "\nSee [there](gone.md).\n")
        self.assertIn("docs/modes.md links to gone.md, which is not there", self.build(source, 1))
        with open(modes, "w", encoding="utf-8") as f:
            f.write(good)
        with open(os.path.join(source, "docs", "new.md"), "w", encoding="utf-8") as f:
            f.write("# New\n")
        self.assertIn("README's table has no row for docs/new.md", self.build(source, 1))

    def test_in_a_browser(self):
        """Nothing is wider than a telephone, dark is dark, and the search finds a page, all from files."""
        self.built()
        if browser.missing():
            self.skipTest(f"needs {browser.missing()}")
        seen = browser.Browser(self, width=380, height=800, dark=True)
        theme = "return document.body.dataset.theme"
        for page in ("index", "docs/tutorial/2-four-processes", "docs/how-it-works", "docs/guide-clusters-v2"):
            seen.open(f"file://{os.path.join(self.site, page)}.html")
            self.assertIn("Paddle", seen.run("return document.title"))
            self.assertLessEqual(seen.run("return document.documentElement.scrollWidth"), 380, page)
            background = seen.run("return getComputedStyle(document.body).backgroundColor")
            self.assertLess(max(map(int, re.findall(r"\d+", background)[:3])), 60, page)
            before = seen.run(theme)
            seen.driver.find_element("css selector", ".theme-toggle-header button").click()
            self.assertNotEqual(seen.run(theme), before, "dark or light can be chosen")
            seen.run("localStorage.clear()")
            self.assertEqual(seen.errors(), [], page)
            if os.environ.get("PADDLE_TEST_PICTURES"):
                seen.driver.save_screenshot(os.path.join(BUILD, f"site-{os.path.basename(page)}.png"))
        seen.open(f"file://{os.path.join(self.site, 'search.html')}?q=snapshot")
        found = "return [...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href'))"
        links = until(lambda: seen.run(found), "the search finds something")
        self.assertTrue(any("modes" in link or "tutorial" in link for link in links), links)
        self.assertEqual(seen.errors(), [])


if __name__ == "__main__":
    main()
