"""Loggers of the package."""
import logging
from typing import Optional

__all__ = ["get_logger"]


def get_logger(name: str, level: int, fmt: Optional[str] = None) -> logging.Logger:
    """The logger `name` at this level, which writes to stderr and not to the loggers above it.

    fmt: as logging.Formatter takes it.
    """
    logger = logging.getLogger(name)
    logger.setLevel(level)
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler())
    if fmt:
        for handler in logger.handlers:
            handler.setFormatter(logging.Formatter(fmt))
    logger.propagate = False
    return logger
