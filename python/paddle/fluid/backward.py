"""Differentiation: adds the ops that compute gradients."""
from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

from .. import _core
from .framework import Parameter, Variable, grad_var_name
from .layers._call import names_of

__all__ = ["append_backward", "calc_gradient", "gradients"]


def append_backward(loss: Variable, parameter_list: Optional[Sequence] = None, no_grad_set=None,
                    callbacks: Optional[Sequence[Callable]] = None) -> List[Tuple[Parameter, Variable]]:
    """Appends the ops that compute the gradients of `loss` with respect to the trainable parameters.

    Args:
        loss: shape [1], as `fluid.layers.mean` gives it.
        parameter_list: parameters or their names; without it all trainable ones that the loss depends on.
        no_grad_set: variables or their names into which no gradient flows.
        callbacks: called as callback(block=..., context={}) once the ops are there.

    Returns:
        [(parameter, gradient)]; the gradient of "w" is named "w@GRAD".
    """
    if not isinstance(loss, Variable):
        raise TypeError(f"The loss should be an instance of Variable, found {type(loss).__name__}")
    program = loss.block.program
    for name in names_of(parameter_list):
        program.global_block().var(name)  # a clear error for a typo
    pairs = _core.append_backward(program._core, loss.name, names_of(parameter_list), set(names_of(no_grad_set)))
    block = program.global_block()
    _clip_errors(block)
    for callback in callbacks or []:
        callback(block=block, context={})
    return [(block.var(p), block.var(g)) for p, g in pairs]


def _clip_errors(block) -> None:
    """Limits the gradients of variables that have an `error_clip`, right after the op that completes them."""
    for var in list(block.vars.values()):
        clip = getattr(var, "error_clip", None)
        grad = grad_var_name(var.name)
        if clip is None or not block.has_var(grad):
            continue
        last = max((i for i, op in enumerate(block.ops) if grad in op.output_arg_names), default=None)
        if last is None or block.ops[last].type == "clip":
            continue
        block._insert_op(last + 1, type="clip", inputs={"X": [grad]}, outputs={"Out": [grad]},
                         attrs={"min": clip.min, "max": clip.max, "op_role": 1})


def gradients(targets, inputs, target_gradients=None, no_grad_set=None) -> List[Optional[Variable]]:
    """Gradients of `targets` with respect to any `inputs`.

    Args:
        targets: a variable or several.
        inputs: a variable or several.
        target_gradients: what flows into the targets; 1 where it is not given.
        no_grad_set: variables or their names into which no gradient flows.

    Returns:
        One gradient per input; None where the targets do not depend on it.
    """
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    targets = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    if not targets:
        raise ValueError("gradients: there must be at least one target")
    program = targets[0].block.program
    given = list(target_gradients) if isinstance(target_gradients, (list, tuple)) else [target_gradients] * len(targets)
    found = _core.append_gradients(program._core, names_of(targets), names_of(inputs),
                                   ["" if g is None else g.name for g in given], set(names_of(no_grad_set)))
    block = program.global_block()
    return [block.var(name) if name else None for name in found]


def calc_gradient(targets, inputs, target_gradients=None, no_grad_set=None):
    """The older name of `gradients`; with one input the gradient itself, not a list of it."""
    found = gradients(targets, inputs, target_gradients, no_grad_set)
    return found[0] if len(found) == 1 else found
