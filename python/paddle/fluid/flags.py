"""fluid.set_flags and get_flags: settings that otherwise come from environment variables FLAGS_*."""
import os
from typing import Any, Dict, List, Union

__all__ = ["get_flags", "set_flags"]

# Flags that change something here, with their defaults.
_KNOWN: Dict[str, Any] = {
    "FLAGS_check_nan_inf": False,  # of Executors that are made afterwards
    "FLAGS_communicator_send_queue_size": 20,
    "FLAGS_rpc_deadline": 180000,
}
# Flags of GPUs, allocators and thread pools that PaddlePaddle's scripts set: accepted, without effect here.
_ACCEPTED = {
    "FLAGS_allocator_strategy": "naive_best_fit", "FLAGS_benchmark": False, "FLAGS_cpu_deterministic": False,
    "FLAGS_cudnn_batchnorm_spatial_persistent": False, "FLAGS_cudnn_deterministic": False,
    "FLAGS_cudnn_exhaustive_search": False, "FLAGS_eager_delete_tensor_gb": 0.0, "FLAGS_enable_parallel_graph": False,
    "FLAGS_fast_eager_deletion_mode": True, "FLAGS_fraction_of_cpu_memory_to_use": 1.0,
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92, "FLAGS_fuse_parameter_groups_size": 3,
    "FLAGS_fuse_parameter_memory_size": -1.0, "FLAGS_memory_fraction_of_eager_deletion": 1.0,
    "FLAGS_sync_nccl_allreduce": True, "FLAGS_use_mkldnn": False, "FLAGS_use_pinned_memory": True,
}
_values: Dict[str, Any] = {}


def _default(name: str) -> Any:
    for flags in (_KNOWN, _ACCEPTED):
        if name in flags:
            return flags[name]
    from .. import _core
    names = list(_KNOWN) + list(_ACCEPTED)
    raise ValueError(f"there is no flag {name!r}{_core.did_you_mean(name, names)}; the flags that change something "
                     f"are {', '.join(_KNOWN)}")


def set_flags(flags: Dict[str, Any]) -> None:
    """Sets flags for this process and those that it starts, as environment variables of the same name do.

    >>> fluid.set_flags({"FLAGS_rpc_deadline": 60000})
    """
    if not isinstance(flags, dict):
        raise TypeError(f"set_flags takes a dictionary of flags, found {type(flags).__name__}")
    for name in flags:
        _default(name)  # all are known before any is set
    for name, value in flags.items():
        _values[name] = value
        os.environ[name] = str(int(value)) if isinstance(value, bool) else str(value)


def get_flags(flags: Union[str, List[str]]) -> Dict[str, Any]:
    """The values of one flag or several: as set_flags or the environment set them, else their defaults."""
    names = [flags] if isinstance(flags, str) else list(flags)
    return {name: _value(name) for name in names}


def _value(name: str) -> Any:
    default = _default(name)
    given = os.environ.get(name)
    if given is None or name in _values and given == str(_values[name]):
        return _values.get(name, default)
    if isinstance(default, bool):
        return given.lower() in ("1", "true")
    try:
        return type(default)(given)
    except ValueError:
        raise ValueError(f"the environment variable {name} must be of type {type(default).__name__}, found "
                         f"{given!r}") from None
