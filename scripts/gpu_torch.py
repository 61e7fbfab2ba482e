#!/usr/bin/env python3
"""scripts/gpu_torch.py: W2 and the dense part of W4 (docs/benchmarks.md) in torch, on the CPU and where there is one on a GPU; one
JSON line each, for scripts/gpu_check."""
import json
import time

import torch

NETS = {"w2": ((784, 200, 200, 10), torch.nn.Tanh), "w4 dense": ((273, 400, 400, 400, 2), torch.nn.ReLU)}


def network(sizes, act):
    layers = []
    for k, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        layers += [torch.nn.Linear(rows, columns)] + ([act()] if k + 2 < len(sizes) else [])
    return torch.nn.Sequential(*layers)


def rate(device, sizes, act, batch, seconds=1.0):
    """Samples per second of whole steps, each of which reads the loss."""
    net = network(sizes, act).to(device)
    update = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.rand(batch, sizes[0]).to(device), torch.randint(sizes[-1], (batch,)).to(device)

    def step():
        update.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        update.step()
        return loss.item()

    for _ in range(20):
        step()
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        step()
        steps += 1
    return steps * batch / (time.perf_counter() - begin)


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        for name, (sizes, act) in NETS.items():
            for batch in (64, 512):
                print(json.dumps({"workload": name, "peer": f"torch {torch.__version__}", "device": device, "batch": batch,
                                  "samples/s": round(rate(device, sizes, act, batch), 1)}), flush=True)


if __name__ == "__main__":
    main()
