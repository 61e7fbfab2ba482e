"""First values of parameters and other variables.

Give one to a parameter with `ParamAttr(initializer=...)`, or directly as `param_attr`:

    fluid.layers.fc(x, size=10, param_attr=fluid.initializer.Normal(scale=0.1))

A seed of 0 means `program.random_seed` of the startup program; where that is 0 too, every run
draws other values.
"""
from __future__ import annotations

import contextlib
from typing import Iterator, Optional

import numpy as np

from .. import _core

__all__ = [
    "Bilinear", "BilinearInitializer", "Constant", "ConstantInitializer", "Initializer", "MSRA",
    "MSRAInitializer", "Normal", "NormalInitializer", "NumpyArrayInitializer", "TruncatedNormal",
    "TruncatedNormalInitializer", "Uniform", "UniformInitializer", "Xavier", "XavierInitializer",
    "force_init_on_cpu", "init_on_cpu"]


def force_init_on_cpu() -> bool:
    """Whether first values are made on the CPU: everything is computed there."""
    return True


@contextlib.contextmanager
def init_on_cpu() -> Iterator[None]:
    """Accepted for scripts that were written for GPUs; changes nothing."""
    yield


class Initializer:
    """How a variable gets its first value.

    Calling one, `initializer(var, block)`, puts the op that makes the value in front of the ops
    of `block` (of a startup program) and returns that op. Layers do it by themselves.
    """

    def _plain(self) -> dict:
        """The initializer as the object that a job file holds."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it makes values")

    def __call__(self, var, block):
        from .framework import Operator
        return Operator(block, _core.initialize(block.program._core, var.name, self._plain()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self._plain().items() if k not in ("type", "values"))
        return f"{type(self).__name__}({shown})"


class ConstantInitializer(Initializer):
    """Equal values."""

    def __init__(self, value: float = 0.0, force_cpu: bool = False):
        self.value = value

    def _plain(self) -> dict:
        return {"type": "constant", "value": float(self.value)}


class UniformInitializer(Initializer):
    """Values drawn evenly from [low, high)."""

    def __init__(self, low: float = -1.0, high: float = 1.0, seed: int = 0):
        if high < low:
            raise ValueError(f"Uniform: high must not be below low, found low={low} and high={high}")
        self.low, self.high, self.seed = low, high, seed

    def _plain(self) -> dict:
        return {"type": "uniform", "low": float(self.low), "high": float(self.high), "seed": int(self.seed)}


class NormalInitializer(Initializer):
    """Values of a normal distribution with mean `loc` and standard deviation `scale`."""

    kind = "normal"

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0):
        self.loc, self.scale, self.seed = loc, scale, seed

    def _plain(self) -> dict:
        return {"type": self.kind, "loc": float(self.loc), "scale": float(self.scale), "seed": int(self.seed)}


class TruncatedNormalInitializer(NormalInitializer):
    """As Normal, but values beyond two standard deviations are drawn again."""

    kind = "truncated_normal"


class XavierInitializer(Initializer):
    """Keeps the variance of values and gradients through a layer: the default of weights.

    Uniform in ±sqrt(6 / (fan_in + fan_out)), or normal with variance 2 / (fan_in + fan_out).
    """

    def __init__(self, uniform: bool = True, fan_in: Optional[float] = None,
                 fan_out: Optional[float] = None, seed: int = 0):
        self.uniform, self.fan_in, self.fan_out, self.seed = uniform, fan_in, fan_out, seed

    def _plain(self) -> dict:
        out = {"type": "xavier", "uniform": bool(self.uniform), "seed": int(self.seed)}
        if self.fan_in is not None:
            out["fan_in"] = float(self.fan_in)
        if self.fan_out is not None:
            out["fan_out"] = float(self.fan_out)
        return out


class MSRAInitializer(Initializer):
    """The same for layers followed by relu: uniform in ±sqrt(6 / fan_in), or normal with variance 2 / fan_in."""

    def __init__(self, uniform: bool = True, fan_in: Optional[float] = None, seed: int = 0):
        self.uniform, self.fan_in, self.seed = uniform, fan_in, seed

    def _plain(self) -> dict:
        out = {"type": "msra", "uniform": bool(self.uniform), "seed": int(self.seed)}
        if self.fan_in is not None:
            out["fan_in"] = float(self.fan_in)
        return out


class BilinearInitializer(Initializer):
    """Upsampling weights of a square filter [C_out, C_in, k, k]."""

    def _plain(self) -> dict:
        return {"type": "bilinear"}


class NumpyArrayInitializer(Initializer):
    """Given values; the array has the shape of the variable."""

    def __init__(self, value: np.ndarray):
        if not isinstance(value, np.ndarray):
            raise TypeError(f"NumpyArrayInitializer takes a numpy array, found {type(value).__name__}")
        self.value = value

    def _plain(self) -> dict:
        return {"type": "values", "values": self.value.astype("float64").ravel().tolist()}


Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
TruncatedNormal = TruncatedNormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer
Bilinear = BilinearInitializer
