"""scripts/bench python: what the Python front end costs, beside the peers and beside job files.

Three rows: a run of a program of one op with one feed and one fetch; fit_a_line (W1 of docs/benchmarks.md) from Python
beside the best framework peer; recognize_digits from Python, reader and feeder included, beside the run of its job file.
Ours and theirs take turns, so that a slow phase of the machine meets both; a side counts with its best turn.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "build", "python"), os.path.join(ROOT, "test", "bench")]
os.environ.setdefault("HOME", "/")

import numpy as np

import paddle
import paddle.fluid as fluid

TURNS = 3


def rate(step, secs):
    """Calls per second of step(i), the median of three measurements."""
    for i in range(50):
        step(i)
    rates = []
    for _ in range(3):
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < secs:
            for i in range(50):
                step(done + i)
            done += 50
        rates.append(done / (time.perf_counter() - begin))
    return sorted(rates)[1]


def one_op(secs):
    """Microseconds of exe.run with one feed and one fetch."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        x = fluid.layers.data(name="x", shape=[8], dtype="float32")
        y = fluid.layers.scale(x, scale=2.0)
        exe = fluid.Executor(fluid.CPUPlace())
        feed, fetch = {"x": np.ones((4, 8), np.float32)}, [y]
        return 1e6 / rate(lambda i: exe.run(main, feed=feed, fetch_list=fetch), secs)


