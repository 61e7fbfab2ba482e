"""Arithmetic: elementwise, reductions, matrix products, softmax, logic."""
from __future__ import annotations

from typing import Optional

from ._call import Variable, Variables, call
from ._numbers import append

__all__ = [
    "elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div", "elementwise_max", "elementwise_min",
    "elementwise_pow", "elementwise_mod", "elementwise_floordiv", "reduce_sum", "reduce_mean", "reduce_max",
    "reduce_min", "reduce_prod", "clip", "clip_by_norm", "logical_and", "logical_not", "logical_or", "logical_xor",
    "matmul", "mean", "mul", "scale", "softmax", "sum", "where"]


def _elementwise(op: str, meaning: str):
    def layer(x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None,
              name: Optional[str] = None) -> Variable:
        return call(f"elementwise_{op}", x=x, y=y, axis=axis, act=act, name=name)

    layer.__name__ = layer.__qualname__ = f"elementwise_{op}"
    layer.__doc__ = f"""{meaning[0].upper() + meaning[1:]}, element by element.

    Args:
        x: left side.
        y: right side; it may be smaller: its lengths are a run of those of x, and it is repeated along the others.
        axis: dimension of x where y begins; -1 = y ends where x ends.
        act: name of an activation.
        name: stands in front of the name of the result.
    """
    return layer


def _reduce(op: str, meaning: str):
    def layer(input: Variable, dim=None, keep_dim: bool = False, name: Optional[str] = None) -> Variable:
        return call(f"reduce_{op}", input=input, dim=dim, keep_dim=keep_dim, name=name)

    layer.__name__ = layer.__qualname__ = f"reduce_{op}"
    layer.__doc__ = f"""The {meaning} over dimensions.

    Args:
        input: what goes in.
        dim: a dimension or several that go away; negative counts from the end; None = all, which gives [1].
        keep_dim: keep them with length 1.
        name: stands in front of the name of the result.
    """
    return layer


elementwise_add = _elementwise("add", "x + y")
elementwise_sub = _elementwise("sub", "x - y")
elementwise_mul = _elementwise("mul", "x * y")
elementwise_div = _elementwise("div", "x / y")
elementwise_max = _elementwise("max", "the larger of x and y")
elementwise_min = _elementwise("min", "the smaller of x and y")
elementwise_pow = _elementwise("pow", "x ^ y")
elementwise_mod = _elementwise("mod", "the rest of x / y")
elementwise_floordiv = _elementwise("floordiv", "x / y without the rest")
reduce_sum = _reduce("sum", "sum")
reduce_mean = _reduce("mean", "mean")
reduce_max = _reduce("max", "largest")
reduce_min = _reduce("min", "smallest")
reduce_prod = _reduce("prod", "product")


def mean(x: Variable, name: Optional[str] = None) -> Variable:
    """The mean of all elements, shape [1]: what most losses end with."""
    return call("mean", input=x, name=name)


def mul(x: Variable, y: Variable, x_num_col_dims: int = 1, y_num_col_dims: int = 1,
        name: Optional[str] = None) -> Variable:
    """Product of two matrices; of a tensor, the first `num_col_dims` dimensions are the rows."""
    return call("mul", x=x, y=y, x_num_col_dims=x_num_col_dims, y_num_col_dims=y_num_col_dims, name=name)


def matmul(x: Variable, y: Variable, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0,
           name: Optional[str] = None) -> Variable:
    """alpha * x * y, for matrices and for stacks of matrices (the last two dimensions)."""
    return call("matmul", x=x, y=y, transpose_x=transpose_x, transpose_y=transpose_y, alpha=alpha, name=name)


def scale(x: Variable, scale: float = 1.0, bias: float = 0.0, bias_after_scale: bool = True, act: Optional[str] = None,
          name: Optional[str] = None) -> Variable:
    """x * scale + bias; without `bias_after_scale` (x + bias) * scale."""
    return call("scale", input=x, scale=scale, bias=bias, bias_after_scale=bias_after_scale, act=act, name=name)


def sum(x: Variables) -> Variable:
    """Adds up several variables of one shape."""
    return call("sum", input=x)


def softmax(input: Variable, use_cudnn: bool = False, name: Optional[str] = None, axis: int = -1) -> Variable:
    """e^x / sum of e^x over the dimension `axis`: probabilities that add up to 1."""
    return call("softmax", input=input, name=name, axis=axis)


def clip(x: Variable, min: float, max: float, name: Optional[str] = None) -> Variable:
    """Limits each element to [min, max]."""
    return call("clip", input=x, min=min, max=max, name=name)


def clip_by_norm(x: Variable, max_norm: float, name: Optional[str] = None) -> Variable:
    """Scales x down where its norm is above max_norm."""
    return call("clip_by_norm", input=x, max_norm=max_norm, name=name)


def logical_and(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """x and y, element by element; both bool. Into `out` where it is given."""
    return call("logical_and", x=x, y=y, out=out, name=name)


def logical_or(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """x or y, element by element; both bool. Into `out` where it is given."""
    return call("logical_or", x=x, y=y, out=out, name=name)


def logical_xor(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Either x or y, element by element; both bool. Into `out` where it is given."""
    return call("logical_xor", x=x, y=y, out=out, name=name)


def where(condition: Variable) -> Variable:
    """The places at which a bool variable is True: int64 [places, dimensions], one row of coordinates for each.

    The number of rows follows from the values, so the plan is laid out again when they change.
    """
    out = append("where_index", {"Condition": condition}, {}, ("Out",))[0]
    out.stop_gradient = True
    return out


def logical_not(x: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Not x, element by element; bool. Into `out` where it is given."""
    return call("logical_not", x=x, out=out, name=name)
