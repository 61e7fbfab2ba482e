"""Layers made of other layers."""
from __future__ import annotations

from typing import Optional

from . import _math
from ._call import DType, Variable, call

__all__ = ["cos_sim", "dice_loss", "l2_normalize", "label_smooth"]


def cos_sim(X: Variable, Y: Variable) -> Variable:
    """The cosine of the angle between each row of X and that of Y: [N, 1]. Y may be one row for all."""
    return call("cos_sim", X=X, Y=Y)


def l2_normalize(x: Variable, axis: int, epsilon: float = 1e-12, name: Optional[str] = None) -> Variable:
    """x / sqrt(sum of x^2 along dimension `axis` + epsilon)."""
    axis = 0 if len(x.shape) == 1 else 1 if axis is None else axis
    return call("l2_normalize", x=x, axis=axis, epsilon=epsilon, name=name)


def label_smooth(label: Variable, prior_dist: Optional[Variable] = None, epsilon: float = 0.1, dtype: DType = "float32",
                 name: Optional[str] = None) -> Variable:
    """(1 - epsilon) * label + epsilon * prior; the prior is 1 / classes where none is given.

    Args:
        label: one-hot rows, [N, classes].
        prior_dist: [1, classes].
        epsilon: weight of the prior, from 0 to 1.
        dtype: element type, that of the label.
        name: stands in front of the name of the result.
    """
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"label_smooth: epsilon must be from 0 to 1, found {epsilon}")
    label.stop_gradient = True
    return call("label_smooth", label=label, prior_dist=prior_dist, epsilon=epsilon, name=name)


def dice_loss(input: Variable, label: Variable, epsilon: float = 0.00001) -> Variable:
    """1 - 2 * overlap / (total of both), the mean over the batch; for masks.

    Args:
        input: probabilities of classes, [N, ..., classes].
        label: the class, int64 [N, ..., 1].
        epsilon: keeps from 0 / 0.
    """
    from . import _shape
    truth = _shape.one_hot(_shape.reshape(label, [-1, 1]), depth=input.shape[-1])
    truth = _shape.reshape(truth, [-1] + list(input.shape[1:]))
    dims = list(range(1, len(input.shape)))
    overlap = _math.reduce_sum(_math.elementwise_mul(input, truth), dim=dims)
    total = _math.elementwise_add(_math.reduce_sum(input, dim=dims), _math.reduce_sum(truth, dim=dims))
    score = _math.elementwise_div(_math.scale(overlap, scale=2.0), _math.scale(total, bias=epsilon))
    return _math.reduce_mean(_math.scale(score, scale=-1.0, bias=1.0))
