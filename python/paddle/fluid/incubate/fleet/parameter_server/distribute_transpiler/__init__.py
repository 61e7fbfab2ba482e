"""``fleet``: training with parameter servers.

>>> from paddle.fluid.incubate.fleet.base import role_maker
>>> from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
>>> fleet.init(role_maker.PaddleCloudRoleMaker())
>>> optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(0.01))
>>> optimizer.minimize(cost)
>>> if fleet.is_server():
...     fleet.init_server()
...     fleet.run_server()
... else:
...     fleet.init_worker()
...     exe.run(fluid.default_startup_program())
...     …  # steps of fluid.default_main_program()
...     fleet.stop_worker()
"""
import os
from typing import Optional, Sequence

from paddle.fluid import framework, io
from paddle.fluid.executor import Executor
from paddle.fluid.framework import Program
from paddle.fluid.optimizer import Optimizer
from paddle.fluid.transpiler import DistributeTranspiler, DistributeTranspilerConfig

from ...base.fleet_base import DistributedOptimizer, Fleet, Mode
from .distributed_strategy import DistributedStrategy, StrategyFactory

__all__ = ["fleet", "DistributedTranspiler", "TranspilerOptimizer", "DistributeTranspilerConfig", "StrategyFactory"]


class DistributedTranspiler(Fleet):
    """Fleet over the DistributeTranspiler. The module's ``fleet`` is the one of the process."""

    def __init__(self):
        super().__init__(Mode.TRANSPILER)
        self._transpiler: Optional[DistributeTranspiler] = None
        self.main_program: Optional[Program] = None
        self.startup_program: Optional[Program] = None
        self._origin_program: Optional[Program] = None

    def _cut(self) -> DistributeTranspiler:
        if self._transpiler is None:
            raise ValueError("the program is not cut yet: call fleet.distributed_optimizer(…).minimize(loss) first")
        return self._transpiler

    # -- workers

    def init_worker(self) -> None:
        """To be called before the first step. Waits until the parameter servers listen, unless wait_port of the
        strategy is False: then the first step does. After stop_worker() the only worker of a job may call it again: it
        begins a new job with its values. Several workers cannot, because only worker 0 has the optimizer's state."""
        if not self.is_worker():
            raise ValueError("init_worker() is for workers, and this process is a server")
        from paddle.fluid.transpiler import wait_server_ready
        if self._cut().config.wait_port:
            wait_server_ready(self.server_endpoints())
        half = self.main_program._distributed
        if half.job.closed and self.worker_num() > 1:
            raise ValueError("this worker has left the job (stop_worker()), and several workers cannot train again: "
                             "call stop_worker() after the last pass, or start the job again")
        half.open_again()

    def stop_worker(self) -> None:
        """Leaves the job; the other workers go on. To be called after the last step."""
        half = self.main_program._distributed if self.main_program is not None else None
        if half is not None and hasattr(half, "job"):
            half.close()
        if self._executor is not None:
            self._executor.close()
        self._roles().finalize()

    # -- servers

    def init_server(self, model_dir: Optional[str] = None) -> None:
        """Makes this server ready. With model_dir the values saved there count; without it the first worker's."""
        if not self.is_server():
            raise ValueError("init_server() is for servers, and this process is a worker")
        self._cut()
        self._executor.run(self.startup_program)
        if not model_dir:
            return
        if not os.path.isdir(model_dir):
            raise ValueError("There is no directory named '%s' to load the model from" % model_dir)
        io.load_persistables(self._executor, model_dir, self.main_program)

    def run_server(self) -> None:
        """Serves until a signal ends the process; under mpirun until all workers have stopped."""
        if not self.is_server():
            raise ValueError("run_server() is for servers, and this process is a worker")
        self._cut()
        self.main_program._distributed.ends_with_job = self._roles().servers_end_with_job
        self._executor.run(self.main_program)

    # -- models

    def save_inference_model(self, executor: Executor, dirname: str, feeded_var_names: Sequence[str], target_vars,
                             main_program: Optional[Program] = None, export_for_deployment: bool = True):
        """Saves what the parameter servers have now as a model for inference, in the form of one process."""
        return io.save_inference_model(dirname, feeded_var_names, target_vars, executor,
                                       main_program=self._of_worker(main_program, "save_inference_model"),
                                       export_for_deployment=export_for_deployment)

    def save_persistables(self, executor: Executor, dirname: str, main_program: Optional[Program] = None):
        """Saves parameters and optimizer state as the parameter servers have them now, in the form of one process."""
        return io.save_persistables(executor, dirname, main_program=self._of_worker(main_program, "save_persistables"))

    save_persistable = save_persistables  # the guide's name

    def _of_worker(self, program: Optional[Program], what: str) -> Program:
        self._cut()
        program = self.main_program if program is None else program
        if not hasattr(program._distributed, "job"):
            raise ValueError("main_program is for local, may not use fleet.%s: give it the program that minimize() "
                             "cut" % what)
        return program

    # -- optimizers

    def distributed_optimizer(self, optimizer, strategy=None) -> "TranspilerOptimizer":
        """Wraps an optimizer, so that its minimize() cuts the program for the job."""
        if not isinstance(optimizer, Optimizer):
            raise ValueError("distributed_optimizer takes an optimizer such as fluid.optimizer.SGD(…), found %r" %
                             (optimizer,))
        self._optimizer = TranspilerOptimizer(optimizer, strategy)
        return self._optimizer

    def _transpile(self, config: DistributeTranspilerConfig, program: Program, startup: Program) -> None:
        roles = self._roles()
        mode = config._core_mode(None)
        sync = True if mode == "sync" else False
        self._origin_program = program.clone()
        self._transpiler = DistributeTranspiler(config)
        arguments = dict(program=program, startup_program=startup, pservers=self.server_endpoints(to_string=True),
                         trainers=roles.worker_num(), sync_mode=sync)
        if self.is_worker():
            self._transpiler.transpile(trainer_id=roles.worker_index(), **arguments)
            self.main_program = self._transpiler.get_trainer_program(wait_port=config.wait_port)
            self.startup_program = startup
        else:
            self._transpiler.transpile(**arguments)
            self.main_program, self.startup_program = self._transpiler.get_pserver_programs(
                self.server_endpoints()[self.server_index()])


fleet = DistributedTranspiler()


class TranspilerOptimizer(DistributedOptimizer):
    """An optimizer whose minimize() also cuts the program, in place."""

    def __init__(self, optimizer, strategy=None):
        super().__init__(optimizer, strategy)
        if strategy is None:
            config = DistributeTranspilerConfig()
        elif isinstance(strategy, DistributedStrategy):
            config = strategy.get_program_config()
        elif isinstance(strategy, DistributeTranspilerConfig):
            config = strategy
        else:
            raise ValueError("a strategy is a DistributeTranspilerConfig, or comes from StrategyFactory; found %r" %
                             (strategy,))
        # With Fleet, async means that no trainer waits.
        if not config.sync_mode and not config.half_async and not config.geo_sgd_mode:
            config.runtime_split_send_recv = True
        self._config = config

    def minimize(self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None):
        """As the optimizer's own; then the program of the loss and its startup program become those of this worker."""
        if isinstance(losses, list):
            if len(losses) != 1:
                raise ValueError("minimize() takes one loss, found %d" % len(losses))
            losses = losses[0]
        if isinstance(startup_programs, list):
            startup_programs = startup_programs[0]
        result = self._optimizer.minimize(losses, startup_programs, parameter_list, no_grad_set)
        fleet._transpile(self._config, losses.block.program, startup_programs or framework.default_startup_program())
        return result
