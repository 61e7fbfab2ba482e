"""What a trainer reports to its event handler."""
from dataclasses import dataclass, field
from typing import Dict

__all__ = ["BeginIteration", "BeginPass", "EndForwardBackward", "EndIteration", "EndPass", "TestResult"]


@dataclass
class TestResult:
    """Of `SGD.test`: the mean cost per sample, and metrics by name."""
    cost: float
    metrics: Dict[str, float] = field(default_factory=dict)
    __test__ = False  # no test case, whatever its name


@dataclass
class BeginPass:
    """A pass over the data begins."""
    pass_id: int


@dataclass
class EndPass:
    """A pass has ended; metrics are means over it."""
    pass_id: int
    metrics: Dict[str, float] = field(default_factory=dict)


@dataclass
class BeginIteration:
    """A batch begins."""
    pass_id: int
    batch_id: int


@dataclass
class EndForwardBackward:
    """The gradients of a batch are there (and, in this implementation, applied)."""
    pass_id: int
    batch_id: int


@dataclass
class EndIteration:
    """A batch has ended. cost: its mean per sample."""
    pass_id: int
    batch_id: int
    cost: float
    metrics: Dict[str, float] = field(default_factory=dict)
