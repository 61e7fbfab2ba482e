"""Where programs run."""
from __future__ import annotations

from typing import List, Optional

from .. import core

__all__ = ["get_places"]


def get_places(device_count: Optional[int] = None,
               device_type: Optional[str] = None) -> List["core.CPUPlace | core.CUDAPlace"]:
    """CPU places: `device_count` of them, or as many as `CPU_NUM` says; with the device_type "CUDA" the first GPUs, or
    all."""
    if device_type == "CUDA":
        return core.cuda_places(list(range(device_count)) if device_count else None)
    if device_type not in (None, "CPU"):
        raise core.ConfigError(f"get_places: there is no device type {device_type!r}, only CPU and CUDA")
    return core.cpu_places(device_count or None)
