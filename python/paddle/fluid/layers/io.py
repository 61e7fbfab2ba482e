"""Inputs of a program."""
from __future__ import annotations

from typing import Sequence

from ._call import DType, Variable, call

__all__ = ["data"]


def data(name: str, shape: Sequence[int], append_batch_size: bool = True, dtype: DType = "float32", lod_level: int = 0,
         type=None, stop_gradient: bool = True) -> Variable:
    """A variable that is fed.

    Args:
        name: the key of `feed`; the variable keeps it.
        shape: of one sample; -1 (or None) is a length that is known only when it is fed.
        append_batch_size: puts -1, the number of samples, in front of the shape, unless some length is unknown.
        dtype: element type.
        lod_level: 1 for sequences of different lengths, 2 for sequences of sequences, 0 for plain tensors.
        type: only LoD tensors can be fed; accepted for old scripts.
        stop_gradient: no gradient flows into it.

    Example:
        >>> x = fluid.layers.data(name="x", shape=[13], dtype="float32")   # [-1, 13]
        >>> words = fluid.layers.data(name="words", shape=[1], dtype="int64", lod_level=1)
    """
    shape = [-1 if length is None else length for length in shape]
    out = call("data", name=name, shape=shape, append_batch_size=append_batch_size, dtype=dtype,
               lod_level=lod_level, stop_gradient=stop_gradient)
    out.is_data = True
    return out