def mix64(x):
    with np.errstate(over="ignore"):
        z = np.asarray(x, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(stream, shape, low, high):
    """Values of the workloads' generator: the same bits as in C++ (test/bench/generator.h)."""
    n = int(np.prod(shape))
    with np.errstate(over="ignore"):
        r = mix64(mix64(np.uint64((1 << 32) | stream)) + np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    u = (r >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return (np.float32(low) + np.float32(high - low) * u).reshape(shape)


def fit_a_line(secs):
    """Steps per second of W1, and the mean squared error before and after one pass."""
    n, batch = 2000, 20
    x = uniform(1, (n * batch, 13), -1, 1)
    y = x @ uniform(2, (13, 1), -2, 2) + np.float32(0.5) + uniform(3, (n * batch, 1), -0.1, 0.1)
    bound = (6.0 / 14) ** 0.5
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        a = fluid.layers.data(name="x", shape=[13], dtype="float32")
        b = fluid.layers.data(name="y", shape=[1], dtype="float32")
        guess = fluid.layers.fc(a, size=1, param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.NumpyArrayInitializer(uniform(4, (13, 1), -bound, bound))))
        cost = fluid.layers.mean(fluid.layers.square_error_cost(guess, b))
        test = main.clone(for_test=True)
        fluid.optimizer.SGD(learning_rate=0.001).minimize(cost)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feeds = [{"x": x[i * batch:(i + 1) * batch], "y": y[i * batch:(i + 1) * batch]} for i in range(n)]
        error = lambda: float(exe.run(test, feed={"x": x, "y": y}, fetch_list=[cost])[0][0])
        before = error()
        for feed in feeds:
            exe.run(main, feed=feed)
        after = error()
        return rate(lambda i: exe.run(main, feed=feeds[i % n]), secs), before, after


def digits(batches):
    """recognize_digits as a script writes it; the reader runs ahead in a thread, as the job's does.

    Samples per second, and microseconds of CPU that the training thread takes for a batch: what is left of the first
    where nobody else uses the machine.
    """
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 1
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        image = fluid.layers.data(name="img", shape=[784], dtype="float32")
        label = fluid.layers.data(name="label", shape=[1], dtype="int64")
        hidden = fluid.layers.fc(image, size=200, act="tanh")
        hidden = fluid.layers.fc(hidden, size=200, act="tanh")
        guess = fluid.layers.fc(hidden, size=10, act="softmax")
        cost = fluid.layers.mean(fluid.layers.cross_entropy(guess, label))
        accuracy = fluid.layers.accuracy(guess, label)
        lr = fluid.layers.exponential_decay(0.001, decay_steps=938, decay_rate=0.75)
        fluid.optimizer.Adam(learning_rate=lr).minimize(cost)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feeder = fluid.DataFeeder(feed_list=[image, label], place=fluid.CPUPlace())
        reader = paddle.batch(paddle.reader.shuffle(paddle.dataset.mnist.train(), buf_size=500), 64)
        reader = paddle.reader.buffered(feeder.decorate_reader(reader, multi_devices=False), 16)
        done, samples, begin, busy = -batches // 10, 0, 0.0, 0.0
        while done < batches:
            for feed in reader():
                if done == 0:
                    begin, busy, samples = time.perf_counter(), time.thread_time(), 0
                exe.run(main, feed=feed, fetch_list=[cost, accuracy])
                samples += 64
                done += 1
                if done == batches:
                    break
        return samples / (time.perf_counter() - begin), 1e6 * (time.thread_time() - busy) / batches


def job_file(batches):
    """The same for the job file's run; its CPU time is the whole process's, less that of a run of a tenth."""
    rate_, all_of_it = job_run(batches)
    _, start = job_run(batches // 10)
    return rate_, 1e6 * (all_of_it - start) / (1.1 * (batches - batches // 10))  # each run warms up with a tenth more


def job_run(batches):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([os.path.join(ROOT, "build", "daemons", "paddle", "paddle"), "train", "--job=time", "--log_period=0",
                           f"--config={ROOT}/configs/recognize_digits_mlp.json", f"--time_batches={batches}"],
                          capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(re.search(r"([0-9.]+) samples/s", done.stdout)[1]), seconds


def peer_rate(directory, scratch):
    """Steps per second of the best framework peer of W1, and who that is."""
    from peers import Peers, best, hand_written
    records = Peers(directory, scratch).measure("w1", 0.5)
    record = best(records, lambda p: not hand_written(p))
    return (record["median"], record["peer"]) if record else (None, "no peer here")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", default="../shared/peers")
    parser.add_argument("--secs", type=float, default=0.5)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench_python.jsonl"))
    args = parser.parse_args()
    micros, steps, peer, script, job = [], [], (None, "no peer here"), [], []
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(TURNS):
            micros.append(one_op(args.secs))
            rate_, before, after = fit_a_line(args.secs)
            steps.append(rate_)
            if turn == 0:
                peer = peer_rate(args.peers, scratch)
            script.append(digits(args.batches))
            job.append(job_file(args.batches))
    best = lambda turns: max(rate_ for rate_, _ in turns)
    least = lambda turns: min(cpu for _, cpu in turns)
    rows = [
        ("exe.run, one op, one feed, one fetch", f"{min(micros):.2f} us", "", "at most 10 us"),
        ("fit_a_line (W1), steps/s", f"{max(steps):,.0f}", f"{peer[0]:,.0f} ({peer[1]})" if peer[0] else peer[1],
         f"{max(steps) / peer[0]:.2f} times, at least 5" if peer[0] else ""),
        ("  its mean squared error, 0 and 1 pass", f"{before:.5f} {after:.5f}", "", "4.79746 0.31224"),
        ("recognize_digits, samples/s", f"{best(script):,.0f}", f"{best(job):,.0f} (job file)",
         f"{100 * best(script) / best(job):.1f} %, at least 97"),
        ("  CPU time of a batch, us", f"{least(script):.0f}", f"{least(job):.0f} (job file)",
         f"{100 * least(job) / least(script):.1f} %"),
    ]
    print(f"{'from Python':40} {'this program':>16} {'beside':>34}   goal")
    for name, mine, beside, goal in rows:
        print(f"{name:40} {mine:>16} {beside:>34}   {goal}")
    with open(args.out, "w") as f:
        f.write(json.dumps({"workload": "python", "run_us": micros, "w1_steps": steps, "w1_peer": peer, "mse": [before, after],
                            "digits": script, "digits_job": job}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
