"""Readers and what wraps them.

A *reader* is a function without arguments that gives an iterator of samples; each call begins a new pass. The functions
here take readers and give readers:

>>> numbers = lambda: iter(range(6))
>>> list(firstn(map_readers(lambda a, b: a * b, numbers, numbers), 3)())
[0, 1, 4]
"""
from . import creator
from .decorator import (ComposeNotAligned, Fake, buffered, cache, chain, compose, firstn, map_readers, shuffle)
from .parallel import multiprocess_reader, xmap_readers
from .pipe import PipeReader

__all__ = [
    "ComposeNotAligned", "Fake", "PipeReader", "buffered", "cache", "chain", "compose", "creator", "firstn",
    "map_readers", "multiprocess_reader", "shuffle", "xmap_readers",
]
