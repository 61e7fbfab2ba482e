"""How a layer's parameter is to be: its name, its first value, how it learns."""
from __future__ import annotations

from typing import List, Optional, Union

from .clip import BaseGradientClipAttr
from .initializer import Constant, Initializer, Xavier
from .regularizer import WeightDecayRegularizer

__all__ = ["ParamAttr", "WeightNormParamAttr"]


class ParamAttr:
    """Describes a parameter, for the `param_attr` and `bias_attr` of layers.

    Where a layer takes a ParamAttr it also takes None (the layer's own choice), a name, an
    initializer, a regularizer, a list of these (one per input), and, for a bias, False: no bias.

    Args:
        name: of the parameter; without it the layer makes one ("fc_0.w_0"). Layers that name
            the same parameter share it.
        initializer: first values, one of `fluid.initializer`.
        learning_rate: a factor on the optimizer's.
        regularizer: overrides the optimizer's `regularization`.
        trainable: False keeps the first values.
        gradient_clip: one of `fluid.clip.GradientClip*`.
        do_model_average: kept with the parameter.

    Example:
        >>> fluid.layers.fc(x, size=10, param_attr=fluid.ParamAttr(name="w", learning_rate=0.5))
    """

    def __init__(self, name: Optional[str] = None, initializer: Optional[Initializer] = None,
                 learning_rate: float = 1.0, regularizer: Optional[WeightDecayRegularizer] = None,
                 trainable: bool = True, gradient_clip: Optional[BaseGradientClipAttr] = None,
                 do_model_average: bool = True):
        if name == "":
            raise ValueError("the name of ParamAttr must not be empty: leave it out to get one made by the layer")
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.gradient_clip = gradient_clip
        self.do_model_average = do_model_average

    def _set_default_initializer(self, initializer: Initializer) -> None:
        if self.initializer is None:
            self.initializer = initializer

    def _set_default_param_initializer(self) -> None:
        self._set_default_initializer(Xavier())

    def _set_default_bias_initializer(self) -> None:
        self._set_default_initializer(Constant(0.0))

    @staticmethod
    def _to_attr(arg) -> Union["ParamAttr", List["ParamAttr"], bool]:
        """The ParamAttr that a layer's argument stands for; False where it says that there is no parameter."""
        if arg is None:
            return ParamAttr()
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(a) for a in arg]
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, Initializer):
            return ParamAttr(initializer=arg)
        if isinstance(arg, WeightDecayRegularizer):
            return ParamAttr(regularizer=arg)
        if isinstance(arg, bool):
            return ParamAttr() if arg else False
        raise TypeError(f"{type(arg).__name__} cast to ParamAttr: a parameter is described by a ParamAttr, a name, "
                        "an initializer, a regularizer, None, or False for no parameter")

    def _plain(self) -> dict:
        """The attribute as the object that a job file holds; only what differs from the defaults."""
        out: dict = {}
        if self.name is not None:
            out["name"] = self.name
        if self.initializer is not None:
            out["initializer"] = self.initializer._plain()
        if self.learning_rate != 1.0:
            out["learning_rate"] = float(self.learning_rate)
        if self.regularizer is not None:
            out.update(self.regularizer._plain())
        if not self.trainable:
            out["trainable"] = False
        if self.gradient_clip is not None and self.gradient_clip._plain() is not None:
            out["gradient_clip"] = self.gradient_clip._plain()
        if not self.do_model_average:
            out["do_model_average"] = False
        return out


class WeightNormParamAttr(ParamAttr):
    """A weight as direction times length. The core has no op for it: using one is an error."""

    def __init__(self, dim=None, name: Optional[str] = None, initializer: Optional[Initializer] = None,
                 learning_rate: float = 1.0, regularizer: Optional[WeightDecayRegularizer] = None,
                 trainable: bool = True, gradient_clip: Optional[BaseGradientClipAttr] = None,
                 do_model_average: bool = False):
        super().__init__(name, initializer, learning_rate, regularizer, trainable, gradient_clip, do_model_average)
        self.dim = dim

    def _plain(self) -> dict:
        raise NotImplementedError("WeightNormParamAttr needs the op 'norm', which is not supported; use ParamAttr")
