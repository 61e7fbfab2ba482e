"""What scripts reach as fluid.core: exceptions, element types, places, scopes and tensors of the C++ core."""
import enum
import os

import numpy as np

from .. import _core
from .._core import (ConfigError, DataError, EnforceNotMet, FileError, LoDTensor, NumericError, PeerError,
                     ProtocolError, Scope, did_you_mean)

__all__ = [
    "ConfigError", "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "DataError", "EnforceNotMet", "FileError", "LoDTensor",
    "NumericError", "PeerError", "ProtocolError", "Scope", "Tensor", "VarDesc", "cpu_places", "cuda_pinned_places",
    "cuda_places", "convert_np_dtype_to_dtype_", "dtype_name", "get_cuda_device_count", "is_compiled_with_cuda",
]


Tensor = LoDTensor


class VarDesc:
    """Groups the numbers that saved models use for element types and kinds of variables."""

    class VarType(enum.IntEnum):
        BOOL = 0
        INT16 = 1
        INT32 = 2
        INT64 = 3
        FP16 = 4
        FP32 = 5
        FP64 = 6
        LOD_TENSOR = 7
        SELECTED_ROWS = 8
        FEED_MINIBATCH = 9
        FETCH_LIST = 10
        STEP_SCOPES = 11
        LOD_RANK_TABLE = 12
        LOD_TENSOR_ARRAY = 13
        PLACE_LIST = 14
        READER = 15
        RAW = 17
        TUPLE = 18
        SIZE_T = 19
        UINT8 = 20
        INT8 = 21

        def __str__(self):
            return f"VarType.{self.name}"

        __repr__ = __str__

        def __format__(self, spec):
            return format(str(self), spec)


_DTYPE_NAMES = {
    VarDesc.VarType.BOOL: "bool", VarDesc.VarType.INT16: "int16", VarDesc.VarType.INT32: "int32",
    VarDesc.VarType.INT64: "int64", VarDesc.VarType.FP16: "float16", VarDesc.VarType.FP32: "float32",
    VarDesc.VarType.FP64: "float64", VarDesc.VarType.UINT8: "uint8", VarDesc.VarType.INT8: "int8",
}
_DTYPES = {name: number for number, name in _DTYPE_NAMES.items()}


def dtype_name(dtype) -> str:
    """The name of an element type ('float32'), which may be given as a name, as a VarType, or as numpy's."""
    if type(dtype) is str and dtype in _DTYPES:
        return dtype
    if isinstance(dtype, VarDesc.VarType):
        if dtype in _DTYPE_NAMES:
            return _DTYPE_NAMES[dtype]
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = None
        if name in _DTYPES:
            return name
    raise ConfigError(f"there is no element type {dtype!r}: the types are {', '.join(_DTYPES)}")


def convert_np_dtype_to_dtype_(np_dtype) -> VarDesc.VarType:
    """The VarType of a numpy element type or of its name."""
    return _DTYPES[dtype_name(np_dtype)]


class _Place:
    def __repr__(self):
        return type(self).__name__

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((type(self), *self.__dict__.values()))


class CPUPlace(_Place):
    """Programs run on the CPU."""


class CUDAPlace(_Place):
    """Programs run on the GPU of this number. An Executor refuses the place where there is no such GPU."""

    def __init__(self, id: int = 0):
        self.id = int(id)

    def __repr__(self):
        return f"CUDAPlace({self.id})"


class CUDAPinnedPlace(_Place):
    """Memory of the host that a GPU reads. Tensors may be set with this place; programs do not run there."""


def cpu_places(device_count=None):
    """As many CPU places as device_count, or as the environment variable CPU_NUM, or one."""
    count = int(os.environ.get("CPU_NUM", 1)) if device_count is None else int(device_count)
    return [CPUPlace() for _ in range(count)]


_gpus = {}  # number -> what computes on it, once for all executors of the process


def _gpu(number: int):
    """The GPU of this number; a ConfigError with what to do where there is none."""
    if number not in _gpus:
        _gpus[number] = _core.open_gpu(number)
    return _gpus[number]


def _require_gpu():
    if get_cuda_device_count() == 0:
        _core.open_gpu(0)  # says why there is none


def cuda_places(device_ids=None):
    """A place for each number of device_ids; by default those of the environment variable FLAGS_selected_gpus
    ("0,1"), or all GPUs."""
    _require_gpu()
    count = get_cuda_device_count()
    selected = os.environ.get("FLAGS_selected_gpus", "")
    if device_ids is None:
        device_ids = [int(n) for n in selected.split(",")] if selected else range(count)
    elif not isinstance(device_ids, (list, tuple)):
        device_ids = [device_ids]
    for number in device_ids:
        if not 0 <= int(number) < count:
            raise ConfigError(f"there is no GPU {number}: their numbers are 0 to {count - 1}")
    return [CUDAPlace(n) for n in device_ids]


def cuda_pinned_places(device_count=None):
    """As many pinned places as device_count, or as the environment variable CPU_NUM, or one."""
    _require_gpu()
    return [CUDAPinnedPlace() for _ in cpu_places(device_count)]


def is_compiled_with_cuda() -> bool:
    """Whether programs can run on a GPU here: there are kernels for it, and a GPU."""
    return get_cuda_device_count() > 0


def get_cuda_device_count() -> int:
    """How many GPUs programs can run on."""
    return _core.gpu_count()[0]
