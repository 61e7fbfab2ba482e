"""python/examples/ctr on generated click logs: the reader, one process, and the guide's launch line."""
import os
import re
import subprocess
import sys

from processes import BUILD, EXAMPLES, Job

CTR = os.path.join(EXAMPLES, "ctr")
PADDLE = os.path.join(BUILD, "daemons", "paddle", "paddle")
sys.path.insert(0, CTR)


class Ctr(Job):
    def make_clicks(self, records, files=5):
        logs = os.path.join(self.dir, "raw_data")
        subprocess.run([PADDLE, "make_clicks", f"--output_dir={logs}", f"--records={records}", f"--files={files}"],
                       check=True, stdout=subprocess.DEVNULL)
        return logs

    def test_ids_are_those_of_the_format_criteo(self):
        from criteo_reader import category_hash
        # test/data/criteo_test.cc has the same numbers.
        self.assertEqual(category_hash("62770d79", 0), 93936758555270373)
        self.assertEqual(category_hash("", 25), 16778140892879525616)
        self.assertEqual(category_hash("a longer category", 3), 14910153121616586662)

    def test_reader(self):
        logs = self.make_clicks(40, 1)
        with open(os.path.join(logs, "part-0")) as f:
            out = subprocess.run([sys.executable, os.path.join(CTR, "criteo_reader.py"), "1001"], stdin=f, check=True,
                                 capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(len(out), 40)
        for line in out:
            words = line.split()
            self.assertEqual((len(words), words[0]), (1 + 13 + 27 * 2, "13"))
            self.assertTrue(all(int(i) < 1001 for i in words[15:-2:2]))
            self.assertIn(words[-1], "01")

    def auc(self, text):
        """The last AUC that a worker has printed."""
        found = re.findall(r"^auc\t.*?data: \[([0-9.]+)", text, re.M | re.S)
        self.assertTrue(found, text)
        return float(found[-1])

    def test_alone(self):
        self.make_clicks(40000)
        out = self.start("alone", "ctr/train.py", EPOCHS="2", SPARSE_FEATURE_DIM="20011", THREAD_NUM="2",
                         LEARNING_RATE="0.001").wait()
        self.assertGreater(self.auc(out), 0.58)
        for epoch in (1, 2):
            self.assertTrue(os.path.exists(os.path.join(self.dir, f"models/epoch{epoch}.model/__model__")))
        self.assertIn("test cost\t", out)

    def test_launch_line_of_the_guide(self):
        """As written, but for ports of the kernel's choice; sync and async."""
        self.make_clicks(20000)
        for sync in ("0", "1"):
            with self.subTest(sync=sync):
                log = os.path.join(self.dir, "logs" + sync)
                self.program("launcher" + sync, sys.executable, "-m", "paddle.distributed.launch_ps", "--worker_num",
                             "2", "--server_num", "2", "--start_port", "0", "--log_dir", log,
                             os.path.join(CTR, "dist_train.py"), EPOCHS="2", SPARSE_FEATURE_DIM="2003",
                             THREAD_NUM="1", LEARNING_RATE="0.001", SYNC_MODE=sync,
                             MODEL_OUTPUT_DIR="models" + sync).wait()
                for i in range(2):
                    with open(os.path.join(log, f"workerlog.{i}")) as f:
                        self.assertGreater(self.auc(f.read()), 0.52)
                self.assertTrue(os.path.exists(os.path.join(self.dir, f"models{sync}/epoch2.model/__model__")))


if __name__ == "__main__":
    import unittest
    unittest.main()
