"""Layers: functions that append ops to the default main program (and first values to the startup program).

Each takes variables and returns variables. Names of parameters and temporaries, defaults and ops are Fluid's.
"""
from typing import TYPE_CHECKING

from ... import _core
from ...unsupported import instead_of
from . import (_composed, _math, _sampling, _sequence, _shape, control_flow, device, io, learning_rate_scheduler, loss,
               metric_op, nn, ops, tensor)
from ._composed import *  # noqa: F401,F403
from ._math import *  # noqa: F401,F403
from ._sampling import *  # noqa: F401,F403
from ._sequence import *  # noqa: F401,F403
from ._shape import *  # noqa: F401,F403
from .control_flow import *  # noqa: F401,F403
from .io import *  # noqa: F401,F403
from .learning_rate_scheduler import *  # noqa: F401,F403
from .loss import *  # noqa: F401,F403
from .metric_op import *  # noqa: F401,F403
from .nn import *  # noqa: F401,F403
from .ops import *  # noqa: F401,F403
from .tensor import *  # noqa: F401,F403

__all__ = (_composed.__all__ + _math.__all__ + _sampling.__all__ + _sequence.__all__ + _shape.__all__ +
           control_flow.__all__ + io.__all__ + learning_rate_scheduler.__all__ + loss.__all__ + metric_op.__all__ +
           nn.__all__ + ops.__all__ + tensor.__all__)


if not TYPE_CHECKING:  # checkers of types report unknown names by themselves
    def __getattr__(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        known = instead_of("fluid.layers", name)
        if known:
            raise AttributeError(f"fluid.layers has no '{name}'{known}")
        raise AttributeError(f"fluid.layers has no layer '{name}'{_core.did_you_mean(name, __all__)}: "
                             "either it is written differently, or the core "
                             "has no op for it yet; dir(fluid.layers) lists what there is")
