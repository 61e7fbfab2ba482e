"""fit_a_line (W1) with two processes of torch's DistributedDataParallel on gloo over loopback, the peer of dist_bench w1.
Each process takes every second batch of 20; gradients are averaged. One JSON line from rank 0."""
import argparse
import json
import multiprocessing
import os
import socket
import sys
import time

GOLDEN = 0x9E3779B97F4A7C15
BATCH, BATCHES, RATE = 20, 2000, 0.001


def mix64(x):
    import numpy as np
    with np.errstate(over="ignore"):
        z = x + np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(stream, shape, low, high):
    """The generator of generator.h."""
    import numpy as np
    n = 1
    for d in shape:
        n *= d
    with np.errstate(over="ignore"):
        key = mix64(np.array([(1 << 32) | stream], dtype=np.uint64))
        bits = mix64(key + np.arange(n, dtype=np.uint64) * np.uint64(GOLDEN))
    unit = (bits >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return (np.float32(low) + np.float32(high - low) * unit).reshape(shape)


def worker(rank, world, port, secs, results):
    import torch
    import torch.distributed as dist
    from torch.nn.functional import mse_loss
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    n = BATCH * BATCHES
    x = uniform(1, (n, 13), -1, 1)
    y = x @ uniform(2, (13, 1), -2, 2) + uniform(3, (n, 1), -.1, .1)
    y += type(y.flat[0])(0.5)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    pairs = list(zip(x.split(BATCH), y.split(BATCH)))[rank::world]
    line = torch.nn.Linear(13, 1)
    bound = (6 / 14)**0.5
    with torch.no_grad():
        line.weight.copy_(torch.from_numpy(uniform(4, (13, 1), -bound, bound)).t())
        line.bias.zero_()
    model = torch.nn.parallel.DistributedDataParallel(line, gradient_as_bucket_view=True, broadcast_buffers=False)
    sgd = torch.optim.SGD(line.parameters(), lr=RATE)

    def step(i):
        a, b = pairs[i % len(pairs)]
        sgd.zero_grad(set_to_none=False)
        mse_loss(model(a), b).backward()
        sgd.step()

    def error():
        with torch.no_grad():
            return float(mse_loss(line(x), y))

    first = error()
    for i in range(len(pairs)):
        step(i)
    epoch = error()
    dist.barrier()
    start = time.perf_counter()
    for i in range(200):
        step(i)
    dist.barrier()
    took = torch.tensor([(time.perf_counter() - start) / 200])
    dist.broadcast(took, 0)  # all make the same number of steps
    steps = max(100, int(secs / float(took)))
    rates, at = [], 0
    for _ in range(3):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(steps):
            step(at)
            at += 1
        dist.barrier()
        rates.append(steps / (time.perf_counter() - start))
    if rank == 0:
        rates.sort()
        results.put(dict(workload="W1 2x2", peer="torch_ddp_gloo", cfg=dict(batch=BATCH, workers=world), unit="steps/s",
                         median=round(rates[1], 1), min=round(rates[0], 1), max=round(rates[2], 1), steps=steps,
                         mse_init=round(first, 5), mse_1epoch=round(epoch, 5)))
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--secs", type=float, default=1)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=worker, args=(r, args.workers, port, args.secs, results)) for r in range(args.workers)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(300)
    codes = [w.exitcode for w in workers]
    if any(codes):
        print("a process failed:", codes, file=sys.stderr)
        return 1
    print(json.dumps(results.get(timeout=5)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
