"""fluid.embedding and fluid.one_hot: as those of fluid.layers, for ids of any shape.

`fluid.layers.embedding` and `fluid.layers.one_hot` want ids that end in a dimension of 1 and drop it; these take
ids as they are and add a dimension.
"""
from __future__ import annotations

import copy
from typing import Optional, Sequence

from . import core, unique_name
from .framework import default_main_program
from .layers._call import Attr, DType, Variable, _check_variables, call
from .layers._numbers import Int, given_one
from .layers.tensor import create_parameter
from .param_attr import ParamAttr

__all__ = ["embedding", "one_hot"]


def _result(layer: str, op: str, inputs: dict, attrs: dict, out_dtype) -> Variable:
    block = default_main_program().current_block()
    out = block.create_var(name=block._new_name(f"{layer}.tmp"), dtype=out_dtype)
    block.append_op(type=op, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def one_hot(input: Variable, depth: Int, allow_out_of_range: bool = False) -> Variable:
    """Rows of `depth` elements, 1 at the place of the id, else 0.

    Args:
        input: int64 or int32 ids of any shape.
        depth: how many ids there are.
        allow_out_of_range: an id outside of [0, depth) gives zeros instead of an error.

    Returns:
        float32, the shape of the ids with `depth` behind it.

    Example:
        >>> fluid.one_hot(fluid.data("ids", [None], dtype="int64"), depth=4)   # [-1, 4]
    """
    _check_variables("one_hot", "input", input)
    number, slots = given_one("one_hot", "depth", depth, "depth_tensor")
    if not slots and not isinstance(number, int):
        raise TypeError(f"one_hot: depth must be an int or a Variable, found {type(depth).__name__}")
    return _result(unique_name.generate("one_hot_v2"), "one_hot_v2", {"X": [input], **slots},
                   {"depth": -1 if slots else number, "allow_out_of_range": bool(allow_out_of_range)}, "float32")


def embedding(input: Variable, size: Sequence[int], is_sparse: bool = False, is_distributed: bool = False,
              padding_idx: Optional[int] = None, param_attr: Attr = None, dtype: DType = "float32") -> Variable:
    """Rows of a table, by ids of any shape.

    Args:
        input: int64 ids.
        size: [rows, width] of the table; [-1, width] with is_distributed: any id.
        is_sparse: the gradient holds only the rows that were used, not the whole table.
        is_distributed: a sparse table, see `fluid.layers.embedding`.
        padding_idx: this id gives zeros and learns nothing; negative counts from the end of the table.
        param_attr: the table; by default Xavier's values, named "embedding_0.w_0".
        dtype: element type of the table.

    Returns:
        The rows: the shape of the ids with the width behind it.

    Example:
        >>> words = fluid.data("words", [None, 20], dtype="int64")
        >>> fluid.embedding(words, size=[10000, 64])   # [-1, 20, 64]
    """
    _check_variables("embedding", "input", input)
    attr = copy.copy(ParamAttr._to_attr(param_attr))
    if attr is False:
        raise ValueError("embedding: param_attr=False means no table")
    layer = unique_name.generate("embedding")
    attr.name = attr.name or unique_name.generate(f"{layer}.w")
    padding = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
    if is_distributed:
        table = call("create_parameter", shape=list(size), dtype=dtype, attr=attr, is_distributed=True)
    else:
        table = create_parameter(shape=list(size), dtype=dtype, attr=attr)
    return _result(layer, "lookup_table_v2", {"W": [table], "Ids": [input]},
                   {"is_sparse": bool(is_sparse), "is_distributed": bool(is_distributed), "padding_idx": padding},
                   core.dtype_name(dtype))
