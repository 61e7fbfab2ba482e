"""What a live page is fed with, without a browser."""
import http.client
import json
import time
from urllib.parse import urlsplit

from support import DEADLINE


def fetch(address, headers=None):
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.request("GET", f"{parts.path}?{parts.query}", headers=headers or {})
    reply = connection.getresponse()
    return reply.status, reply.getheaders(), reply


def lines_of(test, address, enough):
    """Server-sent events until enough(list) is true."""
    status, _, reply = fetch(address.replace("/?", "/events?"))
    test.assertEqual(status, 200)
    found, end = [], time.monotonic() + DEADLINE
    while not enough(found):
        test.assertLess(time.monotonic(), end, f"not enough has come: {found[-3:]}")
        line = reply.readline().decode()
        test.assertNotEqual(line, "", "the stream ended")
        if line.startswith("data: "):
            found.append(json.loads(line[6:]))
    reply.close()
    return found


def answering(lines):
    """How many shards answered when they were asked last."""
    looks = [line["shards"] for line in lines if "shards" in line]
    return sum("problem" not in shard for shard in looks[-1]) if looks else 0
