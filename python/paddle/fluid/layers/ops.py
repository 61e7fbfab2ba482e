"""Functions of one variable, element by element, and random values."""
from __future__ import annotations

from typing import Optional, Protocol, Sequence

from ._call import DType, Variable, call

__all__ = [
    "abs", "brelu", "ceil", "cos", "elu", "exp", "floor", "gaussian_random", "gaussian_random_batch_size_like", "gelu",
    "hard_sigmoid", "leaky_relu", "log", "logsigmoid", "pow", "reciprocal", "relu", "relu6", "round", "rsqrt",
    "sigmoid", "sign", "sin", "soft_relu", "softplus", "softsign", "sqrt", "square", "stanh", "swish", "tanh",
    "tanh_shrink", "uniform_random", "uniform_random_batch_size_like"]


class _Elementwise(Protocol):
    def __call__(self, x: Variable, name: Optional[str] = None) -> Variable:
        ...


def _elementwise(op: str, meaning: str) -> _Elementwise:
    """The function of a layer whose op takes one variable and no attribute."""
    def layer(x: Variable, name: Optional[str] = None) -> Variable:
        return call(op, input=x, name=name)

    layer.__name__ = layer.__qualname__ = op
    layer.__doc__ = (f"{meaning[0].upper() + meaning[1:]}, element by element.\n\n    Args:\n        x: what goes in.\n"
                     "        name: stands in front of the name of the result.\n    ")
    return layer


relu = _elementwise("relu", "max(x, 0)")
sigmoid = _elementwise("sigmoid", "1 / (1 + e^-x)")
logsigmoid = _elementwise("logsigmoid", "log(1 / (1 + e^-x))")
exp = _elementwise("exp", "e^x")
log = _elementwise("log", "the natural logarithm of x")
tanh = _elementwise("tanh", "the hyperbolic tangent of x")
tanh_shrink = _elementwise("tanh_shrink", "x - tanh(x)")
sqrt = _elementwise("sqrt", "the square root of x")
rsqrt = _elementwise("rsqrt", "1 / sqrt(x)")
abs = _elementwise("abs", "|x|")
ceil = _elementwise("ceil", "x rounded up")
floor = _elementwise("floor", "x rounded down")
cos = _elementwise("cos", "the cosine of x")
sin = _elementwise("sin", "the sine of x")
round = _elementwise("round", "x rounded to the nearest integer, halves away from 0")
reciprocal = _elementwise("reciprocal", "1 / x")
square = _elementwise("square", "x^2")
softplus = _elementwise("softplus", "log(1 + e^x)")
softsign = _elementwise("softsign", "x / (1 + |x|)")
gelu = _elementwise("gelu", "x times the probability that a normal variable is below x")
sign = _elementwise("sign", "-1, 0 or 1")


def leaky_relu(x: Variable, alpha: float = 0.02, name: Optional[str] = None) -> Variable:
    """x where it is positive, else alpha * x."""
    return call("leaky_relu", input=x, alpha=alpha, name=name)


def elu(x: Variable, alpha: float = 1.0, name: Optional[str] = None) -> Variable:
    """x where it is positive, else alpha * (e^x - 1)."""
    return call("elu", input=x, alpha=alpha, name=name)


def relu6(x: Variable, threshold: float = 6.0, name: Optional[str] = None) -> Variable:
    """min(max(x, 0), threshold)."""
    return call("relu6", input=x, threshold=threshold, name=name)


def pow(x: Variable, factor: float = 1.0, name: Optional[str] = None) -> Variable:
    """x^factor, element by element."""
    return call("pow", input=x, factor=factor, name=name)


def stanh(x: Variable, scale_a: float = 2.0 / 3.0, scale_b: float = 1.7159, name: Optional[str] = None) -> Variable:
    """scale_b * tanh(scale_a * x)."""
    return call("stanh", input=x, scale_a=scale_a, scale_b=scale_b, name=name)


def hard_sigmoid(x: Variable, slope: float = 0.2, offset: float = 0.5, name: Optional[str] = None) -> Variable:
    """slope * x + offset, limited to [0, 1]."""
    return call("hard_sigmoid", input=x, slope=slope, offset=offset, name=name)


def swish(x: Variable, beta: float = 1.0, name: Optional[str] = None) -> Variable:
    """x / (1 + e^(-beta * x))."""
    return call("swish", input=x, beta=beta, name=name)


def brelu(x: Variable, t_min: float = 0.0, t_max: float = 24.0, name: Optional[str] = None) -> Variable:
    """x, limited to [t_min, t_max]."""
    return call("brelu", input=x, t_min=t_min, t_max=t_max, name=name)


def soft_relu(x: Variable, threshold: float = 40.0, name: Optional[str] = None) -> Variable:
    """log(1 + e^x), with x limited to [-threshold, threshold]."""
    return call("soft_relu", input=x, threshold=threshold, name=name)


def uniform_random(shape: Sequence[int], dtype: DType = "float32", min: float = -1.0, max: float = 1.0,
                   seed: int = 0) -> Variable:
    """Random values drawn evenly from [min, max), new ones in each run; seed 0 = the program's."""
    return call("uniform_random", shape=shape, dtype=dtype, min=min, max=max, seed=seed)


def gaussian_random(shape: Sequence[int], mean: float = 0.0, std: float = 1.0, seed: int = 0,
                    dtype: DType = "float32") -> Variable:
    """Random values of a normal distribution, new ones in each run; seed 0 = the program's."""
    return call("gaussian_random", shape=shape, mean=mean, std=std, seed=seed, dtype=dtype)


def uniform_random_batch_size_like(input: Variable, shape: Sequence[int], dtype: DType = "float32",
                                   input_dim_idx: int = 0, output_dim_idx: int = 0, min: float = -1.0, max: float = 1.0,
                                   seed: int = 0) -> Variable:
    """uniform_random of the given shape, whose length `output_dim_idx` is that of `input` at `input_dim_idx`."""
    return call("uniform_random_batch_size_like", input=input, shape=shape, dtype=dtype, input_dim_idx=input_dim_idx,
                output_dim_idx=output_dim_idx, min=min, max=max, seed=seed)


def gaussian_random_batch_size_like(input: Variable, shape: Sequence[int], input_dim_idx: int = 0,
                                    output_dim_idx: int = 0, mean: float = 0.0, std: float = 1.0, seed: int = 0,
                                    dtype: DType = "float32") -> Variable:
    """gaussian_random of the given shape, whose length `output_dim_idx` is that of `input` at `input_dim_idx`."""
    return call("gaussian_random_batch_size_like", input=input, shape=shape, input_dim_idx=input_dim_idx,
                output_dim_idx=output_dim_idx, mean=mean, std=std, seed=seed, dtype=dtype)
