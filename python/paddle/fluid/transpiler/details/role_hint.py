"""Names an unset role as the cause, where a script that can be trainer or pserver does not know which it is."""
import atexit
import os
import sys

from paddle import _core

_VARIABLES = [name for name in _core.option_environment("role") if not name.startswith("PADDLE_INIT_")]
_took_part = False  # this process asked for a half of its program, or ran one


def sentence() -> str:
    """What is wrong with the role in the environment; "" where it is set."""
    for name in _VARIABLES:
        if os.environ.get(name) in ("TRAINER", "PSERVER"):
            return ""
    for name in _VARIABLES:
        if os.environ.get(name):
            return "the environment variable %s is %r: it must be TRAINER or PSERVER" % (name, os.environ[name])
    return "no role is set: the environment variable %s must be TRAINER or PSERVER" % " or ".join(_VARIABLES)


def program_was_cut() -> None:
    """From here on this process should be one of the two."""
    atexit.unregister(_name_the_cause)  # registered once, however many programs there are
    atexit.register(_name_the_cause)


def takes_part() -> None:
    global _took_part
    _took_part = True


def _name_the_cause() -> None:
    """A script that finds no role often ends without a word; one that failed has said why."""
    if not _took_part and sentence() and not hasattr(sys, "last_value"):
        sys.stderr.write("paddle: this process called transpile() and ended without being a trainer or a pserver; "
                         "%s\n" % sentence())
