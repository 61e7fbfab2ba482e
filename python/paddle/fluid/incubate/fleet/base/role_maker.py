"""Who a process of a Fleet job is: worker or server, which one, and where the others are."""
import atexit
import contextlib
import hashlib
import os
import random
import secrets
import socket
import tempfile
from typing import List, Optional, Sequence

from paddle import _core

__all__ = ["Role", "RoleMakerBase", "UserDefinedRoleMaker", "PaddleCloudRoleMaker", "MPISymetricRoleMaker",
           "GeneralRoleMaker",
           "UserDefinedCollectiveRoleMaker"]


class Role:
    WORKER = 1
    SERVER = 2
    ALL = 3


def _first(names: Sequence[str], default: Optional[str] = None) -> Optional[str]:
    """The value of the first of these variables that is set to something."""
    for name in names:
        if os.environ.get(name):
            return os.environ[name]
    return default


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)


def _whole(names: Sequence[str], default: Optional[str] = None) -> Optional[int]:
    value = _first(names, default)
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        raise ValueError("the environment variable %s must be a whole number, not %r" %
                         (next((n for n in names if os.environ.get(n)), names[0]), value)) from None


def _variables(option: str) -> Sequence[str]:
    """The variables that give an option of the daemons; those of mpirun count servers too, so they are left out."""
    return [name for name in _core.option_environment(option) if not name.startswith("OMPI_")]


def _combine(arrays: Sequence[Sequence[float]], output, mode: str) -> bool:
    how = {"sum": sum, "min": min, "max": max}
    if mode not in how:
        raise ValueError("the mode of all_reduce_worker is sum, min or max, not %r" % (mode,))
    for i, numbers in enumerate(zip(*arrays)):
        output[i] = how[mode](numbers)
    return True


class RoleMakerBase:
    """What all role makers know. ``generate_role`` is called once, by ``fleet.init``."""

    servers_end_with_job = False  # they run until they are stopped

    def __init__(self):
        self._role = None
        self._current_id = -1
        self._worker_num = 0
        self._server_endpoints: List[str] = []
        self._worker_endpoints: List[str] = []
        self._role_is_generated = False

    def generate_role(self) -> None:
        raise NotImplementedError("a role maker needs generate_role()")

    def is_worker(self) -> bool:
        return self._role == Role.WORKER

    def is_server(self) -> bool:
        return self._role == Role.SERVER

    def is_first_worker(self) -> bool:
        return self.is_worker() and self._current_id == 0

    def worker_num(self) -> int:
        return self._worker_num

    def server_num(self) -> int:
        return len(self._server_endpoints)

    def worker_index(self) -> int:
        return self._current_id

    def server_index(self) -> int:
        return self._current_id

    def role_id(self) -> int:
        return self._current_id

    def get_trainer_endpoints(self) -> List[str]:
        return self._worker_endpoints

    def get_pserver_endpoints(self) -> List[str]:
        return self._server_endpoints


    def to_string(self) -> str:
        return "role: {}, current_id: {}, worker_endpoints: {}, server_endpoints: {}".format(
            self._role, self._current_id, self._worker_endpoints, self._server_endpoints)

    def all_reduce_worker(self, input, output, mode: str = "sum") -> bool:
        """Sets `output` to the sum (or "min", "max") of the arrays `input` of all workers.

        False where the workers have no way to each other, and `output` stays as it is: only those of an
        MPISymetricRoleMaker with mpi4py have one.
        """
        return self.worker_num() == 1 and _combine([input], output, mode)

    def barrier_worker(self) -> None:
        """Pservers keep the steps of the workers together; there is nothing else to wait for."""

    def barrier_all(self) -> None:
        """As ``barrier_worker``."""

    def finalize(self) -> None:
        """Called by ``fleet.stop_worker``."""

    def _check(self) -> None:
        if self._role not in (Role.WORKER, Role.SERVER):
            raise ValueError("a role is Role.WORKER or Role.SERVER, found %r" % (self._role,))
        if not self._server_endpoints:
            raise ValueError("a job with parameter servers needs the endpoint of at least one")
        _core.check_endpoints(self._server_endpoints, "the endpoint of a server")
        if len(set(self._server_endpoints)) != len(self._server_endpoints):
            raise ValueError("an endpoint is listed twice: %s" % ",".join(self._server_endpoints))
        if self._worker_num <= 0:
            raise ValueError("a job needs at least one worker, found %d" % self._worker_num)
        most = self._worker_num if self._role == Role.WORKER else len(self._server_endpoints)
        if not 0 <= self._current_id < most:
            raise ValueError("the id %d does not fit a job of %d %s: ids go from 0 to %d" % (
                self._current_id, most, "workers" if self._role == Role.WORKER else "servers", most - 1))
        self._role_is_generated = True


