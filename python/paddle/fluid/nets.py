"""Networks that are used often, made of layers."""
from __future__ import annotations

from typing import Optional

from . import layers
from .layers._call import Attr, Variable, call

__all__ = ["glu", "img_conv_group", "scaled_dot_product_attention", "sequence_conv_pool",
           "simple_img_conv_pool"]


def simple_img_conv_pool(input: Variable, num_filters: int, filter_size, pool_size, pool_stride, pool_padding=0,
                         pool_type: str = "max", global_pooling: bool = False, conv_stride=1, conv_padding=0,
                         conv_dilation=1, conv_groups: int = 1, param_attr: Attr = None, bias_attr: Attr = None,
                         act: Optional[str] = None, use_cudnn: bool = True) -> Variable:
    """conv2d, then pool2d. See there for the arguments.

    Example:
        >>> fluid.nets.simple_img_conv_pool(img, num_filters=20, filter_size=5, pool_size=2, pool_stride=2, act="relu")
    """
    return call("simple_img_conv_pool", input=input, num_filters=num_filters, filter_size=filter_size,
                pool_size=pool_size, pool_stride=pool_stride, pool_padding=pool_padding, pool_type=pool_type,
                global_pooling=global_pooling, stride=conv_stride, padding=conv_padding, dilation=conv_dilation,
                groups=conv_groups, param_attr=param_attr, bias_attr=bias_attr, act=act)


def sequence_conv_pool(input: Variable, num_filters: int, filter_size: int, param_attr: Attr = None,
                       act: Optional[str] = "sigmoid", pool_type: str = "max", bias_attr: Attr = None) -> Variable:
    """sequence_conv, then sequence_pool: one row per sequence. See there for the arguments."""
    rows = layers.sequence_conv(input, num_filters=num_filters, filter_size=filter_size, param_attr=param_attr, act=act,
                                bias_attr=bias_attr)
    return layers.sequence_pool(rows, pool_type=pool_type)


def img_conv_group(input: Variable, conv_num_filter, pool_size, conv_padding=1, conv_filter_size=3, conv_act=None,
                   param_attr=None, conv_with_batchnorm=False, conv_batchnorm_drop_rate=0.0, pool_stride=1,
                   pool_type: str = "max", use_cudnn: bool = True) -> Variable:
    """Several convolutions, each with an optional batch_norm and dropout, then one pool2d.

    Args:
        input: images, [N, C, H, W].
        conv_num_filter: list: channels of each convolution.
        pool_size: window of the pool.
        conv_padding, conv_filter_size, param_attr, conv_with_batchnorm, conv_batchnorm_drop_rate: one value for all
            convolutions, or a list with one for each.
        conv_act: activation of the convolutions; of their batch_norm where there is one.
        pool_stride: step of the window.
        pool_type: "max" or "avg".
    """
    if not isinstance(conv_num_filter, (list, tuple)):
        raise TypeError(f"img_conv_group: conv_num_filter must be a list, found {type(conv_num_filter).__name__}")
    count = len(conv_num_filter)

    def each(value, what):
        values = list(value) if isinstance(value, (list, tuple)) else [value] * count
        if len(values) != count:
            raise ValueError(f"img_conv_group: {what} has {len(values)} values for {count} convolutions")
        return values

    paddings, sizes = each(conv_padding, "conv_padding"), each(conv_filter_size, "conv_filter_size")
    attrs, norms = each(param_attr, "param_attr"), each(conv_with_batchnorm, "conv_with_batchnorm")
    drops = each(conv_batchnorm_drop_rate, "conv_batchnorm_drop_rate")
    out = input
    for i in range(count):
        out = layers.conv2d(out, num_filters=conv_num_filter[i], filter_size=sizes[i], padding=paddings[i],
                            param_attr=attrs[i], act=None if norms[i] else conv_act)
        if norms[i]:
            out = layers.batch_norm(out, act=conv_act)
            if drops[i] > 1e-5:
                out = layers.dropout(out, dropout_prob=drops[i])
    return layers.pool2d(out, pool_size=pool_size, pool_type=pool_type, pool_stride=pool_stride)


def glu(input: Variable, dim: int = -1) -> Variable:
    """Gated linear unit: cuts the input in two halves along `dim`, a and b, and returns a * sigmoid(b)."""
    a, b = layers.split(input, num_or_sections=2, dim=dim)
    return layers.elementwise_mul(a, layers.sigmoid(b))


def scaled_dot_product_attention(queries: Variable, keys: Variable, values: Variable, num_heads: int = 1,
                                 dropout_rate: float = 0.0) -> Variable:
    """softmax(queries * keys^T / sqrt(width)) * values, in `num_heads` parts of the width.

    Args:
        queries: [N, length of queries, width].
        keys: [N, length of keys, width].
        values: [N, length of keys, width of values].
        num_heads: must divide both widths; more than one learns three projections.
        dropout_rate: of the attention weights.
    """
    for name, v in (("queries", queries), ("keys", keys), ("values", values)):
        if len(v.shape) != 3:
            raise ValueError(f"scaled_dot_product_attention: {name} must have 3 dimensions, found {tuple(v.shape)}")
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(f"queries and keys must be equally wide, found {queries.shape[-1]} and {keys.shape[-1]}")
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(f"keys and values must be equally long, found {keys.shape[-2]} and {values.shape[-2]}")
    if keys.shape[-1] % num_heads or values.shape[-1] % num_heads:
        raise ValueError(f"the widths {keys.shape[-1]} and {values.shape[-1]} must be multiples of num_heads = "
                         f"{num_heads}")

    def heads(x):
        if num_heads == 1:
            return x
        x = layers.fc(input=x, size=x.shape[-1], num_flatten_dims=2)
        x = layers.reshape(x, shape=[0, 0, num_heads, x.shape[-1] // num_heads])
        return layers.transpose(x, perm=[0, 2, 1, 3])

    q, k, v = heads(queries), heads(keys), heads(values)
    scaled = layers.scale(q, scale=(queries.shape[-1] // num_heads) ** -0.5)
    weights = layers.softmax(layers.matmul(scaled, k, transpose_y=True))
    if dropout_rate:
        weights = layers.dropout(weights, dropout_prob=dropout_rate)
    out = layers.matmul(weights, v)
    if num_heads == 1:
        return out
    out = layers.transpose(out, perm=[0, 2, 1, 3])
    return layers.reshape(out, shape=[0, 0, out.shape[2] * out.shape[3]])


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"fluid.nets has no '{name}': there are {', '.join(__all__)}; a net that needs an op which "
                         "the core does not have (sequence_conv) is not supported")
