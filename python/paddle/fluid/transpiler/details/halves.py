"""The halves of a divided program, as executors run them: a trainer's steps, a pserver's service."""
import atexit
import math
import os
import signal
import sys
import threading
import weakref

from paddle import _core
from paddle.fluid import core

from . import role_hint

_FOREVER = 10**9  # seconds


def deadline_seconds() -> float:
    """How long a trainer waits for a pserver: FLAGS_rpc_deadline in milliseconds (below 0: for ever), 180 s without
    it."""
    given = os.environ.get("FLAGS_rpc_deadline", "180000")
    try:
        ms = float(given)
    except ValueError:
        raise core.ConfigError("FLAGS_rpc_deadline must be a number of milliseconds, not %r" % given) from None
    return _FOREVER if ms < 0 else ms / 1000


def _trainer_flags() -> dict:
    return {"peer_timeout": str(max(1, math.ceil(deadline_seconds())))}


class TrainerHalf:
    """A trainer's part in the job of one cut. ``program`` of the script is what it runs, step by step."""

    def __init__(self, cut, origin):
        self.cut = cut
        self.origin = origin  # the program before it was cut: what saved models are made of
        self.job = _core.Job(cut, _trainer_flags())
        self._jobs_before = 0
        self._first_scope = None  # of the startup program, once it was run
        self._process = os.getpid()
        _remember(self)

    def run(self, executor, program, feed, fetches, scope, return_numpy):
        role_hint.takes_part()
        executor._jobs.add(self)
        return executor._core.run(program._core, scope, feed, fetches, return_numpy, job=self.job)

    def collect(self, executor=None, program=None, scope=None):
        """What the pservers have comes into the scope of the job. Returns the program that was cut, whose variables
        are all here then."""
        self.job.collect()
        return self.origin

    def close(self):
        """Leaves the job; once. The others do not wait for it from here on, even where it made no step."""
        self.job.close(self._first_scope)
        _open.discard(self)

    def open_again(self):
        """After close() of the only trainer: the steps that follow are a new job on the same pservers. It begins with
        the values and the optimizer's state that are here."""
        if not self.job.closed:
            return
        self._jobs_before += 1
        self.job = _core.Job(self.cut, {**_trainer_flags(), "job_name": f"default.{self._jobs_before + 1}"})
        _remember(self)

    def leave(self):
        """The same at the end of a script that did not call close(); a process that was forked from it has no part in
        it."""
        if self.job.joined and self._process == os.getpid():
            self.job.close()


class TrainerStartup:
    """The startup program of a trainer: its own first values; those of the pservers come with the first step."""

    def __init__(self, half):
        self.half = half
        self.cut = half.cut
        self.origin = None
        self.collect = half.collect

    def run(self, executor, program, feed, fetches, scope, return_numpy):
        role_hint.takes_part()
        executor._jobs.add(self.half)
        self.half._first_scope = scope
        return executor._core.run(program._core, scope, feed, fetches, return_numpy)


class ServerHalf:
    """A pserver's half. ``presets`` are values that count in place of what the trainers bring."""

    def __init__(self, cut, endpoint):
        self.cut = cut
        self.endpoint = endpoint
        self.origin = None
        self.presets = {}
        self.preset_rows = {}
        self.ends_with_job = False  # otherwise it serves until it is stopped

    def load_vars(self, executor, dirname, program, vars, predicate, filename):
        """Takes this server's rows of what was saved in the form of one process; what is not this server's is left
        out."""
        from paddle.fluid import io
        names = None if vars is None else [v if isinstance(v, str) else v.name for v in vars]
        self.presets.update(_core.load_shard(self.cut, self.endpoint, dirname, names, predicate is io.is_parameter,
                                             filename or ""))
        if not filename:
            self.preset_rows.update(_core.load_shard_rows(self.cut, self.endpoint, dirname, names,
                                                          predicate is io.is_parameter))

    def collect(self, executor=None, program=None, scope=None):
        raise core.ConfigError("a pserver saves no model: trainer 0 does, for all (snapshots are the pservers' own: "
                               "snapshot_dir)")

    def run(self, executor, program, feed, fetches, scope, return_numpy):
        flags = {"peer_timeout": str(_FOREVER)}
        if self.ends_with_job:
            flags["exit_when_done"] = "true"
        with _CleanTermination():
            _core.serve(program._core, self.presets, flags, self.preset_rows)
        return []


class _CleanTermination:
    """While a pserver serves, SIGTERM stops it cleanly, with exit code 0."""

    def __enter__(self):
        self._before = None
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._before = signal.signal(signal.SIGTERM, self._end)
        return self

    @staticmethod
    def _end(number, frame):
        raise SystemExit(0)

    def __exit__(self, *exception):
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)


# A script that ends without close() has finished its work, so the other trainers must not wait for it. A script that an
# exception ended has not: the pservers wait until it returns, and name it in their log.
_open = weakref.WeakSet()


def _remember(half):
    atexit.unregister(_leave)  # registered once, however many there are
    atexit.register(_leave)
    _open.add(half)


def _leave():
    failed = hasattr(sys, "last_type") and not hasattr(sys, "ps1")  # at a prompt, exceptions end nothing
    if failed:
        return
    for half in list(_open):
        half.leave()
