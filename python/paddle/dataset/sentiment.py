"""Reviews of films in whole sentences, good or bad (`movie_reviews.zip`, 1,000 of each)."""
import random
import re
import zipfile
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from .common import count_words, find

__all__ = ["NUM_TOTAL_INSTANCES", "NUM_TRAINING_INSTANCES", "fetch", "get_word_dict", "test", "train"]

NUM_TRAINING_INSTANCES = 1600
NUM_TOTAL_INSTANCES = 2000
FILE = "movie_reviews.zip"
_TOKEN = re.compile(r"\w+|[^\w\s]+")
_kept: Dict[Optional[str], List[Tuple[List[str], int]]] = {}  # by where they came from


def _generated() -> List[Tuple[List[str], int]]:
    draw, kinds, out = random.Random(1), ("bad", "good"), []
    for number in range(NUM_TOTAL_INSTANCES):
        label = number % 2
        out.append(([f"{kinds[label]}{draw.randrange(30)}" if draw.random() < 0.3 else f"word{draw.randrange(100)}"
                     for _ in range(draw.randint(20, 50))], label))
    return out


def _read(path: str) -> List[Tuple[List[str], int]]:
    """Bad and good reviews in turn, so that every part of them has both."""
    with zipfile.ZipFile(path) as archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".txt"))
        kinds = [[n for n in names if f"/{kind}/" in n] for kind in ("neg", "pos")]
        return [(_TOKEN.findall(archive.read(name).decode("utf-8", "replace").lower()), label)
                for pair in zip(*kinds) for label, name in enumerate(pair)]


def _documents() -> List[Tuple[List[str], int]]:
    path = find("sentiment", FILE, "reviews")
    if path not in _kept:
        _kept[path] = _generated() if path is None else _read(path)
    return _kept[path]


def get_word_dict() -> List[Tuple[str, int]]:
    """(word, number) of all words, from the most frequent on."""
    return [(word, number) for number, (word, _) in enumerate(count_words(words for words, _ in _documents()))]


def _reader(first: int, last: int) -> Callable[[], Iterator[Tuple[List[int], int]]]:
    def samples():
        numbers = dict(get_word_dict())
        for words, label in _documents()[first:last]:
            yield [numbers[word] for word in words], label

    return samples


def train() -> Callable[[], Iterator[Tuple[List[int], int]]]:
    """A reader of (numbers of words, 0 for a bad and 1 for a good review): the first 1,600."""
    return _reader(0, NUM_TRAINING_INSTANCES)


def test() -> Callable[[], Iterator[Tuple[List[int], int]]]:
    """As `train`: the other 400."""
    return _reader(NUM_TRAINING_INSTANCES, NUM_TOTAL_INSTANCES)


def fetch() -> Optional[str]:
    """The path of the archive, or None where reviews are generated. Nothing is downloaded."""
    return find("sentiment", FILE, "reviews")
