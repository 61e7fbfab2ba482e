"""How Python functions call the C++ layers."""
import linecache
import sys

from .. import _core
from . import core, framework, unique_name

__all__ = ["layer", "layers", "origin", "plain"]


def origin() -> str:
    """Where the user's script called into this package: 'train.py:12: y = fc(x)'."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not (name == "paddle" or name.startswith("paddle.")):
            break
        frame = frame.f_back
    if frame is None:
        return ""
    path, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(path, line, frame.f_globals).strip()
    return f"{path}:{line}: {source}" if source else f"{path}:{line}"


def plain(value):
    """A layer's argument as the core takes it: variables become names, types names of types, attribute objects
    (those with a method _plain) what they stand for."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, framework.Variable):
        return value.name
    if isinstance(value, core.VarDesc.VarType):
        return core.dtype_name(value)
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    describe = getattr(value, "_plain", None)
    return value if describe is None else describe()


def call(function, *args, **kwargs):
    """Calls function(main, startup, names, *args) on the current programs; the ops' origin is the user's line."""
    main, startup = framework.default_main_program()._core, framework.default_startup_program()._core
    where = origin()
    main.current_origin = startup.current_origin = where
    try:
        return function(main, startup, unique_name._generator._core, *args, **kwargs)
    finally:
        main.current_origin = startup.current_origin = ""


def layers(type: str, **args) -> list:
    """Builds a layer of the core's registry (`paddle list_layers` shows them) in the current programs; the results are
    Variables. Arguments that are None count as not given."""
    given = {"type": type}
    for name, value in args.items():
        value = plain(value)
        if value is not None:
            given[name] = value
    block = framework.default_main_program().global_block()
    return [block.var(name) for name in call(_core.build_layer, given)]


def layer(type: str, **args):
    """The same for a layer with one result, which is returned alone."""
    return layers(type, **args)[0]
