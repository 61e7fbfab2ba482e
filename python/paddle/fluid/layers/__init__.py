"""Layers: functions that append ops to the default main program (and first values to the startup program).

Each takes variables and returns variables. Names of parameters and temporaries, defaults and ops are Fluid's.
"""
from ... import _core
from . import control_flow, io, learning_rate_scheduler, loss, metric_op, nn, ops, tensor
from .control_flow import *  # noqa: F401,F403
from .io import *  # noqa: F401,F403
from .learning_rate_scheduler import *  # noqa: F401,F403
from .loss import *  # noqa: F401,F403
from .metric_op import *  # noqa: F401,F403
from .nn import *  # noqa: F401,F403
from .ops import *  # noqa: F401,F403
from .tensor import *  # noqa: F401,F403

__all__ = (control_flow.__all__ + io.__all__ + learning_rate_scheduler.__all__ + metric_op.__all__ + nn.__all__ +
           ops.__all__ + tensor.__all__)


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"fluid.layers has no layer '{name}'{_core.did_you_mean(name, __all__)}: "
                         "either it is written differently, or the core "
                         "has no op for it yet; dir(fluid.layers) lists what there is")
