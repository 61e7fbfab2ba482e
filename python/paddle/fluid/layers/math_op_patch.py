"""Arithmetic on variables: `x + y`, `2.0 * x`, `x < y`, `x[1:3]`, `x.astype("int64")`.

A number becomes a constant of the other side's element type: [1] on the right side, of the full shape on the left.
Results are named "tmp_0", "tmp_1", ...
"""
from __future__ import annotations

import numbers

from .. import unique_name
from ..framework import Variable

__all__ = ["monkey_patch_variable"]


def _result(block, dtype):
    return block.create_var(name=unique_name.generate("tmp"), dtype=dtype)


def _scalar(block, value, dtype):
    """[1], broadcast by the op that uses it."""
    return _filled(block, [1], value, dtype)


def _filled(block, shape, value, dtype):
    out = _result(block, dtype)
    block.append_op(type="fill_constant", outputs={"Out": [out]},
                    attrs={"shape": list(shape), "value": float(value), "dtype": out.dtype})
    out.stop_gradient = True
    return out


def _filled_like(x, value):
    """A constant in the shape of x, whose batch is known only when it is fed."""
    unknown = [i for i, length in enumerate(x.shape) if length < 0]
    if not unknown:
        return _filled(x.block, x.shape, value, x.dtype)
    if len(unknown) > 1:
        raise ValueError(f"a number on the left of '{x.name}': its shape {tuple(x.shape)} has more than one unknown "
                         "length; write it on the right side, or use fluid.layers.scale")
    out = _result(x.block, x.dtype)
    x.block.append_op(type="fill_constant_batch_size_like", inputs={"Input": [x]}, outputs={"Out": [out]},
                      attrs={"shape": list(x.shape), "value": float(value), "dtype": out.dtype,
                             "input_dim_idx": unknown[0], "output_dim_idx": unknown[0]})
    out.stop_gradient = True
    return out


def astype(self, dtype):
    """A copy of the variable with another element type."""
    out = _result(self.block, dtype)
    self.block.append_op(type="cast", inputs={"X": [self]}, outputs={"Out": [out]},
                         attrs={"in_dtype": self.dtype, "out_dtype": out.dtype})
    return out


def _binary(method: str, op: str, meaning: str, reverse: bool = False):
    def operator(self, other):
        if isinstance(other, numbers.Number):
            other = _filled_like(self, other) if reverse else _scalar(self.block, other, self.dtype)
        elif not isinstance(other, Variable):
            return NotImplemented
        if other.dtype != self.dtype:
            other = astype(other, self.dtype)
        x, y = (other, self) if reverse else (self, other)
        axis = 0 if len(y.shape) and y.shape[0] == -1 else -1
        out = _result(self.block, self.dtype)
        self.block.append_op(type=op, inputs={"X": [x], "Y": [y]}, outputs={"Out": [out]}, attrs={"axis": axis})
        return out

    operator.__name__ = method
    operator.__doc__ = meaning
    return operator


def _negative(self):
    """-self"""
    out = _result(self.block, self.dtype)
    self.block.append_op(type="scale", inputs={"X": [self]}, outputs={"Out": [out]}, attrs={"scale": -1.0})
    return out


def _full_index(item, rank: int, name: str):
    """The index as one entry per dimension, with an Ellipsis filled in."""
    items = list(item) if isinstance(item, tuple) else [item]
    holes = sum(1 for i in items if i is Ellipsis)
    if holes > 1:
        raise IndexError(f"indexing '{name}': there may be only one '...'")
    if holes == 0:
        items.append(Ellipsis)
    at = next(i for i, entry in enumerate(items) if entry is Ellipsis)
    missing = rank - (len(items) - 1)
    if missing < 0:
        raise IndexError(f"indexing '{name}': {len(items) - 1} indices for {rank} dimensions")
    return items[:at] + [slice(None)] * missing + items[at + 1:]


def _getitem(self, item):
    """A part of the variable, by numpy's rules: numbers, slices (with steps where the length is known), `...`."""
    from . import _shape, tensor
    axes, starts, ends, gone, stepped = [], [], [], [], []
    for axis, entry in enumerate(_full_index(item, len(self.shape), self.name)):
        length = self.shape[axis]
        if isinstance(entry, slice):
            if entry.step not in (None, 1):
                if length < 0:
                    raise IndexError(f"indexing '{self.name}' with a step: the length of dimension {axis} is unknown")
                stepped.append((axis, list(range(*entry.indices(length)))))
            elif entry.start is not None or entry.stop is not None:
                axes.append(axis)
                starts.append(entry.start if entry.start is not None else 0)
                ends.append(entry.stop if entry.stop is not None else 2**31 - 1)
        elif isinstance(entry, numbers.Integral):
            if length >= 0 and not -length <= entry < length:
                raise IndexError(f"indexing '{self.name}': {entry} is outside of dimension {axis} of length {length}")
            axes.append(axis)
            starts.append(int(entry))
            ends.append(int(entry) + 1 if entry != -1 else 2**31 - 1)
            gone.append(axis)
        else:
            raise TypeError(f"indexing '{self.name}': an index must be a number, a slice or '...', found "
                            f"{type(entry).__name__}; use fluid.layers.gather to choose rows by a variable")
    out = _shape.slice(self, axes=axes, starts=starts, ends=ends) if axes else self
    for axis, indices in stepped:
        if not indices:
            raise IndexError(f"indexing '{self.name}': nothing is left of dimension {axis}")
        out = tensor.concat([_shape.slice(out, axes=[axis], starts=[i], ends=[i + 1]) for i in indices], axis=axis)
    if gone and len(gone) == len(self.shape):
        return _shape.reshape(out, shape=[1])
    return _shape.squeeze(out, axes=gone) if gone else out


_BINARY = [
    ("__add__", "elementwise_add", "self + other", False),
    ("__radd__", "elementwise_add", "other + self", False),  # a + b is b + a
    ("__sub__", "elementwise_sub", "self - other", False),
    ("__rsub__", "elementwise_sub", "other - self", True),
    ("__mul__", "elementwise_mul", "self * other", False),
    ("__rmul__", "elementwise_mul", "other * self", False),  # a * b is b * a
    ("__div__", "elementwise_div", "self / other", False),
    ("__truediv__", "elementwise_div", "self / other", False),
    ("__rdiv__", "elementwise_div", "other / self", True),
    ("__rtruediv__", "elementwise_div", "other / self", True),
    ("__pow__", "elementwise_pow", "self ** other", False),
    ("__rpow__", "elementwise_pow", "other ** self", True),
    ("__floordiv__", "elementwise_floordiv", "self // other", False),
    ("__mod__", "elementwise_mod", "self % other", False),
    ("__eq__", "equal", "self == other", False),
    ("__ne__", "not_equal", "self != other", False),
    ("__lt__", "less_than", "self < other", False),
    ("__le__", "less_equal", "self <= other", False),
    ("__gt__", "greater_than", "self > other", False),
    ("__ge__", "greater_equal", "self >= other", False),
]


def monkey_patch_variable() -> None:
    """Gives `Variable` its operators. `__hash__` stays as it is, so that variables remain keys of dictionaries."""
    for method, op, meaning, reverse in _BINARY:
        setattr(Variable, method, _binary(method, op, meaning, reverse))
    Variable.__neg__ = _negative
    Variable.__getitem__ = _getitem
    Variable.__iter__ = None  # else Python would try x[0], x[1], ... without an end
    Variable.astype = astype
