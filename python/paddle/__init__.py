"""PaddlePaddle's Python front end over this project's C++ core.

`import paddle.fluid as fluid` gives the Fluid API, `import paddle.v2 as paddle` the older one; `paddle.batch`,
`paddle.reader` and `paddle.dataset` serve both. Importing prints nothing and starts nothing.
"""
import importlib as _importlib
import importlib.util as _util
import sys as _sys

for _needed, _remedy in (("numpy", "install it (Debian: python3-numpy)"),
                         (f"{__name__}._core", "build it for this one")):
    if _util.find_spec(_needed) is None:
        raise ImportError(f"paddle needs the module {_needed}, which {_sys.executable} (Python "
                          f"{_sys.version.split()[0]}) does not have: {_remedy}, or use the Python that paddle was "
                          "built for (Debian: /usr/bin/python3)")

from . import compat
from . import reader
from .batch import batch
from .unsupported import Finder as _Finder

__all__ = ["batch", "compat", "dataset", "distributed", "fluid", "reader", "v2"]

_sys.meta_path += [_Finder]  # says what to use instead of modules that are not here

# These load the C++ core or much code, so they load when they are first used.
_LAZY = ("dataset", "distributed", "fluid", "v2")


def __getattr__(name: str):
    if name in _LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    if name == "__version__":
        from . import _core

        return _core.version
    raise AttributeError(f"module 'paddle' has no attribute {name!r}; it has {', '.join(__all__)} (names of 2.x are "
                         "not there: write paddle.fluid)")


def __dir__():
    return sorted({*globals(), *_LAZY})
