"""Runs programs."""
import contextlib

import numpy as np

from .. import _core
from . import core, flags, framework, profiler
from .framework import Program, Variable

__all__ = ["Executor", "Scope", "global_scope", "scope_guard"]

Scope = _core.Scope
_global_scope = Scope()


def global_scope() -> Scope:
    """Where variables live between runs, unless run() is given another scope."""
    return _global_scope


def _switch_scope(scope: Scope) -> Scope:
    global _global_scope
    old, _global_scope = _global_scope, scope
    return old


@contextlib.contextmanager
def scope_guard(scope: Scope):
    """Another global scope inside."""
    if not isinstance(scope, Scope):
        raise TypeError(f"scope_guard takes a Scope, found {scope!r} of type {type(scope).__name__}")
    old = _switch_scope(scope)
    try:
        yield
    finally:
        _switch_scope(old)


def _fetch_names(fetch_list) -> list:
    if isinstance(fetch_list, (str, Variable)):
        fetch_list = [fetch_list]
    names = []
    for item in fetch_list:
        if isinstance(item, Variable):
            names.append(item.name)
        elif isinstance(item, str):
            names.append(item)
        else:
            raise TypeError(f"fetch_list holds Variables or their names, found {item!r} of type {type(item).__name__}")
    return names


class Executor:
    """Runs programs.

    place: CPUPlace(), None means the same; or CUDAPlace(0), the GPU of that number. Ops that have no kernel for GPUs
        run on the CPU, and the log names them.

    With FLAGS_check_nan_inf=1 in the environment (or fluid.set_flags) every result is checked, and the first op that
    gives an infinity or NaN is named in a NumericError; that takes time.
    """

    def __init__(self, place=None):
        if isinstance(place, core.CUDAPinnedPlace):
            raise core.ConfigError("CUDAPinnedPlace() is memory: programs run on CPUPlace() or CUDAPlace(0)")
        if place is not None and not isinstance(place, (core.CPUPlace, core.CUDAPlace)):
            raise TypeError(f"Executor takes a place such as CPUPlace(), found {place!r}")
        self.place = core.CPUPlace() if place is None else place
        self._gpu = core._gpu(place.id) if isinstance(place, core.CUDAPlace) else None
        self._checks = flags.get_flags("FLAGS_check_nan_inf")["FLAGS_check_nan_inf"]
        # _core is what runs: another one while times are measured.
        self._plain = self._core = self._new_core()
        self._threaded = {}
        self._closed = False
        self._jobs = set()  # halves of divided programs that it has run: close() leaves their jobs
        profiler._register(self)

    def _new_core(self, **options):
        return _core.Executor(check_nan_inf=self._checks, gpu=self._gpu, **options)

    def _measure(self, on: bool):
        self._core = self._new_core(profile=True) if on else self._plain

    def _costs(self) -> list:
        return [] if self._core is self._plain else self._core.profile()

    def _core_of(self, threads: int):
        """The core's executor for a CompiledProgram, whose ops several threads may share."""
        if threads == 1 or self._core is not self._plain:
            return self._core
        if threads not in self._threaded:
            self._threaded[threads] = self._new_core(threads=threads)
        return self._threaded[threads]

    def run(self, program=None, feed=None, fetch_list=None, feed_var_name="feed", fetch_var_name="fetch", scope=None,
            return_numpy=True, use_program_cache=False):
        """Runs a program once and returns what fetch_list names: numpy arrays, or LoDTensors if return_numpy is False.

        program: a Program or CompiledProgram; None = the default main program.
        feed: {name of a variable: array or LoDTensor}. Arrays in row-major order and of the declared type are used
            where they are; others are converted.
        scope: where parameters live; None = global_scope().
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Executor: make a new one, or call close() later")
        if program is None:
            program = framework._main_program
        runner = self._core
        if type(program) is not Program:
            runner = self._core_of(getattr(program, "_threads", 1))
            program = self._program_of(program)
        if feed is None:
            feed = {}
        elif type(feed) is not dict:
            feed = self._feed_of(feed)
        fetches = [] if fetch_list is None else _fetch_names(fetch_list)
        if scope is None:
            scope = _global_scope
        if program._distributed is not None:
            return program._distributed.run(self, program, feed, fetches, scope, return_numpy)
        return runner.run(program._core, scope, feed, fetches, return_numpy)

    def train_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100) -> None:
        """Runs a program on every batch of a data set (fluid.DatasetFactory), once through its files.

        thread: how many threads read and train on the same parameters; 0 = as the data set says. On a GPU they read,
            and batches are computed one after the other.
        fetch_list, fetch_info: printed to stdout after every print_period batches of the first thread.
        debug: what the ops cost goes to stderr, on the CPU.
        """
        from .dataset_run import run_from_dataset
        run_from_dataset(self, program, dataset, scope, thread, debug, fetch_list, fetch_info, print_period)

    def infer_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100) -> None:
        """As train_from_dataset. Give it a program without backward and optimizer ops: clone(for_test=True) before
        minimize."""
        from .dataset_run import run_from_dataset
        run_from_dataset(self, program, dataset, scope, thread, debug, fetch_list, fetch_info, print_period)

    @staticmethod
    def _program_of(program) -> Program:
        inner = getattr(program, "_program", None)  # a CompiledProgram
        if isinstance(inner, Program):
            return inner
        if isinstance(program, Program):
            return program
        raise TypeError("Executor requires Program as its Parameter. But you passed in "
                        f"{program!r} of type {type(program).__name__}")

    @staticmethod
    def _feed_of(feed) -> dict:
        parts = feed if isinstance(feed, (list, tuple)) else [feed]
        if not parts or not all(isinstance(part, dict) for part in parts):
            raise TypeError(f"feed requires dict as its Parameter, found {feed!r} of type {type(feed).__name__}")
        if len(parts) == 1:
            return dict(parts[0])
        # One per place: they are one batch.
        return {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}

    def close(self):
        """Ends its work; a trainer leaves its job with pservers. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        for half in list(self._jobs):
            half.close()
