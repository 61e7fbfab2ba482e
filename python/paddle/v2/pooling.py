"""How sequences, or the pixels under a window, become one value."""

__all__ = ["Avg", "Base", "Max", "SquareRootN", "Sum"]


class Base:
    """A way of pooling. `sequence` and `image` are Fluid's names for it ("" where it cannot be)."""
    sequence = ""
    image = ""


class Max(Base):
    """The largest value."""
    sequence, image = "max", "max"


class Avg(Base):
    """The mean."""
    sequence, image = "average", "avg"


class Sum(Base):
    """The sum; of sequences only."""
    sequence = "sum"


class SquareRootN(Base):
    """The sum over the square root of the length; of sequences only."""
    sequence = "sqrt"
