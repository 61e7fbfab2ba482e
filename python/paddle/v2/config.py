"""paddle.init: the options of this process."""
import os
from typing import Any, Dict, List

from .. import _core
from .._core import ConfigError
from ..dataset import common

_flags: List[str] = []


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def init(**options: Any) -> None:
    """Sets options: `use_gpu`, `trainer_count`, `pservers`, `port`, `num_gradient_servers`, `trainer_id` and others.

    All flags of `paddle train` (see `paddle train --help`) are names here. Variables PADDLE_INIT_<NAME> of the
    environment give values too; an argument wins over them. An unknown name or a bad value is a ConfigError.
    """
    flags = [f"--{name}={_word(value)}" for name, value in options.items() if value is not None]
    values = _core.parse_options(flags, dict(os.environ))
    if values["use_gpu"]:
        raise ConfigError("use_gpu must be false here: scripts compute on the CPU, and only paddle train "
                          "--use_gpu=true computes on a GPU")
    _flags[:] = flags
    if values["data_dir"]:
        common.data_dir = values["data_dir"]


def options() -> Dict[str, Any]:
    """All options, as `init` and the environment set them."""
    return _core.parse_options(_flags, dict(os.environ))


def cluster() -> Dict[str, Any]:
    """Where the pservers are and which trainer this is: pservers, trainers, trainer_id, sync."""
    return _core.parse_cluster(_flags, dict(os.environ))
