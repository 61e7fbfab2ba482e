"""Numbers of layers that may be given as variables: lengths, counts, places."""
from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import unique_name
from ..framework import Variable, default_main_program

__all__ = ["Int", "Ints", "append", "given", "given_one"]

Int = Union[int, Variable]  # a number, or a variable of one element
Ints = Union[Variable, Sequence[Int]]
Slots = Dict[str, Union[Variable, List[Variable]]]


def given(type: str, name: str, value: Ints, whole: str, parts: str) -> Tuple[List[int], Slots]:
    """Numbers as an attribute and the inputs of an op.

    Variables that the program makes as constants (fill_constant, assign of an array) become numbers: so shapes are
    known early. Others are inputs, one in slot `whole` or several in slot `parts`; the attribute has -1 for them.
    """
    if isinstance(value, Variable):
        known = _constant(value)
        return ([], {whole: value}) if known is None else (known, {})
    if not isinstance(value, Iterable):
        raise TypeError(f"{type}: '{name}' must be a list of numbers, found {value!r}")
    numbers: List[int] = []
    for item in value:
        known = _constant(item) if isinstance(item, Variable) else [item]
        if known is not None and len(known) != 1:
            raise ValueError(f"{type}: '{name}' has '{item.name}' of {len(known)} elements in the place of one number")
        numbers.append(-1 if known is None else known[0])
    later = [item for item, number in zip(value, numbers) if isinstance(item, Variable) and _constant(item) is None]
    if not later:
        return numbers, {}
    from .tensor import fill_constant
    return numbers, {parts: [item if isinstance(item, Variable) else fill_constant([1], "int32", item)
                             for item in value]}


def given_one(type: str, name: str, value: Int, slot: str) -> Tuple[Optional[int], Slots]:
    """The same for one number: (number, {}) or (None, {slot: variable})."""
    if not isinstance(value, Variable):
        return value, {}
    known = _constant(value)
    if known is None:
        return None, {slot: value}
    if len(known) != 1:
        raise ValueError(f"{type}: '{name}' must be one number, and '{value.name}' has {len(known)} elements")
    return known[0], {}


def append(op: str, inputs: Slots, attrs: dict, outputs: Sequence[str] = ("Out",), key: Optional[str] = None,
           name: Optional[str] = None) -> List[Variable]:
    """Appends an op with a new variable in each output slot; they are named like those of the layer `key`."""
    block = default_main_program().current_block()
    layer = name or unique_name.generate(key or op)
    results = [block.create_var(name=block._new_name(f"{layer}.tmp")) for _ in outputs]
    block.append_op(type=op, inputs=inputs, outputs=dict(zip(outputs, results)), attrs=attrs)
    return results


def _constant(var: Variable) -> Optional[List[int]]:
    """The elements of a variable that one op of the program fills with constants; None for any other."""
    makers = [op for op in var.block.ops if var.name in op.output_arg_names]
    if len(makers) != 1 or any(n < 0 for n in var.shape):
        return None
    if makers[0].type == "fill_constant":
        return [int(makers[0].attr("value"))] * int(np.prod(var.shape, dtype=int))
    if makers[0].type == "assign_value":
        return [int(v) for v in makers[0].attr("int32_values") or makers[0].attr("fp32_values")]
    return None
