"""Executor.train_from_dataset and infer_from_dataset."""
import sys
from typing import Any, Callable, List, Optional, Sequence

from .. import _core
from . import core, executor as executors
from .dataset import DatasetBase
from .framework import Program, Variable, default_main_program

_C_NAMES = {"float32": "float", "float64": "double", "int64": "int64_t", "int32": "int", "bool": "bool",
            "uint8": "uint8_t"}


def tensor_text(tensor: "_core.LoDTensor") -> str:
    """A tensor as Fluid 1.8 prints it beside the name of what was fetched."""
    lod = "".join("{" + ", ".join(map(str, level)) + "}" for level in tensor.lod())
    numbers = tensor.numpy().reshape(-1).tolist()
    values = " ".join(f"{v:g}" if isinstance(v, float) else str(int(v)) for v in numbers)
    dims = ", ".join(map(str, tensor.shape()))
    return f"\tlod: {{{lod}}}\n\tdim: {dims}\n\tlayout: NCHW\n\tdtype: {_C_NAMES[tensor.dtype]}\n\tdata: [{values}]\n"


def _printer(names: Sequence[str], infos: Sequence[str]) -> Callable[[List[Any]], None]:
    def show(values):
        for name, info, value in zip(names, infos, values):
            sys.stdout.write(f"{info}\t{name}\t{tensor_text(value)}\t\n")
        sys.stdout.flush()

    return show


def run_from_dataset(executor, program: Optional[Program], dataset: Optional[DatasetBase], scope, thread: int,
                     debug: bool, fetch_list: Optional[Sequence[Any]], fetch_info: Optional[Sequence[str]],
                     print_period: int) -> None:
    """Runs a program on every batch of one pass over a data set."""
    if dataset is None:
        raise RuntimeError("dataset is need and should be initialized")
    program = default_main_program() if program is None else executor._program_of(program)
    scope = executors.global_scope() if scope is None else scope
    threads = thread if thread > 0 else dataset.thread_num
    if threads <= 0:
        raise RuntimeError("You should set thread num first, either in Dataset or in Executor.train_from_dataset")
    if print_period <= 0:
        raise ValueError(f"print_period must be positive, got {print_period}")
    names = [v.name if isinstance(v, Variable) else v for v in fetch_list or []]
    infos = list(fetch_info) if fetch_info else names
    if len(infos) != len(names):
        raise ValueError(f"fetch_info has {len(infos)} texts for {len(names)} variables of fetch_list")
    feeds = [v.name for v in dataset.use_var]
    show = _printer(names, infos)
    source = dataset._source()
    job = None
    if program._distributed is not None:
        job = getattr(program._distributed, "job", None)
        if job is None:
            raise core.ConfigError("a data set is trained on by the program of a trainer, which this is not: use what "
                                   "get_trainer_program() returns")
        executor._jobs.add(program._distributed)
    _core.run_pass(executor._core, program._core, scope, source, threads, feeds, names, print_period, debug, show, job)
