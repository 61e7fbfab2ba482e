"""Fluid: networks as programs of layers, run by an Executor, alone or with parameter servers."""
import importlib as _importlib
from typing import TYPE_CHECKING

from ..unsupported import explain as _explain, instead_of
from . import (compiler, core, executor, framework, install_check, io, layer_helper, lod_tensor, log_helper, profiler,
               unique_name)
from . import (average, backward, clip, evaluator, initializer, layers, metrics, nets, optimizer, param_attr,
               regularizer)
from .backward import append_backward, gradients
from .compiler import BuildStrategy, CompiledProgram, ExecutionStrategy, ParallelExecutor
from .core import (CPUPlace, CUDAPinnedPlace, CUDAPlace, LoDTensor, Scope, cpu_places, cuda_pinned_places, cuda_places,
                   is_compiled_with_cuda)
from .data import data
from .data_feeder import DataFeeder
from .dataset import DatasetFactory, InMemoryDataset, QueueDataset
from .executor import Executor, global_scope, scope_guard
from .flags import get_flags, set_flags
from .framework import (Program, Variable, default_main_program, default_startup_program, default_trainer_program,
                        name_scope, program_guard)
from .input import embedding, one_hot
from .io import load, save
from .lod_tensor import create_lod_tensor, create_random_int_lodtensor
from .param_attr import ParamAttr, WeightNormParamAttr
from . import communicator, transpiler
from .transpiler import DistributeTranspiler, DistributeTranspilerConfig, memory_optimize, release_memory

Tensor = LoDTensor

for _module in (clip, core, data_feeder, dataset, evaluator, executor, framework, io, layer_helper, metrics, optimizer,
                regularizer, transpiler):
    _explain(_module.__name__)
del _module


if not TYPE_CHECKING:  # checkers of types report unknown names by themselves
    def __getattr__(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "incubate":  # much code, for jobs of several processes
            return _importlib.import_module(f"{__name__}.incubate")
        names = [n for n in globals() if not n.startswith("_")]
        hint = instead_of("fluid", name) or core.did_you_mean(name, names)
        raise AttributeError(f"paddle.fluid has no '{name}'{hint}")
