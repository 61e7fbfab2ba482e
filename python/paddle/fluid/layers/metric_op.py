"""Metrics that are computed inside of a program."""
from __future__ import annotations

from typing import List, Optional, Tuple

from ._call import Variable, call

__all__ = ["accuracy", "auc"]


def accuracy(input: Variable, label: Variable, k: int = 1, correct: Optional[Variable] = None,
             total: Optional[Variable] = None) -> Variable:
    """The share of rows whose label is among the k largest scores: float32, [1].

    Args:
        input: scores or probabilities, [N, classes].
        label: int64 [N, 1].
        k: right if the label is among the k largest.
        correct: an int32 variable that gets the number of right rows.
        total: an int32 variable that gets the number of rows.
    """
    return call("accuracy", input=input, label=label, k=k, correct=correct, total=total)


def auc(input: Variable, label: Variable, curve: str = "ROC", num_thresholds: int = 4095, topk: int = 1,
        slide_steps: int = 1) -> Tuple[Variable, Variable, List[Variable]]:
    """Area under the curve of a binary classification.

    Args:
        input: probabilities of both classes, [N, 2]; column 1 counts.
        label: int64 [N, 1], 0 or 1.
        curve: "ROC" or "PR".
        num_thresholds: bins of the probability.
        topk: accepted; changes nothing.
        slide_steps: batches that the second result looks back on.

    Returns:
        (auc since the start, auc of the last `slide_steps` batches, [batch_stat_pos, batch_stat_neg, stat_pos,
        stat_neg]): float64 [1] each, and the counts, which live from run to run.
    """
    value, batch_value, *states = call("auc", input=input, label=label, curve=curve, num_thresholds=num_thresholds,
                                       slide_steps=slide_steps)
    return value, batch_value, states
