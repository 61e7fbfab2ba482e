"""A job with sparse tables for the tests, and tables of saved models as their rows."""
import random
import struct

# Two slots of several ids share a table; the ids are 64-bit hashes where the table has any height.
JOB = """{
  "inputs": [{"name": "words", "dtype": "int64", "lod_level": 1}, {"name": "more", "dtype": "int64", "lod_level": 1},
             {"name": "label", "dtype": "int64"}],
  "layers": [
    {"type": "embedding", "name": "e1", "input": "words", "size": SIZE, KIND: true, "param_attr": {"name": "emb"}KEYS},
    {"type": "embedding", "name": "e2", "input": "more", "size": SIZE, KIND: true, "param_attr": {"name": "emb"}KEYS},
    {"type": "sequence_pool", "name": "p1", "input": "e1", "pool_type": "sum"},
    {"type": "sequence_pool", "name": "p2", "input": "e2", "pool_type": "sum"},
    {"type": "concat", "name": "all", "input": ["p1", "p2"], "axis": 1},
    {"type": "fc", "name": "p", "input": "all", "size": 2, "act": "softmax"},
    {"type": "cross_entropy", "name": "cost", "input": "p", "label": "label"}
  ],
  "cost": "cost",
  "outputs": "p",
  "evaluators": {"type": "auc", "input": "p", "label": "label"},
  "optimizer": {"type": "OPTIMIZER", "learning_rate": 0.05OPTIONS,
                "schedule": {"type": "exponential_decay", "decay_steps": 20, "decay_rate": 0.9}},
  "data": {"format": "multislot", "batch_size": BATCH, "files": ["records.txt"], "test_files": ["records.txt"],
           "slots": [{"name": "words", "lod_level": 1}, {"name": "more", "lod_level": 1},
                     {"name": "label", "dtype": "int64"}]}
}"""


def write_table_job(test, optimizer="adam", size="[-1, 8]", keys="", low=-2**63, high=2**63 - 1, kind="is_distributed",
                    options="", batch=50, records=1000, count=300):
    """Ids that repeat within a record and between the slots, some much more often than others."""
    draw = random.Random(5)
    ids = [draw.randint(low, high) for _ in range(count)]
    lines = []
    for _ in range(records):
        label = draw.randint(0, 1)
        words = [draw.choice(ids[label * count // 3:(label + 2) * count // 3]) for _ in range(draw.randint(1, 4))]
        more = [ids[int(count * draw.random()**3)] for _ in range(2)]
        lines.append(" ".join(map(str, [len(words), *words, len(more), *more, 1, label])))
    test.write("records.txt", "\n".join(lines) + "\n")
    text = JOB.replace("SIZE", size).replace("KIND", f'"{kind}"').replace("KEYS", keys)
    text = text.replace("OPTIMIZER", optimizer).replace("OPTIONS", options).replace("BATCH", str(batch))
    return test.write(f"{kind}-{optimizer}.json", text)


def table_rows(data):
    """The rows of a file NAME.table: {id: bytes of values and state}. Which rows stand in which part, and in which order, does not
    matter."""
    assert data[:8] == b"PDTABLE2", data[:8]
    at = 8
    length, = struct.unpack_from("<Q", data, at)
    at += 8 + length + 8
    rows, count = {}, 0
    while True:
        length, = struct.unpack_from("<Q", data, at)
        at += 8
        if length == 0:
            break
        number, removed = struct.unpack_from("<QQ", data, at + 24)
        size, = struct.unpack_from("<I", data, at + 56)
        assert removed == 0
        for i in range(number):
            row = data[at + 64 + i * size:at + 64 + (i + 1) * size]
            rows[struct.unpack_from("<Q", row)[0]] = row[16:]
        count += number
        at += length
    assert struct.unpack_from("<Q", data, at)[0] == count == len(rows), (count, len(rows))
    return rows


def same_values(test, expected, found, but=()):
    """Two models hold the same variables, with the same bytes, and tables with the same rows."""
    test.assertEqual(sorted(expected), sorted(found))
    tables = [n for n in expected if n.endswith(".table")]
    for name in tables:
        a, b = table_rows(expected[name]), table_rows(found[name])
        test.assertEqual(sorted(a), sorted(b), f"{name} has other ids")
        test.assertEqual([i for i in a if a[i] != b[i]], [], f"{name} has other rows")
    # train_state has the checksums of the other files, and a table's parts may be others.
    but = {*tables, *but, *(["train_state"] if tables else [])}
    test.assertEqual([n for n in expected if n not in but and expected[n] != found[n]], [])
