"""Variables, constants, copies and element types."""
from __future__ import annotations

import copy
from typing import Optional, Sequence, Union

import numpy as np

from ..core import convert_np_dtype_to_dtype_
from ._call import Attr, DType, Variable, Variables, call
from ._numbers import Ints, append, given

__all__ = ["argmax", "argmin", "assign", "cast", "concat", "create_global_var", "create_parameter", "create_tensor",
           "fill_constant", "fill_constant_batch_size_like", "isfinite", "ones", "sums", "zeros", "zeros_like"]


def create_tensor(dtype: DType, name: Optional[str] = None, persistable: bool = False) -> Variable:
    """A variable without a value, for layers that write into a given one (`out=`)."""
    from ..framework import default_main_program
    block = default_main_program().current_block()
    return block.create_var(name=name or block._new_name("create_tensor"), dtype=dtype, persistable=persistable)


def create_parameter(shape: Sequence[int], dtype: DType, name: Optional[str] = None, attr: Attr = None,
                     is_bias: bool = False, default_initializer=None) -> Variable:
    """A parameter without a layer.

    Args:
        shape: of the parameter.
        dtype: element type.
        name: of the parameter; without it one is made.
        attr: a ParamAttr.
        is_bias: starts with 0, not with Xavier's values.
        default_initializer: first values, where `attr` has none.
    """
    from ..param_attr import ParamAttr
    attr = ParamAttr._to_attr(attr)
    if attr is False:
        raise ValueError("create_parameter: attr=False means no parameter")
    if default_initializer is not None and attr.initializer is None:
        attr = copy.copy(attr)
        attr.initializer = default_initializer
    return call("create_parameter", shape=shape, dtype=dtype, name=name, attr=attr, is_bias=is_bias)


def create_global_var(shape: Sequence[int], value: float, dtype: DType, persistable: bool = False,
                      force_cpu: bool = False, name: Optional[str] = None) -> Variable:
    """A variable with a first value, made by the startup program; with `persistable` it lives from run to run."""
    return call("create_global_var", shape=shape, value=value, dtype=dtype, persistable=persistable, name=name)


def cast(x: Variable, dtype: DType) -> Variable:
    """Another element type."""
    return call("cast", input=x, dtype=dtype)


def concat(input: Variables, axis: int = 0, name: Optional[str] = None) -> Variable:
    """Puts variables one after the other along dimension `axis`.

    Example:
        >>> both = fluid.layers.concat(input=[a, b], axis=1)   # [N, 2], [N, 3] -> [N, 5]
    """
    return call("concat", input=input, axis=axis, name=name)


def sums(input: Variables, out: Optional[Variable] = None) -> Variable:
    """Adds up variables of one shape; into `out` where it is given."""
    return call("sums", input=input, out=out)


def assign(input: Union[Variable, np.ndarray], output: Optional[Variable] = None) -> Variable:
    """A copy of a variable, or a constant from a numpy array of float32 or int32; into `output` where it is given."""
    if isinstance(input, np.ndarray):
        if input.dtype.name not in ("float32", "int32"):
            raise TypeError("assign: a numpy array must be float32 or int32, found "
                            f"{input.dtype.name}: convert it with astype")
        return call("assign_value", shape=list(input.shape), dtype=input.dtype.name,
                    values=input.astype("float64").ravel().tolist(), out=output)
    return call("assign", input=input, out=output)


def fill_constant(shape: Ints, dtype: DType, value: float, force_cpu: bool = False,
                  out: Optional[Variable] = None) -> Variable:
    """A tensor of equal elements; into `out` where it is given. Lengths may be variables."""
    lengths, slots = given("fill_constant", "shape", shape, "ShapeTensor", "ShapeTensorList")
    if not slots:
        return call("fill_constant", shape=lengths, dtype=dtype, value=value, out=out)
    filled = append("fill_constant", slots, {"shape": lengths, "dtype": convert_np_dtype_to_dtype_(dtype),
                                             "value": float(value)})[0]
    filled.stop_gradient = True
    return filled if out is None else call("assign", input=filled, out=out)


def fill_constant_batch_size_like(input: Variable, shape: Sequence[int], dtype: DType, value: float,
                                  input_dim_idx: int = 0, output_dim_idx: int = 0) -> Variable:
    """A tensor of equal elements, whose length `output_dim_idx` is that of `input` at `input_dim_idx`."""
    return call("fill_constant_batch_size_like", input=input, shape=shape, dtype=dtype, value=value,
                input_dim_idx=input_dim_idx, output_dim_idx=output_dim_idx)


def ones(shape: Sequence[int], dtype: DType, force_cpu: bool = False) -> Variable:
    """A tensor of ones."""
    return call("ones", shape=shape, dtype=dtype)


def zeros(shape: Sequence[int], dtype: DType, force_cpu: bool = False) -> Variable:
    """A tensor of zeros."""
    return call("zeros", shape=shape, dtype=dtype)


def zeros_like(x: Variable, out: Optional[Variable] = None) -> Variable:
    """Zeros in the shape and element type of x; into `out` where it is given."""
    return call("zeros_like", input=x, out=out)


def argmin(x: Variable, axis: int = 0) -> Variable:
    """The place of the smallest element along dimension `axis`, as int64."""
    return call("argmin", input=x, axis=axis)


def argmax(x: Variable, axis: int = 0) -> Variable:
    """The place of the largest element along dimension `axis`, as int64."""
    return call("argmax", input=x, axis=axis)


def isfinite(x: Variables) -> Variable:
    """Whether no element is infinite or NaN: bool, [1]."""
    return call("isfinite", input=x)
