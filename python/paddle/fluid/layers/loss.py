"""Losses: what a network is trained to make small."""
from __future__ import annotations

from typing import Optional, Tuple, Union

from ._call import Variable, call

__all__ = ["bpr_loss", "cross_entropy", "huber_loss", "kldiv_loss", "log_loss", "margin_rank_loss", "rank_loss",
           "sigmoid_cross_entropy_with_logits", "smooth_l1", "softmax_with_cross_entropy", "square_error_cost",
           "teacher_student_sigmoid_loss"]


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """(input - label)^2, element by element."""
    return call("square_error_cost", input=input, label=label)


def cross_entropy(input: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100) -> Variable:
    """-log of the label's probability.

    Args:
        input: probabilities (of a softmax), [N, classes].
        label: the class, int64 [N, 1]; with `soft_label` its probabilities, [N, classes].
        soft_label: the label holds probabilities rather than a class.
        ignore_index: the class that costs nothing.

    Returns:
        [N, 1]

    Example:
        >>> cost = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    """
    return call("cross_entropy", input=input, label=label, soft_label=soft_label, ignore_index=ignore_index)


def softmax_with_cross_entropy(logits: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100,
                               numeric_stable_mode: bool = True, return_softmax: bool = False,
                               axis: int = -1) -> Union[Variable, Tuple[Variable, Variable]]:
    """softmax and cross_entropy in one: exact also where a probability would be rounded to 0.

    Args:
        logits: values before softmax, [N, classes].
        label: the class, int64 [N, 1]; with `soft_label` its probabilities.
        soft_label: the label holds probabilities rather than a class.
        ignore_index: the class that costs nothing.
        numeric_stable_mode: always on.
        return_softmax: return (loss, softmax) instead of the loss.
        axis: dimension of the classes.
    """
    loss, softmax = call("softmax_with_cross_entropy", input=logits, label=label, soft_label=soft_label,
                         ignore_index=ignore_index, numeric_stable_mode=numeric_stable_mode, axis=axis)
    return (loss, softmax) if return_softmax else loss


def sigmoid_cross_entropy_with_logits(x: Variable, label: Variable, ignore_index: int = -100,
                                      name: Optional[str] = None, normalize: bool = False) -> Variable:
    """Cross entropy of sigmoid(x) with labels from 0 to 1, element by element.

    Args:
        x: values before sigmoid.
        label: as large as x.
        ignore_index: the label that costs nothing.
        name: stands in front of the name of the result.
        normalize: divide by the number of labels that count.
    """
    return call("sigmoid_cross_entropy_with_logits", input=x, label=label, ignore_index=ignore_index, name=name,
                normalize=normalize)


def log_loss(input: Variable, label: Variable, epsilon: float = 0.0001, name: Optional[str] = None) -> Variable:
    """-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon); both [N, 1]."""
    return call("log_loss", input=input, label=label, epsilon=epsilon, name=name)


def huber_loss(input: Variable, label: Variable, delta: float) -> Variable:
    """d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), with d = label - input."""
    return call("huber_loss", input=input, label=label, delta=delta)


def rank_loss(label: Variable, left: Variable, right: Variable, name: Optional[str] = None) -> Variable:
    """log(1 + e^o) - label * o with o = left - right: how badly two scores are ranked.

    Args:
        label: float32 [N, 1]; 1 where `left` should be above `right`, else 0.
        left, right: the scores, [N, 1].
        name: stands in front of the name of the result.
    """
    return call("rank_loss", label=label, left=left, right=right, name=name)


def margin_rank_loss(label: Variable, left: Variable, right: Variable, margin: float = 0.1,
                     name: Optional[str] = None) -> Variable:
    """max(0, margin - label * (left - right)).

    Args:
        label: float32 [N, 1]; 1 where `left` should be above `right`, else -1.
        left, right: the scores, [N, 1].
        margin: how far apart they should be.
        name: stands in front of the name of the result.
    """
    return call("margin_rank_loss", label=label, left=left, right=right, margin=margin, name=name)


def bpr_loss(input: Variable, label: Variable, name: Optional[str] = None) -> Variable:
    """The mean of log(1 + e^(score - score of the label)) over the other classes, [N, 1].

    Args:
        input: scores, [N, classes].
        label: the class, int64 [N, 1].
        name: stands in front of the name of the result.
    """
    return call("bpr_loss", input=input, label=label, name=name)


def smooth_l1(x: Variable, y: Variable, inside_weight: Optional[Variable] = None,
              outside_weight: Optional[Variable] = None, sigma: Optional[float] = None) -> Variable:
    """Per row the sum of s * d^2 / 2 where |d| < 1 / s, else |d| - 1 / (2 * s): [N, 1].

    Args:
        x, y: prediction and target; d = (x - y) * inside_weight.
        inside_weight: factors of the differences.
        outside_weight: factors of the parts of the sum.
        sigma: s is its square; 1 where it is not given.
    """
    return call("smooth_l1", x=x, y=y, inside_weight=inside_weight, outside_weight=outside_weight, sigma=sigma)


def kldiv_loss(x: Variable, target: Variable, reduction: str = "mean", name: Optional[str] = None) -> Variable:
    """target * (log(target) - x), 0 where the target is not above 0.

    Args:
        x: logarithms of probabilities.
        target: probabilities.
        reduction: "mean" over all elements, "batchmean" over rows, "sum", or "none".
        name: stands in front of the name of the result.
    """
    return call("kldiv_loss", x=x, target=target, reduction=reduction, name=name)


def teacher_student_sigmoid_loss(input: Variable, label: Variable, soft_max_up_bound: float = 15.0,
                                 soft_max_lower_bound: float = -15.0) -> Variable:
    """Cross entropy of sigmoid(input) with a click, plus that with a teacher's value q where there is one.

    Args:
        input: scores, [N, 1].
        label: float32 [N, 1]: -2 no click and -1 a click without a teacher; q no click and 1 + q a click with one.
        soft_max_up_bound, soft_max_lower_bound: scores beyond them get no gradient.
    """
    return call("teacher_student_sigmoid_loss", input=input, label=label, soft_max_up_bound=soft_max_up_bound,
                soft_max_lower_bound=soft_max_lower_bound)
