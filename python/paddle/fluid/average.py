"""Running averages on the side of the script."""
from __future__ import annotations

import numbers

import numpy as np

__all__ = ["WeightedAverage"]


class WeightedAverage:
    """The weighted mean of values that come one after the other.

    Example:
        >>> average = fluid.average.WeightedAverage()
        >>> average.add(value=2.0, weight=1)
        >>> average.add(value=4.0, weight=3)
        >>> average.eval()
        3.5
    """

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Forgets all values."""
        self.numerator = None
        self.denominator = None

    def add(self, value, weight) -> None:
        """Adds a number or an array with its weight."""
        if not isinstance(value, (numbers.Number, np.ndarray)):
            raise ValueError("the 'value' of WeightedAverage must be a number or a numpy array")
        if not isinstance(weight, (numbers.Number, np.ndarray)) or np.size(weight) != 1:
            raise ValueError("the 'weight' of WeightedAverage must be a number")
        if self.numerator is None:
            self.numerator = value * weight
            self.denominator = weight
        else:
            self.numerator = self.numerator + value * weight
            self.denominator = self.denominator + weight

    def eval(self):
        """The mean so far."""
        if self.numerator is None or not np.any(self.denominator):
            raise ValueError("there is no data in WeightedAverage: add values with weights above 0 first")
        return self.numerator / self.denominator
