"""From declared layers to a program."""
import contextlib
from collections import Counter
from typing import Callable, Dict, List, Optional, Sequence

from .. import fluid
from .attr import Defaults

_counts: Counter = Counter()


def layer_name(name: Optional[str], kind: str) -> str:
    """The name that was given, or the next one of this kind: `__fc_layer_0__`."""
    if name is not None:
        return name
    _counts[kind] += 1
    return f"__{kind}_{_counts[kind] - 1}__"


class LayerOutput:
    """A layer as it was declared. Nothing is computed before a topology is made of it.

    name: of the layer. size: values per sample, or per element of a sequence. parents: the layers that it reads.
    """

    def __init__(self, name: str, parents: Sequence["LayerOutput"], size: int, build: Callable, sequence: bool = False,
                 data_type=None, metrics: Optional[Dict[str, Callable]] = None, shape=None, is_cost: bool = False):
        self.name, self.parents, self.size, self.build = name, list(parents), size, build
        self.sequence, self.data_type, self.metrics = sequence, data_type, metrics or {}
        self.shape = shape  # of an image: channels, height, width
        self.is_cost = is_cost
        self.attrs: List = []  # (parameter name, ParameterAttribute) of those that may bring their own first values

    def __repr__(self) -> str:
        return f"<layer {self.name}, size {self.size}>"


class Topology:
    """The program that computes some layers, and what belongs to it.

    main, startup: the programs. vars: layer name -> variable. data_layers: what is fed, in the order of the graph.
    prefix: stands in front of the names that the programs make up.
    """

    def __init__(self, outputs: Sequence[LayerOutput], is_test: bool = False, defaults: Optional[Defaults] = None,
                 prefix: str = ""):
        self.outputs = list(outputs)
        self._names = fluid.unique_name.UniqueNameGenerator(prefix)
        self.is_test = is_test
        self.defaults = defaults or Defaults()
        self.main, self.startup = fluid.Program(), fluid.Program()
        self.main.random_seed = self.startup.random_seed = _seed()
        self.vars: Dict[str, "fluid.framework.Variable"] = {}
        self.data_layers: List[LayerOutput] = []
        self.metrics: Dict[str, "fluid.framework.Variable"] = {}
        with self.building():
            for layer in self.outputs:
                self.var(layer)

    @contextlib.contextmanager
    def building(self):
        """Layers and optimizers add to the programs inside. All of a program's names come from one generator: with
        another one a loss or an optimizer would write variables that layers have named already."""
        with fluid.program_guard(self.main, self.startup), fluid.unique_name.guard(self._names):
            yield

    def var(self, layer: LayerOutput) -> "fluid.framework.Variable":
        """The variable of a layer; built when it is first asked for."""
        if layer.name in self.vars:
            return self.vars[layer.name]
        inputs = [self.var(p) for p in layer.parents]
        out = layer.build(self, *inputs)
        self.vars[layer.name] = out
        if layer.data_type is not None:
            self.data_layers.append(layer)
        for name, make in layer.metrics.items():
            self.metrics[name] = make(*inputs)
        return out

    def parameters(self) -> List["fluid.framework.Parameter"]:
        return list(self.main.global_block().all_parameters())

    def total_cost(self) -> "fluid.framework.Variable":
        """The sum over all samples of all costs."""
        with self.building():
            sums = [fluid.layers.reduce_sum(self.vars[layer.name]) for layer in self.outputs if layer.is_cost]
            if not sums:
                raise ValueError("none of the layers is a cost; use paddle.layer.classification_cost or another …_cost")
            return sums[0] if len(sums) == 1 else fluid.layers.sums(sums)


def _seed() -> int:
    from .config import options

    return options()["seed"]
