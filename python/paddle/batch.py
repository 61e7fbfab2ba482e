"""Batches of samples."""
import itertools
from typing import Any, Callable, Iterator, List

__all__ = ["batch"]


def batch(reader: Callable[[], Iterator[Any]], batch_size: int,
          drop_last: bool = False) -> Callable[[], Iterator[List[Any]]]:
    """A reader of lists of `batch_size` samples.

    reader: gives an iterator of samples each time it is called.
    drop_last: leave out the last batch of a pass where it is shorter. By default it is kept.
    """
    if isinstance(batch_size, bool) or int(batch_size) != batch_size or batch_size <= 0:
        raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
    batch_size = int(batch_size)

    def batch_reader():
        samples = iter(reader())
        while group := list(itertools.islice(samples, batch_size)):
            if len(group) == batch_size or not drop_last:
                yield group

    return batch_reader
