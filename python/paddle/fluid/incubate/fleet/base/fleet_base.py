"""What all kinds of Fleet share: roles, files of a worker, wrapped optimizers."""
from typing import Dict, List, Optional, Sequence, Tuple

from paddle.fluid.executor import Executor
from paddle.fluid import core

from .role_maker import MPISymetricRoleMaker, Role, RoleMakerBase

__all__ = ["Fleet", "DistributedOptimizer", "Mode"]


class Mode:
    """Kinds of Fleet. TRANSPILER is the one there is."""
    TRANSPILER = 1
    PSLIB = 2
    COLLECTIVE = 3


class Fleet:
    """Who this process is, and what it does. Call ``init`` first."""

    def __init__(self, mode=Mode.TRANSPILER):
        self._mode = mode
        self._is_initialized = False
        self._role_maker: Optional[RoleMakerBase] = None
        self._optimizer = None
        self._executor: Optional[Executor] = None
        self._split: Dict[Tuple[str, ...], List[str]] = {}  # what split_files() gave, and of which list

    def init(self, role_maker: Optional[RoleMakerBase] = None) -> None:
        """Finds out the role of this process. Without a role maker it is MPISymetricRoleMaker's."""
        if role_maker is None:
            role_maker = MPISymetricRoleMaker()
        if not isinstance(role_maker, RoleMakerBase):
            raise ValueError("role_maker must be an instance of RoleMakerBase, found %r" % (role_maker,))
        self._executor = Executor(core.CPUPlace())
        self._role_maker = role_maker
        role_maker.generate_role()
        self._is_initialized = True

    def _roles(self) -> RoleMakerBase:
        if self._role_maker is None:
            raise ValueError("fleet.init() must be called first")
        return self._role_maker

    def is_first_worker(self) -> bool:
        """Whether this is worker 0."""
        return self._roles().is_first_worker()

    def worker_index(self) -> int:
        """The number of this worker."""
        return self._roles().worker_index()

    def worker_num(self) -> int:
        """How many workers there are."""
        return self._roles().worker_num()

    def is_worker(self) -> bool:
        """Whether this process trains."""
        return self._roles().is_worker()

    def worker_endpoints(self, to_string: bool = False):
        """Endpoints of the workers, where the role maker knows them."""
        endpoints = self._roles().get_trainer_endpoints()
        return ",".join(endpoints) if to_string else endpoints

    def server_num(self) -> int:
        """How many parameter servers there are."""
        return self._roles().server_num()

    def server_index(self) -> int:
        """The number of this parameter server."""
        return self._roles().server_index()

    def server_endpoints(self, to_string: bool = False):
        """Endpoints of the parameter servers, as a list or joined by commas."""
        endpoints = self._roles().get_pserver_endpoints()
        return ",".join(endpoints) if to_string else endpoints

    def is_server(self) -> bool:
        """Whether this process serves parameters."""
        return self._roles().is_server()

    @property
    def is_xpu_supported(self) -> bool:
        return False

    def split_files(self, files: Sequence[str]) -> List[str]:
        """The files of this worker: neighbours, and the first workers get one more where they cannot be divided
        evenly."""
        if not isinstance(files, (list, tuple)):
            raise TypeError("split_files takes a list of file names, found %s" % type(files).__name__)
        each, more = divmod(len(files), self.worker_num())
        index = self.worker_index()
        begin = index * each + min(index, more)
        own = list(files[begin:begin + each + (1 if index < more else 0)])
        self._split[tuple(own)] = list(files)
        return own

    def _files_of_all(self, own: Sequence[str]) -> Optional[List[str]]:
        """The list that `split_files` made `own` of, or None."""
        return self._split.get(tuple(own))

    def barrier_worker(self) -> None:
        """Waits for the other workers, where the role maker can."""
        self._roles().barrier_worker()


class DistributedOptimizer:
    """An optimizer that cuts the program for the job after minimize()."""

    def __init__(self, optimizer, strategy=None):
        self._optimizer = optimizer
        self._strategy = strategy

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """As the optimizer's own."""
        return self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads):
        """As the optimizer's own."""
        return self._optimizer.apply_gradients(params_grads)

    def minimize(self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None):
        raise NotImplementedError("a distributed optimizer needs minimize()")
