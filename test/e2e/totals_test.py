"""Numbers over all trainers: per period and pass, exact, shown by launch, status, metrics and the first pserver's log."""
import json
import os
import re

from cluster import Cluster, until
from metrics_test import get, http_port, samples
from support import CONFIGS, EndToEnd, main
from table_jobs import write_table_job

EVALUATORS = """[{"type": "auc", "input": "p", "label": "label"}, {"type": "batch_auc", "input": "p", "label": "label"},
                 {"type": "log_loss", "input": "p", "label": "label"}, {"type": "calibration", "input": "p", "label": "label"}]"""


def write_job(test, **more):
    path = write_table_job(test, "adagrad", **more)
    text = open(path, encoding="utf-8").read()
    text, count = re.subn(r'"evaluators": \{.*\}', f'"evaluators": {EVALUATORS}', text)
    assert count == 1
    return test.write("totals.json", text)


class Totals(EndToEnd):
    def events(self, path, kind):
        with open(path, encoding="utf-8") as f:
            return [e for e in map(json.loads, f) if e["event"] == kind]

    def test_periods_and_passes(self):
        """With parameters that stay as they are, they are those of one process on all data; and periods add up to their pass."""
        job = os.path.join(CONFIGS, "ctr_dnn.json")
        flags = (f"--config={job}", "--config_args=hash_size=1009,records=4001,learning_rate=1e-30", "--num_passes=2", "--dot_period=0")
        alone = re.findall(r"Pass=\d+ Batch=\d+ samples=4001 AvgCost=([\d.]+) Eval: auc=([\d.]+)", self.paddle("train", *flags).stderr)
        screen = self.paddle("launch", *flags, "--worker_num=3", "--log_period=4", "--event_file=events", "--workspace=ws").stderr
        totals = self.events(self.path("events"), "totals")
        for number in range(2):
            of_pass = [t for t in totals if t["pass"] == number]
            # 1334, 1334 and 1333 records in batches of 100.
            self.assertEqual([(t["batch"], t["pass_ended"]) for t in of_pass], [(4, False), (8, False), (12, False), (14, True)])
            self.assertEqual([t["samples"] for t in of_pass], [1200, 2400, 3600, 4001])
            self.assertEqual([t["period_samples"] for t in of_pass], [1200, 1200, 1200, 401])
            end = of_pass[-1]
            self.assertAlmostEqual(sum(t["period_samples"] * t["period_cost"] for t in of_pass) / 4001, end["cost"], places=7)
            self.assertEqual(f"{end['evaluators']['auc']:.6g}", alone[number][1])  # every digit
            self.assertIn(f"launch: pass {number + 1} of all trainers: 4001 samples, cost {end['cost']:.6g}, auc {alone[number][1]}", screen)
            self.assertRegex(screen, rf"launch: pass {number + 1}, batch 8 of all trainers: 2400 samples, cost [\d.]+, auc [\d.]+, "
                                     r"calibration [\d.]+; since batch 4: cost [\d.]+, auc [\d.]+, calibration [\d.]+\n")
            self.assertEqual(of_pass[0]["evaluators"], of_pass[0]["period_evaluators"])
            self.assertNotEqual(of_pass[1]["evaluators"], of_pass[1]["period_evaluators"])

    def test_status_metrics_and_log(self):
        """Without launch: a user of a service or of Kubernetes sees them on the first pserver."""
        job = write_job(self, records=2000, batch=20)
        cluster = Cluster(self, job, 2, 2, server_flags=["--http_port=0"], trainer_flags=["--num_passes=1000000", "--log_period=10"])
        cluster.start()
        cluster.servers[0].wait_line(r"pass \d+, batch \d+ of all trainers: \d+ samples, cost [\d.]+, auc [\d.]+, batch_auc [\d.]+, "
                                     r"log_loss [\d.]+, calibration [\d.]+; since batch \d+: cost [\d.]+, auc [\d.]+, log_loss")
        shards = json.loads(self.paddle("status", f"--pservers={cluster.endpoints()}", "--json").stdout)["shards"]
        self.assertIsNone(shards[1]["totals"])
        totals = shards[0]["totals"]
        self.assertEqual(totals["trainers"], 2)
        self.assertEqual(sorted(totals["whole"]["evaluators"]), ["auc", "batch_auc", "calibration", "log_loss"])
        self.assertRegex(self.paddle("status", f"--pservers={cluster.endpoints()}").stdout, r"(?m)^pass \d+(, batch \d+)? of all trainers: ")
        values = samples(get(http_port(cluster.servers[0]), "/metrics")[1])
        self.assertTrue(0 < values['paddle_job_evaluator{evaluator="auc"}'] <= 1)
        self.assertGreater(values["paddle_job_cost"], 0)
        self.assertIn('paddle_job_period_evaluator{evaluator="log_loss"}', values)
        self.assertNotIn('paddle_job_period_evaluator{evaluator="batch_auc"}', values)
        self.assertNotIn("paddle_job_cost", samples(get(http_port(cluster.servers[1]), "/metrics")[1]))

    def test_repeated_steps_count_once(self):
        """A pserver is killed in the middle of a pass, and all go back to its snapshot: the numbers of the pass are as if it had not been."""
        job = write_job(self, records=4000, batch=10)
        def run(name, disturb):
            keep = lambda i: ["--exit_when_done", f"--snapshot_dir={self.path(f'{name}snapshots{i}')}", "--snapshot_period=50"]
            cluster = Cluster(self, job, 2, 2, name=name, server_flags=keep, trainer_flags=["--num_passes=1", "--log_period=1"])
            cluster.start()
            if disturb:
                cluster.trainers[0].wait_line(r" Batch=(7[5-9]|[89]\d) ")
                cluster.servers[1].kill()
                cluster.start_server(1)
            cluster.all_end()
            for s in cluster.servers:
                s.wait(0)
            return cluster
        calm, hit = run("calm-", False), run("hit-", True)
        self.assertRegex(hit.trainers[0].log(whole=True), "going on with step")
        for a, b in zip(calm.trainers, hit.trainers):
            pattern = r" Pass=0 Batch=200 samples=2000 .*"
            expected, found = (re.findall(pattern, t.log(whole=True)) for t in (a, b))
            self.assertEqual(len(expected), 1)
            self.assertEqual(found, expected)
        expected, found = (re.findall(r"pass 1 of all trainers: .*", c.servers[0].log(whole=True)) for c in (calm, hit))
        self.assertEqual(len(expected), 1)
        self.assertRegex(expected[0], r"4000 samples, cost [\d.]+, auc [\d.]+, batch_auc [\d.]+, log_loss [\d.]+, calibration [\d.]+$")
        self.assertEqual(found, expected)


if __name__ == "__main__":
    main()
