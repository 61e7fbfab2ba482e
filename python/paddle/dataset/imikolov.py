"""Text for language models: the Penn Treebank (`ptb.train.txt`, `ptb.valid.txt`), or else another text."""
import enum
from typing import Callable, Dict, Iterator, Tuple

from .. import _core
from .common import places, print_once

__all__ = ["DataType", "build_dict", "lines", "test", "train"]


class DataType(enum.IntEnum):
    """What a sample is: n words in a row, or a sentence and the same one word later."""
    NGRAM = 1
    SEQ = 2


def _report_missing(test_part: bool) -> None:
    missing = _core.text_missing(places(), test_part)
    if missing:
        print_once(f"paddle.dataset.{missing}: sentences are generated from seed 1")


def build_dict(min_word_freq: int = 50) -> Dict[str, int]:
    """Word -> number, from the most frequent on, for words that occur more than `min_word_freq` times.

    `<s>` and `<e>` count once per line; `<unk>` is the last number.
    """
    _report_missing(False)
    return _core.build_dictionary(places(), min_word_freq=min_word_freq)


def lines(test_part: bool = False) -> Callable[[], Iterator[str]]:
    """A reader of the lines of the training or the test part, as text."""
    def read():
        _report_missing(test_part)
        yield from _core.text_lines(places(), test_part)

    return read


def _reader(word_idx: Dict[str, int], n: int, data_type: DataType, test_part: bool) -> Callable[[], Iterator[Tuple]]:
    unknown = word_idx["<unk>"]
    if data_type not in (DataType.NGRAM, DataType.SEQ):
        raise ValueError(f"data_type must be DataType.NGRAM or DataType.SEQ, got {data_type!r}")
    if data_type == DataType.NGRAM and n <= 0:
        raise ValueError(f"n must be the number of words of a sample, got {n}")

    def samples():
        _report_missing(test_part)
        begin, end = word_idx.get("<s>", unknown), word_idx.get("<e>", unknown)
        for line in _core.text_lines(places(), test_part):
            ids = [word_idx.get(word, unknown) for word in line.split()]
            if data_type == DataType.NGRAM:
                ids = [begin, *ids, end]
                yield from zip(*[ids[i:] for i in range(n)])
            else:
                source, target = [begin, *ids], [*ids, end]
                if n <= 0 or len(source) <= n:
                    yield source, target

    return samples


def train(word_idx: Dict[str, int], n: int, data_type: DataType = DataType.NGRAM) -> Callable[[], Iterator[Tuple]]:
    """A reader of the training part.

    NGRAM: tuples of `n` numbers, every run of n words within `<s>` line `<e>`.
    SEQ: (`<s>` line, line `<e>`), without lines that are longer than `n` (n <= 0: all).
    """
    return _reader(word_idx, n, data_type, False)


def test(word_idx: Dict[str, int], n: int, data_type: DataType = DataType.NGRAM) -> Callable[[], Iterator[Tuple]]:
    """As `train`, of the test part."""
    return _reader(word_idx, n, data_type, True)
