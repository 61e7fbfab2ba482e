"""The programs that interop exchanges: one-layer models, the same ones trained, and whole trainings.

Runs under Python 3.7 with PaddlePaddle 1.8.5 as well as with this package: only what both have.
"""
import os
import sys

import numpy as np
import paddle.fluid as fluid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import layer_cases  # noqa: E402

L = fluid.layers

# Results that are random, or that a layer makes without any op: there is nothing to compare.
_RANDOM = {"uniform_random", "gaussian_random", "uniform_random_batch_size_like", "gaussian_random_batch_size_like",
           "create_parameter", "create_global_var"}
# No gradient goes through these (in PaddlePaddle; clip_by_norm has one here).
_NO_GRADIENT = {"accuracy", "auc", "clip_by_norm", "isfinite", "data", "zeros_like", "fill_constant",
                "fill_constant_batch_size_like", "ones", "zeros", "increment", "autoincreased_step_counter",
                "elementwise_mod", "elementwise_floordiv", "sequence_mask"} | _RANDOM
# The second input is a label, which gets no gradient.
_LABELLED = {"cross_entropy", "sigmoid_cross_entropy_with_logits", "log_loss", "huber_loss", "square_error_cost",
             "dice_loss", "kldiv_loss", "teacher_student_sigmoid_loss", "continuous_value_model"}
# All inputs are labels: the layer stops gradients in front of it.
_ONLY_LABELS = {"label_smooth"}
# The second input is given with all its lengths: PaddlePaddle cannot build these layers with an unknown one.
_KNOWN_LENGTHS = {"mul", "label_smooth"}
# With is_test=True, which PaddlePaddle refuses to differentiate.
_ONLY_INFERENCE = {"batch_norm.1", "dropout.0"}
_SCHEDULES = set(fluid.layers.learning_rate_scheduler.__all__)


# {kind: {key: why}}: what cannot agree. 1.8.5 is wrong there, and ours on purpose not.
_SWISH = "PaddlePaddle's layer does not pass beta on to its op"
_SOFT_RELU = "PaddlePaddle compares the result, not the input, with the threshold"
_GATHER = "a row that is taken twice gets the last gradient, not the sum, unless overwrite=False"
_SCATTER = "PaddlePaddle gives rows that were replaced their gradient as well"
DIFFERENT = {
    "training": {"soft_relu.0": _SOFT_RELU, "scatter.0": _SCATTER},
    "persistables": {"swish.0": _SWISH, "soft_relu.0": _SOFT_RELU, "gather.0": _GATHER, "scatter.0": _SCATTER},
}


class Built:
    """A program that was built: what is fed and what is fetched."""

    def __init__(self, feed, fetch):
        self.main, self.startup = fluid.default_main_program(), fluid.default_startup_program()
        self.feed, self.fetch = feed, fetch


def _inputs(name, feeds):
    variables, feed = [], {}
    for i, value in enumerate(feeds):
        array = np.asarray(value)
        sequence = not isinstance(value, np.ndarray)
        unknown = (array.ndim > 1 or array.dtype.name == "int64") and not (i > 0 and name in _KNOWN_LENGTHS)
        batch = -1 if unknown else array.shape[0]
        variables.append(L.data(name="in%d" % i, shape=[batch] + list(array.shape[1:]), append_batch_size=False,
                                dtype=array.dtype.name, lod_level=int(sequence)))
        feed["in%d" % i] = value
    return variables, feed


def _listed(results):
    """As a list; truth values as numbers, because PaddlePaddle's inference models cannot end with truth values."""
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    return [L.cast(r, "int32") if r.dtype == fluid.core.VarDesc.VarType.BOOL else r for r in results]


def _layer(name, build, feeds):
    def make():
        inputs, feed = _inputs(name, feeds)
        return Built(feed, _listed(build(*inputs)))
    return make


def inference():
    """{key: function that builds the model} for every layer."""
    out = {}
    for name, cases in layer_cases.CASES.items():
        for i, (build, feeds, _) in enumerate(cases):
            if name not in _RANDOM | _SCHEDULES:
                out["%s.%d" % (name, i)] = _layer(name, build, feeds)
    return out


