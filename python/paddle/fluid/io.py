"""Variables, parameters and models to and from disk, in PaddlePaddle's own layout."""
import os
import pickle

import numpy as np

from .. import _core, plain_pickle
from . import core, framework
from ..batch import batch
from ..reader import (ComposeNotAligned, buffered, cache, chain, compose, firstn, map_readers, multiprocess_reader,
                      shuffle, xmap_readers)
from .executor import global_scope
from .framework import Parameter, Program, Variable
from .reader import DataLoader, PyReader

__all__ = [
    "ComposeNotAligned", "DataLoader", "PyReader", "batch", "buffered", "cache", "chain", "compose", "firstn",
    "get_parameter_value", "get_parameter_value_by_name", "get_program_parameter", "get_program_persistable_vars",
    "is_parameter", "is_persistable", "load", "load_inference_model", "load_params", "load_persistables",
    "load_program_state", "load_vars", "map_readers", "multiprocess_reader", "save", "save_inference_model",
    "save_params", "save_persistables", "save_vars", "set_program_state", "shuffle", "xmap_readers",
]


def is_parameter(var: Variable) -> bool:
    """Whether it is a Parameter."""
    return isinstance(var, Parameter)


def get_parameter_value(para: Parameter, executor) -> np.ndarray:
    """The value of a parameter in the global scope."""
    if not is_parameter(para):
        raise TypeError(f"get_parameter_value takes a Parameter, found {para!r} of type {type(para).__name__}")
    return get_parameter_value_by_name(para.name, executor, para.block.program)


def get_parameter_value_by_name(name: str, executor, program: Program | None = None) -> np.ndarray:
    """The same by its name in a program, the default main program unless given."""
    var = _program(program).global_block().var(name)
    found = global_scope().find_var(var.name)
    if found is None or not found.get_tensor()._is_initialized():
        raise core.ConfigError(f"the parameter '{name}' has no value: run the startup program or load a model first")
    return found.get_tensor().numpy()


def is_persistable(var: Variable) -> bool:
    """Whether its value outlives a run and can be saved."""
    return var.persistable and var._core.can_be_saved


def get_program_parameter(program: Program) -> list:
    """The parameters of a program."""
    return [v for v in program.list_vars() if is_parameter(v)]


def get_program_persistable_vars(program: Program) -> list:
    """The variables of a program that save_persistables() saves."""
    return [v for v in program.list_vars() if is_persistable(v)]


def _program(main_program) -> Program:
    if main_program is None:
        return framework.default_main_program()
    inner = getattr(main_program, "_program", main_program)  # of a CompiledProgram
    if not isinstance(inner, Program):
        raise TypeError(f"main_program must be a Program, found {main_program!r} of type {type(main_program).__name__}")
    return inner


def _to_save(executor, program: Program) -> Program:
    """The program whose variables are saved. That of half a program is the whole one: its object _distributed brings
    what lives on the pservers into the scope, and says which program that was."""
    return program if program._distributed is None else program._distributed.collect(executor, program, global_scope())


def _directory(dirname) -> str:
    if not isinstance(dirname, (str, os.PathLike)) or not os.fspath(dirname):
        raise core.ConfigError(f"dirname must be the path of a directory, found {dirname!r}")
    return os.fspath(dirname)


def _name(var) -> str:
    if isinstance(var, Variable):
        return var.name
    if isinstance(var, str):
        return var
    raise TypeError(f"expected a Variable or its name, found {var!r} of type {type(var).__name__}")


def _chosen(program: Program, vars, predicate) -> list:
    if vars is None:
        wanted = is_persistable if predicate is None else predicate
        return [v.name for v in program.list_vars() if wanted(v) and v._core.can_be_saved]
    tables = _core.table_names(program._core)
    return [_name(v) for v in vars if _name(v) not in tables]


def _tables(program: Program, vars) -> list:
    """The sparse tables to save or load: those listed, or all. Each is a file NAME.table beside the others, and Fluid's
    streams in __lookup_table__; either is loaded."""
    tables = _core.table_names(program._core)
    return tables if vars is None else [_name(v) for v in vars if _name(v) in tables]


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Saves variables of a program: those listed, or those that predicate(var) picks.

    dirname: the directory; made where there is none.
    filename: one file for all, in order of name; None = one file per variable, named like it.
    """
    program = _to_save(executor, _program(main_program))
    names = _chosen(program, vars, predicate)
    _core.save_vars(_directory(dirname), program._core, names, global_scope(), filename or "")
    _core.save_tables(_directory(dirname), _tables(program, vars), global_scope())


def save_params(executor, dirname, main_program=None, filename=None):
    """Saves the parameters of a program; see save_vars()."""
    save_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def save_persistables(executor, dirname, main_program=None, filename=None):
    """Saves all that training goes on from: parameters, optimizer state, counters; see save_vars()."""
    save_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)


def load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Loads what save_vars() saved, all or nothing: files that are missing, damaged or of another shape are listed in
    one error."""
    program = _program(main_program)
    load = getattr(program._distributed, "load_vars", None)  # a pserver takes its slices only
    if load is not None:
        return load(executor, _directory(dirname), program, vars, predicate, filename)
    names = _chosen(program, vars, predicate)
    _core.load_vars(_directory(dirname), program._core, names, global_scope(), filename or "")
    _core.load_tables(_directory(dirname), program._core, _tables(program, vars), global_scope())


def load_params(executor, dirname, main_program=None, filename=None):
    """Loads what save_params() saved."""
    load_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def load_persistables(executor, dirname, main_program=None, filename=None):
    """Loads what save_persistables() saved."""
    load_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)


