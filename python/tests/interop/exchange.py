"""Models to and from PaddlePaddle: writes them with one, runs them with the other.

    PYTHONPATH=build/python python3 python/tests/interop/exchange.py write OURS
    real185/bin/python python/tests/interop/exchange.py write THEIRS
    PYTHONPATH=build/python python3 python/tests/interop/exchange.py replay THEIRS
    real185/bin/python python/tests/interop/exchange.py replay OURS

`write` makes one directory per program: files of the model, the feeds and what the writer computed. `replay` loads
them, computes the same and prints what differs. Every program runs in a process of its own, because a wrong model may
end PaddlePaddle. Arguments behind the directory are words; only programs whose key contains one of them are taken.
"""
import contextlib
import os
import pickle
import shutil
import sys
import traceback

import numpy as np
import paddle.fluid as fluid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs  # noqa: E402

STEPS = 3


def plain(value):
    """A fed or fetched value as (array, lengths of sequences)."""
    lengths = [] if isinstance(value, np.ndarray) else value.recursive_sequence_lengths()
    return np.array(value), lengths


def fed(pair):
    array, lengths = pair
    return fluid.create_lod_tensor(array, lengths, fluid.CPUPlace()) if lengths else array


def run(exe, main, feed, fetch):
    return [plain(v) for v in exe.run(main, feed=feed, fetch_list=fetch, return_numpy=False)]


@contextlib.contextmanager
def fresh(make=None):
    """(executor, what make() builds) with a program and a scope of their own."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), \
            fluid.scope_guard(fluid.Scope()):
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 5
        yield fluid.Executor(fluid.CPUPlace()), make() if make else None


def dump(path, value):
    with open(path, "wb") as f:
        pickle.dump(value, f, protocol=2)


def load(path):
    with open(path, "rb") as f:
        return pickle.load(f)


def write_inference(make, path):
    with fresh(make) as (exe, b):
        exe.run(b.startup)
        for name, params in (("model", None), ("combined", "__params__")):
            fluid.io.save_inference_model(os.path.join(path, name), sorted(b.feed), b.fetch, exe, b.main,
                                          params_filename=params)
        found = run(exe, b.main.clone(for_test=True), b.feed, b.fetch)
    dump(os.path.join(path, "case"), {"feed": {k: plain(v) for k, v in b.feed.items()}, "found": [found]})


def replay_inference(make, path):
    case = load(os.path.join(path, "case"))
    for name, params in (("model", None), ("combined", "__params__")):
        if params and not os.path.exists(os.path.join(path, name, params)):
            continue  # a model without parameters has no file of them
        with fresh() as (exe, _):
            main, names, fetch = fluid.io.load_inference_model(os.path.join(path, name), exe, params_filename=params)
            answer = compare(case["found"], [run(exe, main, {n: fed(case["feed"][n]) for n in names}, fetch)])
        if answer:
            return "%s: %s" % (name, answer)
    return None


def write_training(make, path):
    with fresh(make) as (exe, b):
        for name, program in (("main", b.main), ("startup", b.startup)):
            with open(os.path.join(path, name), "wb") as f:
                f.write(program.desc.serialize_to_string())
        exe.run(b.startup)
        found = [run(exe, b.main, b.feed, b.fetch) for _ in range(STEPS)]
        fluid.io.save_persistables(exe, os.path.join(path, "values"), b.main)
        then = [run(exe, b.main, b.feed, b.fetch) for _ in range(STEPS)]
    dump(os.path.join(path, "case"), {"feed": {k: plain(v) for k, v in b.feed.items()}, "found": found, "then": then,
                                      "fetch": [v.name for v in b.fetch]})


def replay_training(make, path):
    """The writer's own programs, from the first step on."""
    case, parsed = load(os.path.join(path, "case")), []
    for name in ("main", "startup"):
        with open(os.path.join(path, name), "rb") as f:
            parsed.append(fluid.Program.parse_from_string(f.read()))
    feed = {k: fed(v) for k, v in case["feed"].items()}
    with fresh() as (exe, _):
        exe.run(parsed[1])
        return compare(case["found"], [run(exe, parsed[0], feed, case["fetch"]) for _ in range(STEPS)])


