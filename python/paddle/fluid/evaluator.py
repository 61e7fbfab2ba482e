"""Metrics whose state lives in the program, as early Fluid had them; `fluid.metrics` are their successors."""
from __future__ import annotations

import numpy as np

from . import layers, unique_name
from .framework import Program, program_guard

__all__ = ["Accuracy", "Evaluator"]


class Evaluator:
    """Base: `states` are variables that live from run to run, `metrics` the values of one batch.

    main_program, startup_program: accepted; the default programs are used.
    """

    def __init__(self, name: str, main_program=None, startup_program=None):
        self.states: list = []
        self.metrics: list = []
        self._key = unique_name.generate(name)

    def _create_state(self, suffix: str, dtype, shape):
        """A state that starts with 0."""
        state = layers.create_global_var(shape=shape, value=0.0, dtype=dtype, persistable=True,
                                         name="_".join([self._key, suffix]))
        self.states.append(state)
        return state

    def reset(self, executor, reset_program=None) -> None:
        """Sets the states to 0: at the begin of a pass."""
        program = reset_program or Program()
        with program_guard(program):
            block = program.global_block()
            for state in self.states:
                same = block.create_var(name=state.name, shape=state.shape, dtype=state.dtype, persistable=True)
                layers.fill_constant(shape=state.shape, dtype=state.dtype, value=0.0, out=same)
        executor.run(program)

    def _fetch(self, executor, states) -> list:
        """Values of states, read from where the executor keeps them."""
        program = Program()
        with program_guard(program):
            block = program.global_block()
            copies = [layers.assign(block.create_var(name=s.name, shape=s.shape, dtype=s.dtype, persistable=True))
                      for s in states]
        return executor.run(program, fetch_list=copies)

    def eval(self, executor, eval_program=None):
        """The metric since the last reset."""
        raise NotImplementedError(f"{type(self).__name__} must say what it is")


class Accuracy(Evaluator):
    """The accuracy over all batches since the last reset.

    Example:
        >>> accuracy = fluid.evaluator.Accuracy(input=prediction, label=label)
        >>> accuracy.reset(exe)                              # at the begin of each pass
        >>> exe.run(feed=..., fetch_list=accuracy.metrics)   # accuracies of batches
        >>> accuracy.eval(exe)                               # of the pass so far
    """

    def __init__(self, input, label, k: int = 1, main_program=None, startup_program=None):
        super().__init__("accuracy", main_program, startup_program)
        self.total = self._create_state("total", "int64", [1])
        self.correct = self._create_state("correct", "int64", [1])
        total = layers.create_tensor(dtype="int32")
        correct = layers.create_tensor(dtype="int32")
        self.metrics.append(layers.accuracy(input=input, label=label, k=k, total=total, correct=correct))
        for state, part in ((self.total, total), (self.correct, correct)):
            layers.sums(input=[state, layers.cast(part, dtype="int64")], out=state)

    def eval(self, executor, eval_program=None) -> np.ndarray:
        total, correct = self._fetch(executor, [self.total, self.correct])
        return np.array([float(correct[0]) / float(total[0])] if total[0] else [0.0], dtype="float32")
