"""Readers made of readers, in the thread of the caller (`buffered` has one of its own)."""
import itertools
import random
from typing import Any, Callable, Iterator

from .. import _core
from .channel import Channel

Reader = Callable[[], Iterator[Any]]


class ComposeNotAligned(ValueError):
    """The readers given to `compose` do not have the same number of samples."""


def map_readers(func: Callable, *readers: Reader) -> Reader:
    """A reader of func(a, b, …) for the samples a, b, … of the readers; ends with the shortest."""
    return lambda: map(func, *[r() for r in readers])


def shuffle(reader: Reader, buf_size: int) -> Reader:
    """A reader of the same samples in another order: `buf_size` of them at a time are shuffled with Python's `random`.

    random.seed(n) before a pass makes its order repeatable.
    """

    def buffers():
        samples = iter(reader())
        while buffer := list(itertools.islice(samples, max(1, buf_size))):
            _core.shuffle(buffer, random.getrandbits)
            yield buffer

    return lambda: itertools.chain.from_iterable(buffers())


def chain(*readers: Reader) -> Reader:
    """A reader of all samples of the first reader, then of the second, and so on."""
    return lambda: itertools.chain.from_iterable(r() for r in readers)


def compose(*readers: Reader, check_alignment: bool = True) -> Reader:
    """A reader of tuples: the fields of one sample of each reader, side by side. (1, 2) and 3 give (1, 2, 3).

    check_alignment: raise ComposeNotAligned when the readers do not end together; otherwise the surplus is left out.
    """

    def fields(sample):
        return sample if isinstance(sample, tuple) else (sample,)

    def composed():
        if not check_alignment:
            for samples in zip(*[r() for r in readers]):
                yield sum(map(fields, samples), ())
            return
        missing = object()
        for n, samples in enumerate(itertools.zip_longest(*[r() for r in readers], fillvalue=missing)):
            if any(s is missing for s in samples):
                ended = next(i for i, s in enumerate(samples) if s is missing)
                raise ComposeNotAligned(f"reader {ended} of {len(readers)} ended after {n} samples, and others go on; "
                                        "give readers of equal length, or check_alignment=False")
            yield sum(map(fields, samples), ())

    return composed


def buffered(reader: Reader, size: int) -> Reader:
    """A reader whose samples are read ahead by a thread, at most `size` of them."""

    def read(channel):
        for sample in reader():
            if not channel.put(sample):
                return

    def ahead():
        channel = Channel(size)
        channel.start(read, channel)
        return iter(channel)

    return ahead


def firstn(reader: Reader, n: int) -> Reader:
    """A reader of the first `n` samples."""
    return lambda: itertools.islice(reader(), n)


def cache(reader: Reader) -> Reader:
    """A reader that keeps all samples in memory; `reader` is read once, now."""
    samples = tuple(reader())
    return lambda: iter(samples)


class Fake:
    """Gives the first sample of a reader again and again: to measure how fast training is without its data.

    fake(reader, data_num) is a reader of `data_num` samples.
    """

    def __init__(self):
        self._first = None

    def __call__(self, reader: Reader, data_num: int) -> Reader:
        def repeated():
            if self._first is None:
                self._first = (next(iter(reader())),)
            yield from itertools.repeat(self._first[0], data_num)

        return repeated
