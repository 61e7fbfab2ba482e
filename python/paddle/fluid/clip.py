"""Limits on gradients.

    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(clip_norm=5.0))

sets the clip of all parameters; `ParamAttr(gradient_clip=...)` that of one. The order in an
optimizer is: clip, then weight decay, then update.
"""
from __future__ import annotations

from typing import Callable, Optional, Sequence

__all__ = [
    "BaseErrorClipAttr", "BaseGradientClipAttr", "ErrorClipByValue", "error_clip_callback", "GradientClipByGlobalNorm",
    "GradientClipBase", "GradientClipByNorm", "GradientClipByValue", "NullGradientClipAttr", "set_gradient_clip"]


class BaseErrorClipAttr:
    """Base of clips of a variable's gradient on its way through the backward pass."""


class ErrorClipByValue(BaseErrorClipAttr):
    """Limits the gradient of one variable as soon as it is computed, so that all earlier layers see the limited one.

    Set it before `minimize`: `hidden.error_clip = fluid.clip.ErrorClipByValue(max=1.0)`.
    """

    def __init__(self, max: float, min: Optional[float] = None):
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def __repr__(self) -> str:
        return f"ByValue, min={self.min:f}, max={self.max:f}"


def error_clip_callback(block, context) -> None:
    """A callback of `append_backward` that limits gradients by `error_clip`; append_backward does so by itself."""
    from .backward import _clip_errors
    _clip_errors(block)


class BaseGradientClipAttr:
    """Base of clips of parameters' gradients.

    need_clip: a function of a parameter: whether an optimizer's `grad_clip` counts for it; without it, for all.
    """

    def __init__(self, need_clip: Optional[Callable] = None):
        if need_clip is not None and not callable(need_clip):
            raise TypeError(f"need_clip should be a function of a parameter, found {type(need_clip).__name__}")
        self.need_clip = need_clip

    def _plain(self) -> Optional[dict]:
        """The clip as the object that a job file holds."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it clips")


class NullGradientClipAttr(BaseGradientClipAttr):
    """No clip."""

    def _plain(self) -> Optional[dict]:
        return None

    def __repr__(self) -> str:
        return "Null"


class GradientClipByValue(BaseGradientClipAttr):
    """Limits each element of a gradient to [min, max]; `min` is -max where it is not given."""

    def __init__(self, max: float, min: Optional[float] = None, need_clip: Optional[Callable] = None):
        super().__init__(need_clip)
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def _plain(self) -> Optional[dict]:
        return {"type": "value", "max": self.max, "min": self.min}

    def __repr__(self) -> str:
        return f"ByValue, min={self.min:f}, max={self.max:f}"


class GradientClipByNorm(BaseGradientClipAttr):
    """Scales a gradient down where its norm is above `clip_norm`; each parameter for itself."""

    def __init__(self, clip_norm: float, need_clip: Optional[Callable] = None):
        super().__init__(need_clip)
        self.clip_norm = float(clip_norm)

    def _plain(self) -> Optional[dict]:
        return {"type": "norm", "max": self.clip_norm}

    def __repr__(self) -> str:
        return f"ByNorm, clip_norm={self.clip_norm:f}"


class GradientClipByGlobalNorm(BaseGradientClipAttr):
    """Scales the gradients of all parameters of a group together, so that their joint norm stays below `clip_norm`."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", need_clip: Optional[Callable] = None):
        super().__init__(need_clip)
        self.clip_norm = float(clip_norm)
        self.group_name = group_name

    def _plain(self) -> Optional[dict]:
        return {"type": "global_norm", "max": self.clip_norm, "group": self.group_name}

    def __repr__(self) -> str:
        return f"ByGlobalNorm, clip_norm={self.clip_norm:f}, group_name={self.group_name}"


GradientClipBase = BaseGradientClipAttr  # its name in 1.8


def _from_plain(plain: Optional[dict]) -> Optional[BaseGradientClipAttr]:
    """The clip of an object as the core keeps it; None of None."""
    if plain is None:
        return None
    if plain["type"] == "value":
        return GradientClipByValue(plain["max"], plain["min"])
    if plain["type"] == "norm":
        return GradientClipByNorm(plain["max"])
    return GradientClipByGlobalNorm(plain["max"], plain["group"])


def set_gradient_clip(clip: BaseGradientClipAttr, param_list: Optional[Sequence] = None, program=None) -> None:
    """Sets the clip of parameters. Call it after the network is built and before `minimize`.

    Args:
        clip: one of the GradientClip* objects.
        param_list: parameters or their names; without it all parameters of the program.
        program: without it the default main program.
    """
    from .framework import default_main_program
    if not isinstance(clip, BaseGradientClipAttr):
        raise TypeError("'clip' should be an instance of BaseGradientClipAttr's derived class, "
                        f"found {type(clip).__name__}")
    block = (program or default_main_program()).global_block()
    chosen = block.all_parameters() if param_list is None else list(param_list)
    for item in chosen:
        param = block.var(item) if isinstance(item, str) else item
        param.gradient_clip_attr = clip
