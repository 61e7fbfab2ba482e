"""What an installation holds, and the Debian packages: built, checked by lintian, installed and run in a bare Debian."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

from cluster import free_ports
from debian import copy_of_debian
from pages import INSIDE, check_steps, read_page, run_steps
from support import BUILD, PADDLE, SOURCE, EndToEnd, main

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"


def project_version():
    with open(os.path.join(BUILD, "meson-info", "intro-projectinfo.json"), encoding="utf-8") as f:
        return json.load(f)["version"]


class Installation(EndToEnd):
    def test_versions_agree(self):
        version = project_version()
        self.assertIn(f"PaddlePaddle {version},", self.paddle("version").stdout)
        with open(os.path.join(SOURCE, "CHANGELOG.md"), encoding="utf-8") as f:
            self.assertEqual(re.search(r"(?m)^## (\S+)", f.read())[1], version)
        with open(os.path.join(SOURCE, "scripts", "package"), encoding="utf-8") as f:
            command = re.search(r"(?m)^version=\$\((.*)\)$", f.read())[1]
        self.assertEqual(self.run_program("sh", "-c", f"cd {SOURCE} && {command}", check=0).stdout.strip(), version)
        if os.path.exists(os.path.join(BUILD, "python", "paddle", "__init__.py")):
            done = self.run_program("/usr/bin/python3", "-c", "import paddle; print(paddle.__version__)",
                                    env={"PYTHONPATH": os.path.join(BUILD, "python")}, check=0)
            self.assertEqual(done.stdout.strip(), version)

    def test_what_is_installed(self):
        if not os.path.exists(os.path.join(BUILD, "python", "paddle", "__init__.py")):
            self.skipTest("needs the Python package: scripts/build build python")
        done = self.run_program("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", self.path("root"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        files = self.files(self.path("root"))
        for name in ("bin/paddle", "bin/paddle_trainer", "bin/paddle_pserver", "share/paddle/configs/fit_a_line.json",
                     "share/paddle/monitoring/rules.yml", "share/paddle/kubernetes/Containerfile", "share/paddle/examples/ctr/train.py",
                     "lib/systemd/system/paddle-pserver@.service", "lib/sysusers.d/paddle.conf", "lib/tmpfiles.d/paddle.conf",
                     "share/man/man1/paddle-launch.1", "share/doc/paddle/README.md", "share/doc/paddle/docs/tutorial/README.md", "share/bash-completion/completions/paddle",
                     "share/zsh/site-functions/_paddle", "share/fish/vendor_completions.d/paddle.fish"):
            self.assertIn("usr/local/" + name, files)
            self.assertTrue(files["usr/local/" + name], name)
        jobs = {n for n in os.listdir(os.path.join(SOURCE, "configs")) if n.endswith(".json")}
        self.assertEqual({os.path.basename(n) for n in files if n.startswith("usr/local/share/paddle/configs/")}, jobs)
        self.assertTrue(any(n.endswith("paddle/fluid/__init__.py") for n in files))


@unittest.skipUnless(FULL, "installs packages in a directory: scripts/test --full runs it")
class DebianPackages(EndToEnd):
    def inside(self, root, *command):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
        return subprocess.run(["unshare", "-m", "sh", "-c", INSIDE, root, *command], env=env, capture_output=True, text=True, check=False)

    def newcomer(self, root):
        """The first three chapters of the tutorial by somebody who has installed the packages and nothing else."""
        begin = time.monotonic()
        port = free_ports(4)
        for name, replace in (("1-first-model.md", {}), ("2-four-processes.md", {"7164": str(port), "7174": str(port + 2)}), ("3-clicks.md", {})):
            steps = run_steps(self, read_page(os.path.join("tutorial", name)), replace, root=root)
            check_steps(self, steps, [r"step \d+", r"pass-\d+ "])
        seconds = time.monotonic() - begin
        print(f"the commands of chapters 1 to 3 took {seconds:.0f} s", file=sys.stderr)
        self.assertLess(seconds, 15 * 60)

    def packages(self):
        missing = [word for word in ("dpkg-buildpackage", "dh", "dh_python3", "dh_sphinxdoc", "lintian") if not shutil.which(word)]
        if missing:
            self.skipTest(f"needs {', '.join(missing)} (scripts/setup watching)")
        directory = os.environ.get("PADDLE_TEST_PACKAGES")  # of an earlier scripts/package
        if not directory:
            directory = os.path.join(BUILD, "package")
            done = subprocess.run([os.path.join(SOURCE, "scripts", "package"), directory, BUILD], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        return [os.path.join(directory, n) for n in sorted(os.listdir(directory)) if n.endswith(".deb") and "dbgsym" not in n]

    def test_packages(self):
        packages = self.packages()
        version = project_version()
        self.assertEqual([os.path.basename(p).split("_")[:2] for p in packages],
                         [[name, version] for name in ("paddle-doc", "paddle", "python3-paddle")])
        done = subprocess.run(["lintian", "--fail-on=error,warning", "--allow-root", *packages], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        root = copy_of_debian(self, "root")
        shutil.copy("/etc/resolv.conf", os.path.join(root, "etc", "resolv.conf"))
        for package in packages:
            shutil.copy(package, os.path.join(root, "root"))
        done = self.inside(root, "sh", "-c", "apt-get update -qq && apt-get install -y -qq --no-install-recommends /root/*.deb")
        if "Temporary failure resolving" in done.stderr:
            self.skipTest("the package mirror cannot be reached")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        self.assertIn(f"PaddlePaddle {version},", self.inside(root, "paddle", "version").stdout)
        done = self.inside(root, "sh", "-c", "cd /root && paddle launch --config=/usr/share/paddle/configs/fit_a_line.json "
                                             "--server_num=2 --worker_num=2 --num_passes=3 --save_dir=output")
        self.assertEqual(done.stdout, "the model is in output/pass-00002\n", done.stderr)
        done = self.inside(root, "python3", "-c", "import paddle.fluid, paddle; print(paddle.__version__)")
        self.assertEqual(done.stdout, version + "\n", done.stderr)
        with open(os.path.join(root, "usr", "share", "doc", "paddle-doc", "html", "index.html"), encoding="utf-8") as f:
            self.assertIn("parameter-server training system", f.read())
        self.newcomer(root)
        self.assertIn("paddle:x:", self.inside(root, "cat", "/etc/passwd").stdout)  # the user of the services
        done = self.inside(root, "sh", "-c", "apt-get purge -y -qq paddle python3-paddle paddle-doc && ! command -v paddle")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])


if __name__ == "__main__":
    main()