def _is_float(variable):
    return variable.dtype == fluid.core.VarDesc.VarType.FP32


def _trained_layer(name, build, feeds):
    """The layer behind inputs that are multiplied by parameters; the loss is the mean of all."""
    def make():
        inputs, feed = _inputs(name, feeds)
        parts, ready = [], []
        for i, x in enumerate(inputs):
            if _is_float(x) and name not in _ONLY_LABELS and not (i > 0 and name in _LABELLED):
                width = x.shape[-1]
                w = L.create_parameter([width], "float32", name="factor%d" % i, default_initializer=layer_cases.ONE)
                x = L.elementwise_mul(x, w)
                parts.append(L.mean(x))
            ready.append(x)
        if not parts:
            one = L.create_parameter([1], "float32", name="factor", default_initializer=layer_cases.ONE)
            parts.append(L.mean(one))
        results = _listed(build(*ready))
        if name not in _NO_GRADIENT | _SCHEDULES:
            parts += [L.mean(r) for r in results if _is_float(r)]
        loss = L.sum(parts) if len(parts) > 1 else parts[0]
        fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
        return Built(feed, [loss] + [r for r in results if name not in _RANDOM])
    return make


def _batch():
    rng = np.random.RandomState(8)
    x = rng.uniform(-1, 1, (8, 5)).astype("float32")
    return {"x": x, "y": (x.sum(axis=1, keepdims=True) * 2 + 1).astype("float32")}


def _line(optimizer, **bias):
    """Linear regression with an optimizer; optimizer() is called inside of the program."""
    def make():
        x, y = L.data("x", [5]), L.data("y", [1])
        hidden = L.fc(x, 4, act="tanh", **bias)
        loss = L.mean(L.square_error_cost(L.fc(hidden, 1), y))
        optimizer().minimize(loss)
        return Built(_batch(), [loss])
    return make


def _clipped(clip):
    def make():
        x, y = L.data("x", [5]), L.data("y", [1])
        loss = L.mean(L.square_error_cost(L.fc(L.fc(x, 4, act="tanh"), 1), y))
        fluid.clip.set_gradient_clip(clip)
        fluid.optimizer.SGD(0.1).minimize(loss)
        return Built(_batch(), [loss])
    return make


def _clicks(is_sparse, optimizer):
    """Embeddings of sequences, summed, with auc: the click-through guide's network, small."""
    def make():
        dense = L.data("dense", [3])
        slots = [L.data("slot%d" % i, [1], dtype="int64", lod_level=1) for i in range(2)]
        label = L.data("label", [1], dtype="int64")
        rows = [L.embedding(s, size=[20, 4], is_sparse=is_sparse,
                            param_attr=fluid.ParamAttr(name="table", initializer=fluid.initializer.Uniform(seed=3)))
                for s in slots]
        joined = L.concat([L.sequence_pool(r, "sum") for r in rows] + [dense], axis=1)
        predicted = L.fc(L.fc(joined, 6, act="relu"), 2, act="softmax")
        loss = L.reduce_sum(L.cross_entropy(predicted, label))
        correct = L.accuracy(predicted, label)
        area, batch_area, _ = L.auc(predicted, label, num_thresholds=2**8, slide_steps=20)
        optimizer().minimize(loss)
        rng = np.random.RandomState(5)
        ids = [fluid.create_lod_tensor(rng.randint(0, 20, (7, 1)).astype("int64"), [[2, 1, 4]], fluid.CPUPlace())
               for _ in slots]
        feed = {"dense": rng.uniform(0, 1, (3, 3)).astype("float32"), "slot0": ids[0], "slot1": ids[1],
                "label": np.array([[0], [1], [1]], dtype="int64")}
        return Built(feed, [loss, correct, area, batch_area])
    return make


