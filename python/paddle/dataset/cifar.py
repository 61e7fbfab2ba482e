"""Small coloured images in 10 or 100 classes (`cifar-10-python.tar.gz`, `cifar-100-python.tar.gz`)."""
import io
import itertools
import tarfile
from typing import Any, Callable, Dict, Iterator, Tuple

import numpy as np

from .. import plain_pickle
from .common import find

__all__ = ["fetch", "test10", "test100", "train10", "train100"]

Sample = Tuple[np.ndarray, int]
_LABELS = {10: b"labels", 100: b"fine_labels"}


def _batches(path: str, part: str) -> Iterator[Dict[bytes, Any]]:
    with tarfile.open(path) as archive:
        for name in sorted(n for n in archive.getnames() if part in n.rsplit("/", 1)[-1]):
            yield plain_pickle.load(io.BytesIO(archive.extractfile(name).read()), encoding="bytes")


def _generated(classes: int, test: bool) -> Iterator[Sample]:
    """One picture per class, with noise: 2,000 images, or 400 for tests."""
    pictures = np.random.RandomState(1).rand(classes, 3072)
    draw = np.random.RandomState(2 + test)
    for number in range(400 if test else 2000):
        label = number % classes
        yield np.clip(pictures[label] + draw.normal(0, 0.2, 3072), 0, 1).astype("float32"), label


def _reader(classes: int, test: bool, cycle: bool = False) -> Callable[[], Iterator[Sample]]:
    part = "test" if test else "data_batch" if classes == 10 else "train"

    def once() -> Iterator[Sample]:
        path = find("cifar", f"cifar-{classes}-python.tar.gz", "images")
        if path is None:
            yield from _generated(classes, test)
            return
        for batch in _batches(path, part):
            for pixels, label in zip(batch[b"data"], batch[_LABELS[classes]]):
                yield (pixels / 255.0).astype("float32"), int(label)

    def samples() -> Iterator[Sample]:
        return itertools.chain.from_iterable(once() for _ in itertools.count()) if cycle else once()

    return samples


def train10(cycle: bool = False) -> Callable[[], Iterator[Sample]]:
    """A reader of (pixels float32 [3072] in [0, 1], class from 0 to 9). `cycle` starts again at the end, for ever."""
    return _reader(10, False, cycle)


def test10(cycle: bool = False) -> Callable[[], Iterator[Sample]]:
    """As `train10`, of the test part."""
    return _reader(10, True, cycle)


def train100() -> Callable[[], Iterator[Sample]]:
    """A reader of (pixels float32 [3072] in [0, 1], class from 0 to 99)."""
    return _reader(100, False)


def test100() -> Callable[[], Iterator[Sample]]:
    """As `train100`, of the test part."""
    return _reader(100, True)


def fetch() -> None:
    """Downloads nothing: says which images are generated because their archive is not on this machine."""
    for classes in _LABELS:
        find("cifar", f"cifar-{classes}-python.tar.gz", "images")
