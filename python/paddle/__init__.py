"""PaddlePaddle's Python interface over the C++ core of this project."""
from . import fluid

__all__ = ["fluid"]