def replay_persistables(make, path):
    """The reader's own program goes on with the writer's values."""
    case = load(os.path.join(path, "case"))
    with fresh(make) as (exe, b):
        exe.run(b.startup)
        fluid.io.load_persistables(exe, os.path.join(path, "values"), b.main)
        return compare(case["then"], [run(exe, b.main, b.feed, b.fetch) for _ in range(STEPS)])


def compare(wanted, found):
    """What differs, as a sentence; None where nothing does."""
    for step, (one, other) in enumerate(zip(wanted, found)):
        for i, ((a, lengths), (b, other_lengths)) in enumerate(zip(one, other)):
            where = "step %d, result %d: " % (step, i)
            if a.shape != b.shape or a.dtype != b.dtype:
                return where + "%s %s became %s %s" % (a.dtype, a.shape, b.dtype, b.shape)
            if lengths != other_lengths:
                return where + "lengths %s became %s" % (lengths, other_lengths)
            if not np.allclose(a.astype("float64"), b.astype("float64"), rtol=2e-4, atol=2e-5, equal_nan=True):
                return where + "%s became %s" % (a.ravel()[:4], b.ravel()[:4])
    return None


def in_process(work):
    """What work() returns, or the error that ended it, as text; from a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 2)
        os.dup2(devnull, 1)
        try:
            answer = work() or ""
        except BaseException as e:
            lines = [line for line in str(e).splitlines() if line.strip()]
            frames = traceback.extract_tb(sys.exc_info()[2])
            answer = "%s: %s" % (type(e).__name__, " | ".join(lines[:1] + lines[-3:] if len(lines) > 4 else lines))
            answer += " [%s:%d]" % (os.path.basename(frames[-1].filename), frames[-1].lineno)
        os.write(write, answer.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        answer = f.read().decode()
    status = os.waitpid(child, 0)[1]
    return answer if status == 0 else "ended with status %d %s" % (status, answer)


WRITERS = {"inference": write_inference, "training": write_training}
READERS = {"inference": replay_inference, "training": replay_training, "persistables": replay_persistables}


def chosen(kind, words=()):
    """{key: function that builds the program} of a kind; those that differ on purpose are left out."""
    cases = programs.inference() if kind == "inference" else programs.training()
    different = programs.DIFFERENT.get(kind, {})
    return {k: v for k, v in cases.items() if k not in different and (not words or any(w in k for w in words))}


def folder(root, kind, key):
    return os.path.join(root, "inference" if kind == "inference" else "training", key)


def write(root, words):
    for kind, make_one in WRITERS.items():
        cases = programs.inference() if kind == "inference" else programs.training()
        cases = {k: v for k, v in cases.items() if not words or any(w in k for w in words)}
        good = 0
        for key, make in cases.items():
            path = folder(root, kind, key)
            shutil.rmtree(path, ignore_errors=True)
            os.makedirs(path)
            answer = in_process(lambda: make_one(make, path))
            good += not answer
            if answer:
                print("  %s %s: not written: %s" % (kind, key, answer))
        print("%s: %d of %d written" % (kind, good, len(cases)))


def replay(root, words):
    for kind, one in READERS.items():
        good = there = 0
        for key, make in chosen(kind, words).items():
            path = folder(root, kind, key)
            if not os.path.exists(os.path.join(path, "case")):
                continue
            there += 1
            answer = in_process(lambda: one(make, path))
            good += not answer
            if answer:
                print("  %s %s: %s" % (kind, key, answer))
        print("%s: %d of %d the same" % (kind, good, there))


if __name__ == "__main__":
    {"write": write, "replay": replay}[sys.argv[1]](sys.argv[2], sys.argv[3:])
