"""The image recipe (configs/kubernetes/Containerfile) in a directory: what its second stage does, with this build in the place of the first."""
import json
import os
import re
import shutil
import subprocess
import unittest

from debian import copy_of_debian
from support import BUILD, CONFIGS, SOURCE, EndToEnd, main

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"


@unittest.skipUnless(FULL, "installs packages in a directory: scripts/test --full runs it")
class Image(EndToEnd):
    def setUp(self):
        super().setUp()
        with open(os.path.join(SOURCE, "configs", "kubernetes", "Containerfile"), encoding="utf-8") as f:
            self.stage = f.read().replace("\\\n", " ").split("\nFROM ")[-1]
        self.root = copy_of_debian(self, "image")
        shutil.copy("/etc/resolv.conf", os.path.join(self.root, "etc", "resolv.conf"))

    def inside(self, *command, user=None):
        """In the directory as root, with a /proc of its own."""
        enter = 'mount -t proc proc "$0/proc" && exec chroot $USERSPEC "$0" "$@"'
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
               "USERSPEC": f"--userspec={user}" if user else "", **dict(re.findall(r"(?m)^ENV (\w+)=(\S+)$", self.stage))}
        return subprocess.run(["unshare", "-m", "sh", "-c", enter, self.root, *command], env=env, capture_output=True, text=True, check=False)

    def test_second_stage(self):
        done = self.inside("sh", "-ec", re.search(r"(?m)^RUN (.*)$", self.stage)[1])
        if "Temporary failure resolving" in done.stderr:
            self.skipTest("the package mirror cannot be reached")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild"], env={**os.environ, "DESTDIR": self.root}, check=True, capture_output=True)
        user = re.search(r"(?m)^USER (\S+)$", self.stage)[1]
        entry = json.loads(re.search(r"(?m)^ENTRYPOINT (.*)$", self.stage)[1])
        command = json.loads(re.search(r"(?m)^CMD (.*)$", self.stage)[1])
        self.assertIn("PaddlePaddle", self.inside(*entry, *command, user=user).stdout)
        done = self.inside("python3", "-c", "import paddle.fluid; print(paddle.fluid.__name__)", user=user)
        self.assertEqual(done.stdout, "paddle.fluid\n", done.stderr)
        shutil.copy(os.path.join(CONFIGS, "fit_a_line.json"), os.path.join(self.root, "workspace", "job.json"))
        words = " ".join(entry)
        done = self.inside("sh", "-c", f"cd /workspace && {words} launch --config=job.json --num_passes=3 --save_dir=output", user=user)
        self.assertEqual(done.stdout, "the model is in output/pass-00002\n", done.stderr)


if __name__ == "__main__":
    main()
