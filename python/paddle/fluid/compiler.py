"""CompiledProgram and related classes. Every program is compiled when it is run; these hold options for that."""
from .. import _core
from . import core, framework
from .executor import Executor

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy", "ParallelExecutor"]


class _Fields:
    """Fields with defaults; an unknown name is an AttributeError with a suggestion."""

    _DEFAULTS = {}

    def __init__(self):
        self.__dict__.update(self._DEFAULTS)

    def __setattr__(self, name, value):
        if name not in self._DEFAULTS:
            guess = _core.did_you_mean(name, list(self._DEFAULTS))
            raise AttributeError(f"{type(self).__name__} has no field '{name}'{guess}")
        self.__dict__[name] = value

    def __getattr__(self, name):
        guess = _core.did_you_mean(name, list(self._DEFAULTS))
        raise AttributeError(f"{type(self).__name__} has no field '{name}'{guess}")

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


class BuildStrategy(_Fields):
    """How to compile a program. Its fields have no effect: the compiler always fuses ops and shares memory."""

    class ReduceStrategy:
        """Where gradients of several devices are summed; there is one device."""
        AllReduce, Reduce, _NoReduce = 0, 1, 2

    class GradientScaleStrategy:
        """By what gradients of several devices are divided; there is one device."""
        CoeffNumDevice, One, Customized = 0, 1, 2

    _DEFAULTS = {
        "reduce_strategy": 0, "gradient_scale_strategy": 0, "debug_graphviz_path": "", "async_mode": False,
        "memory_optimize": True, "enable_inplace": True, "fuse_elewise_add_act_ops": False,
        "fuse_relu_depthwise_conv": False, "fuse_broadcast_ops": False, "fuse_all_optimizer_ops": False,
        "fuse_all_reduce_ops": False, "enable_sequential_execution": False, "remove_unnecessary_lock": True,
        "sync_batch_norm": False, "num_trainers": 1, "trainer_id": 0, "trainers_endpoints": [],
        "enable_parallel_graph": False, "cache_runtime_context": False, "enable_data_balance": False,
        "enable_backward_optimizer_op_deps": False, "is_distribution": False, "nccl_comm_num": 1,
        "use_hierarchical_allreduce": False, "hierarchical_allreduce_inter_nranks": 0,
    }


class ExecutionStrategy(_Fields):
    """How to run a program: num_threads share the work of large ops."""

    class ExecutorType:
        """Accepted; there is one kind of executor."""
        Default, Experimental = 0, 1

    _DEFAULTS = {
        "num_threads": 0, "num_iteration_per_drop_scope": 100, "num_iteration_per_run": 1, "allow_op_delay": False,
        "use_cuda": False, "dry_run": False, "type": 0, "use_experimental_executor": False,
    }


class CompiledProgram:
    """A program with options for its compilation; Executor.run() takes it like a Program."""

    def __init__(self, program_or_graph):
        program = getattr(program_or_graph, "_program", program_or_graph)
        if not isinstance(program, framework.Program):
            raise TypeError(f"CompiledProgram takes a Program, found {program_or_graph!r}")
        self._program = program
        self._threads = 1

    def with_data_parallel(self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None,
                           places=None) -> "CompiledProgram":
        """Lets the places (by default as many as the environment variable CPU_NUM says) share the work of large ops.
        Every batch is computed as a whole, so that results do not depend on their number. With an Executor of a GPU
        it is computed on that GPU."""
        if loss_name is not None:
            self._program.global_block().var(getattr(loss_name, "name", loss_name))
        for given, kind in ((build_strategy, BuildStrategy), (exec_strategy, ExecutionStrategy)):
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"expected a {kind.__name__}, found {given!r}")
        places = core.cpu_places() if places is None else places if isinstance(places, (list, tuple)) else [places]
        for place in places:
            if isinstance(place, core.CUDAPlace):
                core._gpu(place.id)  # is refused now
            elif not isinstance(place, core.CPUPlace):
                raise TypeError(f"places are such as CPUPlace() or CUDAPlace(0), found {place!r}")
        wanted = exec_strategy.num_threads if exec_strategy is not None else 0
        self._threads = max(1, wanted or sum(isinstance(p, core.CPUPlace) for p in places))
        return self

    def with_inference_optimize(self, config=None) -> "CompiledProgram":
        """Accepted: every program is optimised when it is run."""
        return self


class ParallelExecutor:
    """The older way to run one program on several places. use_cuda: on the first GPU."""

    def __init__(self, use_cuda, loss_name=None, main_program=None, share_vars_from=None, exec_strategy=None,
                 build_strategy=None, num_trainers=1, trainer_id=0, scope=None):
        program = framework.default_main_program() if main_program is None else main_program
        self._compiled = CompiledProgram(program).with_data_parallel(loss_name, build_strategy, exec_strategy)
        self._executor = Executor(core.CUDAPlace(0) if use_cuda else core.CPUPlace())
        self._scope = scope

    @property
    def device_count(self) -> int:
        """Batches are not divided: 1."""
        return 1

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True) -> list:
        """As Executor.run(); a list of feeds, one per place, is one batch."""
        feed = feed_dict if feed is None else feed
        return self._executor.run(self._compiled, feed, fetch_list, scope=self._scope, return_numpy=return_numpy)

    def drop_local_exe_scopes(self):
        """Accepted; there are none."""
