"""Prices of houses in Boston: 13 features, 506 rows (`housing.data`)."""
from typing import Callable, Iterator, Tuple

import numpy as np

from .common import read_known

__all__ = ["feature_names", "feature_num", "test", "train"]

feature_names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"]
feature_num = 14  # with the price

Sample = Tuple[np.ndarray, np.ndarray]


def _reader(test_part: bool) -> Callable[[], Iterator[Sample]]:
    def samples():
        for x, y in read_known("uci_housing", "housing.data", test_part):
            yield from zip(x, y)

    return samples


def train() -> Callable[[], Iterator[Sample]]:
    """A reader of (features float32 [13], price float32 [1]): the first 404 rows.

    Features are (x - mean) / (max - min), over the whole file.
    """
    return _reader(False)


def test() -> Callable[[], Iterator[Sample]]:
    """As `train`: the other 102 rows."""
    return _reader(True)
