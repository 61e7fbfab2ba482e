"""The live page in a real browser: a job trains, loses a pserver and gets it back, and the page shows it."""
import json
import os
import re
import time
import unittest

import browser
from cluster import Cluster, Process, until, write_job
from live_page import fetch, lines_of
from support import BUILD, PADDLE, EndToEnd, main

PICTURES = os.environ.get("PADDLE_TEST_PICTURES", "")  # a directory that gets screenshots

SCRIPT = """
import os
import numpy as np
import paddle.fluid as fluid
x = fluid.data('x', [-1, 6])
y = fluid.data('y', [-1, 1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
quarter = fluid.layers.mean(fluid.layers.fill_constant([4], 'float32', 0.25))
fluid.optimizer.SGD(0.001).minimize(loss)
t = fluid.DistributeTranspiler()
t.transpile(trainer_id=int(os.environ['PADDLE_INIT_TRAINER_ID']), pservers=os.environ['PADDLE_INIT_PSERVERS'], trainers=2)
main = t.get_trainer_program()
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
rng = np.random.RandomState(1)
while True:
    batch = rng.randn(8, 6).astype('float32')
    exe.run(main, feed={'x': batch, 'y': batch.sum(1, keepdims=True)}, fetch_list=[loss, quarter])
"""


class Page(EndToEnd):
    def ui(self, *flags):
        process = Process(self.dir, "ui")
        self.addCleanup(process.kill)
        process.start(PADDLE, "ui", *flags)
        return process, process.wait_line(r"the page is at (\S+)")

    def long_job(self):
        return Cluster(self, write_job(self), 2, 2, trainer_flags=["--num_passes=100000", "--min_block_size=64", "--log_period=0"],
                       server_flags=lambda i: [f"--snapshot_dir={self.path(f'snapshots{i}')}", "--snapshot_period=200"])

    def test_stream_of_a_running_job(self):
        """Without a browser: what the page is fed with, and who may look."""
        cluster = self.long_job().start()
        process, address = self.ui(f"--pservers={cluster.endpoints()}")
        lines = lines_of(self, address, lambda found: sum(e.get("event") == "progress" for e in found) > 6)
        self.assertEqual({e["trainer"] for e in lines if e.get("event") == "progress"}, {0, 1})
        self.assertTrue(any("shards" in e for e in lines))
        bare = address.split("?")[0]
        for wrong in (bare, bare + "?key=", bare + "?key=" + "0" * 32, bare.replace("7.0.0.1:", "7.0.0.1:") + "events"):
            self.assertEqual(fetch(wrong)[0], 401, wrong)
        self.assertEqual(fetch(address, {"Host": "evil.example.com"})[0], 403)
        headers = dict(fetch(address)[1])
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        process.signal(15)
        process.wait(0)

    def test_launch_keeps_its_page_for_later(self):
        launch = Process(self.dir, "launch")
        self.addCleanup(launch.kill)
        launch.start(PADDLE, "launch", f"--config={write_job(self)}", "--num_passes=100000", f"--workspace={self.path('w')}")
        address = launch.wait_line(r"watch the job at (\S+)")
        kept = self.path("w", "job", "page.txt")
        self.assertEqual(os.stat(kept).st_mode & 0o077, 0)
        done = self.paddle("ui", f"--workspace={self.path('w')}")
        self.assertIn(address, done.stdout)
        lines = lines_of(self, address, lambda found: any(e.get("event") == "progress" for e in found))
        self.assertIn("joined", {e.get("event") for e in lines})
        launch.signal(15)
        launch.wait()
        self.assertFalse(os.path.exists(kept))
        _, address = self.ui(f"--workspace={self.path('w')}")
        again = lines_of(self, address, lambda found: any(e.get("event") == "exit" for e in found))
        self.assertIn("joined", {e.get("event") for e in again})

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_the_end_of_a_job(self):
        """Who has the page open sees that the job has finished, and not that the page's server is gone."""
        launch = Process(self.dir, "launch")
        self.addCleanup(launch.kill)
        launch.start(PADDLE, "launch", f"--config={write_job(self)}", "--num_passes=600", "--saving_period=1000", "--min_block_size=64", "--workspace=w")
        page = browser.Browser(self)
        page.open(launch.wait_line(r"watch the job at (\S+)"))
        until(lambda: page.text("state") == "training", lambda: page.text("state") + launch.log()[-3000:])
        launch.wait(0)
        until(lambda: "the server of this page" in page.text("wait"), lambda: page.text("wait"))
        self.assertEqual(page.text("state"), "finished")
        self.assertEqual(page.text("wait").strip(), "The job is over, and with it the server of this page. To see it again: paddle ui --workspace=w")
        self.assertRegex(page.text("tiles"), r"Step\s+6000\s+Pass\s+600\s+of 600, batch 10 of 10")
        self.assertRegex(page.text("since"), r"2 trainers, 2 pserver ports, seen for \d+ s, until \d\d:\d\d:\d\d")
        self.assertNotIn("not answer", page.text("cluster") + page.text("timeline"))
        self.assertEqual(page.text("trainers").count("finished"), 2)
        self.assertEqual(page.errors(), [])
        self.picture(page, "finished")

    def test_refusals(self):
        self.refused(self.paddle("ui", check=None), 2, "--pservers", "--event_file", "--workspace")
        self.refused(self.paddle("ui", "--event_file=nothing.jsonl", check=None), 2, "nothing.jsonl")

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_a_pserver_is_lost_and_returns(self):
        cluster = self.long_job().start()
        _, address = self.ui(f"--pservers={cluster.endpoints()}")
        page = browser.Browser(self)
        page.open(address)
        until(lambda: page.text("state") == "training", lambda: page.text("state"))
        until(lambda: page.run("return document.querySelectorAll('#chart path').length") == 2, "a curve for each trainer")
        self.assertRegex(page.text("tiles"), r"Step\s+\d+")
        until(lambda: "snapshot of step" in page.text("timeline"), lambda: page.text("timeline"))
        self.picture(page, "training")
        cluster.servers[1].kill()
        lost = f"127.0.0.1:{cluster.ports[1][0]}"
        until(lambda: f"pserver {lost} does not answer" in page.text("timeline"), lambda: page.text("timeline"))
        until(lambda: page.text("state") == "waiting", lambda: page.text("state"))
        self.assertRegex(page.text("wait"), rf"Pserver {lost} does not answer \(Connection refused\), and the trainers wait for it\. "
                                            r"Started again, it goes on from its snapshot of step \d+\.")
        self.picture(page, "lost")
        cluster.start_server(1)
        until(lambda: f"pserver {lost} was started again" in page.text("timeline"), lambda: page.text("timeline"))
        until(lambda: "went back to a snapshot" in page.text("timeline"), lambda: page.text("timeline"))
        until(lambda: page.text("state") == "training", lambda: page.text("state"))
        self.picture(page, "back")
        self.check_use(page)
        self.assertEqual(page.errors(), [])

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "python", "paddle", "__init__.py")), "needs the Python package: scripts/build build python")
    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_a_python_script(self):
        """Its steps, the loss and the other number that it fetches, its network and parameters, and not its passes."""
        self.write("train.py", SCRIPT)
        launch = Process(self.dir, "launch", {"PYTHONPATH": os.path.join(BUILD, "python")})
        self.addCleanup(launch.kill)
        launch.start(PADDLE, "launch", "--server_num=1", "--worker_num=2", "--config=train.py", "--python=/usr/bin/python3", "--parameter_period=0.2",
                     "--event_file=events.jsonl", f"--workspace={self.path('w')}")
        page = browser.Browser(self)
        page.open(launch.wait_line(r"watch the job at (\S+)"))
        until(lambda: page.text("state") == "training", lambda: page.text("state") + launch.log()[-3000:])
        until(lambda: page.run("return document.querySelectorAll('#chart path').length") == 2, "a curve for each trainer")
        tiles = page.text("tiles")
        for wanted in (r"Step\s+\d+", r"Pass\s+–", r"Cost\s+[\d.]+", r"Samples per second\s+\d", r"mean_1.tmp_0\s+0\.25"):
            self.assertRegex(tiles, wanted)
        until(lambda: re.search(r"[+−][\d.e-]+ %", page.text("parameters")), lambda: page.text("parameters"))
        self.assertRegex(page.text("parameters"), r"fc_0\.w_0\s+\[6, 1\]")
        self.assertRegex(page.text("network-words"), r"^\d+ ops, 7 numbers in 2 parameters")
        types = page.run("return model.ops.map(o => o.type)")
        self.assertIn("square_error_cost" if "square_error_cost" in types else "square", types)
        self.assertEqual([t for t in types if t.endswith("_grad") or t in ("sgd", "send", "recv")], [])
        with open(self.path("w", "job", "targets.json"), encoding="utf-8") as f:  # for Prometheus
            self.assertEqual(sorted(t["labels"]["process"] for t in json.load(f)), ["pserver.0", "trainer.0", "trainer.1"])
        self.assertEqual(page.errors(), [])
        launch.signal(15)
        launch.wait()
        with open(self.path("events.jsonl"), encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
        steps = [e for e in events if e["event"] == "progress"]
        self.assertEqual({e["trainer"] for e in steps}, {0, 1})
        for e in steps:
            self.assertEqual((e["samples"], e["passes"], e["evaluators"]), (8 * e["step"], 0, {"mean_1.tmp_0": 0.25}))
        self.assertLess(steps[-1]["cost"], steps[0]["cost"])

    def press(self, page, name):
        """As somebody without a mouse does: the focus on the thing with this name, then Enter."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys
        found = page.run("""const e = [...document.querySelectorAll('[aria-label]')].find(e => e.getAttribute('aria-label').startsWith(arguments[0]));
                            if (e) e.focus(); return e !== undefined""", name)
        self.assertTrue(found, name)
        ActionChains(page.driver).send_keys(Keys.ENTER).perform()  # to whatever has the focus, drawn anew or not

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_details_zoom_and_model(self):
        """A job of paddle launch: its events tell of the network and its parameters, its pservers of the rest."""
        launch = Process(self.dir, "launch")
        self.addCleanup(launch.kill)
        launch.start(PADDLE, "launch", "--server_num=2", "--worker_num=2", f"--config={write_job(self)}", "--num_passes=1000000",
                     "--min_block_size=64", "--saving_period=1000000", "--parameter_period=0.2", f"--workspace={self.path('w')}")
        page = browser.Browser(self)
        page.open(launch.wait_line(r"watch the job at (\S+)"))
        until(lambda: page.text("state") == "training", lambda: page.text("state"))
        # The model: the ops of the network, and four parameters whose norms move.
        until(lambda: "since first seen" in page.text("parameters") and re.search(r"[+−][\d.e-]+ %", page.text("parameters")),
              lambda: page.text("parameters"))
        self.assertEqual(page.run("return document.querySelectorAll('#parameters tbody tr').length"), 4)
        self.assertRegex(page.text("network-words"), r"^\d+ ops, \d+ numbers in 4 parameters")
        types = page.run("return model.ops.map(o => o.type)")
        self.assertIn("cross_entropy", " ".join(types))
        self.press(page, "mul, parameter" if "mul" in types else types[0])
        self.assertIn("reads", page.text("op-details"))
        # Details of a trainer, a pserver and a slice.
        until(lambda: page.run("return status !== null && status.trainers.length === 2 && status.shards.every(s => s.load)"), "the load of the pservers")
        self.press(page, "trainer 1: ")
        until(lambda: "gradients used" in page.text("details"), lambda: page.text("details"))
        used = lambda: int(re.search(r"gradients used\s+(\d+)", page.text("details").replace(" k", "000"))[1])  # noqa: E731
        before = used()
        until(lambda: used() > before, "they move while the details are open")
        self.assertEqual(page.run("return document.activeElement.dataset.key"), "trainer 1", "the focus stays where it was")
        self.assertIn("%", page.text("load"))
        self.assertRegex(page.text("skew"), r"memory")
        self.picture(page, "details")
        self.press(page, "pserver ")
        until(lambda: "rollbacks" in page.text("details"), lambda: page.text("details"))
        self.press(page, "Close the details")
        until(lambda: not page.text("details"), lambda: page.text("details"))
        self.check_zoom(page)
        self.assertEqual(page.errors(), [])

    def check_zoom(self, page):
        """By keys, by dragging, and back."""
        shown = lambda: page.run("return geometry.last - geometry.first")  # noqa: E731
        until(lambda: shown() > 100, "enough steps")
        page.run("document.getElementById('chart').focus()")
        from selenium.webdriver.common.action_chains import ActionChains
        whole = shown()
        page.driver.switch_to.active_element.send_keys("+")
        until(lambda: shown() < 0.7 * whole, "half of it")
        self.assertEqual(page.run("return document.getElementById('whole').hidden"), False)
        page.driver.switch_to.active_element.send_keys("0")
        until(lambda: shown() >= whole, "all of it")
        chart = page.driver.find_element("id", "chart")
        ActionChains(page.driver).move_to_element(chart).click_and_hold().move_by_offset(200, 0).release().perform()
        until(lambda: shown() < 0.5 * whole, "the part that was dragged over")
        page.driver.find_element("id", "whole").click()
        until(lambda: shown() >= whole, "all of it again")

    def check_use(self, page):
        """Narrow screens, keys, and controls."""
        for width in (380, 1280):
            page.resize(width, 800)
            self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), width, "the page scrolls sideways")
        page.run("document.getElementById('chart').focus()")
        from selenium.webdriver.common.keys import Keys
        page.driver.switch_to.active_element.send_keys(Keys.END)
        until(lambda: re.search(r"trainer 0: \S+ at step \d+", page.text("reading")), lambda: page.text("reading"))
        options = page.run("return [...document.getElementById('metric').options].map(o => o.value)")
        self.assertIn("cost", options)
        page.run("const log = document.getElementById('log'); log.checked = true; log.dispatchEvent(new Event('input'))")
        self.assertEqual(page.run("return document.querySelectorAll('#chart path').length"), 2)
        unnamed = page.run("return [...document.querySelectorAll('input, select')].filter(e => !e.closest('label')).length")
        self.assertEqual(unnamed, 0, "controls without a name")

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_texts_of_a_job_are_only_text(self):
        """A warning with HTML in it, and a line that is no JSON, from an event file that grows."""
        events = self.write("events.jsonl", "")
        _, address = self.ui(f"--event_file={events}")
        page = browser.Browser(self, 380, 800, dark=True)
        page.open(address)
        evil = "<img src=x onerror=document.title='bad'><script>document.title='bad'</script>"
        with open(events, "a") as f:
            common = {"time": 1763337000, "role": "trainer", "process": "h:1"}
            for e in ({"event": "started", "job": evil}, {"event": "joined", "trainer": 0, "trainers": 1, "step": 0},
                      {"event": "warning", "message": evil}, {"event": "exit", "code": 3, "reason": evil}):
                f.write(json.dumps({**common, **e}) + "\nhalf a li")
                f.write("ne\n")
        until(lambda: evil in page.text("messages") and page.text("state") == "failed", lambda: page.text("messages"))
        self.assertEqual(page.run("return document.querySelectorAll('img, main script').length"), 0)
        self.assertFalse(page.run("return document.title").startswith("bad"))
        self.assertIn("exit code 3", page.text("timeline"))
        self.assertIn(evil, page.text("latest"))

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_many_ops_that_do_the_same(self):
        """26 lookups of one shape are one box, whose details name them all; lines are never wider than the page."""
        common = {"time": 1763337000, "role": "trainer", "process": "h:1"}
        ops = [{"type": "lookup_table", "inputs": f"id{i} table", "outputs": f"row{i}"} for i in range(26)]
        ops += [{"type": f"kind{i}", "inputs": f"x{i}", "outputs": f"y{i}"} for i in range(9)]
        ops += [{"type": "concat", "inputs": " ".join(f"row{i}" for i in range(26)) + " y3", "outputs": "all"}]
        lines = [{"event": "started", "job": "wide"}, {"event": "joined", "trainer": 0, "trainers": 1, "step": 0}]
        lines += [{"event": "op", "number": i, "ops": len(ops), **op} for i, op in enumerate(ops)]
        lines += [{"event": "parameter", "step": 0, "name": "table", "shape": "[100, 8]", "elements": 800, "norm": 1.0, "mean": 0.0, "min": -1.0,
                   "max": 1.0, "counts": " ".join(["1"] * 30)}]
        _, address = self.ui("--event_file=" + self.write("events.jsonl", "".join(json.dumps({**common, **line}) + "\n" for line in lines)))
        page = browser.Browser(self)
        page.open(address)
        labels = "return [...document.querySelectorAll('#network g')].map(g => g.getAttribute('aria-label')).filter(Boolean)"
        until(lambda: len(page.run(labels)) == 11, lambda: page.run(labels))
        self.press(page, "26 × lookup_table, parameter [100, 8]")
        self.assertIn("id25", page.text("op-details"))
        self.assertLessEqual(page.run("return document.getElementById('network').scrollWidth"), 1280)
        self.assertEqual(page.errors(), [])

    def lines_of_job(self, trainers, steps, more=()):
        """Events of a job that goes on, and since when."""
        begin = time.time() - 3 * 86400
        common = {"role": "trainer"}
        lines = [{"event": "started", "job": "long", "time": begin, "process": "h:0"}]
        for t in range(trainers):
            lines += [{"event": "joined", "trainer": t, "trainers": trainers, "step": 0, "time": begin, "process": f"h:{t}"}]
            lines += [{"event": "progress", "trainer": t, "step": s, "pass": 0, "passes": 9, "batch": s, "batches": 10 ** 6, "samples": s,
                       "samples_per_second": 5, "cost": 7 / s + t / 100, "evaluators": {"auc": 1 - 1 / (s + 1)}, "time": begin + s, "process": f"h:{t}"}
                      for s in range(1, steps)]
        return "".join(json.dumps({**common, **line}) + "\n" for line in [*lines, *more])

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_who_hears_the_page(self):
        """What a screen reader is given: roles, names, what the curve says, and that nothing is said again while it is the same."""
        _, address = self.ui("--event_file=" + self.write("events.jsonl", self.lines_of_job(2, 50)))
        page = browser.Browser(self)
        page.open(address)
        until(lambda: "Nobody waits" in page.text("wait"), lambda: page.text("state"))
        chart = page.driver.find_element("id", "chart")
        heard = lambda: chart.get_attribute("aria-valuetext")  # noqa: E731
        self.assertEqual(heard(), "trainer 0: from 7 at step 1 to 0.1429 at step 49, trainer 1: from 7.01 at step 1 to 0.1529 at step 49")
        self.assertIn("Curve of cost over steps", chart.get_attribute("aria-label"))
        page.run("arguments[0].focus()", chart)
        from selenium.webdriver.common.keys import Keys
        chart.send_keys(Keys.HOME)
        until(lambda: heard() == "trainer 0: 7 at step 1, trainer 1: 7.01 at step 1", heard)
        self.assertEqual(chart.get_attribute("aria-valuenow"), "1")
        page.run("const m = document.getElementById('metric'); m.value = 'auc'; m.dispatchEvent(new Event('input'))")
        until(lambda: "Curve of auc" in chart.get_attribute("aria-label"), lambda: chart.get_attribute("aria-label"))
        # What is drawn again and is the same stays: nothing is announced, and what was selected stays selected.
        page.run("window.changes = 0; const o = new MutationObserver(l => window.changes += l.length);"
                 "for (const id of ['wait', 'state', 'tiles', 'timeline', 'latest', 'trainers', 'messages', 'title', 'since', 'reading'])"
                 "  o.observe(document.getElementById(id), {childList: true, characterData: true, subtree: true}); show(); show();")
        self.assertEqual(page.run("return new Promise(done => setTimeout(() => done(window.changes), 0))"), 0)
        tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        nodes = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n.get("ignored") and "role" in n]
        self.assertEqual([n for n in nodes if n[0] in ("button", "combobox", "slider", "checkbox", "link", "region", "navigation") and not n[1]], [])
        self.assertEqual({"Overview", "Cluster", "Model", "Recovery", "Warnings and errors"} - {name for role, name in nodes if role == "heading"}, set())
        self.assertTrue({"main", "navigation", "status", "table", "slider"} <= {role for role, _ in nodes}, nodes)
        # A pass that ends once more after a rollback, without a batch, is no cost of 0.
        page.run("take({event: 'pass_ended', role: 'trainer', trainer: 0, step: 49, pass: 0, batches: 0, samples: 0, cost: 0, evaluators: {}, "
                 "time: model.last, process: 'h:0'}); show();")
        self.assertGreater(page.run("return model.points.get(0).pop().cost"), 0)
        # The day stands by what was not today.
        self.assertRegex(page.text("timeline"), r"[A-Z][a-z]{2} \d+,? \d\d:\d\d:\d\d\s*trainer 0 joined")
        self.assertEqual(page.errors(), [])

    @unittest.skipIf(browser.missing(), f"needs {browser.missing()}")
    def test_many_trainers_and_a_slow_one(self):
        """40 curves; and whoever the others wait for again and again is named, though the job goes on."""
        _, address = self.ui("--event_file=" + self.write("events.jsonl", self.lines_of_job(40, 200)))
        page = browser.Browser(self)
        page.open(address)
        until(lambda: page.run("return document.querySelectorAll('#chart path').length") == 40, lambda: page.text("state"))
        page.run("""for (const t of model.trainers.values()) for (let s = 200; s < 5900; ++s) progress(t, {...t.progress, step: s, cost: 1 / s}); show();""")
        self.assertEqual(page.run("return document.querySelectorAll('#chart path').length"), 40)
        look = """const shard = {endpoint: "h:1", answered: true, state: "ready", step: arguments[0], trainers: [], slices: [], tables: [], snapshots: [],
                    bytes_in: 0, bytes_out: 0, memory: 1, cpu_seconds: 0, uptime: 1, steps_per_second: 1, waiting: "", mode: "sync"};
                  const member = (id, lacking) => ({id, lacking, state: "joined", step: 1, pass: 0, passes: 1, samples_per_second: 1, cost: 1, bytes_in: 0,
                    bytes_out: 0, doing: "", error: "", process: "h:" + id});
                  takeStatus({shards: [shard], trainers: [member(0, arguments[1]), member(1, arguments[2])]}); show();"""
        for i in range(15):
            page.run(look, i, 0, 4)
        self.assertEqual(page.text("wait").strip(), "Trainer 1 is slower than the others: whenever one looks, they wait for its gradients.")
        self.assertEqual(page.text("state"), "training")
        for i in range(15):
            page.run(look, i, i % 2, (i + 1) % 2)
        self.assertEqual(page.text("wait").strip(), "Nobody waits for long.")
        self.assertEqual(page.errors(), [])

    def picture(self, page, name):
        if not PICTURES:
            return
        for width, dark in ((1280, False), (380, True)):
            page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
            page.resize(width, 900)
            page.run("dispatchEvent(new Event('resize'))")
            until(lambda: page.run("return !planned"), "drawn again")
            page.picture(os.path.join(PICTURES, f"{name}-{width}.png"))
        page.resize(1280, 900)


if __name__ == "__main__":
    main()
