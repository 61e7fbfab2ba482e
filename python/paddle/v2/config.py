"""paddle.init: the options of this process."""
import os
from typing import Any, Dict, List

from .. import _core
from ..dataset import common
from ..fluid import core

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
    _place_of(values)
    _flags[:] = flags
    if values["data_dir"]:
        common.data_dir = values["data_dir"]


def _place_of(values: Dict[str, Any]) -> "core.CPUPlace | core.CUDAPlace":
    use_gpu = values["use_gpu"]
    if use_gpu == "auto":
        use_gpu = core.get_cuda_device_count() > 0
    if not use_gpu:
        return core.CPUPlace()
    number = values["gpu_id"]
    if number < 0:
        number = values["trainer_id"] % max(1, core.get_cuda_device_count())
    core._gpu(number)  # a sentence where there is none
    return core.CUDAPlace(number)


def place() -> "core.CPUPlace | core.CUDAPlace":
    """Where networks are computed: on a GPU with use_gpu, whose number is gpu_id."""
    return _place_of(options())


def options() -> Dict[str, Any]:
    """All options, as `init` and the environment set them."""
    return _core.parse_options(_flags, dict(os.environ))


def cluster() -> Dict[str, Any]:
    """Where the pservers are and which trainer this is: pservers, trainers, trainer_id, sync."""
    return _core.parse_cluster(_flags, dict(os.environ))
