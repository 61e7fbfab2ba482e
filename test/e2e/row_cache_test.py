"""--row_cache: fewer rows are asked for, models learn as without it, and it is refused where it makes no sense."""
import json
import re

from cluster import Cluster, until
from metrics_test import get, http_port, samples
from support import EndToEnd, last_number, main
from table_jobs import write_table_job

# Clicks of a generated log, whose categories are distributed as those of real ones (Zipf).
JOB = """{
  "inputs": [{"name": "dense_input", "shape": 13}, CATEGORIES {"name": "label", "dtype": "int64"}],
  "layers": [EMBEDDINGS
    {"type": "concat", "name": "features", "axis": 1, "input": [NAMES "dense_input"]},
    {"type": "fc", "name": "hidden", "input": "features", "size": 16, "act": "relu"},
    {"type": "fc", "name": "p", "input": "hidden", "size": 2, "act": "softmax"},
    {"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}],
  "cost": "cost", "outputs": "p",
  "evaluators": {"type": "auc", "input": "p", "label": "label"},
  "optimizer": {"type": "adagrad", "learning_rate": 0.02},
  "data": {"format": "criteo", "batch_size": 100, "hash_size": 1000003, "records": 60000, "test_records": 20000}
}"""
EMBEDDING = """{"type": "embedding", "name": "e%d", "input": "C%d", "size": [-1, 4], "is_distributed": true,
 "param_attr": {"name": "emb", "initializer": {"type": "uniform", "low": -0.05, "high": 0.05}}},"""


def click_job(test):
    slots = range(1, 27)
    text = JOB.replace("CATEGORIES", " ".join('{"name": "C%d", "dtype": "int64"},' % k for k in slots))
    text = text.replace("EMBEDDINGS", "\n".join(EMBEDDING % (k, k) for k in slots))
    return test.write("clicks.json", text.replace("NAMES", " ".join(f'"e{k}",' for k in slots)))


class RowCache(EndToEnd):
    def rows_of_a_step(self, cluster):
        """Rows that the shards were asked for per step of a trainer, as they say; None where there are not 200 steps yet."""
        done = self.paddle("status", f"--pservers={cluster.endpoints()}", "--json", check=None)
        shards = json.loads(done.stdout)["shards"] if done.returncode == 0 else []
        steps = [sum(t["step"] for t in s.get("trainers", [])) for s in shards]
        if not steps or min(steps) < 200:
            return None
        return sum(sum(t["pulled"] for t in s["tables"]) / n for s, n in zip(shards, steps))

    def train(self, job, name, *flags):
        """(AUC of the test, rows of a step at the last look, hit rates that the log names)"""
        cluster = Cluster(self, job, 2, 2, name=name, trainer_flags=["--num_passes=2", "--log_period=50", *flags])
        cluster.start()
        rows = None
        def look():
            nonlocal rows
            rows = self.rows_of_a_step(cluster) or rows
            return not any(t.running() for t in cluster.trainers)
        until(look, cluster.logs)
        cluster.all_end()
        log = cluster.trainers[0].log(whole=True)
        rates = [float(r) for r in re.findall(r" RowCache: ([\d.]+) % of [1-9]", log)]
        cluster.close()
        return last_number(log, r"Test samples=20000 .*auc="), rows, rates

    def test_fewer_rows_and_the_same_quality(self):
        """Of two trainers in async and in half-async, against the same without."""
        job = click_job(self)
        for mode in ("--async", "--half_async"):
            with self.subTest(mode):
                auc, rows, rates = self.train(job, f"plain{mode}-", mode)
                cached_auc, cached_rows, cached_rates = self.train(job, f"cached{mode}-", mode, "--row_cache=8m")
                self.assertEqual(rates, [])
                self.assertGreater(min(cached_rates), 20)
                self.assertGreater(rows, 1000)
                self.assertLess(cached_rows, 0.8 * rows)
                self.assertGreater(auc, 0.7)
                self.assertLess(abs(auc - cached_auc), 0.003)

    def test_status_and_metrics(self):
        job = write_table_job(self, "adagrad", batch=20)
        cluster = Cluster(self, job, 1, 1, trainer_flags=["--async", "--row_cache=1m", "--num_passes=1000000", "--http_port=0"])
        cluster.start()
        cluster.trainers[0].wait_line(r" RowCache: [\d.]+ % of \d+ rows were there; it has \d+ rows and may use 102[34](\.\d)? KiB")
        line = r"(?m)^trainer 0: ([2-9]\d[\d.]*) % of the rows of its batches were in its cache, which has [1-9]\d* rows and may use"
        until(lambda: re.search(line, self.paddle("status", f"--pservers={cluster.endpoints()}").stdout), "status shows the cache")
        values = samples(get(http_port(cluster.trainers[0]), "/metrics")[1])
        self.assertGreater(values["paddle_trainer_row_cache_hits_total"], values["paddle_trainer_row_cache_misses_total"])
        self.assertGreater(values["paddle_trainer_row_cache_rows"], 100)

    def test_where_it_is_refused(self):
        job = write_table_job(self, "adagrad")
        for mode, word in (("--sync", "sync computes with the rows of exactly its step"), ("--geo_steps=3", "geo keeps its rows anyway")):
            done = self.paddle("train", f"--config={job}", "--pservers=127.0.0.1:1", "--trainers=1", mode, "--row_cache=8m", check=2)
            self.assertIn(word, done.stderr)
            self.assertIn("leave row_cache away, or choose async or half_async", done.stderr)
        for bad in ("--row_cache=12", "--row_cache_steps=0"):
            done = self.paddle("train", f"--config={job}", "--pservers=127.0.0.1:1", "--async", bad, check=2)
            self.assertIn("must be ", done.stderr)


if __name__ == "__main__":
    main()
