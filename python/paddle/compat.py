"""What scripts that run under Python 2 and 3 take from `paddle.compat`: text, bytes and whole-number arithmetic."""
import math
from typing import Any

__all__ = ["long_type", "to_text", "to_bytes", "round", "floor_division", "get_exception_message"]

long_type = int


def _convert(obj: Any, inplace: bool, one) -> Any:
    if isinstance(obj, list):
        changed = [one(x) for x in obj]
        if inplace:
            obj[:] = changed
            return obj
        return changed
    if isinstance(obj, set):
        changed = {one(x) for x in obj}
        if inplace:
            obj.clear()
            obj.update(changed)
            return obj
        return changed
    return one(obj)


def to_text(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """`obj` with bytes turned into text: bytes, or the elements of a list or a set. Everything else stays as it is."""
    return _convert(obj, inplace, lambda x: x.decode(encoding) if isinstance(x, bytes) else x)


def to_bytes(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """`obj` with text turned into bytes: text, or the elements of a list or a set. Everything else stays as it is."""
    return _convert(obj, inplace, lambda x: x.encode(encoding) if isinstance(x, str) else x)


def round(x: float, d: int = 0) -> float:  # noqa: A001 (the name is the API)
    """`x` to `d` decimal places, halves away from zero: Python 2's rule."""
    if x == 0:
        return 0.0
    p = 10**d
    return math.copysign(math.floor(abs(x) * p + 0.5) / p, x)


def floor_division(x, y):
    """x // y."""
    return x // y


def get_exception_message(exc: BaseException) -> str:
    """The sentence of an exception."""
    if exc is None:
        raise ValueError("get_exception_message needs an exception, got None")
    return str(exc)
