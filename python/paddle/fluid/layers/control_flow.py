"""Counters and comparisons. There are no ops with sub-blocks (While, IfElse, ...) yet."""
from __future__ import annotations

from typing import Optional

from ._call import Variable, call

__all__ = ["equal", "greater_equal", "greater_than", "increment", "less_equal", "less_than", "not_equal"]


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
