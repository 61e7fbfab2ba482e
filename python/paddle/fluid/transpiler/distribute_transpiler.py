"""DistributeTranspiler: one script, which runs as trainer or as parameter server."""
import functools
import socket
import sys
import time
from typing import Any, Optional, Sequence, Union

from paddle import _core
from paddle.fluid import core, framework
from paddle.fluid.framework import Program

from .details import halves, role_hint
from .ps_dispatcher import PSDispatcher, RoundRobin

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig", "DistributedMode", "wait_server_ready"]

_PORT = 7164  # of an entry of pservers that has none
_RETRY_SECONDS = 3  # between two lines that list missing endpoints


class DistributedMode:
    """Numbers of the ways to train with parameter servers."""

    SYNC, ASYNC, HALF_ASYNC, GEO = range(4)


class DistributeTranspilerConfig:
    """How a program is cut and trained.

    slice_var_up: cut large parameters into slices for several pservers.
    split_method: RoundRobin (None means it), HashName or ByBytes.
    min_block_size: elements that a slice has at least.
    sync_mode: a step ends when the gradients of all trainers are applied.
    half_async: gradients are applied as they arrive, and a trainer waits for its own.
    runtime_split_send_recv: with sync_mode off: async, no trainer waits.
    completely_not_async: sync, whatever the others say.
    geo_sgd_mode, geo_sgd_need_push_nums: trainers update by themselves and exchange differences after so many steps.
    wait_port: get_trainer_program() waits until the pservers listen.
    print_log: the placement of the parameters goes to stderr.
    mode: "pserver", the only one there is.
    enable_dc_asgd: not supported; True is an error.
    """

    _defaults = dict(slice_var_up=True, split_method=None, min_block_size=8192, enable_dc_asgd=False, mode="pserver",
                     print_log=False, wait_port=True, runtime_split_send_recv=False, sync_mode=True, half_async=False,
                     completely_not_async=False, geo_sgd_mode=False, geo_sgd_need_push_nums=100)

    def __init__(self):
        self.__dict__.update(self._defaults)

    def __setattr__(self, name, value):
        if name not in self._defaults:
            raise AttributeError("DistributeTranspilerConfig has no field '%s'%s" %
                                 (name, _core.did_you_mean(name, list(self._defaults))))
        self.__dict__[name] = value

    def __getattr__(self, name):  # only for names that do not exist
        raise AttributeError("DistributeTranspilerConfig has no field '%s'%s" %
                             (name, _core.did_you_mean(name, list(self._defaults))))

    def _core_split(self) -> str:
        method = RoundRobin if self.split_method is None else self.split_method
        if not (isinstance(method, type) and issubclass(method, PSDispatcher)):
            raise core.ConfigError("split_method is a class such as RoundRobin or HashName, found %r" % (method,))
        if not method._core_name:
            raise core.ConfigError("split_method %s is not possible: the pservers know RoundRobin, HashName and "
                                   "ByBytes" %
                                   method.__name__)
        return method._core_name

    def _core_mode(self, sync: Optional[bool]) -> str:
        if self.mode != "pserver":
            raise core.ConfigError("the mode '%s' is not supported: this package trains with parameter servers (mode "
                                   "'pserver')" %
                                   self.mode)
        if self.enable_dc_asgd:
            raise core.ConfigError("enable_dc_asgd is not supported: use plain async training")
        if self.geo_sgd_mode:
            return "geo"
        if self.completely_not_async:
            return "sync"
        if self.sync_mode if sync is None else sync:
            return "half_async" if self.half_async and sync is None else "sync"
        return "async" if self.runtime_split_send_recv and not self.half_async else "half_async"