class UserDefinedRoleMaker(RoleMakerBase):
    """The script says it all."""

    def __init__(self, current_id: int = 0, role: int = Role.WORKER, worker_num: int = 0,
                 server_endpoints: Optional[List[str]] = None):
        super().__init__()
        if not isinstance(server_endpoints, list):
            raise TypeError("server_endpoints must be a list of 'host:port', found %s" %
                            type(server_endpoints).__name__)
        for e in server_endpoints:
            if not isinstance(e, str):
                raise TypeError("server_endpoints must be a list of str, found %s in it" % type(e).__name__)
        for name, value in (("current_id", current_id), ("worker_num", worker_num)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError("%s must be an int, found %s" % (name, type(value).__name__))
            if value < 0:
                raise ValueError("%s must be at least 0, found %d" % (name, value))
        if role not in (Role.WORKER, Role.SERVER):
            raise TypeError("role must be Role.WORKER or Role.SERVER, found %r" % (role,))
        self._role = role
        self._current_id = current_id
        self._worker_num = worker_num
        self._server_endpoints = server_endpoints

    def generate_role(self) -> None:
        self._check()


class PaddleCloudRoleMaker(RoleMakerBase):
    """By environment variables: those that ``paddle.distributed.launch_ps`` sets, by the names of any version of
    Fluid. The names are those that ``paddle run`` reads."""

    _servers = _variables("pservers")
    _roles = _variables("role")
    _counts = _variables("num_gradient_servers")
    _ids = _variables("trainer_id")
    _own = _variables("current_endpoint")
    _ports = _variables("port")
    _hosts = _variables("host")

    def __init__(self, is_collective: bool = False):
        super().__init__()
        if is_collective:
            raise ValueError("collective training is not supported: this package trains with parameter servers")

    def generate_role(self) -> None:
        if self._role_is_generated:
            return
        role = (_first(self._roles, "TRAINER") or "").upper()
        if role not in ("TRAINER", "PSERVER"):
            raise ValueError("the environment variable TRAINING_ROLE must be TRAINER or PSERVER, not %r" % role)
        self._role = Role.WORKER if role == "TRAINER" else Role.SERVER
        self._server_endpoints = self._endpoints()
        self._worker_endpoints = [e for e in (_first(("PADDLE_TRAINER_ENDPOINTS",), "") or "").split(",") if e]
        self._worker_num = _whole(self._counts, str(max(1, len(self._worker_endpoints))))
        self._current_id = _whole(self._ids, "0") if self.is_worker() else self._own_place()
        self._check()

    def _endpoints(self) -> List[str]:
        given = _first(self._servers)
        if given is None:
            role = "" if _first(self._roles) else "; and no role is set: TRAINING_ROLE must be TRAINER or PSERVER"
            raise ValueError("nothing says where the parameter servers are: set "
                             "PADDLE_PSERVERS_IP_PORT_LIST=host:port,… "
                             "(paddle.distributed.launch_ps does), or PADDLE_PSERVERS=host,… with PADDLE_PORT" + role)
        hosts = [h.strip() for h in given.split(",") if h.strip()]
        ports = [p for p in (_first(self._ports, "6174") or "").split(",") if p]
        out = []
        for i, host in enumerate(hosts):
            out.append(host if ":" in host else "%s:%s" % (host, ports[i] if len(ports) == len(hosts) else ports[0]))
        return out

    def _own_place(self) -> int:
        own = _first(self._own)
        if own is None:
            ports = (_first(self._ports, "6174") or "").split(",")
            own = "%s:%s" % (_first(self._hosts, "localhost"), ports[0])
        if own in self._server_endpoints:
            return self._server_endpoints.index(own)
        number = _whole(("PADDLE_PSERVER_ID",))
        if number is not None:
            return number
        raise ValueError("this server is %s by POD_IP and PADDLE_PORT, which is not among the servers of the job: %s" %
                         (own, ",".join(self._server_endpoints)))


class GeneralRoleMaker(PaddleCloudRoleMaker):
    """As PaddleCloudRoleMaker; with the names of workers' endpoints, and an id for servers (PADDLE_PSERVER_ID).

    The arguments are accepted for Fluid's scripts, where processes find each other through files; here they do not.
    """

    def __init__(self, path: str = "", hdfs_name: str = "", hdfs_ugi: str = "", iface: str = "", prefix: str = "",
                 init_timeout_seconds: int = 3600, run_timeout_seconds: int = 9999999):
        super().__init__()


class MPISymetricRoleMaker(RoleMakerBase):
    """Two processes per node under mpirun: even ranks serve, odd ranks work. With mpi4py the addresses are
    exchanged; without it all processes must be of one machine, or PADDLE_PSERVERS names the hosts of the servers.
    They prove a token to each other, which they make of the key that mpirun gives to the processes of each job.
    mpirun waits for all processes, so the servers end when all workers have stopped."""

    servers_end_with_job = True

    def __init__(self):
        super().__init__()
        self._comm = None  # of all
        self._own_comm = None  # of those with this role

    def generate_role(self) -> None:
        if self._role_is_generated:
            return
        rank, size = self._rank_and_size()
        if size % 2:
            raise ValueError("MPISymetricRoleMaker needs two processes per node, so an even number, found %d" % size)
        self._role = Role.SERVER if rank % 2 == 0 else Role.WORKER
        self._current_id = rank // 2
        self._worker_num = size // 2
        if self._comm is not None:
            self._own_comm = self._comm.Split(int(self._role), rank)
        self._make_token()
        hosts = self._hosts(size)
        # Every rank computes the same ports, as they cannot be exchanged; servers of one host get different ones.
        port = random.Random(size // 2).randint(60001, 64000)
        port = _whole(("PADDLE_PORT", "PADDLE_PSERVER_PORT"), str(port))
        seen: dict = {}
        for host in hosts:
            self._server_endpoints.append("%s:%d" % (host, port + seen.get(host, 0)))
            seen[host] = seen.get(host, 0) + 1
        self._check()

    def _rank_and_size(self):
        rank, size = _whole(("OMPI_COMM_WORLD_RANK", "PMI_RANK")), _whole(("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"))
        try:
            from mpi4py import MPI
            self._comm = MPI.COMM_WORLD
            if self._comm.Get_size() > 1:
                return self._comm.Get_rank(), self._comm.Get_size()
            self._comm = None
        except ImportError:
            pass
        if rank is None or size is None:
            raise ValueError("this process was not started by mpirun (OMPI_COMM_WORLD_RANK and _SIZE are not set): "
                             "start it so, or "
                             "give fleet.init() another role maker, such as PaddleCloudRoleMaker() or "
                             "UserDefinedRoleMaker(…)")
        return rank, size

    def _make_token(self) -> None:
        """The same for all processes of the job, as start_mpi_train.sh makes it; none where the user names one."""
        if _first(("PADDLE_TOKEN_FILE", "PADDLE_INIT_TOKEN_FILE", "PADDLE_INIT_CERT_FILE", "PADDLE_INIT_INSECURE")):
            return
        key = os.environ.get("OMPI_MCA_orte_precondition_transports", "")
        if self._comm is not None:
            secret = self._comm.bcast(secrets.token_hex(32), root=0)
        elif len(key) >= 32:
            secret = hashlib.sha256(("paddle job " + key).encode()).hexdigest()
        else:
            return
        file, path = tempfile.mkstemp(prefix="paddle-token-")  # for this user alone
        atexit.register(_remove, path)
        with os.fdopen(file, "w") as out:
            out.write(secret + "\n")
        os.environ["PADDLE_TOKEN_FILE"] = path

    def _hosts(self, size: int) -> List[str]:
        if self._comm is not None:
            own = socket.gethostbyname(socket.gethostname())
            return self._comm.allgather(own)[0::2]
        given = _first(("PADDLE_PSERVERS", "PADDLE_PSERVER_IPS"))
        if given:
            hosts = [h.strip() for h in given.split(",") if h.strip()]
            if len(hosts) != size // 2:
                raise ValueError("PADDLE_PSERVERS names %d hosts, and there are %d servers" % (len(hosts), size // 2))
            return hosts
        if _whole(("OMPI_COMM_WORLD_LOCAL_SIZE",), str(size)) != size:
            raise ValueError("the processes run on several machines: install mpi4py, or name the hosts of the "
                             "servers in "
                             "PADDLE_PSERVERS")
        return ["127.0.0.1"] * (size // 2)

    def all_reduce_worker(self, input, output, mode: str = "sum") -> bool:
        if self._own_comm is None or not self.is_worker():
            return super().all_reduce_worker(input, output, mode)
        return _combine(self._own_comm.allgather(list(input)), output, mode)

    def barrier_all(self) -> None:
        """Waits for every process, so for servers too, which must call it before they serve."""
        if self._comm is not None:
            self._comm.barrier()

    def barrier_worker(self) -> None:
        """Waits for all processes with the role of this one."""
        if self._own_comm is not None:
            self._own_comm.barrier()


class UserDefinedCollectiveRoleMaker(RoleMakerBase):
    """Refused: collective training is not supported."""

    def __init__(self, current_id: int = 0, worker_endpoints: Optional[List[str]] = None):
        super().__init__()
        raise ValueError("collective training is not supported: this package trains with parameter servers")
