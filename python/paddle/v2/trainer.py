"""The trainer: passes over batches, events, tests; alone or with pservers."""
from typing import Any, Callable, Dict, Iterator, List, Optional

import numpy as np

from .. import fluid
from . import config, event
from .attr import Defaults
from .feeding import Feeder, Feeding
from .optimizer import Optimizer
from .parameters import Parameters
from .topology import LayerOutput, Topology

__all__ = ["SGD"]


class SGD:
    """Trains parameters.

    cost: a cost layer, or several.
    parameters: of `paddle.parameters.create`; they change while training goes on.
    update_equation: one of `paddle.optimizer`.
    extra_layers: others to compute along.
    is_local: False trains with the pservers that `paddle.init` names (pservers, port, ports_num,
        num_gradient_servers, trainer_id); gradients are then sums over the trainers as well.
    """

    def __init__(self, cost, parameters: Parameters, update_equation: Optimizer, extra_layers=None,
                 is_local: bool = True, pserver_spec: Optional[str] = None, use_etcd: bool = True):
        if not isinstance(parameters, Parameters):
            raise TypeError("parameters should be parameters")
        if not isinstance(update_equation, Optimizer):
            raise TypeError("update equation parameter must be paddle.v2.optimizer.Optimizer")
        if pserver_spec is not None:
            raise ValueError("pserver_spec and etcd are not supported; name the pservers with paddle.init(pservers=…)")
        layers = (list(cost) if isinstance(cost, (list, tuple)) else [cost]) + list(extra_layers or [])
        for layer in layers:
            if not isinstance(layer, LayerOutput):
                raise TypeError(f"cost should be a layer of paddle.layer, got {type(layer).__name__}")
        self.parameters = parameters
        self._scope = parameters.scope
        self._executor = fluid.Executor(config.place())
        self._cluster = None if is_local else config.cluster()
        self._test = Topology(layers, is_test=True)
        self._test_total = self._test.total_cost()
        self._build(layers, update_equation)
        self._stepped = False
        if self._cluster is not None:
            parameters._sync = self._collect

    def _build(self, layers: List[LayerOutput], update: Optimizer) -> None:
        self._topology = Topology(layers, defaults=Defaults(update.l2_rate, update.clipping),
                                  prefix=self.parameters._next_prefix())
        self._program, startup = self._topology.main, self._topology.startup
        cluster = self._cluster
        sync = cluster is not None and cluster["sync"] and not update.is_async
        loss = self._total = self._topology.total_cost()
        with self._topology.building():
            if sync and cluster["trainers"] > 1:
                # Pservers apply the mean over the trainers; here it must be the sum.
                loss = fluid.layers.scale(loss, scale=float(cluster["trainers"]))
            update.fluid().minimize(loss, startup_program=startup)
        self._check_parameters()
        if cluster is not None:
            self._join(startup, sync)
        given = {name: self.parameters[name] for name in self.parameters}
        self._executor.run(startup, scope=self._scope)  # what the optimizer keeps; parameters have their values already
        for name, value in given.items():
            self.parameters[name] = value

    def _join(self, startup: "fluid.Program", sync: bool) -> None:
        """Cuts the program and takes part in the job."""
        how = fluid.DistributeTranspilerConfig()
        how.runtime_split_send_recv = not sync  # async: no trainer waits for another
        t = fluid.DistributeTranspiler(config=how)
        t.transpile(trainer_id=self._cluster["trainer_id"], program=self._program,
                    pservers=",".join(self._cluster["pservers"]),
                    trainers=self._cluster["trainers"], sync_mode=sync, startup_program=startup)
        self._program = t.get_trainer_program()

    def _collect(self) -> None:
        """Brings the pservers' values here, once after each step that may have changed them."""
        if self._stepped:
            self._stepped = False
            self._program._distributed.collect()

    def _check_parameters(self) -> None:
        for p in self._topology.parameters():
            if not self.parameters.has_key(p.name):
                raise ValueError(f"the parameter {p.name} is not among those given; make them with "
                                 "paddle.parameters.create of the same cost")
            if self.parameters.get_shape(p.name) != tuple(p.shape):
                raise ValueError(f"the parameter {p.name} has the shape {self.parameters.get_shape(p.name)}, the "
                                 f"layers want {tuple(p.shape)}")

    def _run(self, program, feed: Dict[str, Any], total, metrics: Dict[str, Any]) -> List[float]:
        values = self._executor.run(program, feed=feed, fetch_list=[total, *metrics.values()], scope=self._scope)
        return [float(np.asarray(v).reshape(-1)[0]) for v in values]

    def train(self, reader: Callable[[], Iterator[List[Any]]], num_passes: int = 1,
              event_handler: Optional[Callable[[Any], None]] = None, feeding: Feeding = None) -> None:
        """Trains for `num_passes` passes over a reader of batches.

        event_handler(e): called at every pass and batch, see `paddle.event`.
        feeding: data layer name -> place in a sample.
        """
        report = event_handler or (lambda e: None)
        feeder = Feeder(self._topology, feeding)
        names = list(self._topology.metrics)
        for pass_id in range(num_passes):
            report(event.BeginPass(pass_id))
            sums, samples = np.zeros(len(names)), 0
            for batch_id, batch in enumerate(reader()):
                report(event.BeginIteration(pass_id, batch_id))
                cost, *metrics = self._run(self._program, feeder.feed(batch), self._total, self._topology.metrics)
                self._stepped = self._cluster is not None
                report(event.EndForwardBackward(pass_id, batch_id))
                report(event.EndIteration(pass_id, batch_id, cost / len(batch), dict(zip(names, metrics))))
                sums, samples = sums + np.array(metrics) * len(batch), samples + len(batch)
            report(event.EndPass(pass_id, dict(zip(names, (sums / max(1, samples)).tolist()))))

    def test(self, reader: Callable[[], Iterator[List[Any]]], feeding: Feeding = None) -> event.TestResult:
        """The mean cost per sample, and the metrics, of the parameters as they are now."""
        self._collect()
        feeder = Feeder(self._test, feeding)
        names = list(self._test.metrics)
        total, sums, samples = 0.0, np.zeros(len(names)), 0
        for batch in reader():
            cost, *metrics = self._run(self._test.main, feeder.feed(batch), self._test_total, self._test.metrics)
            total, sums, samples = total + cost, sums + np.array(metrics) * len(batch), samples + len(batch)
        if samples == 0:
            raise ValueError("test: the reader gave no samples")
        return event.TestResult(total / samples, dict(zip(names, (sums / samples).tolist())))

    def save_parameter_to_tar(self, f) -> None:
        """Writes the parameters as they are now to a tar file."""
        self.parameters.to_tar(f)