def wait_server_ready(endpoints) -> None:
    """Returns when every endpoint accepts connections. Prints those that do not to stderr; PeerError after
    FLAGS_rpc_deadline."""
    begun = time.monotonic()
    deadline = begun + halves.deadline_seconds()
    next_line = begun
    while True:
        missing = [e for e in endpoints if not _listens(e)]
        if not missing:
            return
        now = time.monotonic()
        if now >= deadline:
            hint = role_hint.sentence()
            raise core.PeerError("gave up waiting for the parameter servers %s after %d s (the environment variable "
                                 "FLAGS_rpc_deadline sets how many milliseconds): are they running, and are the "
                                 "addresses right?%s" %
                                 (",".join(missing), now - begun, hint and " This process is a trainer; " + hint))
        if now >= next_line:
            sys.stderr.write("server not ready, wait %d sec to retry...\n" % _RETRY_SECONDS)
            sys.stderr.write("not ready endpoints:%s\n" % missing)
            if next_line == begun and role_hint.sentence():
                sys.stderr.write("this process is a trainer; %s\n" % role_hint.sentence())
            sys.stderr.flush()
            next_line = now + _RETRY_SECONDS
        time.sleep(min(0.1, max(0.0, deadline - now)))


def _listens(endpoint: str) -> bool:
    host, _, port = endpoint.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=2):
            return True
    except OSError:
        return False


def _endpoints(pservers) -> list:
    if not isinstance(pservers, str):
        raise TypeError("pservers is 'host:port,host:port,…', found %r of type %s" %
                        (pservers, type(pservers).__name__))
    # The quick start's first command has an entry without a port.
    out = [e if ":" in e.rpartition("]")[2] else "%s:%d" % (e, _PORT) for e in map(str.strip, pservers.split(",")) if e]
    # A port 0 is one that the pserver lets the system choose; trainers cannot find it by that name.
    _core.check_endpoints([e for e in out if not e.endswith(":0")], "an entry of pservers")
    if not out:
        hint = role_hint.sentence()
        raise core.ConfigError("pservers is empty: give 'host:port,host:port,…'" + (hint and "; and " + hint))
    return out


_MODERN = ("trainer_id", "program", "pservers", "trainers", "sync_mode", "startup_program", "current_endpoint")
_EARLY = ("optimize_ops", "params_grads", "program", "pservers", "trainers", "split_method")
_MIDDLE = ("optimize_ops", "params_grads", "trainer_id", "program", "pservers", "trainers", "split_method", "sync_mode")


def _by_name(args, kwargs) -> dict:
    """The arguments of transpile() in any of its three forms, by their names in the present one."""
    kwargs = dict(kwargs)
    if "trianers" in kwargs:  # as one of the guides writes it
        if "trainers" in kwargs:
            raise TypeError("transpile() got both 'trainers' and 'trianers'")
        kwargs["trainers"] = kwargs.pop("trianers")
    names = _MODERN
    if (args and isinstance(args[0], (list, tuple))) or "optimize_ops" in kwargs:
        third = args[2] if len(args) > 2 else None
        names = _MIDDLE if isinstance(third, int) else _EARLY
    if len(args) > len(names):
        raise TypeError("transpile() takes at most %d positional arguments, found %d" % (len(names), len(args)))
    given = dict(zip(names, args))
    known = {*_MODERN, *_MIDDLE}
    for name, value in kwargs.items():
        if name not in known:
            raise TypeError("transpile() has no argument '%s'%s" % (name, _core.did_you_mean(name, sorted(known))))
        if name in given:
            raise TypeError("transpile() got two values for '%s'" % name)
        given[name] = value
    return {name: value for name, value in given.items() if name not in ("optimize_ops", "params_grads")}


def _takes_older_forms(transpile):
    @functools.wraps(transpile)
    def call(self, *args, **kwargs):
        return transpile(self, **_by_name(args, kwargs))

    return call


