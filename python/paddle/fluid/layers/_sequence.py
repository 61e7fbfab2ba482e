"""Layers that move rows of sequences."""
from __future__ import annotations

from typing import Optional, Sequence, Tuple

from ..core import convert_np_dtype_to_dtype_
from ._call import DType, Variable, call
from ._numbers import Int, append, given_one

__all__ = ["lod_reset", "sequence_concat", "sequence_expand_as", "sequence_mask", "sequence_pad", "sequence_reverse",
           "sequence_unpad"]


def sequence_reverse(x: Variable, name: Optional[str] = None) -> Variable:
    """Each sequence backwards."""
    return call("sequence_reverse", x=x, name=name)


def sequence_concat(input: Sequence[Variable], name: Optional[str] = None) -> Variable:
    """Sequence i of the result is sequence i of all inputs, one behind the other."""
    return call("sequence_concat", input=list(input), name=name)


def sequence_expand_as(x: Variable, y: Variable, name: Optional[str] = None) -> Variable:
    """Row i of x as often as sequence i of y is long."""
    return call("sequence_expand_as", x=x, y=y, name=name)


def sequence_pad(x: Variable, pad_value: Variable, maxlen: Optional[int] = None,
                 name: Optional[str] = None) -> Tuple[Variable, Variable]:
    """Sequences as one array [sequences, length, ...], and their lengths, int64 [sequences].

    Args:
        x: sequences.
        pad_value: what fills up, one element or one row.
        maxlen: the length; that of the longest sequence where it is not given.
        name: stands in front of the names of the results.
    """
    padded, lengths = call("sequence_pad", x=x, pad_value=pad_value, maxlen=maxlen, name=name)
    lengths.stop_gradient = True
    return padded, lengths


def sequence_unpad(x: Variable, length: Variable, name: Optional[str] = None) -> Variable:
    """The first length[i] rows of x[i] as sequence i; what sequence_pad() did, undone."""
    return call("sequence_unpad", x=x, length=length, name=name)


def sequence_mask(x: Variable, maxlen: Optional[Int] = None, dtype: DType = "int64",
                  name: Optional[str] = None) -> Variable:
    """1 for the first x[i] of `maxlen` places, 0 for the rest: the shape of x with `maxlen` behind it.

    Args:
        x: lengths, int32 or int64.
        maxlen: a number or a variable; the largest length where it is not given.
        dtype: element type of the result.
        name: stands in front of the name of the result.
    """
    number, slots = given_one("sequence_mask", "maxlen", -1 if maxlen is None else maxlen, "MaxLenTensor")
    attrs = {"out_dtype": convert_np_dtype_to_dtype_(dtype), "maxlen": -1 if slots else number}
    out = append("sequence_mask", {"X": x, **slots}, attrs, ("Y",), name=name)[0]
    out.stop_gradient = True
    return out


def lod_reset(x: Variable, y: Optional[Variable] = None, target_lod: Optional[Sequence[int]] = None) -> Variable:
    """The rows of x as other sequences: those of y, or those of the offsets `target_lod` ([0, 2, 5])."""
    if y is None and target_lod is None:
        raise ValueError("lod_reset: give y or target_lod")
    return call("lod_reset", x=x, y=y, target_lod=target_lod)
