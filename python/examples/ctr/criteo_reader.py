"""Turns a Criteo click log on stdin into MultiSlot text: the pipe command of train.py and dist_train.py.

    python criteo_reader.py 1000001 < raw_data/part-0

Ids are those of the data format "criteo" of job files: a hash of the category and its column that depends on nothing
else, so that every process gives the same (Python's own hash() of a text differs from process to process).
"""
import sys

from paddle.fluid.incubate.data_generator import MultiSlotDataGenerator

LEAST = [0, -3] + [0] * 11
RANGE = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
WORD = (1 << 64) - 1
NAMES = ["dense_input"] + [f"C{k}" for k in range(1, 27)] + ["label"]


def mix64(x):
    z = (x + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


KEYS = [mix64(mix64(0) ^ column) for column in range(1, 27)]


def category_hash(category, column):
    """64 bits of a text in a column (0 to 25)."""
    data, key = category.encode(), KEYS[column]
    if len(data) == 8:
        return mix64(key ^ int.from_bytes(data, "little"))
    h = mix64((key + len(data) + 1) & WORD)
    for at in range(0, len(data), 8):
        h = mix64(h ^ int.from_bytes(data[at:at + 8], "little"))
    return h


class CriteoDataset(MultiSlotDataGenerator):
    def __init__(self, sparse_feature_dim):
        super().__init__()
        self._dim = sparse_feature_dim

    def generate_sample(self, line):
        def reader():
            features = line.rstrip("\n").split("\t")
            dense = [(float(x) - LEAST[i]) / RANGE[i] if x else 0.0 for i, x in enumerate(features[1:14])]
            ids = [[category_hash(c, k) % self._dim] for k, c in enumerate(features[14:40])]
            yield list(zip(NAMES, [dense] + ids + [[int(features[0])]]))

        return reader


if __name__ == "__main__":
    CriteoDataset(int(sys.argv[1])).run_from_stdin()