def save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program=None, model_filename=None,
                         params_filename=None, export_for_deployment=True, program_only=False) -> list:
    """Saves the part of a program that computes target_vars from the fed variables, with its parameters.

    feeded_var_names: names of the variables that will be fed, in this order.
    target_vars: the Variables to be computed.
    model_filename: instead of '__model__'.
    params_filename: one file for all parameters; None = one file each.
    export_for_deployment: False writes the whole program, as '__model__.main_program', and all that it keeps; where
        target_vars are given, the part for them as well.
    program_only: writes the program without the parameters.
    Returns the names of the variables to fetch.
    """
    feeds = [feeded_var_names] if isinstance(feeded_var_names, (str, Variable)) else list(feeded_var_names)
    targets = target_vars if isinstance(target_vars, (list, tuple)) else [target_vars]
    for name in feeds:
        if not isinstance(name, str):
            raise TypeError(f"feeded_var_names holds names of variables, found {name!r} of type "
                            f"{type(name).__name__}: give its .name")
    program = _to_save(executor, _program(main_program))
    dirname = _directory(dirname)
    model = os.path.basename(model_filename) if model_filename else "__model__"
    params = os.path.basename(params_filename) if params_filename else ""
    names = [_name(t) for t in targets]
    fetches = []
    if not names and not export_for_deployment:
        save_persistables(executor, dirname, program, params_filename)
    elif program_only:
        os.makedirs(dirname, mode=0o750, exist_ok=True)
        pruned, fetches = _core.make_inference_model(program._core, feeds, names)
        _core.save_program(os.path.join(dirname, model), pruned)
    else:
        fetches = _core.save_inference_model(dirname, feeds, names, program._core, global_scope(), model, params)
    if not export_for_deployment:
        _core.save_program(os.path.join(dirname, model + ".main_program"), program._core)
    return fetches


def load_inference_model(dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None) -> list:
    """Loads what save_inference_model() saved: [program, names to feed, Variables to fetch]."""
    dirname = _directory(dirname)
    if not os.path.isdir(dirname):
        raise core.ConfigError(f"there is no directory '{dirname}' to load an inference model from")
    model = os.path.basename(model_filename) if model_filename else ""
    params = os.path.basename(params_filename) if params_filename else ""
    handle, feeds, fetches = _core.load_inference_model(dirname, global_scope(), model, params)
    program = Program._over(handle)
    block = program.global_block()
    if pserver_endpoints is not None:
        for op in block.ops:
            if op.has_attr("epmap"):
                op._set_attr("epmap", list(pserver_endpoints))
    return [program, feeds, [block.var(name) for name in fetches]]


def _value(name: str):
    found = global_scope().find_var(name)
    if found is None or not found.get_tensor()._is_initialized():
        raise core.ConfigError(f"the variable '{name}' has no value: run the startup program first")
    return found.get_tensor().numpy()


def _write(path: str, content: bytes):
    """The file appears whole or not at all."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o750, exist_ok=True)
    part = path + ".part"
    with open(part, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o640)) as f:
        f.write(content)
    os.replace(part, path)


def save(program, model_path: str):
    """Saves a program as model_path.pdmodel, its parameters as .pdparams and the other persistables as .pdopt: pickled
    dicts of arrays, as later versions of PaddlePaddle have them."""
    if not os.path.basename(model_path):
        raise core.ConfigError(f"model_path must be a directory and a name, found {model_path!r}")
    program = _to_save(None, _program(program))
    parameters = {v.name: _value(v.name) for v in get_program_parameter(program)}
    others = {v.name: _value(v.name) for v in get_program_persistable_vars(program) if v.name not in parameters}
    _write(model_path + ".pdparams", pickle.dumps(parameters, protocol=2))
    _write(model_path + ".pdopt", pickle.dumps(others, protocol=2))
    _write(model_path + ".pdmodel", program.serialize_to_string())


def load_program_state(model_path: str, var_list=None) -> dict:
    """What save() saved, as {name: array}."""
    state = {}
    for suffix in (".pdparams", ".pdopt"):
        path = model_path + suffix
        if not os.path.exists(path):
            if suffix == ".pdparams":
                raise core.FileError(f"there is no file '{path}' to load parameters from")
            continue
        with open(path, "rb") as f:
            try:
                part = plain_pickle.load(f)
                state.update({name: np.asarray(value) for name, value in part.items()})
            except (pickle.UnpicklingError, AttributeError, ValueError) as e:
                raise core.DataError(f"'{path}' is no dict of arrays as save() writes it: {e}") from e
    if var_list is not None:
        state = {name: state[name] for name in map(_name, var_list) if name in state}
    return state


def set_program_state(program, state_dict: dict):
    """Gives the persistable variables of a program the values of such a dict, all or none."""
    program = _program(program)
    problems, found = [], {}
    for var in get_program_persistable_vars(program):
        value = state_dict.get(var.name)
        if value is None:
            problems.append(f"'{var.name}' is not among them")
        elif tuple(np.shape(value)) != var.shape or np.asarray(value).dtype.name != core.dtype_name(var.dtype):
            problems.append(f"'{var.name}' is {core.dtype_name(var.dtype)} {list(var.shape)}, found "
                            f"{np.asarray(value).dtype.name} {list(np.shape(value))}")
        else:
            found[var.name] = np.asarray(value)
    if problems:
        raise core.DataError("the values do not fit the program:\n  " + "\n  ".join(problems))
    for name, value in found.items():
        global_scope().var(name).get_tensor().set(value)


def load(program, model_path: str, executor=None, var_list=None):
    """Loads what save() saved into the scope."""
    set_program_state(program, load_program_state(model_path, var_list))
