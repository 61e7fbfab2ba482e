"""Optimizers: what makes a loss smaller with each run.

    optimize_ops, params_grads = fluid.optimizer.SGD(learning_rate=0.01).minimize(loss)

appends the backward ops, then clips, decays and updates the parameters, in the order of their names.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import _core
from ..unsupported import instead_of
from . import layer_helper
from .backward import append_backward
from .clip import BaseGradientClipAttr
from .framework import Program, Variable, default_main_program, default_startup_program, program_guard
from .regularizer import WeightDecayRegularizer

__all__ = [
    "Adadelta", "AdadeltaOptimizer", "Adagrad", "AdagradOptimizer", "Adam", "AdamOptimizer", "Adamax",
    "AdamaxOptimizer", "DecayedAdagrad", "DecayedAdagradOptimizer", "Ftrl", "FtrlOptimizer", "Momentum",
    "MomentumOptimizer", "Optimizer", "RMSProp", "RMSPropOptimizer", "SGD", "SGDOptimizer"]

Rate = Union[float, Variable]
Pairs = List[Tuple[Variable, Variable]]


class Optimizer:
    """Base of optimizers; use one of the others.

    Args:
        learning_rate: a float, or a Variable [1] that a schedule computes (`fluid.layers.exponential_decay`, ...).
        regularization: `fluid.regularizer.L1Decay` or `L2Decay`, for parameters that have none of their own.
        name: stands in front of the names of the optimizer's state.
        parameter_list: parameters or their names that `minimize` updates; without it all trainable ones.
        grad_clip: one of `fluid.clip.GradientClip*`, for parameters that have none of their own.
    """

    type = ""  # of the op, and of the row that a job file names

    def __init__(self, learning_rate: Rate, regularization: Optional[WeightDecayRegularizer] = None,
                 name: Optional[str] = None, parameter_list: Optional[Sequence] = None,
                 grad_clip: Optional[BaseGradientClipAttr] = None):
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (float, np.floating, Variable)):
            raise TypeError(f"learning rate should be float or Variable, got {type(learning_rate)} here")
        if regularization is not None and not isinstance(regularization, WeightDecayRegularizer):
            raise TypeError("regularization should be one of fluid.regularizer, e.g. L2Decay(0.01), got "
                            f"{type(regularization)}")
        _check_clip(grad_clip)
        self._learning_rate = learning_rate
        self._parameter_list, self._grad_clip = parameter_list, grad_clip
        self.regularization = regularization
        self._name = name
        self._rates: dict = {}  # program -> the variable of the learning rate

    def _arguments(self) -> dict:
        """What the rule takes besides the learning rate, by its names in a job file."""
        return {}

    def _describe(self, program: Program, grad_clip: Optional[BaseGradientClipAttr]) -> dict:
        out: dict = {"type": self.type, **self._arguments()}
        rate = self._global_learning_rate(program)
        out["learning_rate"] = rate.name if rate is not None else float(self._learning_rate)
        if self._name is not None:
            out["name"] = self._name
        if self.regularization is not None:
            out.update(self._decay())
        if grad_clip is not None and grad_clip._plain() is not None:
            out["gradient_clip"] = grad_clip._plain()
        return out

    def _clip_of(self, params_grads: Pairs, grad_clip: Optional[BaseGradientClipAttr]):
        """The clip for all parameters. One that chooses its parameters is given to those, and then there is none."""
        clip = self._grad_clip if grad_clip is None else grad_clip
        _check_clip(clip)
        if clip is None or clip.need_clip is None:
            return clip
        for param, _ in params_grads:
            if param.gradient_clip_attr is None and clip.need_clip(param):
                param.gradient_clip_attr = clip
        return None

    def _decay(self) -> dict:
        return self.regularization._plain()

    def _global_learning_rate(self, program: Optional[Program] = None) -> Optional[Variable]:
        """The variable of the learning rate in a program; None before `minimize` has made it."""
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        return self._rates.get(program or default_main_program())

    def _get_accumulator(self, name: str, param: Variable) -> Variable:
        """The state `name` ("velocity", "moment1", ...) of a parameter."""
        key = "_".join(part for part in (param.name, self._name, name, "0") if part)
        return param.block.program.global_block().var(key)

    def backward(self, loss: Variable, startup_program: Optional[Program] = None,
                 parameter_list: Optional[Sequence] = None, no_grad_set=None,
                 callbacks: Optional[Sequence[Callable]] = None) -> Pairs:
        """The first half of `minimize`: appends the backward ops and returns [(parameter, gradient)]."""
        return append_backward(loss, parameter_list or self._parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads: Pairs, _grad_clip: Optional[BaseGradientClipAttr] = None) -> list:
        """The second half: clips, decays and updates; returns the ops that update.

        Args:
            params_grads: what `backward` returned; gradients may have been replaced by other variables.
        """
        if not params_grads:
            raise ValueError("there is no gradient to apply: the loss depends on no trainable parameter")
        program = params_grads[0][0].block.program
        before = _rates_in(program)
        with program_guard(program):
            clip = self._clip_of(params_grads, _grad_clip)
            made = layer_helper.call(_core.apply_gradients, self._describe(program, clip),
                                     [(p.name, g.name) for p, g in params_grads if g is not None])
        for name in _rates_in(program) - before:
            self._rates[program] = program.global_block().var(name)
        ops = program.global_block().ops
        return [ops[op.index()] for op in made]

    def apply_optimize(self, loss: Variable, startup_program: Optional[Program], params_grads: Pairs) -> list:
        """`apply_gradients`, into the given startup program."""
        with program_guard(loss.block.program, startup_program or default_startup_program()):
            return self.apply_gradients(params_grads)

    def minimize(self, loss: Variable, startup_program: Optional[Program] = None,
                 parameter_list: Optional[Sequence] = None, no_grad_set=None,
                 grad_clip: Optional[BaseGradientClipAttr] = None) -> Tuple[list, Pairs]:
        """Makes the program train: with each run the loss falls.

        Args:
            loss: shape [1], as `fluid.layers.mean` gives it.
            startup_program: gets the first values of the optimizer's state; without it the default one.
            parameter_list: parameters or their names; without it all trainable ones.
            no_grad_set: variables or their names into which no gradient flows.
            grad_clip: in the place of the optimizer's own.

        Returns:
            (ops that update, [(parameter, gradient)])
        """
        if not isinstance(loss, Variable):
            raise TypeError(f"The loss should be an instance of Variable, found {type(loss).__name__}")
        with program_guard(loss.block.program, startup_program or default_startup_program()):
            params_grads = self.backward(loss, startup_program, parameter_list, no_grad_set)
            if not params_grads:
                raise ValueError(f"the loss '{loss.name}' depends on no trainable parameter, so there is nothing to "
                                 "optimize")
            return self.apply_gradients(params_grads, grad_clip), params_grads


def _check_clip(clip: Any) -> None:
    if clip is not None and not isinstance(clip, BaseGradientClipAttr):
        raise TypeError(f"grad_clip should be one of fluid.clip.GradientClip*, got {type(clip)}")


def _rates_in(program: Program) -> set:
    return {name for name in program.global_block().vars if name.startswith("learning_rate_")}


class SGDOptimizer(Optimizer):
    """p -= learning_rate * g"""

    type = "sgd"


class MomentumOptimizer(Optimizer):
    """v = momentum * v + g; p -= learning_rate * v; with use_nesterov p -= learning_rate * (g + momentum * v)."""

    type = "momentum"

    def __init__(self, learning_rate: Rate, momentum: float, use_nesterov: bool = False, regularization=None,
                 name: Optional[str] = None,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        self._momentum, self._use_nesterov = momentum, bool(use_nesterov)

    def _arguments(self) -> dict:
        return {"momentum": float(self._momentum), "use_nesterov": self._use_nesterov}


class AdagradOptimizer(Optimizer):
    """m += g^2; p -= learning_rate * g / (sqrt(m) + epsilon)"""

    type = "adagrad"

    def __init__(self, learning_rate: Rate, epsilon: float = 1.0e-6, regularization=None, name: Optional[str] = None,
                 initial_accumulator_value: float = 0.0,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        self._epsilon, self._initial = epsilon, initial_accumulator_value

    def _arguments(self) -> dict:
        return {"epsilon": float(self._epsilon), "initial_accumulator_value": float(self._initial)}


class AdamOptimizer(Optimizer):
    """Means of gradients and of their squares.

    m1 = beta1 * m1 + (1 - beta1) * g; m2 = beta2 * m2 + (1 - beta2) * g^2;
    p -= learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m1 / (sqrt(m2) + epsilon).
    With lazy_mode, a sparse gradient touches only the state of its own rows.
    """

    type = "adam"

    def __init__(self, learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 regularization=None, name: Optional[str] = None, lazy_mode: bool = False,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        self._beta1, self._beta2, self._epsilon, self._lazy_mode = beta1, beta2, epsilon, bool(lazy_mode)

    def _arguments(self) -> dict:
        return {"beta1": float(self._beta1), "beta2": float(self._beta2), "epsilon": float(self._epsilon),
                "lazy_mode": self._lazy_mode}


class AdamaxOptimizer(Optimizer):
    """m = beta1 * m + (1 - beta1) * g; u = max(|g|, beta2 * u + epsilon); p -= learning_rate / (1 - beta1^t) * m / u"""

    type = "adamax"

    def __init__(self, learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 regularization=None, name: Optional[str] = None,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon

    def _arguments(self) -> dict:
        return {"beta1": float(self._beta1), "beta2": float(self._beta2), "epsilon": float(self._epsilon)}


class DecayedAdagradOptimizer(Optimizer):
    """m = decay * m + (1 - decay) * g^2; p -= learning_rate * g / (sqrt(m) + epsilon)"""

    type = "decayed_adagrad"

    def __init__(self, learning_rate: Rate, decay: float = 0.95, epsilon: float = 1.0e-6, regularization=None,
                 name: Optional[str] = None,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        self._decay_rate, self._epsilon = decay, epsilon

    def _arguments(self) -> dict:
        return {"decay": float(self._decay_rate), "epsilon": float(self._epsilon)}


class AdadeltaOptimizer(Optimizer):
    """Rates from the parameters' own changes; the rule itself uses no learning rate.

    s = rho * s + (1 - rho) * g^2; d = -sqrt((u + epsilon) / (s + epsilon)) * g; u = rho * u + (1 - rho) * d^2; p += d
    """

    type = "adadelta"

    def __init__(self, learning_rate: Rate, epsilon: float = 1.0e-6, rho: float = 0.95, regularization=None,
                 name: Optional[str] = None,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        self._epsilon, self._rho = epsilon, rho

    def _arguments(self) -> dict:
        return {"epsilon": float(self._epsilon), "rho": float(self._rho)}


class RMSPropOptimizer(Optimizer):
    """ms = rho * ms + (1 - rho) * g^2; mom = momentum * mom + learning_rate * g / sqrt(ms + epsilon); p -= mom

    `centered` subtracts the squared mean of the gradients from ms under the root.
    """

    type = "rmsprop"

    def __init__(self, learning_rate: Rate, rho: float = 0.95, epsilon: float = 1.0e-6, momentum: float = 0.0,
                 centered: bool = False, regularization=None, name: Optional[str] = None,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        for key, value in (("rho", rho), ("epsilon", epsilon), ("momentum", momentum)):
            if value is None:
                raise ValueError(f"{key} is not set.")
        self._rho, self._epsilon, self._momentum, self._centered = rho, epsilon, momentum, bool(centered)

    def _arguments(self) -> dict:
        return {"rho": float(self._rho), "epsilon": float(self._epsilon), "momentum": float(self._momentum),
                "centered": self._centered}


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader: l1 sets small weights to exactly 0."""

    type = "ftrl"

    def __init__(self, learning_rate: Rate, l1: float = 0.0, l2: float = 0.0, lr_power: float = -0.5,
                 regularization=None, name: Optional[str] = None,
                 parameter_list: Optional[Sequence] = None, grad_clip: Optional[BaseGradientClipAttr] = None):
        super().__init__(learning_rate, regularization, name, parameter_list, grad_clip)
        self._l1, self._l2, self._lr_power = l1, l2, lr_power

    def _arguments(self) -> dict:
        return {"l1": float(self._l1), "l2": float(self._l2), "lr_power": float(self._lr_power)}

    def _decay(self) -> dict:  # the rule has an l1 and an l2 of its own
        return {f"{kind}_decay": coeff for kind, coeff in self.regularization._plain().items()}


SGD = SGDOptimizer
Momentum = MomentumOptimizer
Adagrad = AdagradOptimizer
Adam = AdamOptimizer
Adamax = AdamaxOptimizer
DecayedAdagrad = DecayedAdagradOptimizer
Adadelta = AdadeltaOptimizer
RMSProp = RMSPropOptimizer
Ftrl = FtrlOptimizer


if not TYPE_CHECKING:  # checkers of types report unknown names by themselves
    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = instead_of("fluid.optimizer", name)
        raise AttributeError(f"fluid.optimizer has no '{name}'{hint}; the core has these update rules: "
                             + ", ".join(n for n in __all__ if n != "Optimizer" and not n.endswith("Optimizer")))
