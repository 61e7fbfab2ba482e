"""Arithmetic on variables: `x + y`, `2.0 * x`, `x < y`, `x[1:3]`, `x.astype("int64")`.

A number becomes a constant of the other side's element type: [1] on the right side, of the full shape on the left.
Results are named "tmp_0", "tmp_1", ...
"""
from __future__ import annotations

import numbers

__all__ = ["Arithmetic"]


def _result(block, dtype):
    return block.create_var(name=block._new_name("tmp"), dtype=dtype)


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


def _cast(self, dtype):
    """A copy of the variable with another element type."""
    out = _result(self.block, dtype)
    self.block.append_op(type="cast", inputs={"X": [self]}, outputs={"Out": [out]},
                         attrs={"in_dtype": self.dtype, "out_dtype": out.dtype})
    return out


def _binary(op: str, meaning: str, reverse: bool = False):
    """A method that appends `op`; `reverse`: the other side is the left one."""
    def operator(self, other):
        if isinstance(other, numbers.Number):
            other = _filled_like(self, other) if reverse else _scalar(self.block, other, self.dtype)
        elif not isinstance(other, Arithmetic):
            return NotImplemented
        if other.dtype != self.dtype:
            other = _cast(other, self.dtype)
        x, y = (other, self) if reverse else (self, other)
        axis = 0 if len(y.shape) and y.shape[0] == -1 else -1
        out = _result(self.block, self.dtype)
        self.block.append_op(type=op, inputs={"X": [x], "Y": [y]}, outputs={"Out": [out]}, attrs={"axis": axis})
        return out

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
    from .layers import _shape, tensor  # layers are made of variables, so they are imported last
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


class Arithmetic:
    """The operators of a Variable."""

    __add__ = _binary("elementwise_add", "self + other")
    __radd__ = _binary("elementwise_add", "other + self")  # a + b is b + a
    __sub__ = _binary("elementwise_sub", "self - other")
    __rsub__ = _binary("elementwise_sub", "other - self", reverse=True)
    __mul__ = _binary("elementwise_mul", "self * other")
    __rmul__ = _binary("elementwise_mul", "other * self")  # a * b is b * a
    __div__ = __truediv__ = _binary("elementwise_div", "self / other")
    __rdiv__ = __rtruediv__ = _binary("elementwise_div", "other / self", reverse=True)
    __pow__ = _binary("elementwise_pow", "self ** other")
    __rpow__ = _binary("elementwise_pow", "other ** self", reverse=True)
    __floordiv__ = _binary("elementwise_floordiv", "self // other")
    __mod__ = _binary("elementwise_mod", "self % other")
    __eq__ = _binary("equal", "self == other")
    __ne__ = _binary("not_equal", "self != other")
    __lt__ = _binary("less_than", "self < other")
    __le__ = _binary("less_equal", "self <= other")
    __gt__ = _binary("greater_than", "self > other")
    __ge__ = _binary("greater_equal", "self >= other")
    __hash__ = object.__hash__  # variables are keys of dictionaries although == makes an op
    __neg__ = _negative
    __getitem__ = _getitem
    __iter__ = None  # otherwise Python would try x[0], x[1], ... without an end
    astype = _cast
