"""How slices of parameters find their pserver.

Give one of these classes as ``DistributeTranspilerConfig.split_method``. The placing itself is done by the core; the
methods here show what it does.
"""
from typing import List, Sequence

__all__ = ["PSDispatcher", "RoundRobin", "HashName", "ByBytes"]


class PSDispatcher:
    """Base of the ways to place slices. ``_core_name`` is what the core calls the way."""

    _core_name = ""

    def __init__(self, pserver_endpoints: Sequence[str]):
        self._eps = list(pserver_endpoints)
        self._step = 0

    @property
    def eps(self) -> List[str]:
        return self._eps

    def reset(self) -> None:
        """Starts again with the first pserver."""
        self._step = 0

    def dispatch(self, varlist) -> List[str]:
        """The endpoint of each of these variables (or names)."""
        raise NotImplementedError("a way to place slices needs dispatch()")


class RoundRobin(PSDispatcher):
    """One after the other: the default, and Fluid's."""

    _core_name = "round_robin"

    def dispatch(self, varlist) -> List[str]:
        out = []
        for _ in varlist:
            out.append(self._eps[self._step % len(self._eps)])
            self._step += 1
        return out


class HashName(PSDispatcher):
    """By a hash of the slice's name, the same in every process."""

    _core_name = "hash"

    def dispatch(self, varlist) -> List[str]:
        from paddle import _core
        names = [v if isinstance(v, str) else v.name for v in varlist]
        return [self._eps[_core.hash_name(n) % len(self._eps)] for n in names]


class ByBytes(PSDispatcher):
    """To the pserver that holds the fewest bytes: what ``paddle trainer`` does by default."""

    _core_name = "bytes"