class DistributeTranspiler:
    """Divides the program of a script into a trainer's and the parameter servers' halves.

    >>> t = fluid.DistributeTranspiler()
    >>> t.transpile(trainer_id=0, pservers="ps0:6174,ps1:6174", trainers=2)
    >>> if role == "PSERVER":
    ...     prog, startup = t.get_pserver_programs("ps0:6174")
    ...     exe.run(startup)
    ...     exe.run(prog)          # serves
    ... else:
    ...     prog = t.get_trainer_program()
    ...     exe.run(fluid.default_startup_program())
    ...     exe.run(prog, feed=…)  # a step
    ...     exe.close()
    """

    def __init__(self, config: Optional[DistributeTranspilerConfig] = None):
        if config is not None and not isinstance(config, DistributeTranspilerConfig):
            raise TypeError("config is a DistributeTranspilerConfig, found %r" % (config,))
        self.config = DistributeTranspilerConfig() if config is None else config
        self.cut = None

    @_takes_older_forms
    def transpile(self, trainer_id: Union[int, Sequence[Any], None] = None,
                  program: Union[Program, Sequence[Any], None] = None, pservers: str = "127.0.0.1:6174",
                  trainers: int = 1, sync_mode: Optional[bool] = None, startup_program: Optional[Program] = None,
                  current_endpoint: str = "127.0.0.1:6174", split_method=None) -> None:
        """Divides a program, in place: it becomes the trainer's, and its startup program too.

        The older forms transpile(optimize_ops, params_grads[, trainer_id], program=None, …) are accepted too.

        trainer_id: the number of this trainer, from 0; without it the first pserver assigns one.
        program: what minimize() was called in; None = the default main program.
        pservers: "host:port,host:port,…", the same for every process.
        trainers: how many there are.
        sync_mode: False = half async, or async with config.runtime_split_send_recv; None = config.sync_mode counts.
        startup_program: makes the first values; None = the default startup program.
        current_endpoint: accepted; get_pserver_program() takes the endpoint.
        split_method: in place of config.split_method.
        """
        program = program or framework.default_main_program()
        startup = startup_program or framework.default_startup_program()
        for name, value in (("program", program), ("startup_program", startup)):
            if not isinstance(value, Program):
                raise TypeError("%s is a Program, found %r" % (name, value))
        if isinstance(trainers, bool) or not isinstance(trainers, int):
            raise TypeError("trainers is the number of trainers, found %r of type %s" %
                            (trainers, type(trainers).__name__))
        if trainer_id is not None and (isinstance(trainer_id, bool) or not isinstance(trainer_id, int)
                                       or trainer_id < 0):
            raise TypeError("trainer_id is the number of this trainer, from 0 on, found %r" % (trainer_id,))
        self.pserver_endpoints = _endpoints(pservers)
        self.trainer_num, self.trainer_id = trainers, trainer_id
        if split_method is not None:
            self.config.split_method = split_method
        self.sync_mode = sync_mode
        # A second cut starts from what the first one was made of.
        before = program._distributed
        main = before.origin._core if before is not None and before.origin is not None else program._core
        first = startup._distributed.origin._core if getattr(startup._distributed, "origin",
                                                             None) is not None else startup._core
        self.cut = _core.transpile(
            main, first, trainer_id=trainer_id, trainers=trainers, endpoints=self.pserver_endpoints,
            mode=self.config._core_mode(self.sync_mode), geo_steps=self.config.geo_sgd_need_push_nums,
            slice_var_up=self.config.slice_var_up, min_block_size=self.config.min_block_size,
            split=self.config._core_split())
        if self.config.print_log:
            sys.stderr.write(self.cut.placement_table())
        role_hint.program_was_cut()
        self.origin_program, self.startup_program = program, startup
        half = halves.TrainerHalf(self.cut, Program._over(self.cut.main))
        opening = halves.TrainerStartup(half)
        opening.origin = Program._over(self.cut.startup)
        self.cut.apply(program._core, startup._core)
        program._distributed, startup._distributed = half, opening

    def _ready(self) -> None:
        if self.cut is None:
            raise core.ConfigError("transpile() must be called first")

    def get_trainer_program(self, wait_port: bool = True) -> Program:
        """The trainer's program, once every parameter server listens (or at once, with wait_port=False)."""
        self._ready()
        role_hint.takes_part()
        if wait_port and self.config.wait_port:
            wait_server_ready(self.pserver_endpoints)
        return self.origin_program

    def get_pserver_program(self, endpoint: str) -> Program:
        """The program of one parameter server: running it serves."""
        self._ready()
        role_hint.takes_part()
        program = Program._over(self.cut.pserver_program(endpoint))
        program._distributed = halves.ServerHalf(self.cut, endpoint)
        return program

    def get_pserver_programs(self, endpoint: str):
        """(program, startup program) of one parameter server."""
        return self.get_pserver_program(endpoint), self.get_startup_program(endpoint)

    def get_startup_program(self, endpoint: str, pserver_program: Optional[Program] = None,
                            startup_program: Optional[Program] = None) -> Program:
        """The startup program of one parameter server. Its values count where no trainer brings any."""
        self._ready()
        return Program._over(self.cut.pserver_startup(endpoint))
