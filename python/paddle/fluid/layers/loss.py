"""Losses: what a network is trained to make small."""
from __future__ import annotations

from typing import Optional, Tuple, Union

from ._call import Variable, call

__all__ = ["cross_entropy", "huber_loss", "log_loss", "sigmoid_cross_entropy_with_logits",
           "softmax_with_cross_entropy", "square_error_cost"]


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
