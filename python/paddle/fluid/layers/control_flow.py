"""Counters, comparisons and printing. There are no ops with sub-blocks (While, IfElse, ...) yet."""
from __future__ import annotations

from typing import Optional

from ._call import Variable, call

__all__ = ["Print", "equal", "greater_equal", "greater_than", "increment", "less_equal", "less_than", "not_equal"]


def Print(input: Variable, first_n: int = -1, message: Optional[str] = None, summarize: int = 20,
          print_tensor_name: bool = True, print_tensor_type: bool = True, print_tensor_shape: bool = True,
          print_tensor_lod: bool = True, print_phase: str = "both") -> Variable:
    """Passes a variable on and writes its values to stdout in every run.

    Args:
        input: the variable.
        first_n: only so many times; -1 = always.
        message: a line before each.
        summarize: elements that are shown; -1 = all.
        print_tensor_name, print_tensor_type, print_tensor_shape, print_tensor_lod: what is shown besides.
        print_phase: "forward" shows the values, "backward" their gradient, "both" both.

    Returns:
        The same values; use it in the place of `input` where the gradient is to be shown.
    """
    from ..framework import default_main_program
    from ._call import _check_variables
    _check_variables("Print", "input", input)
    if print_phase.lower() not in ("forward", "backward", "both"):
        raise ValueError(f"Print: print_phase must be 'forward', 'backward' or 'both', found {print_phase!r}")
    block = default_main_program().current_block()
    out = block.create_var(name=block._new_name(f"print_{input.name}.tmp"), dtype=input.dtype)
    block.append_op(type="print", inputs={"In": [input]}, outputs={"Out": [out]}, attrs={
        "first_n": first_n, "summarize": summarize, "message": message or "", "print_tensor_name": print_tensor_name,
        "print_tensor_type": print_tensor_type, "print_tensor_shape": print_tensor_shape,
        "print_tensor_lod": print_tensor_lod, "print_phase": print_phase.upper()})
    return out


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Variable:
    """Adds `value` to a variable of one element; to itself, or into a new variable."""
    return call("increment", input=x, value=value, in_place=in_place)


def less_than(x: Variable, y: Variable, force_cpu=None, cond: Optional[Variable] = None) -> Variable:
    """x < y, element by element, as bool; into `cond` where it is given. `force_cpu` is accepted."""
    return call("less_than", x=x, y=y, out=cond)


def less_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """x <= y, element by element, as bool; into `cond` where it is given."""
    return call("less_equal", x=x, y=y, out=cond)


def greater_than(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """x > y, element by element, as bool; into `cond` where it is given."""
    return call("greater_than", x=x, y=y, out=cond)


def greater_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """x >= y, element by element, as bool; into `cond` where it is given."""
    return call("greater_equal", x=x, y=y, out=cond)


def equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """x == y, element by element, as bool; into `cond` where it is given."""
    return call("equal", x=x, y=y, out=cond)


def not_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """x != y, element by element, as bool; into `cond` where it is given."""
    return call("not_equal", x=x, y=y, out=cond)
