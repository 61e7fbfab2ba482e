"""Times of ops: everything that Executors run between start_profiler() and stop_profiler() is measured."""
import contextlib
import os
import sys
import weakref

from .. import _core

__all__ = ["cuda_profiler", "profiler", "reset_profiler", "start_profiler", "stop_profiler"]

_STATES = ("CPU", "GPU", "All")
_KEYS = ("calls", "total", "max", "min", "ave")
_executors = weakref.WeakSet()  # all fluid.Executors, which register themselves
_on = False


def _register(executor):
    _executors.add(executor)
    if _on:
        executor._measure(True)


def _costs() -> dict:
    """Per type of op: [calls, seconds, least, most]."""
    table = {}
    for executor in _executors:
        for op, seconds, calls, least, most in executor._costs():
            if calls == 0:
                continue
            row = table.setdefault(op.split(":", 1)[0], [0, 0.0, least, most])
            row[0] += calls
            row[1] += seconds
            row[2] = min(row[2], least)
            row[3] = max(row[3], most)
    return table


def _report(table: dict, sorted_key) -> str:
    order = {
        "calls": lambda row: -row[1][0], "total": lambda row: -row[1][1], "min": lambda row: -row[1][2],
        "max": lambda row: -row[1][3], "ave": lambda row: -row[1][1] / row[1][0],
    }
    rows = sorted(table.items(), key=order[sorted_key]) if sorted_key else list(table.items())
    total = sum(row[1] for row in table.values()) or 1.0
    width = max([len(op) for op in table] + [len("Event")]) + 2
    by = f"Sorted by {sorted_key} in descending order" if sorted_key else "In the order of the first call"
    lines = ["Profiling report", "Place: CPU", "Time unit: ms", by, "",
             f"{'Event':<{width}}{'Calls':>10}{'Total':>14}{'Min.':>12}{'Max.':>12}{'Ave.':>12}{'Ratio.':>9}"]
    for op, (calls, seconds, least, most) in rows:
        lines.append(f"{op:<{width}}{calls:>10}{seconds * 1e3:>14.6f}{least * 1e3:>12.6f}{most * 1e3:>12.6f}"
                     f"{seconds / calls * 1e3:>12.6f}{seconds / total:>9.4f}")
    return "\n".join(lines) + "\n"


def start_profiler(state, tracer_option=None):
    """Begins to measure. state: 'CPU', 'GPU' or 'All'; all measure every op, wherever it runs."""
    global _on
    if state not in _STATES:
        raise ValueError(f"the state of the profiler must be one of {', '.join(_STATES)}, found {state!r}")
    if _on:
        return
    _on = True
    for executor in _executors:
        executor._measure(True)


def reset_profiler():
    """Forgets what was measured so far."""
    for executor in _executors:
        executor._measure(False)
        if _on:
            executor._measure(True)


def stop_profiler(sorted_key=None, profile_path="/tmp/profile"):
    """Ends measuring; prints a table of the types of ops with their times, and writes it to profile_path.

    sorted_key: None, 'calls', 'total', 'max', 'min' or 'ave'.
    """
    global _on
    if sorted_key is not None and sorted_key not in _KEYS:
        raise ValueError(f"sorted_key must be None or one of {', '.join(_KEYS)}, found {sorted_key!r}")
    if not _on:
        return
    report = _report(_costs(), sorted_key)
    _on = False
    for executor in _executors:
        executor._measure(False)
    sys.stdout.write(report)
    sys.stdout.flush()
    if profile_path:
        os.makedirs(os.path.dirname(os.path.abspath(profile_path)), exist_ok=True)
        with open(profile_path, "w") as f:
            f.write(report)


@contextlib.contextmanager
def profiler(state, sorted_key=None, profile_path="/tmp/profile", tracer_option=None):
    """Measures what runs inside; see start_profiler() and stop_profiler()."""
    if sorted_key is not None and sorted_key not in _KEYS:
        raise ValueError(f"sorted_key must be None or one of {', '.join(_KEYS)}, found {sorted_key!r}")
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


@contextlib.contextmanager
def cuda_profiler(output_file, output_mode=None, config=None):
    """Accepted without effect: `profiler("GPU")` measures ops on GPUs."""
    yield
