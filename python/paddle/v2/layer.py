"""Layers: declared here, computed when a trainer or `infer` makes a program of them."""
from typing import Any, List, Optional, Sequence, Union

from .. import fluid
from . import activation, pooling as _pooling
from .attr import ExtraLayerAttribute, ParameterAttribute
from .data_type import InputType
from .topology import LayerOutput, layer_name

__all__ = [
    "LayerOutput", "addto", "batch_norm", "classification_cost", "concat", "cross_entropy_cost", "data", "dropout",
    "embedding", "fc", "first_seq", "img_conv", "img_pool", "last_seq", "max_id", "mse_cost", "pooling",
    "regression_cost", "square_error_cost", "sum_cost",
]

Inputs = Union[LayerOutput, Sequence[LayerOutput]]


def _list(inputs: Inputs) -> List[LayerOutput]:
    out = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    for layer in out:
        if not isinstance(layer, LayerOutput):
            raise TypeError(f"the input of a layer is a layer, got {type(layer).__name__}")
    if not out:
        raise ValueError("a layer needs at least one input")
    return out


def _act(act: Optional[activation.Base], default=activation.Linear) -> Optional[str]:
    if isinstance(act, type):
        raise TypeError(f"write act=paddle.activation.{act.__name__}(), with brackets")
    return (act if act is not None else default()).name or None


def _dropped(topology, x, extra: Optional[ExtraLayerAttribute]):
    if extra is None or not extra.drop_rate:
        return x
    return fluid.layers.dropout(x, dropout_prob=float(extra.drop_rate), is_test=topology.is_test)


def _bias(given: Any, name: str, topology):
    if given is False:
        return False
    return ParameterAttribute.of(given).fluid(f"_{name}.wbias", 0.0, topology.defaults)


def _with(layer: LayerOutput, attrs: Sequence[ParameterAttribute]) -> LayerOutput:
    """Notes whose first values the user may bring (ParameterAttribute.initializer)."""
    layer.attrs = [(a.name or f"_{layer.name}.w{i}", a) for i, a in enumerate(attrs)]
    return layer


