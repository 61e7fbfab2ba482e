"""Jobs of several processes, started in every way that guides describe, and what launch, run and status do around them."""
import json
import os
import pty
import re
import select
import shlex
import signal
import socket
import struct
import subprocess
import time

from cluster import free_ports, until, write_job
from live_page import answering, lines_of
from support import CONFIGS, DEADLINE, PADDLE, SOURCE, EndToEnd, main

JOB = os.path.join(CONFIGS, "fit_a_line.json")


def children(pid):
    """Processes that `pid` started, without zombies."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(name))
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Cluster(EndToEnd):
    def setUp(self):
        super().setUp()
        self.started = []
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def start(self, *arguments, env=None):
        clean = {"PATH": os.environ["PATH"], "HOME": self.dir, **(env or {})}
        process = subprocess.Popen([PADDLE, *arguments], cwd=self.dir, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.started.append(process)
        return process

    def ends(self, process, code=0):
        out, err = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, code, err)
        return out, err

    def until(self, process, pattern):
        """The first line of stderr that matches."""
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(pattern, line):
                return found
        self.fail(f"no '{pattern}' in\n{''.join(said)}")

    def gone(self, pids):
        until(lambda: not any(alive(p) for p in pids), f"{pids} are gone", 30)

    def read(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as f:
            return f.read()

    def same_model(self, a, b):
        a, b = self.files(a), self.files(b)
        for name in ("y_predict.w_0", "y_predict.b_0"):
            self.assertEqual(a[name], b[name], name)


class Launch(Cluster):
    def launch(self, *flags, check=0, **kwargs):
        return self.paddle("launch", f"--config={JOB}", *flags, check=check, **kwargs)

    def test_two_by_two(self):
        done = self.launch("--server_num=2", "--worker_num=2", "--workspace=ws", "--save_dir=output", "--num_passes=5")
        self.assertEqual(done.stdout, "the model is in ws/output/pass-00004\n")
        self.assertIn("done", os.listdir(self.path("ws", "output", "pass-00004")))
        for start in ("pserver.0 | ", "pserver.1 | ", "trainer.0 | ", "trainer.1 | "):
            self.assertRegex(done.stderr, rf"(?m)^{re.escape(start)}I\d{{4}} ")
        self.assertNotIn("\x1b", done.stderr)
        self.assertIn("cost of the passes", done.stderr)
        self.assertRegex(done.stderr, r"--job=test --init_model_path=ws/output/pass-00004\s*$")
        for i in (0, 1):
            self.assertIn(f"--trainer_id={i}", self.read("ws", "log", f"trainer.{i}", "paddle_trainer.INFO"))
            self.assertIn("Server listening on 127.0.0.1:", self.read("ws", "log", f"pserver.{i}", "paddle_pserver2.INFO"))
            self.assertIn(" Pass=4 ", self.read("ws", "log", f"train.{i}.log"))
            self.assertIn("Server listening on ", self.read("ws", "log", f"server.{i}.log"))
        self.assertIn(" Pass=4 ", self.read("ws", "log", "paddle_trainer.INFO"))
        self.assertIn("Server listening", self.read("ws", "log", "paddle_pserver2.INFO"))
        self.assertIn("Server listening", self.read("ws", "log", "paddle_pserver_main.INFO"))
        tested = self.paddle("train", f"--config={JOB}", "--job=test", "--init_model_path=ws/output/pass-00004")
        self.assertRegex(tested.stdout, r" Pass=4 samples=\d+ AvgCost=")

    def test_events(self):
        """All processes report into one file: every line is JSON, and the story is complete."""
        events = self.path("events.jsonl")
        self.launch("--workspace=ws", "--save_dir=output", "--num_passes=3", f"--event_file={events}")
        lines = [json.loads(line) for line in self.read("events.jsonl").splitlines()]
        for line in lines:
            self.assertEqual(list(line)[:4], ["event", "time", "role", "process"])
        of = lambda kind, role: [e for e in lines if e["event"] == kind and e["role"] == role]
        self.assertEqual(len(of("started", "pserver")), 2)
        self.assertEqual(len(of("listening", "pserver")), 2)
        self.assertEqual(sorted(e["trainer"] for e in of("joined", "trainer")), [0, 1])
        self.assertEqual(sorted((e["trainer"], e["pass"]) for e in of("pass_ended", "trainer")), [(t, p) for t in (0, 1) for p in range(3)])
        self.assertEqual([e["path"] for e in of("saved", "trainer")], [f"ws/output/pass-0000{p}" for p in range(3)])
        self.assertEqual([e["model"] for e in of("finished", "trainer") if e["trainer"] == 0], ["ws/output/pass-00002"])
        self.assertGreater(len(of("progress", "trainer")), 1)
        self.assertEqual([e["code"] for role in ("pserver", "trainer", "launch") for e in of("exit", role)], [0] * 5)
        self.assertEqual(len({e["process"] for e in lines}), 5)
        self.assertEqual(of("dropped", "trainer"), [])

    def test_numbers_of_all_trainers(self):
        """With parameters that stay as they are, they are those of one process on all data."""
        job = os.path.join(CONFIGS, "ctr_dnn.json")
        flags = (f"--config={job}", "--config_args=hash_size=1009,records=4001,learning_rate=1e-30", "--num_passes=2",
                 "--dot_period=0")
        alone = re.findall(r"Pass=\d+ Batch=\d+ samples=4001 AvgCost=([\d.]+) Eval: auc=([\d.]+)  calibration=([\d.]+)",
                           self.paddle("train", *flags).stderr)
        all_trainers = re.findall(r"launch: pass \d of all trainers: 4001 samples, cost ([\d.]+), auc ([\d.]+), "
                                  r"calibration ([\d.]+)", self.paddle("launch", *flags, "--worker_num=3").stderr)
        self.assertEqual(len(alone), 2)
        self.assertEqual([a[1] for a in all_trainers], [a[1] for a in alone])  # every digit
        for mine, theirs in zip(all_trainers, alone):
            self.assertAlmostEqual(float(mine[0]), float(theirs[0]), places=4)
            self.assertAlmostEqual(float(mine[2]), float(theirs[2]), places=4)

    def test_one_by_one_is_a_local_run(self):
        self.launch("--server_num=1", "--worker_num=1", "--workspace=ws", "--save_dir=output", "--num_passes=3", "--ports_num=2")
        for name in ("paddle_trainer.INFO", "paddle_pserver2.INFO", "paddle_pserver_main.INFO", "train.log", "server.log"):
            self.assertTrue(self.read("ws", "log", name), name)
        self.train("fit_a_line.json", "--save_dir=alone", "--num_passes=3")
        # Not the same bits: alone, sgd is fused into the product before it and rounds once less.
        models = [self.files(self.path(*d, "pass-00002")) for d in (("ws", "output"), ("alone",))]
        for name, count in (("y_predict.w_0", 13), ("y_predict.b_0", 1)):
            for a, b in zip(*(struct.unpack(f"<{count}f", m[name][-4 * count:]) for m in models)):
                self.assertAlmostEqual(a, b, delta=1e-5 * max(1, abs(b)))

    def test_tls(self):
        """Certificates that launch makes for the job, or those of a directory: the same model, and nothing is left of the first."""
        flags = ["--save_dir=out", "--num_passes=20", "--log_period=0"]
        self.launch("--workspace=plain", *flags)
        done = self.launch("--workspace=made", "--tls", *flags)
        self.assertNotIn("--token_file", done.stderr)
        self.assertEqual([n for n in os.listdir(self.path("made", "log")) if n.startswith(("tls.", "token."))], [])
        self.paddle("certs", "--dir=certs")
        self.launch("--workspace=given", "--certs_dir=certs", *flags)
        for name in ("made", "given"):
            self.same_model(self.path(name, "out", "pass-00019"), self.path("plain", "out", "pass-00019"))
        self.refused(self.launch("--tls", "--certs_dir=certs", check=None), 2, "--certs_dir=DIR")
        self.refused(self.launch("--cert_file=certs/pserver.pem", check=None), 2, "--certs_dir=DIR")

    def test_tls_keeps_others_out(self):
        process = self.start("launch", f"--config={JOB}", "--num_passes=1000000", "--tls", "--workspace=ws")
        shown = self.until(process, r"status (--pservers=\S+ .*)")[1].split()
        address = self.until(process, r"watch the job at (\S+)")[1]
        self.until(process, r"trainer\.0 \| .* Pass=1 ")
        self.assertIn("job default, sync", self.paddle("status", *shown).stdout)
        self.refused(self.paddle("status", shown[0], check=None), 7, "no shard answers")
        lines_of(self, address, lambda found: answering(found) == 2)  # the page has a certificate too
        made = os.path.dirname(next(w for w in shown if w.startswith("--ca_file")).split("=")[1])
        self.assertEqual(os.stat(self.path(made)).st_mode & 0o027, 0)
        self.assertNotIn("ca.key", os.listdir(self.path(made)))
        process.send_signal(signal.SIGTERM)
        self.ends(process, 143)
        self.assertFalse(os.path.exists(self.path(made)))

    def test_quiet(self):
        done = self.launch("--logtostderr=false", "--num_passes=2")
        self.assertNotRegex(done.stderr, r"(?m)^trainer.*\| I")
        self.assertIn("no model was saved", done.stderr)
        self.assertIn("cost of the passes", done.stderr)

    def test_failure_stops_all_and_stands_last(self):
        with open(JOB, encoding="utf-8") as f:
            text = f.read().replace('"format": "uci_housing"', '"format": "csv", "files": "no-such-file.csv"')
        job = self.write("job.json", text)
        done = self.paddle("launch", f"--config={job}", check=None)
        self.refused(done, 4, "no-such-file.csv")
        self.assertRegex(done.stderr, r"\npaddle launch: trainer\.\d ended with exit code 4, and the other")
        self.assertIn("no-such-file.csv", done.stderr.rsplit("it ended because:\n", 1)[1])

    def test_mistakes_are_reported_before_anything_runs(self):
        self.refused(self.paddle("launch", check=None), 2, "there is no job")
        self.refused(self.launch("--port=7164", "--trainers=2", check=None), 2, "2 problems", "launch gives port")
        self.refused(self.launch("--worker_nun=2", check=None), 2, "did you mean --worker_num?")
        self.refused(self.launch("--async", "--half_async", check=None), 2, "modes contradict each other")
        job = self.write("job.json", '{"nmu_passes": 3}')
        self.refused(self.paddle("launch", f"--config={job}", check=None), 2, "job.json")
        self.assertFalse(os.path.exists(self.path("log")))

    def running(self, *flags):
        process = self.start("launch", f"--config={JOB}", "--num_passes=1000000", *flags)
        self.until(process, r"trainer\.0 \| .* Pass=1 ")
        pids = children(process.pid)
        self.assertEqual(len(pids), 4)
        return process, pids

    def test_signals_stop_all(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                process, pids = self.running("--save_dir=out", "--workspace=ws")
                process.send_signal(number)
                _, err = self.ends(process, code)
                self.gone(pids)
                self.assertRegex(err.strip().split("\n")[-1], r"^launch: stopped by (Ctrl-C|a signal) after \d+ s; no process is left; the last "
                                 rf"model is ws/out/pass-\d+: go on with --init_model_path={self.dir}/ws/out/pass-\d+$")

    def test_no_orphan_when_launch_is_killed(self):
        process, pids = self.running()
        process.kill()
        process.wait()
        self.gone(pids)

    def test_killed_trainer(self):
        process, pids = self.running()
        trainer = next(p for p in pids if "--trainer_id=1" in self.read(f"/proc/{p}/cmdline"))
        os.kill(trainer, signal.SIGKILL)
        _, err = self.ends(process, 137)
        self.assertIn("paddle launch: trainer.1 ended with exit code 137", err)
        self.gone(pids)

    def test_trainers_keep_to_their_processors(self):
        """Each to a share of its own, where there are enough; not with --pin_cpus=false."""
        mine = os.sched_getaffinity(0)
        for flag in ("true", "false"):
            with self.subTest(pin_cpus=flag):
                process, pids = self.running(f"--pin_cpus={flag}")
                trainers = [p for p in pids if "--trainer_id=" in self.read(f"/proc/{p}/cmdline")]
                shares = [os.sched_getaffinity(p) for p in trainers]
                self.assertEqual(shares[0] | shares[1], mine)
                alone = flag == "true" and len(mine) > 1
                self.assertEqual(shares[0] & shares[1], set() if alone else mine)
                for p in set(pids) - set(trainers):
                    self.assertEqual(os.sched_getaffinity(p), mine)
                process.send_signal(signal.SIGINT)
                self.ends(process, 130)

    def test_progress_moves_with_the_events(self):
        """In a long pass without log lines of batches the progress line changes with the events."""
        job = write_job(self, records=60000, batch=1)
        main_end, other_end = pty.openpty()
        env = {"PATH": os.environ["PATH"], "HOME": self.dir, "TERM": "xterm"}
        process = subprocess.Popen([PADDLE, "launch", f"--config={job}", "--num_passes=1000", "--log_period=0"], cwd=self.dir, env=env,
                                   stdout=subprocess.DEVNULL, stderr=other_end)
        self.started.append(process)
        os.close(other_end)
        self.addCleanup(os.close, main_end)
        shown, deadline = b"", time.monotonic() + DEADLINE
        wanted = rb"pass \d+/1000  batch ([1-9]\d*)(?:/\d+)?  cost "
        while len(set(re.findall(wanted, shown))) < 5:
            self.assertLess(time.monotonic(), deadline, shown)
            if select.select([main_end], [], [], 1)[0]:
                shown += os.read(main_end, 65536)

    def test_on_a_terminal(self):
        """With --verbose: names in colour and one line of progress; without colours where NO_COLOR asks for that."""
        for no_colour in ("", "1"):
            with self.subTest(no_colour):
                main_end, other_end = pty.openpty()
                env = {"PATH": os.environ["PATH"], "HOME": self.dir, "TERM": "xterm", "NO_COLOR": no_colour}
                process = subprocess.Popen([PADDLE, "launch", f"--config={JOB}", "--num_passes=1000", "--verbose"], cwd=self.dir, env=env,
                                           stdout=subprocess.DEVNULL, stderr=other_end)
                self.started.append(process)
                os.close(other_end)
                shown = b""
                while True:
                    try:
                        shown += os.read(main_end, 65536)
                    except OSError:  # nobody is left on the other end
                        break
                os.close(main_end)
                self.assertEqual(process.wait(DEADLINE), 0, shown)
                self.assertRegex(shown, rb"pass \d+/1000  batch [1-9]\d*/\d+  cost [^\r]*samples/s  \S+( s)? left")
                self.assertEqual(b"\x1b[36mtrainer.0 |\x1b[0m" in shown, not no_colour)


class Status(Cluster):
    def test_of_a_running_job(self):
        process = self.start("launch", f"--config={JOB}", "--num_passes=1000000")
        shown = self.until(process, r"status (--pservers=\S+ --token_file=\S+)")[1].split()
        self.until(process, r"trainer\.0 \| .* Pass=1 ")
        look = self.paddle("status", *shown).stdout
        self.assertIn("job default, sync", look)
        self.assertRegex(look, r"(?m)^dense 0 +127\.0\.0\.1:\d+ +ready ")
        self.assertRegex(look, r"(?m)^0 +joined ")
        self.assertRegex(look, r"(?m)^1 +joined ")
        self.assertIn("y_predict.w_0", look)
        seen = json.loads(self.paddle("status", *shown, "--json").stdout)
        self.assertEqual([s["answered"] for s in seen["shards"]], [True, True])
        self.assertEqual([t["id"] for t in seen["trainers"]], [0, 1])
        self.assertEqual({t["state"] for t in seen["trainers"]}, {"joined"})
        self.assertGreater(max(s["step"] for s in seen["shards"]), 0)
        self.assertEqual(len([s for shard in seen["shards"] for s in shard["slices"]]), 2)

        watching = self.start("status", *shown, "--watch", "--json")
        looks = [json.loads(watching.stdout.readline()) for _ in range(2)]
        steps = [max(s["step"] for s in look["shards"]) for look in looks]
        self.assertGreater(steps[1], steps[0])
        watching.send_signal(signal.SIGINT)
        self.ends(watching, 130)

        process.send_signal(signal.SIGTERM)
        self.ends(process, 143)
        self.refused(self.paddle("status", shown[0], check=None), 7, "no shard answers")

    def test_traffic_of_a_step_is_what_the_cut_predicts(self):
        process = self.start("launch", f"--config={JOB}", "--num_passes=1000000")
        shown = self.until(process, r"status (--pservers=\S+ --token_file=\S+)")[1].split()
        said = self.paddle("dump_config", JOB, "--role=trainer", shown[0], "--trainers=2").stderr
        predicted = [int(n) for n in re.search(r"per step and trainer: (\d+) messages each way, (\d+) bytes pushed, (\d+) bytes pulled", said).groups()]
        self.until(process, r"trainer\.0 \| .* Pass=1 ")
        looks = [json.loads(self.paddle("status", *shown, "--json").stdout)]
        while len(looks) < 2 or looks[-1]["shards"][0]["step"] < looks[0]["shards"][0]["step"] + 200:
            looks = looks[:1] + [json.loads(self.paddle("status", *shown, "--json").stdout)]
        # At the moment of a look one message may be on its way: a difference of one in 200 steps. At the end of a pass, every 11
        # steps, a trainer sends the first shard what it has counted.
        counts = (1 / 11, 200 / 11, 0)
        for trainer in (0, 1):
            per_step = [0, 0, 0]
            for before, after in zip(*(look["shards"] for look in looks)):
                b, a = (s["trainers"][trainer] for s in (before, after))
                steps = a["step"] - b["step"]
                per_step = [sum(x) for x in zip(per_step, ((a[k] - b[k]) / steps for k in ("messages_in", "bytes_in", "bytes_out")))]
            for measured, expected, more in zip(per_step, predicted, counts):
                self.assertGreaterEqual(measured, 0.99 * expected)
                self.assertLessEqual(measured, 1.01 * expected + more)
        process.send_signal(signal.SIGTERM)
        self.ends(process, 143)

    def test_of_an_idle_pserver(self):
        port = free_ports(2)
        server = self.start("pserver", "--host=127.0.0.1", f"--port={port}")
        self.until(server, f"Server listening on 127.0.0.1:{port + 1}")
        look = self.paddle("status", f"--port={port}").stdout
        self.assertRegex(look, r"(?m)^dense 0 .* empty ")
        self.assertRegex(look, r"(?m)^sparse 0 ")
        half = self.paddle("status", f"--pservers=127.0.0.1:{port},127.0.0.1:1").stdout
        self.assertIn("1 of 2 shards answer", half)
        self.assertIn("unreachable: cannot connect to 127.0.0.1:1", half)


class Forms(Cluster):
    """Two trainers and two pservers by hand, in the forms of the guides; all of them train the same model."""

    PASSES = "--num_passes=3"

    def setUp(self):
        super().setUp()
        self.paddle("launch", f"--config={JOB}", self.PASSES, "--save_dir=launched", "--workspace=reference")

    def check(self, pservers, trainers):
        for process in trainers:
            self.ends(process)
        for process in pservers:
            process.send_signal(signal.SIGTERM)
            self.ends(process)
        self.same_model(self.path("out", "pass-00002"), self.path("reference", "launched", "pass-00002"))

    def test_v2_flags(self):
        # Two hosts with the same ports, on one machine.
        port = free_ports(2)
        flags = [f"--port={port}", "--ports_num=1", "--ports_num_for_sparse=1", "--num_gradient_servers=2"]
        pservers = [self.start("pserver", *flags, f"--host={host}", f"--workspace={host}") for host in ("127.0.0.1", "127.0.0.2")]
        trainers = [self.start("trainer", f"--config={JOB}", "--local=false", "--pservers=127.0.0.1,127.0.0.2", *flags,
                               f"--trainer_id={i}", self.PASSES, "--save_dir=out") for i in (0, 1)]
        self.check(pservers, trainers)

    def test_fluid_endpoints_without_ids(self):
        """Neighbouring ports of one machine; trainers before pservers; ids are given out."""
        port = free_ports(2)
        both = f"127.0.0.1:{port},127.0.0.1:{port + 1}"
        trainers = [self.start("trainer", f"--config={JOB}", f"--pservers={both}", "--trainers=2", self.PASSES, "--save_dir=out")
                    for _ in (0, 1)]
        pservers = [self.start("pserver", "--host=127.0.0.1", f"--port={p}", "--ports_num_for_sparse=0", "--trainers=2")
                    for p in (port, port + 1)]
        self.check(pservers, trainers)

    def by_environment(self, shared, pserver_envs, trainer_envs, *flags):
        pservers = [self.start("run", f"--config={JOB}", *flags, env={**shared, **env}) for env in pserver_envs]
        trainers = [self.start("run", f"--config={JOB}", self.PASSES, "--save_dir=out", *flags, env={**shared, **env})
                    for env in trainer_envs]
        self.check(pservers, trainers)

    def test_environment_of_the_quick_start(self):
        port = free_ports(2)
        ends = [f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"]
        self.by_environment({"PADDLE_PSERVER_ENDPOINTS": ", ".join(ends), "TRAINERS": "2"},
                            [{"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_ENDPOINT": end} for end in ends],
                            [{"PADDLE_TRAINING_ROLE": "TRAINER", "TRAINER_ID": i} for i in "01"])

    def test_environment_of_clouds(self):
        port = free_ports(2)
        self.by_environment({"PADDLE_PSERVERS": "127.0.0.1,127.0.0.2", "PADDLE_PORT": str(port), "PADDLE_TRAINERS_NUM": "2"},
                            [{"TRAINING_ROLE": "PSERVER", "POD_IP": ip} for ip in ("127.0.0.1", "127.0.0.2")],
                            [{"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": i} for i in "01"])

    def test_environment_of_v2(self):
        port = free_ports(2)
        shared = {"PADDLE_INIT_PORT": str(port), "PADDLE_INIT_PORTS_NUM": "1", "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": "1",
                  "PADDLE_INIT_NUM_GRADIENT_SERVERS": "2", "PADDLE_INIT_PSERVERS": "127.0.0.1,127.0.0.2",
                  "PADDLE_INIT_USE_GPU": "False", "PADDLE_INIT_TRAINER_COUNT": "1"}
        pservers = [self.start("pserver", f"--host={host}", env=shared) for host in ("127.0.0.1", "127.0.0.2")]
        trainers = [self.start("train", f"--config={JOB}", self.PASSES, "--save_dir=out", env={**shared, "PADDLE_INIT_TRAINER_ID": i})
                    for i in "01"]
        self.check(pservers, trainers)

    def test_role_must_be_told(self):
        self.refused(self.paddle("run", f"--config={JOB}", check=None), 2, "PADDLE_TRAINING_ROLE")
        self.assertIn("current_endpoint", self.paddle("run", "--help").stdout)


class Documents(Cluster):
    def test_commands_of_the_documents_exist(self):
        """Every cluster command in README.md and docs/cluster.md parses."""
        seen = set()
        for name in ("README.md", "docs/cluster.md", "docs/events.md"):
            with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
                for line in f.read().replace("\\\n", " ").split("\n"):
                    words = shlex.split(line, comments=True) if re.match(r"^([A-Z_]+=\S+ +)*paddle ", line) else []
                    env = dict(w.split("=", 1) for w in words[:words.index("paddle")]) if words else {}
                    command = words[len(env) + 1:]
                    if not command or command[0] not in ("launch", "pserver", "trainer", "status", "run"):
                        continue
                    seen.add(command[0])
                    command = [re.sub(r"^--config=(configs/\w+|job)\.json$", f"--config={JOB}", w) for w in command]
                    with self.subTest(f"{name}: {line.strip()}"):
                        self.paddle(*command, "--print_config", env=env)
        self.assertEqual(seen, {"launch", "pserver", "trainer", "status", "run"})

    def test_quickstart(self):
        """The command that scripts/quickstart runs after the build, with fewer passes."""
        with open(os.path.join(SOURCE, "scripts", "quickstart"), encoding="utf-8") as f:
            command = re.search(r"build/daemons/paddle/paddle launch (.*?)\n(?!  )", f.read().replace("\\\n", " "), re.S)[1]
        flags = shlex.split(command.replace('"$workspace"', self.path("ws")).replace('"$@"', ""))
        flags = [f.replace("--config=", f"--config={SOURCE}/") for f in flags]
        done = self.paddle("launch", *flags, "--num_passes=21")
        self.assertIn("--server_num=2", flags)
        self.assertIn("--worker_num=2", flags)
        self.assertEqual(done.stdout, f"the model is in {self.path('ws')}/output/pass-00020\n")


if __name__ == "__main__":
    main()
