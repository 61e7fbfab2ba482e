"""The image recipe (configs/kubernetes/Containerfile), built whole by buildah, which needs no daemon, and the image in use."""
import glob
import json
import os
import shutil
import subprocess
import unittest

from cluster import Process, free_ports
from debian import copy_of_debian
from support import CONFIGS, SOURCE, EndToEnd, main

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"
IMAGE = "localhost/paddle:test"
BASES = ("docker.io/library/debian:12", "docker.io/library/debian:12-slim")


@unittest.skipUnless(FULL, "compiles all programs in an image: scripts/test --full runs it")
@unittest.skipUnless(shutil.which("buildah"), "buildah is missing: scripts/setup launchers installs it")
class Image(EndToEnd):
    def buildah(self, *words, check=True):
        """Without a daemon, and with nothing of this machine's images."""
        places = ["--storage-driver", "vfs", "--root", self.path("images"), "--runroot", self.path("run")]
        done = subprocess.run(["buildah", *places, *words], capture_output=True, text=True, check=False)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-4000:])
        return done

    def make_bases(self):
        """The images that the recipe begins with, of a Debian made here: no registry is asked for them."""
        root = copy_of_debian(self, "debian")
        container = self.buildah("from", "scratch").stdout.strip()
        subprocess.run(["tar", "-C", root, "-cf", self.path("debian.tar"), "."], check=True)
        self.buildah("add", "-q", container, self.path("debian.tar"), "/")
        self.buildah("config", "--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)  # as theirs
        self.buildah("commit", "-q", "--rm", container, BASES[0])
        self.buildah("tag", *BASES)
        os.remove(self.path("debian.tar"))
        shutil.rmtree(root)

    def sources(self):
        """As somebody has them who has built here: what .dockerignore names must not get into the image."""
        where = self.path("sources")
        names = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True).stdout
        os.mkdir(where)
        packed = subprocess.run(["tar", "-C", SOURCE, "--null", "-T", "-", "-c"], input=names, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-C", where, "-x"], input=packed, check=True)
        os.mkdir(os.path.join(where, "build"))
        with open(os.path.join(where, "build", "build.ninja"), "w", encoding="utf-8") as f:
            f.write("this is of another machine\n")
        return where

    def inside(self, container, *command, check=True):
        return self.buildah("run", container, "--", *command, check=check)

    def test_recipe(self):
        self.make_bases()
        sources = self.sources()
        cache = subprocess.run(["ccache", "-k", "cache_dir"], capture_output=True, text=True, check=False).stdout.strip()
        volume = ["--volume", f"{cache}:/root/.cache/ccache"] if os.path.isdir(cache) else []
        built = self.buildah("build", "--pull=never", "--isolation=chroot", *volume, "-t", IMAGE,
                             "-f", os.path.join(sources, "configs", "kubernetes", "Containerfile"), sources, check=False)
        if "Temporary failure resolving" in built.stdout + built.stderr:
            self.skipTest("the package mirror cannot be reached")
        self.assertEqual(built.returncode, 0, built.stdout[-2000:] + built.stderr[-4000:])

        # What a registry would get: an OCI image whose settings are those that the manifests count on.
        self.buildah("push", "-q", IMAGE, "oci:" + self.path("layout") + ":test")
        self.check_layout()

        self.check_demo_nodes(sources)

        # The image runs from that layout alone, as its own user.
        self.buildah("rmi", "--all", "--force")
        container = self.buildah("from", "--isolation=chroot", "oci:" + self.path("layout") + ":test").stdout.strip()
        self.assertEqual(self.inside(container, "id", "-u").stdout, "10001\n")
        entry = ["/usr/bin/tini", "--", "paddle"]
        self.assertIn("PaddlePaddle", self.inside(container, *entry, "version").stdout)
        done = self.inside(container, "python3", "-c", "import paddle.fluid; print(paddle.fluid.__name__)")
        self.assertEqual(done.stdout, "paddle.fluid\n", done.stderr)
        self.buildah("copy", "-q", container, os.path.join(CONFIGS, "fit_a_line.json"), "/workspace/job.json")
        done = self.inside(container, *entry, "launch", "--config=job.json", "--num_passes=3", "--save_dir=output")
        self.assertEqual(done.stdout, "the model is in output/pass-00002\n", done.stderr)
        for left in ("/src", "/usr/bin/g++", "/usr/bin/meson"):
            self.assertNotEqual(self.inside(container, "test", "-e", left, check=False).returncode, 0, left)

    def check_demo_nodes(self, sources):
        """The images of the guides' demo clusters begin with it: their users get in by a key, and have what a job needs."""
        self.buildah("tag", IMAGE, "registry.example/paddle:0.1.0")
        for tag, directory in (("paddle-ssh", "fabric"), ("paddle-openmpi", "openmpi")):
            self.buildah("build", "--pull=never", "--isolation=chroot", "-t", f"registry.example/{tag}:0.1.0",
                         "-f", os.path.join(sources, "scripts", "cluster", directory, "docker_cluster", "Containerfile"), sources)
        container = self.buildah("from", "--isolation=chroot", f"registry.example/{tag}:0.1.0").stdout.strip()
        self.run_program("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path("key"), check=0)
        self.buildah("copy", "-q", container, self.path("key.pub"), "/run/ssh-keys/authorized_keys")
        self.inside(container, "chmod", "1777", "/run/ssh-keys")  # as the volume of a Secret
        port = free_ports(1)
        places = ["--storage-driver", "vfs", "--root", self.path("images"), "--runroot", self.path("run")]
        node = Process(self.dir, "node")
        node.start("buildah", *places, "run", container, "--", "/usr/local/bin/start_sshd.sh", "-p", str(port), "-oListenAddress=127.0.0.1",
                   f"-oPidFile=/run/test-{port}.pid")
        try:
            node.wait_line("Server listening on")
            for user in ("tutorial", "root"):
                done = self.run_program("ssh", "-F", "none", "-p", str(port), "-i", self.path("key"), "-oBatchMode=yes",
                                        "-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", f"{user}@127.0.0.1",
                                        "paddle version && python3 -c 'import paddle.fluid' && mpirun --version && "
                                        "cat /etc/openmpi/openmpi-mca-params.conf", check=0)
                self.assertIn("PaddlePaddle", done.stdout)
                self.assertIn("rmaps_base_mapping_policy = node", done.stdout)
        finally:
            self.inside(container, "sh", "-c", f"kill $(cat /run/test-{port}.pid)", check=False)
            node.wait()

    def check_layout(self):
        def blob(of):
            with open(self.path("layout", "blobs", *of["digest"].split(":")), encoding="utf-8") as f:
                return json.load(f)

        with open(self.path("layout", "index.json"), encoding="utf-8") as f:
            manifest = blob(json.load(f)["manifests"][0])
        self.assertEqual(len(glob.glob(self.path("layout", "blobs", "sha256", "*"))), len(manifest["layers"]) + 2)
        config = blob(manifest["config"])["config"]
        self.assertEqual({k: config.get(k) for k in ("User", "Entrypoint", "Cmd", "WorkingDir")},
                         {"User": "10001:10001", "Entrypoint": ["/usr/bin/tini", "--", "paddle"], "Cmd": ["version"], "WorkingDir": "/workspace"})
        self.assertIn("PYTHONPATH=/usr/local/lib/python3/dist-packages", config["Env"])


if __name__ == "__main__":
    main()
