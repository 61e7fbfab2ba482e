"""Reviews of films, good or bad (`aclImdb_v1.tar.gz`)."""
import random
import re
import string
import tarfile
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from .common import count_words, find

__all__ = ["build_dict", "fetch", "test", "train", "word_dict"]

FILE = "aclImdb_v1.tar.gz"
Document = Tuple[str, List[str]]  # its path in the archive, its words
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _generated() -> Iterator[Document]:
    """1,000 documents for training and 400 for tests: neutral words, and some that only one kind of reviews has."""
    draw = random.Random(1)
    for part, count in (("train", 500), ("test", 200)):
        for number in range(count):
            for kind in ("pos", "neg"):
                words = [f"{kind}{draw.randrange(20)}" if draw.random() < 0.3 else f"word{draw.randrange(80)}"
                         for _ in range(draw.randint(20, 60))]
                yield f"aclImdb/{part}/{kind}/{number}.txt", words


def _documents() -> Iterator[Document]:
    path = find("imdb", FILE, "reviews")
    if path is None:
        yield from _generated()
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".txt"):
                text = archive.extractfile(member).read().decode("utf-8", "replace")
                yield member.name, text.rstrip("\n\r").translate(_NO_PUNCTUATION).lower().split()


def _matching(pattern) -> Iterator[List[str]]:
    wanted = re.compile(pattern)
    return (words for name, words in _documents() if wanted.match(name))


def build_dict(pattern, cutoff: int) -> Dict[str, int]:
    """Word -> number, from the most frequent on, for words that occur more than `cutoff` times in documents whose
    path matches the pattern. `<unk>` is the last number."""
    words = [word for word, count in count_words(_matching(pattern)) if count > cutoff]
    return {word: number for number, word in enumerate([*words, "<unk>"])}


def word_dict() -> Dict[str, int]:
    """The dictionary of all reviews: words that occur more than 150 times."""
    return build_dict(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$", 150)


def _reader(part: str, word_idx: Dict[str, int]) -> Callable[[], Iterator[Tuple[List[int], int]]]:
    unknown = word_idx["<unk>"]

    def samples():
        for label, kind in enumerate(("pos", "neg")):
            for words in _matching(rf"aclImdb/{part}/{kind}/.*\.txt$"):
                yield [word_idx.get(word, unknown) for word in words], label

    return samples


def train(word_idx: Dict[str, int]) -> Callable[[], Iterator[Tuple[List[int], int]]]:
    """A reader of (numbers of words, 0 for a good and 1 for a bad review): first all good ones, then the bad ones."""
    return _reader("train", word_idx)


def test(word_idx: Dict[str, int]) -> Callable[[], Iterator[Tuple[List[int], int]]]:
    """As `train`, of the test part."""
    return _reader("test", word_idx)


def fetch() -> Optional[str]:
    """The path of the archive, or None where reviews are generated. Nothing is downloaded."""
    return find("imdb", FILE, "reviews")
