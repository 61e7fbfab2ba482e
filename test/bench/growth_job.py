#!/usr/bin/env python3
"""Writes a job with many small parameters, to measure how cost grows with their number.

    growth_job.py DIRECTORY [--layers 400] [--width 16] [--records 4000] [--batch 4]

makes DIRECTORY/growth.json and DIRECTORY/growth.csv: a chain of `layers` fully connected layers of width x width and one
of width x 1, each with a bias: 2 * (layers + 1) parameters, and as many slices where min_block_size is the default.
"""
import argparse
import json
import os
import random


def write_data(path, records, width):
    numbers = random.Random(1)
    with open(path, "w") as out:
        for _ in range(records):
            x = [numbers.uniform(-1, 1) for _ in range(width)]
            out.write(",".join(f"{v:.4f}" for v in [*x, sum(x) / width]) + "\n")


def job(layers, width, batch, data):
    chain = [{"type": "fc", "name": f"fc_{i}", "input": f"fc_{i - 1}" if i else "x", "size": width,
              "act": "tanh"} for i in range(layers)]
    return {
        "num_passes": 1, "log_period": 0,
        "inputs": [{"name": "x", "shape": width}, {"name": "y", "shape": 1}],
        "layers": [*chain, {"type": "fc", "name": "predicted", "input": f"fc_{layers - 1}", "size": 1},
                   {"type": "square_error_cost", "name": "cost", "input": "predicted", "label": "y"}],
        "cost": "cost",
        "optimizer": {"type": "sgd", "learning_rate": 0.0001},
        "data": {"format": "csv", "files": [data], "batch_size": batch},
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("directory")
    for name, default in (("layers", 400), ("width", 16), ("records", 4000), ("batch", 4)):
        arguments.add_argument(f"--{name}", type=int, default=default)
    given = arguments.parse_args()
    os.makedirs(given.directory, exist_ok=True)
    data = os.path.join(os.path.abspath(given.directory), "growth.csv")
    write_data(data, given.records, given.width)
    with open(os.path.join(given.directory, "growth.json"), "w") as out:
        json.dump(job(given.layers, given.width, given.batch, data), out, indent=1)


if __name__ == "__main__":
    main()
