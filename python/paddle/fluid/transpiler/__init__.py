"""Programs divided for training with parameter servers."""
from .distribute_transpiler import DistributeTranspiler, DistributeTranspilerConfig, wait_server_ready
from .ps_dispatcher import ByBytes, HashName, RoundRobin

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig", "HashName", "RoundRobin", "ByBytes", "memory_optimize",
           "release_memory"]


def memory_optimize(input_program=None, skip_opt_set=None, print_log=False, level=0, skip_grads=True) -> None:
    """Taken from old scripts, and without effect: plans lay memory out well by themselves."""


def release_memory(input_program=None, skip_opt_set=None) -> None:
    """Taken from old scripts, and without effect: plans lay memory out well by themselves."""