def _digits():
    """Convolution, pooling, normalisation: the handwriting guide's network, small."""
    image, label = L.data("image", [1, 8, 8]), L.data("label", [1], dtype="int64")
    first = fluid.nets.simple_img_conv_pool(image, num_filters=3, filter_size=3, pool_size=2, pool_stride=2, act="relu")
    predicted = L.fc(L.batch_norm(first, act="relu"), 10, act="softmax")
    loss = L.mean(L.cross_entropy(predicted, label))
    fluid.optimizer.Adam(0.01).minimize(loss)
    rng = np.random.RandomState(7)
    feed = {"image": rng.uniform(0, 1, (4, 1, 8, 8)).astype("float32"),
            "label": rng.randint(0, 10, (4, 1)).astype("int64")}
    return Built(feed, [loss])


def _sgd():
    return fluid.optimizer.SGD(0.1)


_OPTIMIZERS = {
    "sgd": _sgd,
    "momentum": lambda: fluid.optimizer.Momentum(0.1, 0.9),
    "nesterov": lambda: fluid.optimizer.Momentum(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: fluid.optimizer.Adagrad(0.1),
    "adagrad_initial": lambda: fluid.optimizer.Adagrad(0.1, initial_accumulator_value=0.5),
    "adam": lambda: fluid.optimizer.Adam(0.1),
    "adamax": lambda: fluid.optimizer.Adamax(0.1),
    "decayed_adagrad": lambda: fluid.optimizer.DecayedAdagrad(0.1),
    "rmsprop": lambda: fluid.optimizer.RMSProp(0.1),
    "rmsprop_centered": lambda: fluid.optimizer.RMSProp(0.1, centered=True, momentum=0.5),
    "ftrl": lambda: fluid.optimizer.Ftrl(0.1),
    "l1": lambda: fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L1Decay(0.05)),
    "l2": lambda: fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L2Decay(0.05)),
}
_RATES = {
    "piecewise": lambda: L.piecewise_decay([2, 4], [0.1, 0.05, 0.01]),
    "noam": lambda: L.noam_decay(16, 4),
    "exponential": lambda: L.exponential_decay(0.1, 2, 0.5),
    "natural_exp": lambda: L.natural_exp_decay(0.1, 2, 0.5, staircase=True),
    "inverse_time": lambda: L.inverse_time_decay(0.1, 2, 0.5),
    "polynomial": lambda: L.polynomial_decay(0.1, 6),
    "polynomial_cycle": lambda: L.polynomial_decay(0.1, 2, cycle=True),
    "cosine": lambda: L.cosine_decay(0.1, 2, 4),
    "warmup": lambda: L.linear_lr_warmup(0.1, 3, 0.01, 0.1),
    "warmup_cosine": lambda: L.linear_lr_warmup(L.cosine_decay(0.1, 2, 4), 2, 0.01, 0.1),
}


def training():
    """{key: function that builds the program, with its update ops}."""
    out = {}
    for name, cases in layer_cases.CASES.items():
        if name in _SCHEDULES:
            continue
        for i, (build, feeds, _) in enumerate(cases):
            key = "%s.%d" % (name, i)
            if key not in _ONLY_INFERENCE:
                out[key] = _trained_layer(name, build, feeds)
    for name, optimizer in _OPTIMIZERS.items():
        out["optimizer." + name] = _line(optimizer)
    for name, rate in _RATES.items():
        out["rate." + name] = _line(lambda rate=rate: fluid.optimizer.SGD(rate()))
    out["rate.of_bias"] = _line(_sgd, bias_attr=fluid.ParamAttr(learning_rate=2.0))
    out["clip.value"] = _clipped(fluid.clip.GradientClipByValue(0.05))
    out["clip.norm"] = _clipped(fluid.clip.GradientClipByNorm(0.05))
    out["clip.global_norm"] = _clipped(fluid.clip.GradientClipByGlobalNorm(0.05))
    for name in ("sgd", "adagrad", "adam"):
        for is_sparse in (False, True):
            if not (is_sparse and name == "adam"):  # PaddlePaddle advances the powers before it uses them
                out["clicks.%s_%s" % (name, "sparse" if is_sparse else "dense")] = _clicks(is_sparse, _OPTIMIZERS[name])
    out["digits"] = _digits
    return out
