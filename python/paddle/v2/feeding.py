"""From samples to what a program is fed."""
from typing import Any, Dict, Sequence, Union

import numpy as np

from .. import fluid
from .topology import Topology

Feeding = Union[Dict[str, int], Sequence[str], None]


class Feeder:
    """feeding: data layer name -> its place in a sample, or the names in the order of a sample; by default the order of
    the graph."""

    def __init__(self, topology: Topology, feeding: Feeding = None):
        names = [layer.name for layer in topology.data_layers]
        places = feeding if isinstance(feeding, dict) else {n: i for i, n in enumerate(feeding or names)}
        missing = [n for n in names if n not in places]
        if missing:
            raise ValueError(f"feeding names no place for the data layers {', '.join(missing)}; it has "
                             f"{', '.join(places)}")
        self._fields = [(layer, places[layer.name]) for layer in topology.data_layers]
        self._feeder = fluid.DataFeeder(feed_list=[topology.vars[n] for n in names], program=topology.main)

    def feed(self, batch: Sequence[Any]) -> Dict[str, Any]:
        rows = []
        for sample in batch:
            if not isinstance(sample, (list, tuple)):
                sample = (sample,)
            rows.append(tuple(_dense(layer.data_type, sample[place]) for layer, place in self._fields))
        return self._feeder.feed(rows)


def _dense(kind, value: Any) -> Any:
    if kind.kind == "sparse_binary":
        out = np.zeros(kind.dim, np.float32)
        out[list(value)] = 1
        return out
    if kind.kind == "sparse_float":
        out = np.zeros(kind.dim, np.float32)
        for place, x in value:
            out[place] = x
        return out
    return value
