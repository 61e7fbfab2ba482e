"""Samples of a reader as what Executor.run feeds."""
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

import numpy as np

from .. import _core
from . import core
from .framework import Program, Variable, default_main_program

__all__ = ["DataFeeder"]


def _numpy_dtype(var: Variable) -> np.dtype:
    return np.dtype(core.dtype_name(var.dtype))


class _Field:
    """Turns the values of one variable in a batch into a tensor."""

    def __init__(self, var: Variable):
        self.name = var.name
        self.dtype = _numpy_dtype(var)
        self.shape = tuple(var.shape)
        self.lod_level = var.lod_level
        # Samples of a known shape, with only the batch unknown, are put together by the core.
        plain = self.lod_level == 0 and len(self.shape) > 1 and self.shape[0] < 0 and min(self.shape[1:]) > 0
        self.sample_shape = self.shape[1:] if plain else None
        self.dtype_name = self.dtype.name

    def stacked(self, samples: List[Any], index: int, fields: int) -> Optional["core.LoDTensor"]:
        """The tensor of a field of samples that need no conversion, else None."""
        if self.sample_shape is None:
            return None
        return _core.stack_field(samples, index, fields, self.dtype_name, self.sample_shape)

    def tensor(self, values: Sequence[Any]) -> "core.LoDTensor":
        if self.lod_level > 0:
            return self._sequences(values)
        try:
            array = np.asarray(values, dtype=self.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the values for '{self.name}' do not make one array of {self.dtype} of the shape "
                             f"{self.shape}: {error}") from None
        if array.ndim != len(self.shape) and sum(d < 0 for d in self.shape) <= 1:
            array = self._reshape(array)
        out = core.LoDTensor()
        out.set(array)
        return out

    def _sequences(self, values: Sequence[Any]) -> "core.LoDTensor":
        lengths: List[List[int]] = []
        for _ in range(self.lod_level):
            lengths.append([len(v) for v in values])
            values = [x for v in values for x in v]
        array = np.asarray(values, dtype=self.dtype)
        inner = self.shape[1:] if self.shape and self.shape[0] < 0 else self.shape
        if array.ndim == 1 or array.shape[1:] != inner:
            array = array.reshape((len(values), *inner)) if all(d >= 0 for d in inner) else array
        out = core.LoDTensor()
        out.set(array)
        out.set_recursive_sequence_lengths(lengths)
        return out

    def _reshape(self, array: np.ndarray) -> np.ndarray:
        try:
            return array.reshape(self.shape)
        except ValueError:
            raise ValueError(f"Reshape error. What a data layer's shape is {list(self.shape)}, but the samples for "
                             f"'{self.name}' make an array of the shape {list(array.shape)}; "
                             "check the reader or the shape of the variable") from None


class DataFeeder:
    """Makes dictionaries for `Executor.run(feed=…)` of lists of samples.

    feed_list: variables, or their names, in the order of the fields of a sample.
    place: accepted for Fluid's scripts; tensors live in the memory of the host.
    program: where names are looked up; the default main program unless given.

    >>> feeder = fluid.DataFeeder(feed_list=[x, y], place=fluid.CPUPlace())
    >>> exe.run(feed=feeder.feed([([1.0] * 13, 2.0), ([3.0] * 13, 4.0)]), fetch_list=[cost])
    """

    def __init__(self, feed_list: Sequence[Any], place: Any = None, program: Optional[Program] = None):
        self._fields: List[_Field] = []
        block = (program or default_main_program()).block(0)
        for var in feed_list:
            if isinstance(var, str):
                var = block.var(var)
            if not isinstance(var, Variable):
                raise TypeError(f"Feed list should contain a list of variable, got {type(var).__name__}")
            self._fields.append(_Field(var))
        self.feed_names = [f.name for f in self._fields]
        self.place = place

    def feed(self, iterable: Iterable[Sequence[Any]]) -> Dict[str, "core.LoDTensor"]:
        """Variable name -> LoDTensor for a batch of samples."""
        samples = iterable if isinstance(iterable, list) else list(iterable)
        n = len(self._fields)
        out = {field.name: field.stacked(samples, i, n) for i, field in enumerate(self._fields)}
        if None in out.values():
            self._check(samples)
            columns = zip(*samples) if samples else [()] * n
            for field, values in zip(self._fields, columns):
                if out[field.name] is None:
                    out[field.name] = field.tensor(values)
        return out

    def _check(self, samples: List[Any]) -> None:
        n = len(self._fields)
        try:
            lengths = set(map(len, samples))
        except TypeError:
            raise TypeError(f"a batch is a list of samples, each a tuple of {n} values for {self.feed_names}; found "
                            f"samples such as {samples[0]!r}") from None
        for length in lengths:
            assert length == n, f"The number of fields in data ({length}) does not match len(feed_list) ({n})"

    def feed_parallel(self, iterable: Iterable[Iterable[Sequence[Any]]],
                      num_places: Optional[int] = None) -> Iterator[Dict[str, "core.LoDTensor"]]:
        """One dictionary per place of a list with one batch per place."""
        places = self._places(num_places)
        batches = list(iterable)
        if len(batches) != places:
            raise ValueError(f"feed_parallel needs {places} batches, one for each place, got {len(batches)}")
        for batch in batches:
            yield self.feed(batch)

    @staticmethod
    def _places(num_places: Optional[int]) -> int:
        return int(num_places) if num_places is not None else int(os.environ.get("CPU_NUM", "1"))

    def decorate_reader(self, reader, multi_devices: bool, num_places: Optional[int] = None, drop_last: bool = True):
        """A reader of dictionaries, made of a reader of batches.

        multi_devices: give lists of `num_places` dictionaries instead. A rest that does not fill all places is left
        out with drop_last, and a ValueError without.
        """
        def dictionaries():
            if not multi_devices:
                for batch in reader():
                    yield self.feed(batch)
                return
            places = self._places(num_places)
            group = []
            for batch in reader():
                group.append(batch)
                if len(group) == places:
                    yield list(self.feed_parallel(group, places))
                    group = []
            if group and not drop_last:
                raise ValueError(f"the last {len(group)} batches do not fill {places} places; set drop_last=True or "
                                 f"give a number of batches that does")

        return dictionaries
