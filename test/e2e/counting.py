"""What the tests that count gradients share: a job that counts, and what its counts must be.

Every gradient is 1 and the rate of sgd is 1, so a parameter counts what was applied to it, and float32 is exact.
"""
import re
import struct

from cluster import Cluster, until
from faults import progress_of
from support import EndToEnd
from table_jobs import table_rows

MODES = {"sync": [], "half_async": ["--half_async"], "async": ["--async", "--async_merge=sum"], "geo": ["--geo_steps=4"]}
RECORDS, PASSES, TRAINERS, PARAMETERS = 200, 60, 2, 3
STEPS = RECORDS // TRAINERS * PASSES  # of one trainer; a batch is one record
PERIOD = 50  # of snapshots


# A table whose one row counts as the parameters do.
TABLE_INPUT = ', {"name": "id", "dtype": "int64"}'
TABLE_LAYER = ('{"type": "embedding", "name": "row", "input": "id", "size": [-1, 1], "is_distributed": true, '
               '"param_attr": {"name": "rows", "initializer": 0}}, ')
TABLE_FIELD = ', {"name": "id", "dtype": "int64", "columns": "0"}'


def write_counter(test, table=False):
    """A job whose cost is the sum of its parameters, and of the row of a table."""
    test.write("ones.csv", "1\n" * RECORDS)
    layers = [f'{{"type": "fc", "name": "f{i}", "input": "x", "size": 1, "bias_attr": false, '
              f'"param_attr": {{"name": "w{i}", "initializer": 0}}}}' for i in range(PARAMETERS)]
    names = ", ".join(f'"f{i}"' for i in range(PARAMETERS)) + (', "row"' if table else "")
    more_input, more_layer, more_field = (TABLE_INPUT, TABLE_LAYER, TABLE_FIELD) if table else ("", "", "")
    return test.write("rows.json" if table else "counter.json", f"""{{
      "inputs": [{{"name": "x", "shape": 1}}{more_input}],
      "layers": [{more_layer}{", ".join(layers)},
        {{"type": "sum", "name": "total", "input": [{names}]}},
        {{"type": "mean", "name": "cost", "input": "total"}}],
      "cost": "cost",
      "optimizer": {{"type": "sgd", "learning_rate": 1}},
      "data": {{"format": "csv", "files": "ones.csv", "batch_size": 1, "csv_fields": [{{"name": "x", "columns": "0"}}{more_field}]}}
    }}""")


def geo_share(steps, every, trainers):
    """What the exchanges of one trainer add up to: each sends its share of the difference and keeps the rest for the next one."""
    kept = sent = 0.0
    for step in range(1, steps + 1):
        kept += 1
        if step % every == 0:
            sent, kept = sent + kept / trainers, kept - kept / trainers
    return sent + kept / trainers  # the last exchange, when all is done


def row_count(table):
    """What the row with the id 1 has counted: the first number behind its head of 16 bytes."""
    (_, row), = table_rows(table).items()
    return -struct.unpack_from("<f", row)[0]


class CountingTest(EndToEnd):
    def counter(self, name, mode, snapshots=True, servers=2, policy="wait", table=False, **more):
        def server(i):
            keep = [f"--snapshot_dir={self.path(f'{name}snapshots{i}')}", f"--snapshot_period={PERIOD}"] if snapshots else []
            return ["--exit_when_done", f"--on_trainer_loss={policy}", *keep]
        return Cluster(self, write_counter(self, table), servers, TRAINERS, server_flags=server, name=name,
                       trainer_flags=[f"--num_passes={PASSES}", "--saving_period=1000", "--log_period=1", *MODES[mode]], **more)

    def until_done(self, cluster, share, trainer=0):
        """Until the trainer has done this share of its steps."""
        process = cluster.trainers[trainer]
        until(lambda: progress_of(process) >= STEPS * share or not process.running(), lambda: f"{process.name} trains\n{cluster.logs()}")
        self.assertTrue(process.running(), cluster.logs())

    def counted(self, cluster):
        """The counts of the parameters, and that of the row where there is a table."""
        model = cluster.finish()
        self.rows = [row_count(model["rows.table"])] if "rows.table" in model else []
        return [-struct.unpack("<f", model[f"w{i}"][-4:])[0] for i in range(PARAMETERS)]

    def lost(self, cluster, rows=False):
        """As all lives of all trainers reported it, at most, for any one parameter, or of rows."""
        return sum(int(n) for t in cluster.trainers for n, name in
                   re.findall(r"up to (\d+) updates of '(\S+)' were lost", t.log(whole=True)) if (name == "rows") == rows)

    def check(self, cluster, mode, event):
        counts, lost = self.counted(cluster), self.lost(cluster)
        why = f"{mode}, {event}: {counts}, reported as lost: {lost}\n{cluster.logs()}"
        loses = event in ("trainer_kill", "pserver_kill", "empty_pserver")
        if not loses or mode == "sync":
            self.assertEqual(lost, 0, why)
        if mode == "sync":
            self.assertEqual(counts, [STEPS] * PARAMETERS, why)
            return
        whole = TRAINERS * (geo_share(STEPS, 4, TRAINERS) if mode == "geo" else STEPS)
        # Geo: values are rounded, a trainer that ends takes with it what it has not exchanged, and one that is lost counts in steps.
        less = 0 if mode != "geo" else 16 if event.startswith("trainer") else 2
        more = 0 if mode != "geo" else 2
        for count in counts:
            self.assertLessEqual(count, whole + more, why)
            self.assertGreaterEqual(count + lost, whole - less, why)
        for count in self.rows:  # geo: each trainer's share, exactly
            all_rows = STEPS if mode == "geo" else TRAINERS * STEPS
            self.assertLessEqual(count, all_rows, f"row {self.rows}, {why}")
            self.assertGreaterEqual(count + self.lost(cluster, rows=True), all_rows - (less if event.startswith("trainer") else 0), f"row {self.rows}, {why}")
