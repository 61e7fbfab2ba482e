"""Where data sets are, and files of samples for jobs with several trainers."""
import collections
import glob
import hashlib
import os
import pickle
import sys
from typing import IO, Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

import numpy as np

from .. import _core, plain_pickle

__all__ = ["DATA_HOME", "cluster_files_reader", "download", "md5file", "split"]

DATA_HOME = os.environ.get("PADDLE_DATA_HOME") or os.path.expanduser("~/.cache/paddle/dataset")
"""Where `download` expects files."""

data_dir = os.environ.get("PADDLE_INIT_DATA_DIR", "")
"""Searched first; `paddle.v2.init(data_dir=…)` sets it."""

_printed: set = set()
_idle: Dict[Any, list] = {}  # readers of sets that are in memory, by where they came from


def places() -> "_core.DataPlaces":
    """Where sets are searched for, in order."""
    return _core.DataPlaces(data_dir, os.environ.get("PADDLE_DATA_HOME", ""), os.path.expanduser("~"))


def print_once(sentence: str) -> None:
    """Warns on stderr that records are generated: each sentence once per process, and a reminder when the script
    ends."""
    if sentence not in _printed:
        import atexit
        atexit.unregister(_remind)  # registered once, however many sets there are
        atexit.register(_remind)
        _printed.add(sentence)
        print("warning: " + sentence, file=sys.stderr)


def _remind() -> None:
    print("warning: this script used generated data, and its figures say nothing about real data", file=sys.stderr)


def read_known(set_name: str, first_file: str, test: bool) -> Iterator[List[np.ndarray]]:
    """A pass over a known set, as arrays of batches; says where its records are generated.

    A set that was read stays in memory for the next pass: every pass takes a reader that no other one uses.
    """
    key = (set_name, test, data_dir, os.environ.get("PADDLE_DATA_HOME"), os.path.expanduser("~"))
    idle = _idle.setdefault(key, [])
    reader = idle.pop() if idle else _core.DataReader(set_name, places(), test=test)
    if _core.find_dataset(set_name, first_file, places()) is None:
        print_once(f"paddle.dataset.{reader.source()}")
    try:
        reader.start_pass(0)
        yield from reader
    finally:
        idle.append(reader)


def find(set_name: str, file_name: str, records: str) -> Optional[str]:
    """The path of a set's file, or None where it is not on this machine; then says that `records` are generated."""
    for path in (os.path.join(DATA_HOME, set_name, file_name), _core.find_dataset(set_name, file_name, places())):
        if path and os.path.isfile(path):
            return path
    print_once(f"paddle.dataset.{set_name}: {file_name} is not on this machine (put it into "
               f"{os.path.join(DATA_HOME, set_name)}): {records} are generated from seed 1")
    return None


def count_words(documents: Iterable[Iterable[str]]) -> List[Tuple[str, int]]:
    """(word, how often), from the most frequent on; words that are equally frequent by their letters."""
    counts = collections.Counter(word for document in documents for word in document)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def md5file(fname: str) -> str:
    """The MD5 sum of a file, in hexadecimal."""
    digest = hashlib.md5(usedforsecurity=False)
    with open(fname, "rb") as f:
        while piece := f.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def download(url: str, module_name: str, md5sum: str, save_name: str | None = None) -> str:
    """The path of a file that is on this machine already. Nothing is downloaded.

    The file has the last part of `url` (or `save_name`) as its name and is searched for where data sets are, under
    `module_name`. Raises FileNotFoundError that says where to put it, or ValueError where its MD5 sum is another.
    """
    name = save_name or url.rsplit("/", 1)[-1]
    for path in (os.path.join(DATA_HOME, module_name, name), _core.find_dataset(module_name, name, places())):
        if path and os.path.isfile(path):
            break
    else:
        raise FileNotFoundError(f"{name} is not on this machine, and this program never downloads: fetch {url} and put "
                                f"it at {os.path.join(DATA_HOME, module_name, name)}")
    if md5sum and md5file(path) != md5sum:
        raise ValueError(f"{path} has the MD5 sum {md5file(path)}, expected {md5sum}: it is incomplete or another "
                         f"file; fetch {url} again")
    return path


def split(reader: Callable[[], Iterator[Any]], line_count: int, suffix: str = "%05d.pickle",
          dumper: Callable = pickle.dump) -> None:
    """Writes the samples of a reader to files of `line_count` samples each.

    suffix: the names of the files, with the number in them.
    dumper(samples, f): writes a list of samples to a file.
    """
    if "%" not in suffix:
        raise ValueError(f"suffix must have a place for the number of the file, as '%05d.pickle' has; got {suffix!r}")
    samples, number = [], 0

    def flush():
        with open(suffix % number, "wb") as f:
            dumper(samples, f)

    for sample in reader():
        samples.append(sample)
        if len(samples) == line_count:
            flush()
            samples, number = [], number + 1
    if samples:
        flush()


def load_samples(f: IO[bytes]) -> Any:
    """What `split` wrote, as far as it is made of numbers, texts, lists, tuples, dicts and arrays."""
    try:
        return plain_pickle.load(f)
    except pickle.UnpicklingError as e:
        raise pickle.UnpicklingError(f"the file {getattr(f, 'name', '')!r} is not read: {e}; give a loader for "
                                     "files that you trust") from e


def cluster_files_reader(files_pattern: str, trainer_count: int, trainer_id: int,
                         loader: Optional[Callable] = None) -> Callable[[], Iterator[Any]]:
    """A reader of the samples in every `trainer_count`-th file that matches the pattern, from number `trainer_id` on.

    loader(f): the list of samples of a file that `split` wrote. None reads numbers, texts and arrays, as files are not
        trusted; other objects need a loader of your own, such as pickle.load.
    """
    if not 0 <= trainer_id < trainer_count:
        raise ValueError(f"trainer_id must be 0 to {trainer_count - 1}, got {trainer_id}")

    def samples():
        files = sorted(glob.glob(files_pattern))
        if not files:
            raise FileNotFoundError(f"no file matches {files_pattern}")
        for path in files[trainer_id::trainer_count]:
            with open(path, "rb") as f:
                yield from (loader or load_samples)(f)

    return samples
