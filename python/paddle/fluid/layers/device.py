"""Where programs run."""
from __future__ import annotations

from typing import List, Optional

from .. import core

__all__ = ["get_places"]


def get_places(device_count: Optional[int] = None, device_type: Optional[str] = None) -> List["core.CPUPlace"]:
    """CPU places: `device_count` of them, or as many as `CPU_NUM` says. device_type: None or "CPU"."""
    if device_type not in (None, "CPU"):
        raise core.ConfigError(f"get_places: there is no device type {device_type!r}: programs run on the CPU")
    return core.cpu_places(device_count or None)
