"""Activations of layers. `name` is that of Fluid's op, "" for none."""

__all__ = ["Abs", "Base", "Exp", "Identity", "Linear", "Log", "Reciprocal", "Relu", "Sigmoid", "SoftRelu", "Softmax",
           "Sqrt", "Square", "Tanh"]


class Base:
    """An activation."""
    name = ""

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


def _activation(class_name: str, op: str, meaning: str):
    return type(class_name, (Base,), {"name": op, "__doc__": meaning, "__module__": __name__})


Linear = _activation("Linear", "", "x")
Identity = Linear
Sigmoid = _activation("Sigmoid", "sigmoid", "1 / (1 + exp(-x))")
Softmax = _activation("Softmax", "softmax", "exp(x) / the sum of exp(x) of a row")
Tanh = _activation("Tanh", "tanh", "tanh(x)")
Relu = _activation("Relu", "relu", "max(x, 0)")
SoftRelu = _activation("SoftRelu", "softplus", "log(1 + exp(x))")
Abs = _activation("Abs", "abs", "|x|")
Square = _activation("Square", "square", "x * x")
Exp = _activation("Exp", "exp", "exp(x)")
Log = _activation("Log", "log", "the natural logarithm")
Sqrt = _activation("Sqrt", "sqrt", "the square root")
Reciprocal = _activation("Reciprocal", "reciprocal", "1 / x")
