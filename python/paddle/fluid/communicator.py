"""The communicator of asynchronous training.

Gradients are merged and sent, and parameters taken, by the job of the trainer itself; a Communicator marks when that
begins and ends, for scripts that were written with one.
"""
from . import core
from .framework import Program

__all__ = ["Communicator"]


class Communicator:
    """Stands for the exchange of a trainer's program with its parameter servers.

    >>> comm = Communicator(fluid.default_main_program())
    >>> comm.start()
    >>> … # steps
    >>> comm.stop()
    """

    def __init__(self, program: Program, mode=None, kwargs=None, envs=None):
        if not isinstance(program, Program):
            raise TypeError("Communicator takes a Program, found %r" % (program,))
        half = program._distributed
        if half is None or not hasattr(half, "job"):
            raise core.ConfigError("a Communicator needs the program of a trainer: transpile() it first")
        self._half = half
        self._running = False

    def start(self) -> None:
        """The exchange itself begins with the first step."""
        self._running = True

    def stop(self) -> None:
        """Returns when all gradients made so far are applied; the parameters here are then those of the parameter
        servers (geo: stay this trainer's own)."""
        if self._running:
            self._half.collect()
        self._running = False

    def is_running(self) -> bool:
        return self._running
