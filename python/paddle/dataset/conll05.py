"""Sentences with the parts that belong to a verb (CoNLL 2005: `conll05st-tests.tar.gz` and its dictionaries)."""
import gzip
import random
import tarfile
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from .common import find

__all__ = ["fetch", "get_dict", "get_embedding", "test"]

FILE = "conll05st-tests.tar.gz"
UNK_IDX = 0
Sentence = Tuple[List[str], str, List[str]]  # words, the verb, one label per word
_NOUNS, _VERBS = 60, 12  # of generated sentences


def _generated() -> Iterator[Sentence]:
    """500 sentences: who (A0), does, what (A1), and words that belong to neither."""
    draw = random.Random(1)
    for _ in range(500):
        verb = f"verb{draw.randrange(_VERBS)}"
        words, labels = [], []
        lengths = {"A0": draw.randint(1, 3), "V": 1, "A1": draw.randint(1, 4), "O": draw.randint(0, 2)}
        for role, count in lengths.items():
            for i in range(count):
                words.append(verb if role == "V" else f"word{draw.randrange(_NOUNS)}")
                labels.append("O" if role == "O" else f"{'B' if i == 0 else 'I'}-{role}")
        yield words, verb, labels


def _labels_of(column: List[str]) -> List[str]:
    """Marks such as "(A0*", "*" and "*)" as labels "B-A0", "I-A0", "O"."""
    out, tag = [], None
    for mark in column:
        if "(" in mark:
            tag = mark[1:mark.index("*")]
            out.append(f"B-{tag}")
        elif mark in ("*", "*)"):
            out.append("O" if tag is None else f"I-{tag}")
        else:
            raise ValueError(f"{FILE}: there is no mark {mark!r} in props files")
        if mark.endswith(")"):
            tag = None
    return out


def _lines(archive: tarfile.TarFile, name: str) -> Iterator[str]:
    with gzip.open(archive.extractfile(name), "rt", encoding="utf-8") as f:
        yield from f


def _read(path: str) -> Iterator[Sentence]:
    """A word and its marks per line: the first column of marks has the verbs, each further one the parts of a verb."""
    with tarfile.open(path) as archive:
        words: List[str] = []
        marks: List[List[str]] = []
        base = "conll05st-release/test.wsj/"
        pairs = zip(_lines(archive, base + "words/test.wsj.words.gz"),
                    _lines(archive, base + "props/test.wsj.props.gz"))
        for word, line in pairs:
            if line.split():
                words.append(word.strip())
                marks.append(line.split())
                continue
            columns = list(zip(*marks))
            verbs = [verb for verb in columns[0] if verb != "-"] if columns else []
            for verb, column in zip(verbs, columns[1:]):
                yield words, verb, _labels_of(list(column))
            words, marks = [], []


def _words_of(file_name: str, generated: List[str]) -> List[str]:
    path = find("conll05st", file_name, "words")
    if path is None:
        return generated
    with open(path, encoding="utf-8") as f:
        return [line.strip() for line in f]


def get_dict() -> Tuple[Dict[str, int], Dict[str, int], Dict[str, int]]:
    """Numbers of words, of verbs and of labels. The word number 0 stands for all that are not in the dictionary."""
    verbs = [f"verb{n}" for n in range(_VERBS)]
    words = _words_of("wordDict.txt", ["<unk>", "bos", "eos", *verbs, *(f"word{n}" for n in range(_NOUNS))])
    labels = _words_of("targetDict.txt", [f"{place}-{role}" for role in ("A0", "A1", "V") for place in "BI"] + ["O"])
    tags = sorted({label[2:] for label in labels if label[:2] in ("B-", "I-")})
    numbered = [f"{place}-{tag}" for tag in tags for place in "BI"] + ["O"]
    return tuple({w: n for n, w in enumerate(each)} for each in (words, _words_of("verbDict.txt", verbs), numbered))


def get_embedding() -> str:
    """The path of the file `emb` of trained word vectors; FileNotFoundError where it is not on this machine."""
    path = find("conll05st", "emb", "no vectors")
    if path is None:
        raise FileNotFoundError("the word vectors of conll05st (emb) are not on this machine; nothing is downloaded")
    return path


def test() -> Callable[[], Iterator[tuple]]:
    """A reader of nine lists, each as long as the sentence.

    Numbers of the words; of the word two before the verb, one before it, of the verb, one and two behind it, each
    repeated; of the verb among verbs, repeated; 1 for these five words and 0 for the others; of the labels.
    """
    def samples():
        word_dict, verb_dict, label_dict = get_dict()
        path = find("conll05st", FILE, "sentences")
        for words, verb, labels in (_generated() if path is None else _read(path)):
            at, length = labels.index("B-V"), len(words)
            near = [words[i] if 0 <= i < length else "bos" if i < 0 else "eos" for i in range(at - 2, at + 3)]
            context = [[word_dict.get(word, UNK_IDX)] * length for word in near]
            mark = [int(abs(i - at) <= 2) for i in range(length)]
            yield ([word_dict.get(word, UNK_IDX) for word in words], *context, [verb_dict.get(verb)] * length, mark,
                   [label_dict.get(label) for label in labels])

    return samples


def fetch() -> Optional[str]:
    """The path of the archive, or None where sentences are generated. Nothing is downloaded."""
    return find("conll05st", FILE, "sentences")
