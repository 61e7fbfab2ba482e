"""docs/tutorial: every command is run, and every output compared (pages.py says how)."""
import os
import re
import unittest

from cluster import free_ports
from nodes import Nodes, missing_ssh
from pages import check_steps, read_page, run_steps
from support import BUILD, SOURCE, EndToEnd, main


def chapter(name):
    return read_page(os.path.join("tutorial", name))


def needs_python(test):
    there = os.path.exists(os.path.join(BUILD, "python", "paddle", "__init__.py"))
    return unittest.skipUnless(there, "needs the Python package: scripts/build build python")(test)


class Tutorial(EndToEnd):
    def check(self, name, replace=None, environment=None, varying=()):
        steps = chapter(name)
        self.assertGreaterEqual(sum(step.shown is not None for step in steps), 2, name)
        self.check_words(name)
        check_steps(self, run_steps(self, steps, replace, environment), varying)
        return steps

    def check_words(self, name):
        """A picture that is there, and why it is done like this."""
        place = os.path.join(SOURCE, "docs", "tutorial")
        with open(os.path.join(place, name), encoding="utf-8") as f:
            text = f.read()
        pictures = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", text)
        self.assertTrue(pictures, name)
        for picture in pictures:
            self.assertTrue(os.path.exists(os.path.join(place, picture)), picture)
        self.assertIn("\n**Why", text)

    def files_of_chapter_1(self):
        """The data and the job that later chapters use, made by the commands of the first one."""
        steps = [step for step in chapter("1-first-model.md") if "<<'END'" in step.command and "> trips." in step.command]
        self.assertEqual(len(steps), 2)
        run_steps(self, steps)

    def test_1_first_model(self):
        self.check("1-first-model.md")

    def test_2_four_processes(self):
        """A pserver dies, and the model has the bits of the run in which none did."""
        self.files_of_chapter_1()
        port = free_ports(4)
        steps = self.check("2-four-processes.md", {"7164": str(port), "7174": str(port + 2)}, varying=[r"step \d+", r"pass-\d+ "])
        self.assertTrue(any("kill -9" in step.command for step in steps))

    def test_3_clicks(self):
        self.check("3-clicks.md")

    @unittest.skipIf(missing_ssh(), f"needs {missing_ssh()}")
    def test_4_a_cluster(self):
        """Three ssh servers are the hosts; the user's ssh knows them, as it would know hosts of a name and a key."""
        self.files_of_chapter_1()
        nodes = Nodes(self, 3, environment=f" PATH={os.path.join(BUILD, 'daemons', 'paddle')}:{os.environ['PATH']}")
        os.mkdir(self.path("bin"))
        ssh = self.write("bin/ssh", f'#!/bin/sh\nexec /usr/bin/ssh -F none -p {nodes.port} -i {nodes.key} -oStrictHostKeyChecking=no '
                                    '-oUserKnownHostsFile=/dev/null -oLogLevel=ERROR "$@"\n')
        os.chmod(ssh, 0o755)
        path = ":".join([self.path("bin"), os.path.join(BUILD, "daemons", "paddle"), os.environ["PATH"]])
        replace = {f"10.0.0.{i + 5}": address for i, address in enumerate(nodes.addresses)}
        self.check("4-several-hosts.md", {**replace, "7164": str(free_ports(3))}, {"PATH": path}, varying=[r"JOB\d+"])
        for home in nodes.homes:
            self.assertTrue(os.path.exists(os.path.join(home, "trips", "log", "train.log")), home)

    @needs_python
    def test_5_your_script(self):
        self.files_of_chapter_1()
        self.check("5-your-script.md")


if __name__ == "__main__":
    main()
