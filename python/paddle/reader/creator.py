"""Readers from arrays and files."""
from typing import Any

from .decorator import Reader

__all__ = ["np_array", "text_file"]


def np_array(x: Any) -> Reader:
    """A reader of the rows of an array (its elements where it has one dimension)."""
    def rows():
        yield from ([x] if getattr(x, "ndim", 1) == 0 else x)

    return rows


def text_file(path: str) -> Reader:
    """A reader of the lines of a file, without their ends."""
    def lines():
        with open(path, encoding="utf-8") as f:
            for line in f:
                yield line.rstrip("\n")

    return lines
