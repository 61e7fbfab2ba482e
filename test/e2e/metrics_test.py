"""--http_port of pservers and trainers: metrics, health and status of a real job, and clients that mean no good."""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import unittest

from cluster import Cluster, Process, until, write_job
from support import PADDLE, SOURCE, EndToEnd, main
from table_jobs import write_table_job


def get(port, path, token=None, host=None):
    """(code, body) of a GET on loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Host": host} if host else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    return reply.status, body


def samples(text):
    """name{labels} -> number, of the text format."""
    return {m[1]: float(m[2]) for m in re.finditer(r"^([^#\s]\S*(?:\{.*\})?) (\S+)$", text, re.M)}


def http_port(process):
    return int(process.wait_line(r"metrics and health are at http://127\.0\.0\.1:(\d+)"))


class Metrics(EndToEnd):
    def job(self, passes):
        return Cluster(self, write_job(self), 2, 2, server_flags=["--http_port=0"],
                       trainer_flags=["--http_port=0", "--min_block_size=64", "--saving_period=1000", f"--num_passes={passes}"])

    def status(self, cluster):
        done = self.paddle("status", f"--pservers={cluster.endpoints()}", "--json")
        return json.loads(done.stdout)

    def test_metrics_and_status_agree(self):
        """Two trainers wait for a third; nothing moves then, and every look sees the same numbers."""
        cluster = self.job(1000000)
        cluster.trainers.append(Process(self.dir, "trainer2"))
        for i in range(2):
            cluster.start_server(i)
        for i in range(3):
            cluster.start_trainer(i)
        for t in cluster.trainers:
            t.wait_line(r"joined as trainer")
        trainer_ports = [http_port(t) for t in cluster.trainers]
        until(lambda: samples(get(trainer_ports[0], "/metrics")[1])["paddle_trainer_push_seconds_count"] > 10, "some steps are made")
        cluster.trainers[2].signal(19)  # SIGSTOP: the rounds lack its gradient
        self.addCleanup(cluster.trainers[2].signal, 18)
        ports = [http_port(s) for s in cluster.servers]

        def calm():
            first = [get(p, "/status")[1] for p in ports]
            both = [json.loads(text)["shards"][0] for text in first]
            if not any(s.get("waiting") for s in both):
                return None  # one of them may have all gradients of the step already
            status = self.status(cluster)
            same = all(a["step"] == b["step"] and [t["applied"] for t in a["trainers"]] == [t["applied"] for t in b["trainers"]]
                       for a, b in zip(both, status["shards"]))
            return (both, status) if same else None
        own, status = until(calm, "a pserver waits, and they say the same as paddle status")
        for k, port in enumerate(ports):
            code, text = get(port, "/metrics")
            self.assertEqual(code, 200)
            found, shard = samples(text), status["shards"][k]
            label = f'shard="{shard["endpoint"]}"'
            self.assertEqual(found[f"paddle_pserver_step{{{label}}}"], shard["step"])
            self.assertEqual(found[f"paddle_pserver_waiting{{{label}}}"], 1 if own[k]["waiting"] else 0)
            self.assertEqual(found[f"paddle_pserver_slices{{{label}}}"], len(shard["slices"]))
            self.assertEqual(found[f"paddle_pserver_slice_bytes{{{label}}}"], sum(s["bytes"] for s in shard["slices"]))
            for t in shard["trainers"]:
                where = f'{{{label},trainer="{t["id"]}"}}'
                self.assertEqual(found["paddle_pserver_gradients_applied_total" + where], t["applied"])
                self.assertEqual(found["paddle_pserver_trainer_received_bytes_total" + where], t["bytes_in"])
            self.assertGreater(max(t["applied"] for t in shard["trainers"]), 0)
            # The whole text of /status, but for what moves by itself.
            for key in shard:
                if key not in ("uptime", "cpu_seconds", "bytes_in", "bytes_out", "messages_in", "messages_out", "waiting", "trainers",
                               "memory_held", "steps_per_second"):
                    self.assertEqual(own[k][key], shard[key], key)
            self.assertEqual(list(own[k]), list(shard))
            self.assertEqual(get(port, "/healthz"), (200, "ok\n"))
            self.assertEqual(get(port, "/readyz"), (200, "ok\n"))
            self.check_format(text)
        code, text = get(trainer_ports[0], "/metrics")
        self.check_format(text)
        found = samples(text)
        self.assertGreater(found["paddle_trainer_push_seconds_count"], 0)
        self.assertGreater(found["paddle_trainer_pull_seconds_count"], 0)
        self.assertGreater(found["process_resident_memory_bytes"], 1 << 20)
        own = json.loads(get(trainer_ports[0], "/status")[1])
        self.assertEqual((own["trainer"], own["trainers"], own["state"]), (0, 3, "training"))
        self.assertEqual(found["paddle_trainer_step"], own["step"])

    def until_metrics(self, port, enough, what):
        """The samples, once they are as wanted."""
        def look():
            found = samples(get(port, "/metrics")[1])
            return found if enough(found) else None
        return until(look, what)

    def of(self, found, name):
        """Values of all samples of a metric."""
        return [v for k, v in found.items() if re.fullmatch(re.escape(name) + r"(\{.*\})?", k)]

    def test_staleness_snapshots_and_restarts(self):
        """An async job with snapshots, one trainer of which starts again."""
        cluster = Cluster(self, write_job(self), 1, 2,
                          server_flags=["--http_port=0", f"--snapshot_dir={self.path('snapshots')}", "--snapshot_period=50"],
                          trainer_flags=["--async", "--num_passes=1000000", "--saving_period=1000000", "--min_block_size=64"]).start()
        port = http_port(cluster.servers[0])
        found = self.until_metrics(port, lambda f: sum(self.of(f, "paddle_pserver_snapshots_written_total")) > 1, "two snapshots")
        total, last = self.of(found, "paddle_pserver_snapshot_seconds_total")[0], self.of(found, "paddle_pserver_snapshot_last_seconds")[0]
        self.assertTrue(0 < last < total, (last, total))
        self.assertEqual(self.of(found, "paddle_pserver_snapshots_failed_total"), [0])
        self.assertEqual(self.of(found, "paddle_pserver_trainer_joins_total"), [1, 1])
        self.check_format(get(port, "/metrics")[1])
        for key in [k for k in found if k.startswith("paddle_pserver_staleness_count")]:
            labels = key[len("paddle_pserver_staleness_count"):]
            self.assertEqual(found[key], found["paddle_pserver_gradients_applied_total" + labels] + found["paddle_pserver_gradients_dropped_total" + labels])
            mean = found["paddle_pserver_staleness_mean" + labels]
            self.assertAlmostEqual(found["paddle_pserver_staleness_sum" + labels], mean * found[key], delta=1e-6 * found[key] + 1e-9)
            self.assertGreater(found[key], 0)
        self.assertEqual(len(self.of(found, "paddle_pserver_staleness_count")), 2)
        cluster.trainers[1].kill()
        cluster.start_trainer(1)
        self.until_metrics(port, lambda f: self.of(f, "paddle_pserver_trainer_joins_total") == [1, 2], "it has joined again")

    def test_who_is_waited_for(self):
        """A trainer that stands still lacks in every open round of sync, and the answers of the other one wait."""
        cluster = self.job(1000000).start()
        ports = [http_port(server) for server in cluster.servers]
        self.until_metrics(ports[0], lambda f: min(self.of(f, "paddle_pserver_gradients_applied_total") or [0]) > 0, "gradients of both")
        cluster.trainers[1].signal(19)
        self.addCleanup(cluster.trainers[1].signal, 18)

        def lacks_trainer_1(found):
            opened, = self.of(found, "paddle_pserver_open_rounds")
            return (opened > 0 and self.of(found, "paddle_pserver_trainer_lacking_rounds") == [0, opened]
                    and self.of(found, "paddle_pserver_waiting_requests")[0] > 0)
        # One of the pservers may have had all of its gradients of the step, and has nobody to wait for then.
        until(lambda: any(lacks_trainer_1(samples(get(port, "/metrics")[1])) for port in ports), "the rounds lack trainer 1")

    def test_tables(self):
        cluster = Cluster(self, write_table_job(self), 1, 1, server_flags=["--http_port=0"],
                          trainer_flags=["--http_port=0", "--num_passes=1000000", "--saving_period=1000000"]).start()
        port = http_port(cluster.servers[0])
        found = self.until_metrics(port, lambda f: sum(self.of(f, "paddle_pserver_table_rows_pulled_total")) > 20000, "rows are pulled")
        pulled, missed, created = (self.of(found, f"paddle_pserver_table_rows_{word}_total") for word in ("pulled", "missed", "created"))
        self.assertTrue(0 < created[0] <= missed[0] < pulled[0] / 10, (created, missed, pulled))
        own = samples(get(http_port(cluster.trainers[0]), "/metrics")[1])
        for word in ("pull", "push"):
            self.assertGreater(own[f"paddle_trainer_{word}_rows_seconds_count"], 0)
            self.assertGreater(own[f"paddle_trainer_{word}_rows_seconds_sum"], 0)

    def check_format(self, text):
        """As Prometheus itself sees it."""
        if not shutil.which("promtool"):
            print("promtool is missing (Debian: prometheus): the format was not checked by it")
            return
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_hostile_clients_do_not_disturb_training(self):
        """Slow headers, huge ones, POST, wrong names and 200 connections, while a job trains: it ends with the same bits."""
        passes = 1000  # it lasts longer than the visits
        plain = Cluster(self, write_job(self), 2, 2, name="plain-", trainer_flags=[f"--num_passes={passes}", "--min_block_size=64", "--saving_period=1000"])
        expected = plain.run()
        cluster = self.job(passes)
        cluster.start()
        ports = [http_port(p) for p in cluster.servers + cluster.trainers]
        held = []
        self.addCleanup(lambda: [s.close() for s in held])
        for port in ports:
            for k in range(200):
                s = socket.create_connection(("127.0.0.1", port), timeout=30)
                s.sendall([b"", b"GET / HTTP/1.1\r\nHost: loc", b"\x00\xff" * 40, b"GET /metrics HTTP/1.1\r\nX: "][k % 4])
                held.append(s)
            self.assertEqual(get(port, "/healthz")[0], 200, "200 idle connections keep a probe out")
            self.assertEqual(get(port, "/metrics", host="evil.example.com")[0], 403)
            s = socket.create_connection(("127.0.0.1", port), timeout=30)
            held.append(s)
            s.sendall(b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n" + bytes(1000))
            self.assertIn(b" 405 ", s.recv(4096))
            s = socket.create_connection(("127.0.0.1", port), timeout=30)
            held.append(s)
            try:
                for _ in range(100):
                    s.sendall(b"X: " + bytes(4096) + b"\r\n")
                answer = s.recv(4096)
            except OSError:
                answer = b""
            self.assertTrue(answer == b"" or b" 400 " in answer or b" 431 " in answer, answer)
            descriptors = [p for p in cluster.servers + cluster.trainers if p.running()][0].state()["descriptors"]
            self.assertLess(descriptors, 150)
        found = cluster.finish()
        self.assertEqual([n for n in expected if expected[n] != found.get(n)], [])

    def test_a_token_is_asked_for(self):
        token = self.path("token")
        self.paddle("token", f"--new={token}")
        observer = self.path("observer")
        self.paddle("token", f"--token_file={token}", "--role=observer", f"--out={observer}")
        cluster = Cluster(self, write_job(self), 1, 1, server_flags=["--http_port=0", f"--token_file={token}"],
                          trainer_flags=["--http_port=0", f"--token_file={token}"])
        cluster.start()
        with open(token) as f, open(observer) as g:
            words, watching = f.read().strip(), g.read().strip()
        port = http_port(cluster.servers[0])
        self.assertEqual(get(port, "/metrics")[0], 401)
        self.assertEqual(get(port, "/status", "0" * 64)[0], 401)
        self.assertEqual(get(port, "/status", words)[0], 200)
        self.assertEqual(get(port, "/metrics", watching)[0], 200)
        self.assertEqual(get(port, "/healthz")[0], 200)
        cluster.finish()

    def test_others_need_a_token(self):
        done = self.run_program(PADDLE, "pserver", "--port=0", "--http_port=0", "--http_host=0.0.0.0")
        self.refused(done, 2, "--token_file", "ssh tunnel")

    def test_launch_says_where(self):
        """By default; the file with the targets is gone with the job."""
        launch = Process(self.dir, "launch")
        self.addCleanup(launch.kill)
        launch.start(PADDLE, "launch", f"--config={write_job(self)}", "--num_passes=200000", f"--workspace={self.path('w')}")
        targets = self.path("w", "job", "targets.json")

        def complete():
            if not os.path.exists(targets):
                return None
            with open(targets) as f:
                found = json.load(f)
            return found if len(found) == 4 else None
        found = until(complete, lambda: launch.log())
        self.assertEqual(sorted(t["labels"]["process"] for t in found), ["pserver.0", "pserver.1", "trainer.0", "trainer.1"])
        with open(re.search(r"--token_file=(\S+)", launch.log())[1]) as f:
            token = f.read().strip()
        for t in found:
            port = int(t["targets"][0].rsplit(":", 1)[1])
            code, text = get(port, "/metrics", token)
            self.assertEqual(code, 200, text)
            self.assertIn("paddle_" + t["labels"]["role"], text)
        launch.signal(15)
        launch.wait()
        self.assertFalse(os.path.exists(targets))

    def test_launch_without(self):
        self.paddle("launch", f"--config={write_job(self)}", "--num_passes=1", "--http_port=-1", f"--workspace={self.path('w')}")
        self.assertNotIn("metrics and health", b"".join(self.files(self.path("w")).values()).decode())

    def test_the_page_lists_all(self):
        listed = self.paddle("list_metrics").stdout
        with open(os.path.join(SOURCE, "docs", "metrics.md"), encoding="utf-8") as f:
            page = f.read()
        self.assertEqual(page.split("<!-- paddle list_metrics -->\n")[1].split("<!-- end -->")[0], listed,
                         "docs/metrics.md is not up to date; run scripts/api_reference")


if __name__ == "__main__":
    main()
