"""Handwritten digits: images of 28 x 28 (`train-images-idx3-ubyte` and the others, also .gz)."""
import itertools
from typing import Callable, Iterator, Tuple

import numpy as np

from .common import read_known

__all__ = ["fetch", "test", "train"]

Sample = Tuple[np.ndarray, int]


def _reader(part: str, test_part: bool) -> Callable[[], Iterator[Sample]]:
    def batches():
        for images, labels in read_known("mnist", part + "-images-idx3-ubyte", test_part):
            yield zip(images, labels[:, 0].tolist())

    return lambda: itertools.chain.from_iterable(batches())


def fetch() -> None:
    """Downloads nothing: says where images are generated because the set is not on this machine."""
    for part in (train, test):
        next(part()(), None)


def train() -> Callable[[], Iterator[Sample]]:
    """A reader of (pixels float32 [784] in [-1, 1], digit): 60000 images, fewer where they are generated."""
    return _reader("train", False)


def test() -> Callable[[], Iterator[Sample]]:
    """As `train`: the 10000 images of the test set."""
    return _reader("t10k", True)
