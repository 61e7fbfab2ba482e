"""Layers: functions that append ops to the default main program (and first values to the startup program).

Each takes variables and returns variables. Names of parameters and temporaries, defaults and ops are Fluid's.
"""
from . import control_flow, io, learning_rate_scheduler, loss, math_op_patch, metric_op, nn, ops, tensor
from .control_flow import *  # noqa: F401,F403
from .io import *  # noqa: F401,F403
from .learning_rate_scheduler import *  # noqa: F401,F403
from .loss import *  # noqa: F401,F403
from .math_op_patch import monkey_patch_variable
from .metric_op import *  # noqa: F401,F403
from .nn import *  # noqa: F401,F403
from .ops import *  # noqa: F401,F403
from .tensor import *  # noqa: F401,F403

__all__ = (control_flow.__all__ + io.__all__ + learning_rate_scheduler.__all__ + metric_op.__all__ + nn.__all__ +
           ops.__all__ + tensor.__all__)

monkey_patch_variable()


def __getattr__(name: str):
    import difflib
    if name.startswith("__"):
        raise AttributeError(name)
    near = difflib.get_close_matches(name, __all__, n=1, cutoff=0.75)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    raise AttributeError(f"fluid.layers has no layer '{name}'{hint}: either it is written differently, or the core "
                         "has no op for it yet; dir(fluid.layers) lists what there is")
