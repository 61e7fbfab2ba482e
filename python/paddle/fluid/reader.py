"""Readers that make feeds, ahead of the training, in a thread."""
from typing import Any, Callable, Iterator, List, Optional, Sequence

from ..batch import batch
from ..reader import buffered
from .data_feeder import DataFeeder
from .dataset import DatasetBase
from .framework import Variable

__all__ = ["DataLoader", "PyReader"]


class PyReader:
    """Feeds for `Executor.run`, made of a reader by a thread that runs ahead.

    feed_list: the variables to feed, in the order of the fields of a sample.
    capacity: how many feeds may wait.
    use_double_buffer: accepted for Fluid's scripts.
    iterable: must be True: the script gives feeds to `run`. (Readers that are part of the program are not supported.)
    return_list: give lists of tensors instead of dictionaries.

    >>> reader = fluid.io.PyReader(feed_list=[x, y], capacity=16, iterable=True)
    >>> reader.decorate_sample_list_generator(paddle.batch(paddle.dataset.uci_housing.train(), 20))
    >>> for feed in reader():
    ...     exe.run(feed=feed, fetch_list=[cost])
    """

    def __init__(self, feed_list: Optional[Sequence[Variable]] = None, capacity: Optional[int] = None,
                 use_double_buffer: bool = True, iterable: bool = True, return_list: bool = False):
        if not iterable:
            raise NotImplementedError("readers inside a program are not supported: use iterable=True, and give "
                                      "what the reader yields to Executor.run(feed=…)")
        if not feed_list:
            raise ValueError("feed_list names the variables that are fed: [x, y]")
        if capacity is None or capacity < 1:
            raise ValueError(f"capacity says how many feeds may wait, at least 1; found {capacity!r}")
        self._feeder = DataFeeder(feed_list)
        self._capacity, self._return_list = capacity, return_list
        self.iterable = True
        self._feeds: Optional[Callable[[], Iterator[Any]]] = None

    def decorate_sample_generator(self, sample_generator: Callable, batch_size: int, drop_last: bool = True,
                                  places: Any = None) -> None:
        """Takes samples, tuples with a field for each variable, from a reader."""
        self.decorate_sample_list_generator(batch(sample_generator, batch_size, drop_last))

    def decorate_sample_list_generator(self, reader: Callable, places: Any = None) -> None:
        """Takes batches, lists of samples, from a reader such as `paddle.batch` makes."""
        self._take(lambda: map(self._feeder.feed, reader()))

    def decorate_batch_generator(self, reader: Callable, places: Any = None) -> None:
        """Takes batches as arrays or LoDTensors, one for each variable, from a reader."""
        names = self._feeder.feed_names

        def feed(arrays):
            if len(arrays) != len(names):
                raise ValueError(f"the reader gave {len(arrays)} arrays for the variables {names}")
            return dict(zip(names, arrays))

        self._take(lambda: map(feed, reader()))

    def _take(self, feeds: Callable[[], Iterator[dict]]) -> None:
        self._feeds = buffered(feeds, self._capacity)

    def __call__(self) -> Iterator[List[Any]]:
        """A pass: lists with one dictionary, as `run` takes them."""
        if self._feeds is None:
            raise RuntimeError(f"{type(self).__name__} has no reader yet: set one first")
        for feed in self._feeds():
            yield list(feed.values()) if self._return_list else [feed]

    __iter__ = __call__


class DataLoader(PyReader):
    """PyReader by its later name: made by `from_generator`.

    >>> loader = fluid.io.DataLoader.from_generator(feed_list=[x, y], capacity=16)
    >>> loader.set_sample_list_generator(paddle.batch(paddle.dataset.uci_housing.train(), 20))
    >>> for feed in loader():
    ...     exe.run(feed=feed, fetch_list=[cost])
    """

    set_sample_generator = PyReader.decorate_sample_generator
    set_sample_list_generator = PyReader.decorate_sample_list_generator
    set_batch_generator = PyReader.decorate_batch_generator

    @staticmethod
    def from_generator(feed_list: Optional[Sequence[Variable]] = None, capacity: Optional[int] = None,
                       use_double_buffer: bool = True, iterable: bool = True,
                       return_list: bool = False) -> "DataLoader":
        """A loader without a reader; its arguments are those of PyReader."""
        return DataLoader(feed_list, capacity, use_double_buffer, iterable, return_list)

    @staticmethod
    def from_dataset(dataset: DatasetBase, places: Any = None, drop_last: bool = True) -> "DatasetLoader":
        """The batches of a data set of files, as feeds.

        dataset: a QueueDataset or an InMemoryDataset with its records loaded.
        places: accepted; feeds are made on the CPU.
        drop_last: leave out a last batch that is not full.
        """
        return DatasetLoader(dataset, drop_last)


class DatasetLoader:
    """Feeds made of a data set by `DataLoader.from_dataset`.

    >>> loader = fluid.io.DataLoader.from_dataset(dataset, fluid.cpu_places())
    >>> for feed in loader():
    ...     exe.run(feed=feed, fetch_list=[cost])
    """

    iterable = True

    def __init__(self, dataset: DatasetBase, drop_last: bool = True):
        if not isinstance(dataset, DatasetBase):
            raise TypeError(f"dataset should be a QueueDataset or an InMemoryDataset, found {type(dataset).__name__}")
        self._dataset, self._drop_last = dataset, drop_last

    def __call__(self) -> Iterator[List[Any]]:
        """A pass: lists with one dictionary of LoDTensors, as `run` takes them."""
        size = self._dataset.batch_size
        for rows, feed in self._dataset._batches():
            if rows == size or not self._drop_last:
                yield [feed]

    __iter__ = __call__
