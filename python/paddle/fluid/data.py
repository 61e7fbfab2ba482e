"""fluid.data: an input with its full shape."""
from __future__ import annotations

from typing import Optional, Sequence

from .layers._call import Variable, call

__all__ = ["data"]


def data(name: str, shape: Sequence[Optional[int]], dtype="float32", lod_level: int = 0) -> Variable:
    """A variable that is fed, as `fluid.layers.data`, but with its full shape: nothing is put in front.

    Args:
        name: the key of `feed`.
        shape: all lengths; None or -1 is one that is known only when it is fed.
        dtype: element type.
        lod_level: 1 for sequences, 0 for plain tensors.

    Example:
        >>> x = fluid.data(name="x", shape=[None, 13], dtype="float32")
    """
    out = call("data", name=name, shape=[-1 if length is None else length for length in shape],
               append_batch_size=False, dtype=dtype, lod_level=lod_level)
    out.is_data = True
    return out
