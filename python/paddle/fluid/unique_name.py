"""Names that no one else has: generate('fc') gives 'fc_0', then 'fc_1', … One counter per key."""
import contextlib

from .. import _core

__all__ = ["generate", "guard", "switch"]


class UniqueNameGenerator:
    """A set of counters; `prefix` stands in front of every name."""

    def __init__(self, prefix: str = ""):
        self._core = _core.NameMaker(prefix)

    def __call__(self, key: str) -> str:
        return self._core.next(key)


_generator = UniqueNameGenerator()


def generate(key: str) -> str:
    """The next name of `key`: 'key_0', 'key_1', …"""
    return _generator._core.next(key)


def switch(new_generator=None) -> UniqueNameGenerator:
    """Makes another generator (a new one, unless given) the current one and returns the old one."""
    global _generator
    old = _generator
    _generator = UniqueNameGenerator() if new_generator is None else new_generator
    return old


@contextlib.contextmanager
def guard(new_generator=None):
    """Names start again inside: from a new generator, from the one given, or with a prefix given as str."""
    if isinstance(new_generator, (str, bytes)):
        new_generator = UniqueNameGenerator(new_generator if isinstance(new_generator, str) else new_generator.decode())
    old = switch(new_generator)
    try:
        yield
    finally:
        switch(old)
