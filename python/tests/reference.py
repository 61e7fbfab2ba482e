"""A second opinion in numpy, for tests: values that remember how they were made, update rules, clips and schedules.

It shares no code with the core and computes in double precision.
"""
import math

import numpy as np


class Value:
    """An array, and how to hand a gradient on to what it was made of."""

    def __init__(self, data, parents=(), back=None):
        self.data = np.asarray(data, dtype="float64")
        self.grad = np.zeros_like(self.data)
        self.parents, self.back = parents, back

    def backward(self):
        """Gradients of this value (one element) into everything that it depends on."""
        order, seen = [], set()

        def visit(v):
            if id(v) not in seen:
                seen.add(id(v))
                for p in v.parents:
                    visit(p)
                order.append(v)

        visit(self)
        self.grad = np.ones_like(self.data)
        for v in reversed(order):
            if v.back is not None:
                for parent, g in zip(v.parents, v.back(v.grad)):
                    parent.grad = parent.grad + g

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), lambda g: (fit(g, self.data), fit(g, other.data)))

    def __sub__(self, other):
        return Value(self.data - other.data, (self, other), lambda g: (fit(g, self.data), fit(-g, other.data)))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other),
                     lambda g: (fit(g * other.data, self.data), fit(g * self.data, other.data)))

    def __truediv__(self, other):
        return Value(self.data / other.data, (self, other),
                     lambda g: (fit(g / other.data, self.data), fit(-g * self.data / other.data**2, other.data)))

    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g: (g @ other.data.T, self.data.T @ g))

    def reshape(self, *shape):
        return Value(self.data.reshape(shape), (self,), lambda g: (g.reshape(self.data.shape),))


def fit(g, like):
    """A gradient summed over the dimensions along which `like` was repeated."""
    while g.ndim > like.ndim:
        g = g.sum(axis=0)
    for axis, length in enumerate(like.shape):
        if length == 1 and g.shape[axis] != 1:
            g = g.sum(axis=axis, keepdims=True)
    return g


def relu(x):
    return Value(np.maximum(x.data, 0), (x,), lambda g: (g * (x.data > 0),))


def tanh(x):
    y = np.tanh(x.data)
    return Value(y, (x,), lambda g: (g * (1 - y * y),))


def sigmoid(x):
    y = 1 / (1 + np.exp(-x.data))
    return Value(y, (x,), lambda g: (g * y * (1 - y),))


def square(x):
    return Value(x.data**2, (x,), lambda g: (2 * g * x.data,))


def power(x, n):
    return Value(x.data**n, (x,), lambda g: (g * n * x.data**(n - 1),))


def mean(x, axis=None):
    y = x.data.mean(axis=axis, keepdims=True)
    return Value(y, (x,), lambda g: (np.broadcast_to(g, x.data.shape) * (y.size / x.data.size),))


def cost(x):
    """The mean of everything, as one element."""
    return mean(x).reshape(1)


def concat(parts):
    widths = np.cumsum([p.data.shape[1] for p in parts])[:-1]
    return Value(np.concatenate([p.data for p in parts], axis=1), tuple(parts), lambda g: np.split(g, widths, axis=1))


def cross_entropy(logits, label):
    """-log softmax(logits)[label], [N, 1]."""
    shifted = logits.data - logits.data.max(axis=1, keepdims=True)
    probability = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    rows = np.arange(len(label))
    target = np.zeros_like(probability)
    target[rows, label.ravel()] = 1
    return Value(-np.log(probability[rows, label.ravel()])[:, None], (logits,), lambda g: (g * (probability - target),))


def binary_cross_entropy(logits, label):
    x = logits.data
    loss = np.maximum(x, 0) - x * label + np.log1p(np.exp(-np.abs(x)))
    return Value(loss, (logits,), lambda g: (g * (1 / (1 + np.exp(-x)) - label),))


def embedding(table, ids):
    ids = ids.ravel()

    def back(g):
        out = np.zeros_like(table.data)
        np.add.at(out, ids, g)
        return (out,)

    return Value(table.data[ids], (table,), back)


def sequence_sum(x, lengths, scale):
    """Sum of the rows of each sequence times scale(length)."""
    ends = np.cumsum(lengths)
    which = np.repeat(np.arange(len(lengths)), lengths)
    factor = np.array([scale(n) for n in lengths])[:, None]
    pooled = np.stack([x.data[e - n:e].sum(axis=0) for e, n in zip(ends, lengths)]) * factor
    return Value(pooled, (x,), lambda g: ((g * factor)[which],))


def sequence_max(x, lengths):
    starts = np.cumsum(lengths) - lengths
    chosen = np.stack([s + x.data[s:s + n].argmax(axis=0) for s, n in zip(starts, lengths)])
    columns = np.arange(x.data.shape[1])

    def back(g):
        out = np.zeros_like(x.data)
        np.add.at(out, (chosen, columns), g)
        return (out,)

    return Value(x.data[chosen, columns], (x,), back)


def conv2d(x, w, padding):
    """Stride 1: sums over every shift of the filter."""
    n, _, h, width = x.data.shape
    _, _, fh, fw = w.data.shape
    padded = np.pad(x.data, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    oh, ow = h + 2 * padding - fh + 1, width + 2 * padding - fw + 1
    shifts = [(i, j) for i in range(fh) for j in range(fw)]
    out = sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + oh, j:j + ow], w.data[:, :, i, j]) for i, j in shifts)

    def back(g):
        dw, dp = np.zeros_like(w.data), np.zeros_like(padded)
        for i, j in shifts:
            dw[:, :, i, j] = np.einsum("nchw,nohw->oc", padded[:, :, i:i + oh, j:j + ow], g)
            dp[:, :, i:i + oh, j:j + ow] += np.einsum("nohw,oc->nchw", g, w.data[:, :, i, j])
        return dp[:, :, padding:padding + h, padding:padding + width], dw

    return Value(out, (x, w), back)


