"""A script as trainer serves metrics, health and status, and writes events, where variables ask for them."""
import json
import os
import re
import unittest
import urllib.request

from dist_support import JobCase


class Http(JobCase):
    def get(self, address, path):
        with urllib.request.urlopen(address + path, timeout=60) as reply:
            return reply.read().decode()

    def test_metrics_of_a_running_script(self):
        endpoints = self.endpoints(1)
        events = os.path.join(self.dir, "events.jsonl")
        env = {"PADDLE_INIT_HTTP_PORT": "0", "PADDLE_INIT_EVENT_FILE": events}
        self.start("s0", *self.arguments("PSERVER", endpoints, 2, endpoint=endpoints[0]))
        self.start("t0", *self.arguments("TRAINER", endpoints, 2, id=0, steps=20), env=env)
        # Trainer 1 is not there yet: trainer 0 stands in its first step.
        self.wait_for("t0", "metrics and health are at")
        address = re.search(r"metrics and health are at (http://127\.0\.0\.1:\d+)", self.log("t0"))[1]
        self.assertEqual(self.get(address, "/healthz"), "ok\n")
        metrics = self.get(address, "/metrics")
        self.assertIn("process_resident_memory_bytes", metrics)
        self.assertNotIn("paddle_trainer_cost", metrics)
        self.start("t1", *self.arguments("TRAINER", endpoints, 2, id=1, steps=20))
        self.wait("t0")
        self.wait("t1")
        with open(events, encoding="utf-8") as f:
            written = [json.loads(line) for line in f]
        kinds = [e["event"] for e in written]
        self.assertEqual(kinds[0], "started")
        joined = written[kinds.index("joined")]
        self.assertEqual((joined["trainer"], joined["trainers"]), (0, 2))
        last = [e for e in written if e["event"] == "progress"][-1]
        self.assertEqual((last["step"], last["samples"]), (20, 80))
        losses = [float.fromhex(x) for x in self.numbers("t0")]  # the cost may be that of a step before the last
        self.assertTrue(any(abs(last["cost"] - x) <= 1e-6 * x for x in losses), (last, losses))
        self.assertIn("finished", kinds)

    def test_a_script_that_asks_for_nothing_serves_nothing(self):
        endpoints = self.endpoints(1)
        self.start("s0", *self.arguments("PSERVER", endpoints, 1, endpoint=endpoints[0]))
        self.start("t0", *self.arguments("TRAINER", endpoints, 1, steps=2))
        self.wait("t0")
        self.assertNotIn("metrics and health", self.log("t0"))


if __name__ == "__main__":
    unittest.main()
