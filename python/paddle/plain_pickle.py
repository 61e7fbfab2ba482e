"""Reads pickles of plain values from files that are not trusted: numbers, texts, lists, tuples, dicts and arrays.
Nothing in them is ever called, as pickle.load would do."""
import pickle
from typing import IO, Any

__all__ = ["load"]

_ALLOWED = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode"), ("collections", "OrderedDict")}
_ALLOWED |= {(f"numpy.{core}.{module}", name) for core in ("core", "_core")
             for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}, and only numbers, texts and arrays are read")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside of the file")


def load(f: IO[bytes], encoding: str = "ASCII") -> Any:
    """The value in an open file; raises pickle.UnpicklingError for anything else than plain values."""
    try:
        return _PlainUnpickler(f, encoding=encoding).load()
    except (ArithmeticError, AttributeError, EOFError, ImportError, LookupError, MemoryError, TypeError,
            ValueError) as e:
        raise pickle.UnpicklingError(f"it is damaged, or no pickle ({type(e).__name__}: {e})") from e