def max_pool(x, size):
    n, c, h, w = x.data.shape
    blocks = x.data.reshape(n, c, h // size, size, w // size, size)
    y = blocks.max(axis=(3, 5))
    hit = blocks == y[:, :, :, None, :, None]
    return Value(y, (x,), lambda g: ((hit * g[:, :, :, None, :, None]).reshape(x.data.shape),))


def normalize(x, axes, epsilon):
    """(x - mean) / sqrt(variance + epsilon) over some dimensions."""
    centered = x - mean(x, axes)
    return centered * power(mean(square(centered), axes) + Value(epsilon), -0.5)


# ---- Update rules: rule(state, gradient, rate) -> what is subtracted; the state starts empty.

def sgd(state, g, rate):
    return rate * g


def momentum(mu, nesterov=False):
    def rule(state, g, rate):
        v = state["v"] = mu * state.get("v", 0) + g
        return rate * (g + mu * v) if nesterov else rate * v
    return rule


def adagrad(epsilon=1e-6, first=0.0):
    def rule(state, g, rate):
        m = state["m"] = state.get("m", first) + g * g
        return rate * g / (np.sqrt(m) + epsilon)
    return rule


def decayed_adagrad(decay=0.95, epsilon=1e-6):
    def rule(state, g, rate):
        m = state["m"] = decay * state.get("m", 0) + (1 - decay) * g * g
        return rate * g / (np.sqrt(m) + epsilon)
    return rule


def adam(b1=0.9, b2=0.999, epsilon=1e-8):
    def rule(state, g, rate):
        t = state["t"] = state.get("t", 0) + 1
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
        return rate * math.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(v) + epsilon)
    return rule


def adamax(b1=0.9, b2=0.999, epsilon=1e-8):
    def rule(state, g, rate):
        t = state["t"] = state.get("t", 0) + 1
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        u = state["u"] = np.maximum(np.abs(g), b2 * state.get("u", 0) + epsilon)
        return rate / (1 - b1**t) * m / u
    return rule


def rmsprop(rho=0.95, epsilon=1e-6, mu=0.0, centered=False):
    def rule(state, g, rate):
        s = state["s"] = rho * state.get("s", 0) + (1 - rho) * g * g
        if centered:
            a = state["a"] = rho * state.get("a", 0) + (1 - rho) * g
            s = s - a * a
        m = state["m"] = mu * state.get("m", 0) + rate * g / np.sqrt(s + epsilon)
        return m
    return rule


def adadelta(epsilon=1e-6, rho=0.95):
    def rule(state, g, rate):
        s = state["s"] = rho * state.get("s", 0) + (1 - rho) * g * g
        d = np.sqrt((state.get("u", 0) + epsilon) / (s + epsilon)) * g
        state["u"] = rho * state.get("u", 0) + (1 - rho) * d * d
        return d
    return rule


def ftrl(l1, l2):
    def rule(state, g, rate, p):
        n = state.get("n", 0)
        grown = n + g * g
        z = state["z"] = state.get("z", 0) + g - (np.sqrt(grown) - np.sqrt(n)) / rate * p
        state["n"] = grown
        target = np.where(np.abs(z) > l1, (l1 * np.sign(z) - z) / (np.sqrt(grown) / rate + 2 * l2), 0)
        return p - target
    rule.needs_parameter = True
    return rule


class Trainer:
    """Steps over parameters {name: array}: gradient, clip, decay, update."""

    def __init__(self, params, rule, rate, clip=None, decay=None, factors=None):
        self.params = {n: np.asarray(v, dtype="float64").copy() for n, v in params.items()}
        self.rule, self.rate, self.clip, self.decay = rule, rate, clip or (lambda grads: grads), decay or {}
        self.factors = factors or {}
        self.states = {n: {} for n in params}
        self.steps = 0

    def step(self, loss_of):
        """loss_of({name: Value}) -> loss; returns the loss before the update."""
        values = {n: Value(v) for n, v in self.params.items()}
        loss = loss_of(values)
        loss.backward()
        grads = self.clip({n: v.grad for n, v in values.items()})
        rate = self.rate(self.steps) if callable(self.rate) else self.rate
        for n, p in self.params.items():
            g = grads[n] + self.decay.get(n, lambda p: 0)(p)
            args = (self.states[n], g, rate * self.factors.get(n, 1.0))
            self.params[n] = p - (self.rule(*args, p) if hasattr(self.rule, "needs_parameter") else self.rule(*args))
        self.steps += 1
        return float(loss.data.ravel()[0])


def clip_value(limit):
    return lambda grads: {n: np.clip(g, -limit, limit) for n, g in grads.items()}


def clip_norm(limit):
    def clip(grads):
        norms = {n: math.sqrt((g * g).sum()) for n, g in grads.items()}
        return {n: g * (limit / norms[n] if norms[n] > limit else 1) for n, g in grads.items()}
    return clip


def clip_global_norm(limit):
    def clip(grads):
        norm = math.sqrt(sum((g * g).sum() for g in grads.values()))
        return {n: g * limit / max(norm, limit) for n, g in grads.items()}
    return clip
