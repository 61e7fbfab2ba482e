"""Models that paddle export wrote of the ready jobs, for PaddlePaddle 1.8.5.

Trains each job a little on generated data, exports it and keeps what this package predicts; PaddlePaddle loads the same
files and predicts the same.

    PYTHONPATH=build/python python3 python/tests/interop/exported.py write OURS [JOB …]
    python3.7 -m venv real185 && real185/bin/pip install 'paddlepaddle==1.8.5' 'protobuf<3.20'
    real185/bin/python python/tests/interop/exported.py replay OURS
"""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exchange  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
PADDLE = os.environ.get("PADDLE", os.path.join(ROOT, "build", "daemons", "paddle", "paddle"))
CONFIGS = os.path.join(ROOT, "configs")
SMALL = "records=500,hash_size=1001"  # of the jobs that have these arguments


def ready_jobs():
    return sorted(name[:-len(".json")] for name in os.listdir(CONFIGS) if name.endswith(".json"))


def paddle(*words):
    done = subprocess.run([PADDLE] + list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit("paddle %s:\n%s" % (" ".join(words), done.stdout.decode()[-2000:]))


def highest(program, name):
    """Ids below this are rows of every embedding that the input goes to."""
    block = program.global_block()
    lookups = [op for op in block.ops if "lookup_table" in op.type and name in op.input("Ids")]
    return min(block.var(op.input("W")[0]).shape[0] for op in lookups)


def an_input(rng, program, name):
    """(array, lengths of sequences) of its shape and type."""
    var = program.global_block().var(name)
    lengths = [[1, 4, 2]] if var.lod_level else []
    shape = [sum(lengths[0]) if lengths else 3] + list(var.shape[1:])
    if str(var.dtype) in ("VarType.INT64", "int64", "3"):
        return rng.randint(0, highest(program, name), shape).astype("int64"), lengths
    return rng.uniform(-1, 1, shape).astype("float32"), lengths


def write(root, jobs):
    import paddle.fluid as fluid
    for job in jobs or ready_jobs():
        path = exchange.folder(root, "inference", job)
        os.makedirs(path)
        with open(os.path.join(CONFIGS, job + ".json")) as f:
            text = f.read()
        words = ",".join(w for w in SMALL.split(",") if "${" + w.split("=")[0] in text)
        paddle("train", "--config=%s/%s.json" % (CONFIGS, job), "--num_passes=1", "--save_dir=%s/trained" % path,
               "--data_dir=" + path, *(["--config_args=" + words] if words else []))
        model = os.path.join(path, "trained", "pass-00000")
        paddle("export", model, "--output=%s/model" % path)
        paddle("export", model, "--output=%s/combined" % path, "--params_file=__params__")
        with exchange.fresh() as (exe, _):
            main, names, fetch = fluid.io.load_inference_model(os.path.join(path, "model"), exe)
            rng = np.random.RandomState(7)
            feed = {name: an_input(rng, main, name) for name in names}
            found = exchange.run(exe, main, {name: exchange.fed(pair) for name, pair in feed.items()}, fetch)
        exchange.dump(os.path.join(path, "case"), {"feed": feed, "found": [found]})


def replay(root, jobs):
    """Ends with 1 where a job's predictions differ."""
    bad = 0
    for job in jobs or sorted(os.listdir(os.path.join(root, "inference"))):
        answer = exchange.in_process(lambda: exchange.replay_inference(None, exchange.folder(root, "inference", job)))
        print("%s: %s" % (job, answer or "the same"))
        bad += bool(answer)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit({"write": write, "replay": replay}[sys.argv[1]](sys.argv[2], sys.argv[3:]))