def data(name: str, type: InputType, height: Optional[int] = None, width: Optional[int] = None) -> LayerOutput:
    """What is fed. type: one of `paddle.data_type`. height, width: of images; channels are dim / height / width."""
    shape = (type.dim // (height * width), height, width) if height and width else None

    def build(topology):
        integer = type.kind == "integer"
        shape_of_one, dtype = ([1], "int64") if integer else ([type.dim], "float32")
        return fluid.layers.data(name=name, shape=shape_of_one, dtype=dtype, lod_level=1 if type.sequence else 0)

    return LayerOutput(name, [], type.dim, build, sequence=type.sequence, data_type=type, shape=shape)


def fc(input: Inputs, size: int, act: Optional[activation.Base] = None, name: Optional[str] = None,
       param_attr: Any = None, bias_attr: Any = None, layer_attr: Optional[ExtraLayerAttribute] = None) -> LayerOutput:
    """act(the sum of input · w + b), `size` values. Unless given, act is Tanh. bias_attr=False leaves the bias out."""
    inputs = _list(input)
    name = layer_name(name, "fc_layer")
    given = param_attr if isinstance(param_attr, (list, tuple)) else [param_attr] * len(inputs)
    attrs = [ParameterAttribute.of(a) for a in given]
    if len(attrs) != len(inputs):
        raise ValueError(f"fc {name}: {len(attrs)} attributes for {len(inputs)} inputs")

    def build(topology, *xs):
        params = [a.fluid(f"_{name}.w{i}", layer.size**-0.5, topology.defaults)
                  for i, (a, layer) in enumerate(zip(attrs, inputs))]
        out = fluid.layers.fc(input=list(xs), size=size, act=_act(act, activation.Tanh), param_attr=params,
                              bias_attr=_bias(bias_attr, name, topology))
        return _dropped(topology, out, layer_attr)

    return _with(LayerOutput(name, inputs, size, build, sequence=inputs[0].sequence), attrs)


def embedding(input: LayerOutput, size: int, name: Optional[str] = None, param_attr: Any = None,
              layer_attr: Optional[ExtraLayerAttribute] = None) -> LayerOutput:
    """The row of a table that an integer stands for: `size` values."""
    if input.data_type is None or input.data_type.kind != "integer":
        raise ValueError(f"embedding needs a data layer of integers, got {input}")
    name = layer_name(name, "embedding")
    attr = ParameterAttribute.of(param_attr)

    def build(topology, ids):
        out = fluid.layers.embedding(ids, size=[input.size, size], is_sparse=attr.sparse_update,
                                     param_attr=attr.fluid(f"_{name}.w0", input.size**-0.5, topology.defaults))
        return _dropped(topology, out, layer_attr)

    return _with(LayerOutput(name, [input], size, build, sequence=input.sequence), [attr])


def concat(input: Sequence[LayerOutput], act: Optional[activation.Base] = None, name: Optional[str] = None,
           layer_attr: Optional[ExtraLayerAttribute] = None, bias_attr: Any = False) -> LayerOutput:
    """The values of all inputs side by side."""
    inputs = _list(input)
    if bias_attr not in (False, None):
        raise ValueError("concat has no bias here; add an fc layer")

    def build(topology, *xs):
        out = fluid.layers.concat(list(xs), axis=1)
        kind = _act(act)
        return _dropped(topology, getattr(fluid.layers, kind)(out) if kind else out, layer_attr)

    return LayerOutput(layer_name(name, "concat"), inputs, sum(i.size for i in inputs), build,
                       sequence=inputs[0].sequence)


def addto(input: Inputs, act: Optional[activation.Base] = None, name: Optional[str] = None, bias_attr: Any = False,
          layer_attr: Optional[ExtraLayerAttribute] = None) -> LayerOutput:
    """act(the sum of the inputs), element by element."""
    inputs = _list(input)
    if bias_attr not in (False, None):
        raise ValueError("addto has no bias here; add an fc layer")

    def build(topology, *xs):
        out = fluid.layers.sums(list(xs))
        kind = _act(act)
        return _dropped(topology, getattr(fluid.layers, kind)(out) if kind else out, layer_attr)

    return LayerOutput(layer_name(name, "addto"), inputs, inputs[0].size, build, sequence=inputs[0].sequence,
                       shape=inputs[0].shape)


def dropout(input: LayerOutput, dropout_rate: float, name: Optional[str] = None) -> LayerOutput:
    """In training, sets `dropout_rate` of the values to zero; otherwise multiplies by 1 - dropout_rate."""
    extra = ExtraLayerAttribute(drop_rate=dropout_rate)
    return LayerOutput(layer_name(name, "dropout_layer"), [input], input.size,
                       lambda topology, x: _dropped(topology, x, extra), sequence=input.sequence, shape=input.shape)


def pooling(input: LayerOutput, pooling_type: Optional[_pooling.Base] = None,
            name: Optional[str] = None) -> LayerOutput:
    """One vector for each sequence. By default its largest values."""
    kind = (pooling_type or _pooling.Max()).sequence
    _sequence(input, "pooling")
    return LayerOutput(layer_name(name, "seq_pooling"), [input], input.size,
                       lambda topology, x: fluid.layers.sequence_pool(x, kind))


def _sequence(input: LayerOutput, what: str) -> None:
    if not input.sequence:
        raise ValueError(f"{what} needs sequences; {input} gives one value per sample")


def first_seq(input: LayerOutput, name: Optional[str] = None) -> LayerOutput:
    """The first element of each sequence."""
    _sequence(input, "first_seq")
    return LayerOutput(layer_name(name, "first_seq"), [input], input.size,
                       lambda topology, x: fluid.layers.sequence_first_step(x))


def last_seq(input: LayerOutput, name: Optional[str] = None) -> LayerOutput:
    """The last element of each sequence."""
    _sequence(input, "last_seq")
    return LayerOutput(layer_name(name, "last_seq"), [input], input.size,
                       lambda topology, x: fluid.layers.sequence_last_step(x))


def max_id(input: LayerOutput, name: Optional[str] = None) -> LayerOutput:
    """The place of the largest value."""
    return LayerOutput(layer_name(name, "maxid_layer"), [input], 1,
                       lambda topology, x: fluid.layers.topk(x, k=1)[1], sequence=input.sequence)


def _image(topology, layer: LayerOutput, x):
    """The variable as [N, C, H, W]."""
    if layer.shape is None:
        raise ValueError(f"{layer} is no image; give height and width to its data layer")
    return x if len(x.shape) == 4 else fluid.layers.reshape(x, shape=[-1, *layer.shape])


def _window(length: int, size: int, stride: int, padding: int) -> int:
    return (length + 2 * padding - size) // stride + 1


def img_conv(input: LayerOutput, filter_size: int, num_filters: int, name: Optional[str] = None,
             num_channels: Optional[int] = None, act: Optional[activation.Base] = None, groups: int = 1,
             stride: int = 1, padding: int = 0, bias_attr: Any = None, param_attr: Any = None,
             layer_attr: Optional[ExtraLayerAttribute] = None) -> LayerOutput:
    """A convolution. Unless given, act is Relu."""
    shape = _image_shape(input, num_channels)
    name = layer_name(name, "conv")
    attr = ParameterAttribute.of(param_attr)

    def build(topology, x):
        std = (2.0 / (filter_size**2 * shape[0])) ** 0.5
        out = fluid.layers.conv2d(_image(topology, input, x), num_filters=num_filters, filter_size=filter_size,
                                  stride=stride, padding=padding, groups=groups, act=_act(act, activation.Relu),
                                  param_attr=attr.fluid(f"_{name}.w0", std, topology.defaults),
                                  bias_attr=_bias(bias_attr, name, topology))
        return _dropped(topology, out, layer_attr)

    out = (num_filters, *(_window(n, filter_size, stride, padding) for n in shape[1:]))
    return _with(LayerOutput(name, [input], out[0] * out[1] * out[2], build, shape=out), [attr])


def _image_shape(input: LayerOutput, num_channels: Optional[int]):
    if input.shape is None:
        channels = num_channels or 1
        side = round((input.size / channels) ** 0.5)
        if side * side * channels != input.size:
            raise ValueError(f"{input} is no square image of {channels} channels; give height and width to its data "
                             f"layer")
        input.shape = (channels, side, side)
    return input.shape


def img_pool(input: LayerOutput, pool_size: int, name: Optional[str] = None, num_channels: Optional[int] = None,
             pool_type: Optional[_pooling.Base] = None, stride: int = 1, padding: int = 0) -> LayerOutput:
    """The largest (or the mean) value under each place of a window."""
    shape = _image_shape(input, num_channels)
    kind = (pool_type or _pooling.Max()).image
    if not kind:
        raise ValueError("img_pool takes paddle.pooling.Max() or Avg()")

    def build(topology, x):
        return fluid.layers.pool2d(_image(topology, input, x), pool_size=pool_size, pool_type=kind, pool_stride=stride,
                                   pool_padding=padding, ceil_mode=True)

    def length(n):
        return -((n + 2 * padding - pool_size) // -stride) + 1

    out = (shape[0], length(shape[1]), length(shape[2]))
    return LayerOutput(layer_name(name, "pool"), [input], out[0] * out[1] * out[2], build, shape=out)


def batch_norm(input: LayerOutput, act: Optional[activation.Base] = None, name: Optional[str] = None,
               num_channels: Optional[int] = None, bias_attr: Any = None, param_attr: Any = None,
               moving_average_fraction: float = 0.9, use_global_stats: Optional[bool] = None) -> LayerOutput:
    """Values with the mean 0 and the variance 1 of a batch, then scaled and shifted. Unless given, act is Relu."""
    name = layer_name(name, "batch_norm")
    scale = ParameterAttribute.of(param_attr)
    if scale.initial_std is None and scale.initial_mean is None and scale.initial_max is None:
        scale = ParameterAttribute(**{**_fields(scale), "initial_mean": 1.0, "initial_std": 0.0})

    def build(topology, x):
        if input.shape is not None:
            x = _image(topology, input, x)
        return fluid.layers.batch_norm(x, act=_act(act, activation.Relu), is_test=topology.is_test,
                                       momentum=moving_average_fraction, use_global_stats=bool(use_global_stats),
                                       param_attr=scale.fluid(f"_{name}.w0", 0.0, topology.defaults),
                                       bias_attr=_bias(bias_attr, name, topology),
                                       moving_mean_name=f"_{name}.w1", moving_variance_name=f"_{name}.w2")

    return LayerOutput(name, [input], input.size, build, shape=input.shape)


def _fields(attr: ParameterAttribute) -> dict:
    return dict(vars(attr))


# ---- Costs: one number per sample -------------------------------------------------------------

def _cost(kind: str, name: Optional[str], parents, compute, coeff: float, metrics=None) -> LayerOutput:
    def build(topology, *xs):
        out = compute(*xs)
        return out if coeff == 1.0 else fluid.layers.scale(out, scale=float(coeff))

    return LayerOutput(layer_name(name, kind), parents, 1, build, metrics=metrics, is_cost=True)


def classification_cost(input: LayerOutput, label: LayerOutput, name: Optional[str] = None,
                        coeff: float = 1.0) -> LayerOutput:
    """The cross entropy of probabilities (an fc layer with Softmax) and classes; events carry the share of errors."""
    def error(x, y):
        return fluid.layers.scale(fluid.layers.accuracy(input=x, label=y), scale=-1.0, bias=1.0)

    return _cost("cost", name, [input, label], lambda x, y: fluid.layers.cross_entropy(input=x, label=y), coeff,
                 {"classification_error_evaluator": error})


def cross_entropy_cost(input: LayerOutput, label: LayerOutput, name: Optional[str] = None,
                       coeff: float = 1.0) -> LayerOutput:
    """The cross entropy of probabilities and classes."""
    return _cost("cross_entropy", name, [input, label], lambda x, y: fluid.layers.cross_entropy(input=x, label=y),
                 coeff)


def square_error_cost(input: LayerOutput, label: LayerOutput, name: Optional[str] = None,
                      coeff: float = 1.0) -> LayerOutput:
    """The squared difference."""
    return _cost("square_error_cost", name, [input, label],
                 lambda x, y: fluid.layers.square_error_cost(input=x, label=y), coeff)


mse_cost = regression_cost = square_error_cost


def sum_cost(input: LayerOutput, name: Optional[str] = None) -> LayerOutput:
    """The input itself, taken as a cost."""
    return _cost("sum_cost", name, [input], lambda x: x, 1.0)
