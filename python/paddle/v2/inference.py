"""Outputs of layers for given samples."""
from typing import Any, Iterator, List, Sequence, Union

import numpy as np

from .. import fluid
from . import config
from .feeding import Feeder, Feeding
from .parameters import Parameters
from .topology import LayerOutput, Topology

__all__ = ["Inference", "infer"]


class Inference:
    """A program that computes layers with given parameters."""

    def __init__(self, output_layer, parameters: Parameters):
        layers = list(output_layer) if isinstance(output_layer, (list, tuple)) else [output_layer]
        for layer in layers:
            if not isinstance(layer, LayerOutput):
                raise TypeError(f"infer takes layers, got {type(layer).__name__}")
        self._topology = Topology(layers, is_test=True)
        self._outputs = [self._topology.vars[layer.name] for layer in layers]
        self._scope = parameters.scope
        self._executor = fluid.Executor(config.place())
        missing = [p.name for p in self._topology.parameters() if p.name not in parameters]
        if missing:
            raise ValueError(f"the parameters lack {', '.join(missing)}; give those of the same layers")

    def iter_infer(self, input: Sequence[Any], feeding: Feeding = None) -> Iterator[List[np.ndarray]]:
        """The outputs for a batch of samples."""
        feed = Feeder(self._topology, feeding).feed(list(input))
        results = self._executor.run(self._topology.main, feed=feed, fetch_list=self._outputs, scope=self._scope,
                                     return_numpy=False)
        yield [np.array(r) for r in results]

    def infer(self, input: Sequence[Any], field: Union[str, Sequence[str]] = "value", feeding: Feeding = None):
        """An array for one output layer, a list for several. field: "value", or "id" for the largest's place."""
        fields = [field] if isinstance(field, str) else list(field)
        for f in fields:
            if f not in ("value", "id"):
                raise ValueError(f"field must be 'value' or 'id', got {f!r}")
        (outputs,) = self.iter_infer(input, feeding)
        results = [o if f == "value" else o.argmax(axis=-1) for f in fields for o in outputs]
        return results[0] if len(results) == 1 else results


def infer(output_layer, parameters: Parameters, input: Sequence[Any], feeding: Feeding = None,
          field: Union[str, Sequence[str]] = "value"):
    """The output of a layer (or of several) for samples, with these parameters.

    >>> paddle.infer(output_layer=prediction, parameters=parameters, input=[(features,)])
    """
    return Inference(output_layer, parameters).infer(input, field=field, feeding=feeding)
