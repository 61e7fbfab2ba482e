"""From a layer function to the row of the core's registry that builds it."""
from __future__ import annotations

import numbers
from typing import Iterable, List, Sequence, Union

import numpy as np

from .. import layer_helper
from ..core import VarDesc
from ..framework import Variable
from ..initializer import Initializer
from ..param_attr import ParamAttr
from ..regularizer import WeightDecayRegularizer

__all__ = ["Attr", "DType", "Variable", "Variables", "call", "names_of", "schedule"]

Variables = Union[Variable, Sequence[Variable]]
Attr = Union[None, bool, str, Initializer, ParamAttr, WeightDecayRegularizer, Sequence]  # how a parameter is to be
DType = Union[str, VarDesc.VarType, np.dtype, type]  # "float32", VarType.FP32, numpy.float32

_ATTRIBUTES = ("param_attr", "bias_attr", "attr")
# Arguments that are variables.
_VARIABLES = ("input", "x", "y", "index", "label", "out", "correct", "total", "sample_weight", "logits")


def call(type: str, **args):
    """Builds the layer `type` with arguments named as in job files; None counts as not given.

    Returns:
        Its result; a list where the layer has several.
    """
    for name, value in args.items():
        if value is None:
            continue
        if name in _VARIABLES:
            _check_variables(type, name, value)
        elif name in _ATTRIBUTES:
            args[name] = _attribute(type, value)
        elif name == "dtype":
            args[name] = layer_helper.core.dtype_name(value)
    results = layer_helper.layers(type, **args)
    return results if len(results) != 1 else results[0]


def _check_variables(type: str, name: str, value) -> None:
    for v in value if isinstance(value, (list, tuple)) else [value]:
        if not isinstance(v, Variable):
            hint = ": feed arrays through fluid.layers.data" if isinstance(v, (np.ndarray, numbers.Number)) else ""
            raise TypeError(f"{type}: '{name}' must be a Variable or a list of them, found "
                            f"{v.__class__.__name__}{hint}")


def _attribute(type: str, value):
    """A parameter's attribute, in any of the forms that ParamAttr._to_attr takes, as job files have it."""
    attr = ParamAttr._to_attr(value)
    if isinstance(attr, list):
        return [a and a._plain() for a in attr]
    return attr and attr._plain()


def schedule(type: str, **args) -> Variable:
    """Appends a schedule of the learning rate and returns its variable."""
    given = {"type": type, **{name: layer_helper.plain(value) for name, value in args.items()}}
    name = layer_helper.call(layer_helper._core.schedule, given)
    return layer_helper.framework.default_main_program().global_block().var(name)


def names_of(items) -> List[str]:
    """Names of variables that may be given as variables, names, one or several, or None."""
    if items is None:
        return []
    if isinstance(items, (str, Variable)) or not isinstance(items, Iterable):
        items = [items]
    return [item if isinstance(item, str) else item.name for item in items]
