"""Known data sets, read from where they are on this machine; nothing is ever downloaded.

A set is searched for in the directory of `--data_dir` (environment: PADDLE_INIT_DATA_DIR), in PADDLE_DATA_HOME and in
`~/.cache/paddle/dataset`, in each also in a directory of the set's name; files may be plain, .gz or .xz. Where a set is
nowhere, records of the same shape are generated from a fixed seed, and a line on stderr says so.
"""
from typing import TYPE_CHECKING

from ..unsupported import instead_of
from . import cifar, common, conll05, imdb, imikolov, mnist, movielens, sentiment, uci_housing, wmt14

__all__ = ["cifar", "common", "conll05", "imdb", "imikolov", "mnist", "movielens", "sentiment", "uci_housing", "wmt14"]


if not TYPE_CHECKING:  # checkers of types report unknown names by themselves
    def __getattr__(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"paddle.dataset has no '{name}'{instead_of('dataset', name)}")
