"""fleet.utils: file systems, with a command that does to a directory what `hadoop fs` does to HDFS."""
import os
import stat
import tempfile
import unittest

from paddle.fluid.incubate.fleet.utils.fs import (ExecuteError, FSFileExistsError, FSFileNotExistsError,
                                                  FSShellCmdAborted, FSTimeOut, LocalFS)
from paddle.fluid.incubate.fleet.utils.hdfs import HDFSClient

# hadoop fs -Dname=value -command …; paths are below $ROOT, files end up in $LOG.
HADOOP = """#!/bin/bash
echo "$*" >> LOG
[ "$1" = fs ] && shift
while [[ "$1" == -D* ]]; do shift; done
command=$1; shift
case "$command" in
  -test) test "$1" "ROOT$2" ;;
  -ls) recursive=1; if [ "$1" = -R ]; then recursive=9; shift; fi
       echo "Found some items"
       find "ROOT$1" -mindepth 1 -maxdepth $recursive -printf '%M 1 user group %s 2026-01-01 00:00 %p\\n' |
         sed "s|ROOT||" ;;
  -put) cp -r "$1" "ROOT$2" ;;
  -get) cp -r "ROOT$1" "$2" ;;
  -mkdir) mkdir -p "ROOT$2" ;;
  -rm) rm -r "ROOT$2" ;;
  -mv) mv "ROOT$1" "ROOT$2" ;;
  -touchz) : > "ROOT$1" ;;
  -cat) if [ "$1" = /hangs ]; then sleep 60; elif [ "$1" = /dies ]; then kill -9 $$; fi; cat "ROOT$1" ;;
  *) echo "no such command $command" >&2; exit 255 ;;
esac
"""


class FileSystems(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.root, self.log = os.path.join(self.dir, "root"), os.path.join(self.dir, "log")
        os.makedirs(os.path.join(self.dir, "hadoop", "bin"))
        os.mkdir(self.root)
        command = os.path.join(self.dir, "hadoop", "bin", "hadoop")
        with open(command, "w") as f:
            f.write(HADOOP.replace("ROOT", self.root).replace("LOG", self.log))
        os.chmod(command, stat.S_IRWXU)

    def client(self, **options):
        return HDFSClient(os.path.join(self.dir, "hadoop"), {"fs.default.name": "hdfs://host:9000"}, **options)

    def check(self, fs, base):
        """Both file systems do the same."""
        here = os.path.join(self.dir, "here.txt")
        with open(here, "w") as f:
            f.write("one\n")
        fs.mkdirs(base + "/a/b")
        fs.mkdirs(base + "/a/b")
        fs.touch(base + "/a/empty")
        fs.touch(base + "/a/empty")
        self.assertRaises(FSFileExistsError, fs.touch, base + "/a/empty", exist_ok=False)
        fs.upload(here, base + "/a/file with a blank")
        self.assertEqual((fs.ls_dir(base + "/a")[0], sorted(fs.ls_dir(base + "/a")[1])),
                         (["b"], ["empty", "file with a blank"]))
        self.assertEqual((fs.list_dirs(base + "/a"), fs.ls_dir(base + "/none")), (["b"], ([], [])))
        self.assertTrue(fs.is_dir(base + "/a/b") and not fs.is_file(base + "/a/b") and fs.is_file(base + "/a/empty"))
        self.assertRaises(FSFileExistsError, fs.rename, base + "/a/empty", base + "/a/file with a blank")
        fs.mv(base + "/a/file with a blank", base + "/a/empty", overwrite=True)
        self.assertFalse(fs.is_exist(base + "/a/file with a blank"))
        self.assertRaises(FSFileNotExistsError, fs.mv, base + "/a/none", base + "/a/other")
        fs.download(base + "/a/empty", os.path.join(self.dir, "back.txt"))
        with open(os.path.join(self.dir, "back.txt")) as f:
            self.assertEqual(f.read(), "one\n")
        os.remove(os.path.join(self.dir, "back.txt"))
        fs.delete(base + "/a")
        fs.delete(base + "/a")
        self.assertFalse(fs.is_exist(base + "/a"))

    def test_this_machine(self):
        self.check(LocalFS(), os.path.join(self.dir, "local"))
        self.assertFalse(LocalFS().need_upload_download())

    def test_hdfs(self):
        client = self.client()
        self.check(client, "")
        self.assertTrue(client.need_upload_download())
        with open(self.log) as f:
            self.assertIn("fs -Dfs.default.name=hdfs://host:9000 -mkdir -p /a/b\n", f.read())
        client.mkdirs("/data/deep")
        for name in ("/data/x", "/data/deep/y"):
            with open(self.root + name, "w") as f:
                f.write("text")
        self.assertEqual((sorted(client.ls("/data")), sorted(client.lsr("/data"))),
                         (["/data/deep", "/data/x"], ["/data/deep/y", "/data/x"]))
        self.assertEqual((client.cat("/data/x"), client.cat("/data/none")), ("text", ""))
        self.assertRaises(FSFileExistsError, client.upload, self.log, "/data/x")
        self.assertRaises(FSFileNotExistsError, client.upload, self.log + "no", "/data/z")
        self.assertRaises(FSFileNotExistsError, client.download, "/data/z", self.log + "2")
        self.assertRaises(FSFileExistsError, client.download, "/data/x", self.log)

    def test_commands_that_fail(self):
        for name in ("hangs", "dies"):
            with open(os.path.join(self.root, name), "w"):
                pass
        with self.assertRaisesRegex(FSTimeOut, "-cat /hangs did not end within 1 s"):
            self.client(time_out=1000).cat("/hangs")
        with self.assertRaisesRegex(FSShellCmdAborted, "signal 9"):
            self.client().cat("/dies")
        with self.assertRaisesRegex(ExecuteError, "-put .* failed with exit code 1: .*/none/x"):
            self.client(time_out=600, sleep_inter=200).upload(self.log, "/none/x")
        with open(self.log) as f:
            self.assertGreater(f.read().count("-put"), 1)  # it is tried again
        with self.assertRaisesRegex(ExecuteError, "hadoop_home"):
            HDFSClient("/nowhere").is_exist("/x")


if __name__ == "__main__":
    unittest.main()
