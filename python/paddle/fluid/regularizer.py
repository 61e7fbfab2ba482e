"""Weight decay: what is added to a gradient so that weights stay small.

An optimizer's `regularization` counts for every parameter that has none of its own
(`ParamAttr(regularizer=...)`).
"""
from __future__ import annotations

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer", "WeightDecayRegularizer"]


class WeightDecayRegularizer:
    """Base of the two kinds of decay."""

    kind = ""

    def __init__(self, regularization_coeff: float = 0.0):
        self._regularization_coeff = regularization_coeff

    def _plain(self) -> dict:
        """The decay as the key that a job file has for it: {"l2": 0.01}."""
        return {self.kind: float(self._regularization_coeff)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}, regularization_coeff={self._regularization_coeff:f}"


class L1DecayRegularizer(WeightDecayRegularizer):
    """Adds coeff * sign(parameter) to the gradient."""

    kind = "l1"


class L2DecayRegularizer(WeightDecayRegularizer):
    """Adds coeff * parameter to the gradient."""

    kind = "l2"


def _from_plain(pair):
    """The regularizer of a pair ("l2", 0.01), as the core keeps it; None of None."""
    if pair is None:
        return None
    return (L1DecayRegularizer if pair[0] == "l1" else L2DecayRegularizer)(pair[1])


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
