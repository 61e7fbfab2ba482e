"""configs/monitoring: alert rules and dashboard against the metrics that there are, and against a real Prometheus."""
import http.client
import json
import os
import re
import shutil
import subprocess
import unittest
from urllib.parse import quote

from cluster import Process, free_ports, until, write_job
from support import CONFIGS, PADDLE, EndToEnd, main

MONITORING = os.path.join(CONFIGS, "monitoring")
# What the dashboard does without: facts about a process that do not move, and what another metric says too.
NOT_DRAWN = {"paddle_build_info", "paddle_job_samples", "paddle_pserver_job_info", "paddle_pserver_memory_bytes", "paddle_pserver_slices",
             "paddle_pserver_snapshot_step", "paddle_pserver_trainer_step", "paddle_trainer_finished", "paddle_trainer_job_info",
             "paddle_trainer_models_saved_total", "paddle_trainer_pass", "paddle_trainer_passes", "paddle_trainer_rollbacks_total",
             "paddle_trainer_row_cache_bytes", "paddle_trainer_row_cache_rows", "paddle_trainer_samples", "paddle_trainer_trainers",
             "process_max_fds", "process_start_time_seconds", "process_threads"}
missing = "" if shutil.which("promtool") and shutil.which("prometheus") else "prometheus (scripts/setup watching)"


def expressions():
    with open(os.path.join(MONITORING, "dashboard.json"), encoding="utf-8") as f:
        board = json.load(f)
    out = [t["expr"] for p in board["panels"] for t in p["targets"]] + [a["expr"] for a in board["annotations"]["list"]]
    with open(os.path.join(MONITORING, "rules.yml"), encoding="utf-8") as f:
        rules = f.read()
    return out, rules


class Monitoring(EndToEnd):
    def test_every_name_exists(self):
        names = set(re.findall(r"^- `(\w+)`", self.paddle("list_metrics").stdout, re.M))
        self.assertGreater(len(names), 50)
        board, rules = expressions()
        for text in [*board, rules]:
            for name in re.findall(r"\b((?:paddle_(?:pserver|trainer|job)|process)_\w+)", text):
                self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name), names, text)
        used = {re.sub(r"_bucket$", "", name) for name in re.findall(r"\w+", " ".join([*board, rules]))}
        self.assertEqual(names - used, NOT_DRAWN, "a metric that neither the dashboard nor a rule looks at")

    @unittest.skipIf(missing, f"needs {missing}")
    def test_rules(self):
        for command in (["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]):
            done = subprocess.run(["promtool", *command], cwd=MONITORING, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(MONITORING, "rules.yml"), encoding="utf-8") as f, open(os.path.join(MONITORING, "rules_test.yml"), encoding="utf-8") as g:
            alerts, tested = re.findall(r"- alert: (\w+)", f.read()), g.read()
        for alert in alerts:
            self.assertRegex(tested, rf"alertname: {alert}\n\s+eval_time: \w+\n\s+exp_alerts:\n", f"{alert} is never seen to fire")

    @unittest.skipIf(missing, f"needs {missing}")
    def test_a_real_prometheus_scrapes_a_job(self):
        launch = Process(self.dir, "launch")
        self.addCleanup(launch.kill)
        launch.start(PADDLE, "launch", f"--config={write_job(self)}", "--num_passes=100000", f"--workspace={self.path('w')}")
        token = launch.wait_line(r"--token_file=(\S+)")
        with open(os.path.join(MONITORING, "prometheus.yml"), encoding="utf-8") as f:
            config = f.read().replace("/path/to/observer_token", os.path.join(self.dir, token)).replace("/path/to/workspace", self.path("w"))
        config = config.replace("[rules.yml]", f"[{os.path.join(MONITORING, 'rules.yml')}]").replace(" 5s", " 1s")
        self.write("prometheus.yml", config)
        port = free_ports(1)
        server = Process(self.dir, "prometheus")
        self.addCleanup(server.kill)
        server.start("prometheus", f"--config.file={self.path('prometheus.yml')}", f"--storage.tsdb.path={self.path('tsdb')}",
                     f"--web.listen-address=127.0.0.1:{port}")

        def ask(query):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            try:
                connection.request("GET", "/api/v1/query?query=" + quote(query))
                return json.loads(connection.getresponse().read())["data"]["result"]
            except (OSError, ValueError, KeyError):
                return []
            finally:
                connection.close()
        until(lambda: len(ask('up{job="paddle"} == 1')) == 4, lambda: server.log()[-3000:] + str(ask("up")))
        board, _ = expressions()
        until(lambda: ask("changes(paddle_pserver_step[20s]) > 0"), "steps are seen to rise")
        later = ("table", "test", "snapshot", "staleness_bucket", "row_cache", "> 0")  # a job in sync mode that has just begun has none
        empty = [e for e in board if not any(word in e for word in later) and not ask(e)]
        until(lambda: not [e for e in empty if not ask(e)], lambda: [e for e in empty if not ask(e)])
        self.assertEqual([a["metric"]["alertname"] for a in ask('ALERTS{alertstate="firing"}')], [])
        for process in (launch, server):
            process.signal(15)
            process.wait()


if __name__ == "__main__":
    main()
