"""Programs that turn raw lines into MultiSlot text: what a data set's pipe command runs.

Derive from MultiSlotDataGenerator, give it a `generate_sample`, and end the script with `run_from_stdin()`:

    class Clicks(MultiSlotDataGenerator):
        def generate_sample(self, line):
            def samples():
                click, *ids = line.split()
                yield [("ids", [int(i) for i in ids]), ("click", [int(click)])]
            return samples

    Clicks().run_from_stdin()
"""
import sys
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]

Sample = Sequence[Tuple[str, Sequence[Any]]]  # (slot name, values) in the order of the line


class DataGenerator:
    """What the generators share. A subclass says how a sample becomes a line (`_line`), yours what a sample is."""

    def __init__(self):
        self.batch_size_ = 32

    def set_batch(self, batch_size: int) -> None:
        """How many samples `generate_batch` gets at a time (32 unless set)."""
        if batch_size <= 0:
            raise ValueError(f"set_batch needs a positive number, got {batch_size}")
        self.batch_size_ = batch_size

    # Scripts take a line as a string, without a check for None: Optional[str] would refuse them all.
    def generate_sample(self, line: Any) -> Callable[[], Iterator[Sample]]:
        """Yours: a function that gives the samples of one line of input (None where there is no input)."""
        raise NotImplementedError("Please rewrite this function to return a list or tuple: "
                                  "[(name, [value, ...]), (name, [value, ...]), ...]")

    def generate_batch(self, samples: List[Sample]) -> Callable[[], Iterable[Sample]]:
        """May be yours: what becomes of a batch of samples. By default they stay as they are."""
        return lambda: iter(samples)

    def run_from_stdin(self) -> None:
        """Writes to stdout what the lines of stdin give."""
        self._write(sample for line in sys.stdin for sample in self._samples(line))

    def run_from_memory(self) -> None:
        """Writes to stdout what generate_sample(None) gives."""
        self._write(self._samples(None))

    def _samples(self, line: Optional[str]) -> Iterator[Sample]:
        return (s for s in self.generate_sample(line)() if s is not None)

    def _write(self, samples: Iterable[Sample]) -> None:
        batch: List[Sample] = []
        for sample in samples:
            batch.append(sample)
            if len(batch) == self.batch_size_:
                self._flush(batch)
                batch = []
        if batch:
            self._flush(batch)

    def _flush(self, batch: List[Sample]) -> None:
        sys.stdout.write("".join(self._line(s) for s in self.generate_batch(batch)()))

    def _line(self, sample: Sample) -> str:
        raise NotImplementedError("use MultiSlotDataGenerator or MultiSlotStringDataGenerator")


class _Slots(DataGenerator):
    """Every sample has the same slots in the same order."""

    def __init__(self):
        super().__init__()
        self._names: Optional[List[str]] = None

    def _line(self, sample: Sample) -> str:
        if not isinstance(sample, (list, tuple)):
            raise ValueError("the output of process() must be in list or tuple type, got "
                             f"{type(sample).__name__}; wrap a zip or map in list(…)")
        names = [name for name, _ in sample]
        if self._names is None:
            for name in names:
                if not isinstance(name, str):
                    raise ValueError(f"the name of a slot must be a str, got {name!r}")
            self._names = names
        elif names != self._names:
            if len(names) != len(self._names):
                raise ValueError("the complete field set of two given line are inconsistent: "
                                 f"{len(self._names)} slots before, {len(names)} now")
            old, new = next((a, b) for a, b in zip(self._names, names) if a != b)
            raise ValueError(f"the field name of two given line are not match: require<{old}>, get<{new}>.")
        parts = []
        for name, values in sample:
            if not isinstance(values, (list, tuple)):
                raise ValueError(f"the values of slot {name} must be a list or a tuple, got {type(values).__name__}")
            if not values:
                raise ValueError(f"slot {name} has no value; pad it, an empty slot cannot be written")
            parts.append(str(len(values)))
            parts.extend(self._texts(name, values))
        return " ".join(parts) + "\n"

    def _texts(self, name: str, values: Sequence[Any]) -> Iterable[str]:
        raise NotImplementedError


class MultiSlotDataGenerator(_Slots):
    """Writes numbers: whole ones for slots of ids, floats for slots of floats."""

    def _texts(self, name: str, values: Sequence[Any]) -> Iterable[str]:
        for value in values:
            if isinstance(value, bool) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
                raise ValueError(f"the values of slot {name} must be int or float, got {value!r}")
        return map(str, values)


class MultiSlotStringDataGenerator(_Slots):
    """Writes texts as they are: no number is converted, so it is faster where the input has texts already."""

    def _texts(self, name: str, values: Sequence[Any]) -> Iterable[str]:
        for value in values:
            if not isinstance(value, str):
                raise ValueError(f"the values of slot {name} must be str, got {value!r}")
        return values
