"""What the tests share: a network of its own per test, and the layers by their names in the core."""
import contextlib
import unittest

import paddle.fluid as fluid
from paddle import _core
from paddle.fluid.layer_helper import call, layer


class Net:
    """Programs, names and a scope that no other test sees."""

    def __init__(self, seed=1):
        self.main, self.startup, self.scope = fluid.Program(), fluid.Program(), fluid.Scope()
        self.main.random_seed = self.startup.random_seed = seed
        self.exe = fluid.Executor(fluid.CPUPlace())

    def run(self, feed=None, fetch=(), program=None, **kwargs):
        program = self.main if program is None else program
        return self.exe.run(program, feed=feed, fetch_list=list(fetch), scope=self.scope, **kwargs)

    def start(self):
        self.exe.run(self.startup, scope=self.scope)

    def value(self, name):
        return self.scope.find_var(name).get_tensor().numpy()


@contextlib.contextmanager
def fresh(seed=1):
    net = Net(seed)
    with fluid.program_guard(net.main, net.startup), fluid.unique_name.guard(), fluid.scope_guard(net.scope):
        yield net


def line_fit(optimizer="sgd", **options):
    """Linear regression of 13 inputs; returns (prediction, loss). The optimizer None leaves it out."""
    x = layer("data", name="x", shape=[13])
    y = layer("data", name="y", shape=[1])
    predicted = layer("fc", input=x, size=1)
    loss = layer("mean", input=layer("square_error_cost", input=predicted, label=y))
    if optimizer is not None:
        minimize(loss, optimizer, **options)
    return predicted, loss


def minimize(loss, optimizer="sgd", **options):
    return call(_core.minimize, loss.name, {"type": optimizer, "learning_rate": 0.01, **options})


class Case(unittest.TestCase):
    def says(self, kind, *words):
        """An exception of this kind whose sentence holds all words."""
        return _Says(self, kind, words)


class _Says:
    def __init__(self, case, kind, words):
        self.case, self.kind, self.words = case, kind, words

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.case.assertIsNotNone(error, f"expected {self.kind.__name__}")
        if not isinstance(error, self.kind):
            return False
        for word in self.words:
            self.case.assertIn(word, str(error))
        self.text = str(error)
        return True
