"""Sentences in French and English (`wmt14.tgz`, with a dictionary of 30,000 words for each language)."""
import random
import tarfile
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from .common import find

__all__ = ["fetch", "gen", "get_dict", "test", "train"]

FILE = "wmt14.tgz"
START, END, UNK, UNK_IDX = "<s>", "<e>", "<unk>", 2
MAX_WORDS = 80
Sample = Tuple[List[int], List[int], List[int]]
_WORDS = 200  # of a generated language


def _members(path: str, ending: str) -> Iterator[str]:
    """Lines of the files in the archive whose names end so."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(ending):
                for line in archive.extractfile(member):
                    yield line.decode("utf-8", "replace").rstrip("\n")


def _dictionaries(dict_size: int) -> Tuple[Dict[str, int], Dict[str, int]]:
    path = find("wmt14", FILE, "sentences")
    out = []
    for language in ("src", "trg"):
        words = [START, END, UNK, *(f"{language}{n}" for n in range(_WORDS))]
        lines = words if path is None else _members(path, f"{language}.dict")
        out.append({word.strip(): number for number, word in zip(range(dict_size), lines)})
    return out[0], out[1]


def _generated(part: str) -> Iterator[Tuple[str, str]]:
    """Sentences that are translated word by word, in the opposite order."""
    draw = random.Random(part)
    for _ in range(2000 if part == "train" else 200):
        words = [draw.randrange(_WORDS) for _ in range(draw.randint(3, 12))]
        yield " ".join(f"src{w}" for w in words), " ".join(f"trg{w}" for w in reversed(words))


def _reader(part: str, dict_size: int) -> Callable[[], Iterator[Sample]]:
    def samples():
        source, target = _dictionaries(dict_size)
        path = find("wmt14", FILE, "sentences")
        pairs = _generated(part) if path is None else (
            line.split("\t") for line in _members(path, f"{part}/{part}"))
        for pair in pairs:
            if len(pair) != 2:
                continue
            from_ids = [source.get(w, UNK_IDX) for w in [START, *pair[0].split(), END]]
            to_ids = [target.get(w, UNK_IDX) for w in pair[1].split()]
            if len(from_ids) <= MAX_WORDS and len(to_ids) <= MAX_WORDS:
                yield from_ids, [target[START], *to_ids], [*to_ids, target[END]]

    return samples


def train(dict_size: int) -> Callable[[], Iterator[Sample]]:
    """A reader of (numbers of `<s>` source `<e>`, of `<s>` target, of target `<e>`).

    dict_size: so many words of each dictionary count; the others are `<unk>`.
    """
    return _reader("train", dict_size)


def test(dict_size: int) -> Callable[[], Iterator[Sample]]:
    """As `train`, of the test part."""
    return _reader("test", dict_size)


def gen(dict_size: int) -> Callable[[], Iterator[Sample]]:
    """As `train`, of the part for generating."""
    return _reader("gen", dict_size)


def get_dict(dict_size: int, reverse: bool = True) -> Tuple[Dict, Dict]:
    """The dictionaries of the source and the target language: number -> word, or word -> number."""
    both = _dictionaries(dict_size)
    return tuple({n: w for w, n in d.items()} for d in both) if reverse else both


def fetch() -> Optional[str]:
    """The path of the archive, or None where sentences are generated. Nothing is downloaded."""
    return find("wmt14", FILE, "sentences")
