"""How parameters learn. All take `learning_rate`, `regularization`, `gradient_clipping_threshold` and `is_async`."""
import inspect
from typing import Optional

from .. import fluid

__all__ = ["AdaDelta", "AdaGrad", "Adam", "Adamax", "DecayedAdaGrad", "L2Regularization", "Momentum", "Optimizer",
           "RMSProp"]


class L2Regularization:
    """Adds rate · w to the gradient of every parameter that has no l1_rate or l2_rate of its own."""

    def __init__(self, rate: float):
        self.rate = rate


class Optimizer:
    """What all optimizers share.

    learning_rate: on sums of gradients over the samples of a batch; 1e-3 unless given.
    regularization: L2Regularization(rate).
    gradient_clipping_threshold: gradients are cut to [-t, t].
    is_async: with pservers, no trainer waits for the gradients of the others.
    """

    def __init__(self, learning_rate: float = 1e-3, regularization: Optional[L2Regularization] = None,
                 gradient_clipping_threshold: Optional[float] = None, is_async: bool = False,
                 batch_size: Optional[int] = None,
                 learning_rate_schedule: str = "constant", learning_rate_decay_a: float = 0.0,
                 learning_rate_decay_b: float = 0.0, model_average=None):
        if learning_rate_schedule not in ("constant", None) or learning_rate_decay_a or learning_rate_decay_b:
            raise ValueError("learning rates stay constant here: schedules that count samples are not supported; "
                             "use paddle.fluid.layers.exponential_decay and the like")
        if model_average is not None:
            raise ValueError("model_average is not supported")
        self.learning_rate = float(learning_rate)
        self.l2_rate = float(regularization.rate) if regularization is not None else 0.0
        self.clipping = float(gradient_clipping_threshold or 0.0)
        self.is_async = is_async

    def fluid(self) -> "fluid.optimizer.Optimizer":
        """The optimizer that does the work."""
        raise NotImplementedError


def _shows_all_arguments(cls):
    """Lets help() and docs/api show the arguments of Optimizer in the place of **kwargs."""
    kinds = inspect.Parameter
    own = [p for p in inspect.signature(cls.__init__).parameters.values() if p.kind is not kinds.VAR_KEYWORD]
    shared = [p.replace(kind=kinds.KEYWORD_ONLY)
              for p in inspect.signature(Optimizer.__init__).parameters.values() if p.name != "self"]
    cls.__init__.__signature__ = inspect.Signature(own + shared)
    return cls


@_shows_all_arguments
class Momentum(Optimizer):
    """v = momentum · v + g; w -= learning_rate · v. Without a momentum this is plain descent."""

    def __init__(self, momentum: Optional[float] = None, sparse: bool = False, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum or 0.0

    def fluid(self):
        if self.momentum == 0:
            return fluid.optimizer.SGD(learning_rate=self.learning_rate)
        return fluid.optimizer.Momentum(learning_rate=self.learning_rate, momentum=float(self.momentum))


class AdaGrad(Optimizer):
    """m += g²; w -= learning_rate · g / (sqrt(m) + 1e-6)."""

    def fluid(self):
        return fluid.optimizer.Adagrad(learning_rate=self.learning_rate)


@_shows_all_arguments
class Adam(Optimizer):
    """Steps by the mean of gradients over the root of their mean square."""

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs):
        super().__init__(**kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def fluid(self):
        return fluid.optimizer.Adam(learning_rate=self.learning_rate, beta1=self.beta1, beta2=self.beta2,
                                    epsilon=self.epsilon)


@_shows_all_arguments
class Adamax(Optimizer):
    """Adam with the largest gradient in the place of the mean square."""

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, **kwargs):
        super().__init__(**kwargs)
        self.beta1, self.beta2 = beta1, beta2

    def fluid(self):
        return fluid.optimizer.Adamax(learning_rate=self.learning_rate, beta1=self.beta1, beta2=self.beta2)


@_shows_all_arguments
class DecayedAdaGrad(Optimizer):
    """AdaGrad that forgets: m = rho · m + (1 - rho) · g²."""

    def __init__(self, rho: float = 0.95, epsilon: float = 1e-6, **kwargs):
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def fluid(self):
        return fluid.optimizer.DecayedAdagrad(learning_rate=self.learning_rate, decay=self.rho, epsilon=self.epsilon)


@_shows_all_arguments
class AdaDelta(Optimizer):
    """Steps by the root mean square of earlier steps over that of the gradients."""

    def __init__(self, rho: float = 0.95, epsilon: float = 1e-6, **kwargs):
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def fluid(self):
        return fluid.optimizer.Adadelta(learning_rate=self.learning_rate, rho=self.rho, epsilon=self.epsilon)


@_shows_all_arguments
class RMSProp(Optimizer):
    """Steps by the gradient over the root of its mean square."""

    def __init__(self, rho: float = 0.95, epsilon: float = 1e-6, **kwargs):
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def fluid(self):
        return fluid.optimizer.RMSProp(learning_rate=self.learning_rate, rho=self.rho, epsilon=self.epsilon)
