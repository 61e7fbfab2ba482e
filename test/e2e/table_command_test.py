"""paddle table: a table of a saved model as text and back, and what is said about files that are none."""
import os
import resource
import shutil
import struct
import subprocess

from support import PADDLE, EndToEnd, main

JOB = """{
  "inputs": [{"name": "words", "dtype": "int64", "lod_level": 1}, {"name": "label", "dtype": "int64"}],
  "layers": [
    {"type": "embedding", "name": "e", "input": "words", "size": [-1, 8], "is_distributed": true,
     "param_attr": {"name": "emb"}},
    {"type": "sequence_pool", "name": "s", "input": "e", "pool_type": "sum"},
    {"type": "fc", "name": "p", "input": "s", "size": 2, "act": "softmax"},
    {"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}
  ],
  "cost": "cost",
  "outputs": "p",
  "optimizer": {"type": "adagrad", "learning_rate": 0.05},
  "data": {"format": "multislot", "batch_size": 50, "files": ["records.txt"],
           "slots": [{"name": "words", "lod_level": 1}, {"name": "label", "dtype": "int64"}]}
}"""


SMALL = "# paddle table 1\n# param small\n# version 0\n# height 1000\n# width 2\n# rule sgd\n# columns id values\n"


class TableCommand(EndToEnd):
    def small_table(self):
        """A table of 40 rows: the ids 0, 25, … of 1000."""
        self.paddle("table", "import", "small.table", input=SMALL + "".join(f"{i * 25} {i / 4} {-i}\n" for i in range(40)))
        return "small.table"

    def trained(self):
        """The path of a table with 200 rows."""
        with open(self.path("records.txt"), "w", encoding="ascii") as f:
            for i in range(400):
                print(2, i % 200, (i * 7 + 3) % 200, 1, i % 2, file=f)
        job = self.write("job.json", JOB)
        self.train(job, "--num_passes=2", "--save_dir=out")
        return job, self.path("out", "pass-00001", "emb.table")

    def test_inspect(self):
        _, table = self.trained()
        out = self.paddle("table", "inspect", table, "--samples=3", "--ids=5,12345").stdout
        self.assertIn("rows          200 of 8 values (float32); ids are any 64-bit numbers", out)
        self.assertIn(f"bytes         {os.path.getsize(table)} ", out)
        self.assertIn("optimizer     adagrad", out)
        self.assertRegex(out, r"(?m)^moment +min ")
        self.assertRegex(out, r"(?m)^values +min -")
        self.assertIn("not finite    0 rows", out)
        self.assertRegex(out, r"(?m)^id 5: step \d+, \d+ updates$")
        self.assertIn("id 12345 has no row", out)
        self.assertEqual(out.count("\n  id "), 3)

    def test_a_table_that_was_text_trains_on_with_the_same_bits(self):
        job, table = self.trained()
        os.remove(self.path("out", "pass-00001", "train_state"))  # it has the checksum of the table
        start = ("--num_passes=1", "--init_model_path=out/pass-00001")
        self.train(job, *start, "--save_dir=whole")
        self.paddle("table", "export", table, "--state", "--output=rows.txt")
        os.remove(table)
        done = self.paddle("table", "import", table, "--input=rows.txt")
        self.assertIn("the table 'emb' with 200 rows of 8 values", done.stdout)
        self.train(job, *start, "--save_dir=text")
        rows = [self.paddle("table", "export", f"{d}/pass-00000/emb.table", "--state").stdout for d in ("whole", "text")]
        self.assertEqual(*(sorted(r.splitlines()) for r in rows))
        fc = [self.files(self.path(d, "pass-00000"))["p.w_0"] for d in ("whole", "text")]
        self.assertEqual(*fc)

    def test_a_checkpoint_does_not_take_another_table(self):
        job, table = self.trained()
        rows = self.paddle("table", "export", table, "--state").stdout
        self.paddle("table", "import", table, input=rows.replace("\t0.", "\t0.1", 1))
        done = self.train(job, "--num_passes=3", "--save_dir=out", "--start_pass=2", check=None)
        self.refused(done, 3, "emb.table", "was changed since it was saved")

    def test_through_pipes(self):
        _, table = self.trained()
        rows = self.paddle("table", "export", table).stdout
        self.paddle("table", "import", "more/emb.table", check=4, input=rows)
        self.paddle("table", "import", "emb.table", input=rows)
        self.assertEqual(self.paddle("table", "export", "emb.table").stdout.count("\n"), rows.count("\n"))
        self.paddle("table", "export", table, "--format=selected_rows", "--output=rows.bin")
        # version, count, ids, height, version, description, values
        self.assertEqual(os.path.getsize(self.path("rows.bin")) - 4 - 8 - 200 * 8 - 8 - 4 - 4 - 200 * 32, 7)

    def test_shards_of_fluid(self):
        """Each row is in the file of its id modulo their number, and all files together make the same table."""
        table = self.small_table()
        done = self.paddle("table", "export", table, "--format=selected_rows", "--shards=3", "--output=shards")
        self.assertIn("40 rows in 3 files", done.stdout)
        found = {}
        for k in range(3):
            with open(self.path("shards", f"small_{k}"), "rb") as f:
                data = f.read()
            version, count = struct.unpack_from("<IQ", data)
            ids = struct.unpack_from(f"<{count}q", data, 12)
            self.assertEqual((version, {i % 3 for i in ids}), (0, {k}))
            self.assertEqual(struct.unpack_from("<q", data, 12 + 8 * count), (1000,))
            values = struct.unpack(f"<{2 * count}f", data[-8 * count:])
            found.update({i: values[2 * j:2 * j + 2] for j, i in enumerate(ids)})
        self.assertEqual(found, {i * 25: (i / 4, -i) for i in range(40)})
        made = self.paddle("table", "import", "again.table", "--format=selected_rows", "--input=shards", "--name=small")
        self.assertIn("40 rows of 2 values", made.stdout)
        rows = [sorted(x for x in self.paddle("table", "export", t).stdout.split("\n") if not x.startswith("#"))
                for t in (table, "again.table")]
        self.assertEqual(rows[0], rows[1])
        made = self.paddle("table", "import", "one.table", "--format=selected_rows", "--input=shards/small_1", "--name=small")
        self.assertIn("13 rows of 2 values", made.stdout)

    def test_wrong_shards(self):
        table = self.small_table()
        self.paddle("table", "export", table, "--format=selected_rows", "--shards=2", "--output=shards")
        imports = ("table", "import", "new.table", "--format=selected_rows", "--name=small")
        with open(self.path("shards", "small_0"), "rb") as f:
            whole = f.read()
        for content, said in ((b"", "small_0"), (whole[:30], "small_0"), (whole + b"x", "small_0"), (b"\1" + whole[1:], "version")):
            with open(self.path("shards", "small_0"), "wb") as f:
                f.write(content)
            self.refused(self.paddle(*imports, "--input=shards", check=None), 3, said)
        with open(self.path("shards", "small_0"), "wb") as f:
            f.write(whole)
        shutil.copy(self.path("shards", "small_0"), self.path("shards", "small_2"))
        self.refused(self.paddle(*imports, "--input=shards", check=None), 3, "small_2 has the id", "every id comes once")
        os.rename(self.path("shards", "small_1"), self.path("small_1"))
        self.refused(self.paddle(*imports, "--input=shards", check=None), 4, "small_1")
        self.refused(self.paddle(*imports[:4], "--input=shards", check=None), 4, "has no file 'new_0'", "--name")
        self.refused(self.paddle(*imports, check=None), 2, "give --input=FILE")
        self.refused(self.paddle("table", "export", table, "--shards=2", "--output=x", check=None), 2, "--format=selected_rows")
        self.refused(self.paddle("table", "export", table, "--format=selected_rows", "--shards=2", check=None), 2, "give --output=DIR")
        self.assertFalse(os.path.exists(self.path("new.table")))

    def test_wrong_files(self):
        _, table = self.trained()
        with open(table, "rb") as f:
            whole = f.read()
        for words in (("inspect",), ("export",), ("export", "--format=selected_rows", "--output=x")):
            for content, said in ((b"", "is empty"), (b"#!/bin/sh\n", "is no file of a sparse table"), (whole[:100], "is"),
                                  (whole[:len(whole) // 2], "cut short"), (whole + b"x", "behind its end"),
                                  (whole[:-500] + bytes([whole[-500] ^ 1]) + whole[-499:], "checksum")):
                with open(self.path("bad.table"), "wb") as f:
                    f.write(content)
                done = self.paddle("table", words[0], "bad.table", *words[1:], check=None)
                self.refused(done, 3, "bad.table", said)
                self.assertFalse(os.path.exists(self.path("x")))
                self.assertFalse(os.path.exists(self.path("x.unfinished")))
        self.refused(self.paddle("table", "inspect", "none.table", check=None), 4, "none.table")
        self.refused(self.paddle("table", "inspect", self.dir, check=None), 4, self.dir)
        self.refused(self.paddle("table", "import", "new.table", "--input=records.txt", check=None), 3, "records.txt:2")
        self.assertFalse(os.path.exists(self.path("new.table")))

    def test_wrong_words(self):
        for words, said in (((), "say what to do"), (("inspekt", "x"), "did you mean 'inspect'"), (("inspect",), "file of a table is missing"),
                            (("inspect", "x", "--sample=3"), "--sample"), (("import", "emb.txt"), "must end in .table"),
                            (("export", "x", "--format=csv"), "selected_rows"),
                            (("export", "x", "--format=selected_rows", "--state", "--output=y"), "--state"),
                            (("inspect", "x", "--ids=5,six"), "'six'")):
            with self.subTest(words):
                self.refused(self.paddle("table", *words, check=None), 2, said)
        self.assertIn("usage: paddle table inspect", self.paddle("table", "--help").stdout)

    def test_a_full_disk_leaves_nothing(self):
        self.trained()
        limit = (1000, 1000)  # bytes of a file

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        done = subprocess.run([PADDLE, "table", "export", "out/pass-00001/emb.table", "--output=rows.txt"], cwd=self.dir,
                              capture_output=True, text=True, preexec_fn=small_files, check=False)
        self.refused(done, 4, "rows.txt")
        self.assertFalse([name for name in os.listdir(self.dir) if name.startswith("rows.txt")])
        if os.path.exists("/dev/full"):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([PADDLE, "table", "export", "out/pass-00001/emb.table"], cwd=self.dir, stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
            self.refused(done, 4, "stdout")

    def test_memory_does_not_grow_with_the_table(self):
        rows = 400000
        with open(self.path("big.txt"), "w", encoding="ascii") as f:
            for i in range(rows):
                print(i, *[i % 7 / 8] * 32, file=f)
        self.paddle("table", "import", "big.table", "--input=big.txt")
        size = os.path.getsize(self.path("big.table"))
        self.assertGreater(size, 54 << 20)
        peaks = []
        for words in (("inspect", "big.table"), ("export", "big.table", "--output=again.txt"),
                      ("export", "big.table", "--format=selected_rows", "--output=again.bin")):
            program = subprocess.Popen([PADDLE, "table", *words], cwd=self.dir, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(program.returncode, 0)
            peaks.append(usage.ru_maxrss)  # KiB
        self.assertLess(max(peaks), 48 << 10, peaks)


if __name__ == "__main__":
    main()
