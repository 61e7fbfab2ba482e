"""Attributes of parameters and layers."""
from typing import Any, Optional

from ..fluid import clip, initializer, regularizer
from ..fluid.param_attr import ParamAttr

__all__ = ["Extra", "ExtraAttr", "ExtraAttribute", "ExtraLayerAttribute", "Param", "ParameterAttribute"]


class ParameterAttribute:
    """How a parameter begins and learns.

    name: layers that give the same name share the parameter.
    is_static: it does not learn.
    initial_std, initial_mean: of normal values; initial_max, initial_min: bounds of uniform ones. By default normal
        with the deviation 1 / sqrt(rows).
    l1_rate, l2_rate: decay, in the place of the optimizer's; 0 is none.
    learning_rate: a factor on the optimizer's.
    gradient_clipping_threshold: gradients are cut to [-t, t].
    sparse_update: only rows of an embedding that a batch used are updated.
    initializer: a function of the parameter's name that gives its first values.
    """

    def __init__(self, name: Optional[str] = None, is_static: bool = False, initial_std: Optional[float] = None,
                 initial_mean: Optional[float] = None, initial_max: Optional[float] = None,
                 initial_min: Optional[float] = None, l1_rate: Optional[float] = None, l2_rate: Optional[float] = None,
                 learning_rate: Optional[float] = None, momentum: Optional[float] = None,
                 gradient_clipping_threshold: Optional[float] = None, sparse_update: bool = False,
                 initializer: Any = None):
        if momentum is not None:
            raise ValueError("a momentum of its own for one parameter is not supported; give it to the optimizer")
        if (initial_max is None) != (initial_min is None):
            raise ValueError("give both initial_max and initial_min, or none of them")
        if initial_max is not None and (initial_std is not None or initial_mean is not None):
            raise ValueError("give initial_std and initial_mean, or initial_max and initial_min, not both")
        self.name, self.is_static, self.sparse_update = name, is_static, sparse_update
        self.initial_std, self.initial_mean = initial_std, initial_mean
        self.initial_max, self.initial_min = initial_max, initial_min
        self.l1_rate, self.l2_rate = l1_rate, l2_rate
        self.learning_rate = 1.0 if learning_rate is None else learning_rate
        self.gradient_clipping_threshold = gradient_clipping_threshold
        self.initializer = initializer

    @staticmethod
    def of(given: Any) -> "ParameterAttribute":
        """The attribute that a layer's argument stands for."""
        if given is None or given is True:
            return ParameterAttribute()
        if isinstance(given, ParameterAttribute):
            return given
        raise TypeError(f"an attribute of a parameter is a paddle.attr.Param, got {type(given).__name__}")

    def fluid(self, default_name: str, std: float, defaults: "Defaults") -> ParamAttr:
        """As Fluid's layers want it. `std`: the deviation where none was asked for; 0 is zeros."""
        if self.initial_max is not None:
            start = initializer.Uniform(float(self.initial_min), float(self.initial_max))
        else:
            deviation = std if self.initial_std is None else self.initial_std
            mean = self.initial_mean or 0.0
            start = initializer.Constant(float(mean))
            if deviation:
                start = initializer.Normal(float(mean), float(deviation))
        threshold = self.gradient_clipping_threshold or defaults.clipping
        return ParamAttr(name=self.name or default_name, initializer=start, learning_rate=float(self.learning_rate),
                         regularizer=self._decay(defaults), trainable=not self.is_static,
                         gradient_clip=clip.GradientClipByValue(threshold) if threshold else None)

    def _decay(self, defaults: "Defaults"):
        if self.l1_rate is None and self.l2_rate is None:
            return regularizer.L2Decay(defaults.l2_rate) if defaults.l2_rate else None
        if self.l1_rate and self.l2_rate:
            raise ValueError("l1_rate and l2_rate at once are not supported; give one of them")
        if self.l1_rate:
            return regularizer.L1Decay(self.l1_rate)
        return regularizer.L2Decay(self.l2_rate) if self.l2_rate else None


class Defaults:
    """What an optimizer says for parameters that say nothing themselves."""

    def __init__(self, l2_rate: float = 0.0, clipping: float = 0.0):
        self.l2_rate, self.clipping = l2_rate, clipping


class ExtraLayerAttribute:
    """What else a layer does. drop_rate: in training, so many of its outputs become zero (0.5: half of them)."""

    def __init__(self, error_clipping_threshold: Optional[float] = None, drop_rate: Optional[float] = None,
                 device: Optional[int] = None):
        if error_clipping_threshold:
            raise ValueError("error_clipping_threshold is not supported; use a gradient_clipping_threshold")
        if drop_rate is not None and not 0 <= drop_rate <= 1:
            raise ValueError(f"drop_rate must be 0 to 1, got {drop_rate}")
        self.drop_rate = drop_rate or 0.0
        self.device = device


Param = ParameterAttribute
Extra = ExtraAttr = ExtraAttribute = ExtraLayerAttribute
