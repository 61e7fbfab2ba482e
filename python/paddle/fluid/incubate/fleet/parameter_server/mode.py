"""DistributedMode, where scripts of Fleet import it from."""
from ....transpiler.distribute_transpiler import DistributedMode

__all__ = ["DistributedMode"]
