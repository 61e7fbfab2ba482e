"""Layers with parameters, layers on images and on sequences; and, from their own files, arithmetic and shapes."""
from __future__ import annotations

from typing import Optional, Sequence, Union

from .. import unique_name
from ._call import Attr, DType, Variable, Variables, call
from ._composed import *  # noqa: F401,F403
from ._math import *  # noqa: F401,F403
from ._sequence import *  # noqa: F401,F403
from ._shape import *  # noqa: F401,F403
from .loss import *  # noqa: F401,F403
from .ops import *  # noqa: F401,F403

__all__ = [
    "adaptive_pool2d", "autoincreased_step_counter", "batch_norm", "continuous_value_model", "conv2d", "dropout",
    "embedding", "fc", "layer_norm", "pool2d", "prelu", "sequence_expand", "sequence_first_step",
    "sequence_last_step", "sequence_pool", "sequence_softmax",
]


def fc(input: Variables, size: int, num_flatten_dims: int = 1, param_attr: Attr = None, bias_attr: Attr = None,
       act: Optional[str] = None, is_test: bool = False, name: Optional[str] = None) -> Variable:
    """Fully connected layer: act(input * w + b).

    Args:
        input: a variable, or several; each of several is multiplied by its own weight, and the products are added.
        size: number of outputs.
        num_flatten_dims: dimensions of the input that are kept; the rest becomes one row. An input [N, 3, 4] with 1
            gives [N, size], with 2 [N, 3, size].
        param_attr: the weight, [product of the flattened lengths, size]: a ParamAttr, a name, an initializer, or a
            list of these, one per input. By default Xavier's values, named "<layer>.w_0".
        bias_attr: the bias, [size]; False = no bias. By default 0, named "<layer>.b_0".
        act: name of an activation: "relu", "tanh", "softmax", ...
        is_test: accepted; changes nothing.
        name: stands in front of the names of parameters and result; without it "fc_0", "fc_1", ...

    Returns:
        The result, as long as the input in its first `num_flatten_dims` dimensions, and `size` in the last.

    Example:
        >>> hidden = fluid.layers.fc(input=x, size=100, act="relu")
        >>> prediction = fluid.layers.fc(input=hidden, size=10, act="softmax")
    """
    return call("fc", input=input, size=size, num_flatten_dims=num_flatten_dims, param_attr=param_attr,
                bias_attr=bias_attr, act=act, name=name)


def embedding(input: Variable, size: Sequence[int], is_sparse: bool = False, is_distributed: bool = False,
              padding_idx: Optional[int] = None, param_attr: Attr = None, dtype: DType = "float32") -> Variable:
    """Rows of a table, by ids.

    Args:
        input: int64 ids, shape [..., 1].
        size: [rows, width] of the table; [-1, width] with is_distributed: any id.
        is_sparse: the gradient holds only the rows that were used, not the whole table.
        is_distributed: a sparse table: rows are made when their ids first learn, so that a first size of -1 (any id) or
            2**40 costs nothing. Only lookups may read it, and updates touch only the rows of a batch.
        padding_idx: this id gives zeros and learns nothing; negative counts from the end of the table.
        param_attr: the table; by default Xavier's values, named "embedding_0.w_0".
        dtype: element type of the table.

    Returns:
        The rows, shape [..., width].

    Example:
        >>> emb = fluid.layers.embedding(words, size=[10000, 64], is_sparse=True)
    """
    return call("embedding", input=input, size=size, is_sparse=is_sparse, is_distributed=is_distributed,
                padding_idx=padding_idx, param_attr=param_attr, dtype=dtype)


def conv2d(input: Variable, num_filters: int, filter_size: Union[int, Sequence[int]], stride=1, padding=0, dilation=1,
           groups: Optional[int] = None, param_attr: Attr = None, bias_attr: Attr = None, use_cudnn: bool = True,
           act: Optional[str] = None, name: Optional[str] = None) -> Variable:
    """Convolution of images [N, C, H, W].

    Args:
        input: the images.
        num_filters: channels of the result.
        filter_size: height and width of a filter, or one number for both; so are stride, padding and dilation.
        stride: step of the filter.
        padding: zeros around the image.
        dilation: distance of the filter's points.
        groups: groups of channels that are kept apart; 1 where it is not given.
        param_attr: the filters, [num_filters, C / groups, h, w]; by default normal with variance 2 / (h * h * C).
        bias_attr: one number per filter; False = no bias.
        use_cudnn: accepted; everything is computed on the CPU.
        act: name of an activation.
        name: stands in front of the names of parameters and result.

    Returns:
        [N, num_filters, H', W'] with H' = (H + 2 * padding - dilation * (h - 1) - 1) // stride + 1.
    """
    return call("conv2d", input=input, num_filters=num_filters, filter_size=filter_size, stride=stride,
                padding=padding, dilation=dilation, groups=groups, param_attr=param_attr, bias_attr=bias_attr,
                act=act, name=name)


def pool2d(input: Variable, pool_size=-1, pool_type: str = "max", pool_stride=1, pool_padding=0,
           global_pooling: bool = False, use_cudnn: bool = True, ceil_mode: bool = False, name: Optional[str] = None,
           exclusive: bool = True) -> Variable:
    """The largest or mean value of windows of images [N, C, H, W].

    Args:
        input: the images.
        pool_size: height and width of the window, or one number for both.
        pool_type: "max" or "avg".
        pool_stride: step of the window.
        pool_padding: border around the image.
        global_pooling: the window is the whole image.
        use_cudnn: accepted; everything is computed on the CPU.
        ceil_mode: keep a last window that is not full.
        name: stands in front of the name of the result.
        exclusive: the mean does not count the border.
    """
    return call("pool2d", input=input, pool_size=pool_size, pool_type=pool_type, pool_stride=pool_stride,
                pool_padding=pool_padding, global_pooling=global_pooling, ceil_mode=ceil_mode, name=name,
                exclusive=exclusive)


def adaptive_pool2d(input: Variable, pool_size: Union[int, Sequence[int]], pool_type: str = "max",
                    require_index: bool = False, name: Optional[str] = None) -> Variable:
    """The largest or mean value of windows that divide images [N, C, H, W] evenly.

    Row i of the result covers the rows from floor(i * H / height) to ceil((i + 1) * H / height) of the image, and
    columns likewise.

    Args:
        input: the images.
        pool_size: height and width of the result, or one number for both.
        pool_type: "max" or "avg".
        require_index: must be False: the places of the maxima are not given.
        name: stands in front of the name of the result.
    """
    if require_index:
        raise NotImplementedError("adaptive_pool2d: require_index is not supported; the places of maxima are not given")
    if pool_type not in ("max", "avg"):
        raise ValueError(f"adaptive_pool2d: pool_type must be 'max' or 'avg', found {pool_type!r}")
    size = [pool_size] * 2 if isinstance(pool_size, int) else list(pool_size)
    block = input.block
    layer = name or unique_name.generate("pool2d")
    out = block.create_var(name=block._new_name(f"{layer}.tmp"), dtype=input.dtype)
    block.append_op(type="pool2d", inputs={"X": [input]}, outputs={"Out": [out]},
                    attrs={"pooling_type": pool_type, "ksize": size, "adaptive": True})
    return out


def prelu(x: Variable, mode: str, param_attr: Attr = None, name: Optional[str] = None) -> Variable:
    """x where x > 0, else alpha * x with a learnt alpha.

    Args:
        x: what goes in.
        mode: "all" has one alpha, "channel" one per channel of [N, C, ...], "element" one per element of a sample.
        param_attr: alpha; starts with 0.25.
        name: stands in front of the names of parameter and result.
    """
    return call("prelu", x=x, mode=mode, param_attr=param_attr, name=name)


def continuous_value_model(input: Variable, cvm: Variable, use_cvm: bool = True) -> Variable:
    """Counts in the first two columns (shown, clicked) as logarithms, for tables that keep them.

    Args:
        input: [N, width]; the first two columns are counts, the rest an embedding.
        cvm: the counts of this batch, [N, 2]; they are the gradient of the two columns.
        use_cvm: True gives log(shown + 1) and log(clicked + 1) - log(shown + 1); False leaves both out.
    """
    return call("continuous_value_model", input=input, cvm=cvm, use_cvm=use_cvm)


def batch_norm(input: Variable, act: Optional[str] = None, is_test: bool = False, momentum: float = 0.9,
               epsilon: float = 1e-05, param_attr: Attr = None, bias_attr: Attr = None, data_layout: str = "NCHW",
               in_place: bool = False, name: Optional[str] = None, moving_mean_name: Optional[str] = None,
               moving_variance_name: Optional[str] = None, do_model_average_for_mean_and_var: bool = False,
               fuse_with_relu: bool = False, use_global_stats: bool = False) -> Variable:
    """Normalises each channel over the batch: (input - mean) / sqrt(variance + epsilon) * scale + bias.

    Args:
        input: [N, C] or [N, C, ...].
        act: name of an activation.
        is_test: use the moving statistics; `program.clone(for_test=True)` sets it.
        momentum: of the moving statistics: moving = moving * momentum + batch * (1 - momentum).
        epsilon: added to the variance.
        param_attr: the scale, [C]; starts with 1.
        bias_attr: the bias, [C]; starts with 0.
        data_layout: "NCHW" or "NHWC".
        in_place, do_model_average_for_mean_and_var, fuse_with_relu: accepted; the plan decides such things itself.
        name: stands in front of the names of parameters and result.
        moving_mean_name, moving_variance_name: names of the moving statistics.
        use_global_stats: train with the moving statistics.
    """
    return call("batch_norm", input=input, act=act, is_test=is_test, momentum=momentum, epsilon=epsilon,
                param_attr=param_attr, bias_attr=bias_attr, data_layout=data_layout, name=name,
                moving_mean_name=moving_mean_name, moving_variance_name=moving_variance_name,
                use_global_stats=use_global_stats)


def layer_norm(input: Variable, scale: bool = True, shift: bool = True, begin_norm_axis: int = 1,
               epsilon: float = 1e-05, param_attr: Attr = None, bias_attr: Attr = None, act: Optional[str] = None,
               name: Optional[str] = None) -> Variable:
    """Normalises each sample over its dimensions from `begin_norm_axis` on.

    Args:
        input: what goes in.
        scale: learn a factor per element.
        shift: learn a term per element.
        begin_norm_axis: first dimension that is normalised over.
        epsilon: added to the variance.
        param_attr: the factor; starts with 1.
        bias_attr: the term; starts with 0.
        act: name of an activation.
        name: stands in front of the names of parameters and result.
    """
    return call("layer_norm", input=input, scale=scale, shift=shift, begin_norm_axis=begin_norm_axis,
                epsilon=epsilon, param_attr=param_attr, bias_attr=bias_attr, act=act, name=name)


def dropout(x: Variable, dropout_prob: float, is_test: bool = False, seed: Optional[int] = None,
            name: Optional[str] = None, dropout_implementation: str = "downgrade_in_infer") -> Variable:
    """Sets random elements to 0 while training.

    Args:
        x: what goes in.
        dropout_prob: share of elements that are set to 0.
        is_test: drop nothing; `program.clone(for_test=True)` sets it.
        seed: a fixed one; without it the program's.
        name: stands in front of the name of the result.
        dropout_implementation: "downgrade_in_infer" multiplies by 1 - dropout_prob when testing,
            "upscale_in_train" divides by it when training.
    """
    return call("dropout", input=x, dropout_prob=dropout_prob, is_test=is_test, seed=seed, name=name,
                dropout_implementation=dropout_implementation)


def sequence_pool(input: Variable, pool_type: str, is_test: bool = False, pad_value: float = 0.0) -> Variable:
    """One row per sequence.

    Args:
        input: sequences (lod_level 1), [rows, width].
        pool_type: "average", "sum", "sqrt" (sum / sqrt of the length), "max", "last" or "first".
        is_test: no gradient will be asked for.
        pad_value: what an empty sequence gives.
    """
    return call("sequence_pool", input=input, pool_type=pool_type.lower(), is_test=is_test, pad_value=pad_value)


def sequence_first_step(input: Variable) -> Variable:
    """The first row of each sequence."""
    return call("sequence_first_step", input=input)


def sequence_last_step(input: Variable) -> Variable:
    """The last row of each sequence."""
    return call("sequence_last_step", input=input)


def sequence_softmax(input: Variable, use_cudnn: bool = False, name: Optional[str] = None) -> Variable:
    """Softmax over each sequence; input [rows, 1] with lod_level 1."""
    return call("sequence_softmax", input=input, name=name)


def sequence_expand(x: Variable, y: Variable, ref_level: int = -1, name: Optional[str] = None) -> Variable:
    """Repeats each sequence (or row) of x as often as y says.

    Args:
        x: what is repeated.
        y: sequences; their lengths at level `ref_level` say how often.
        ref_level: -1 = the last level.
        name: stands in front of the name of the result.
    """
    return call("sequence_expand", x=x, y=y, ref_level=ref_level, name=name)


def autoincreased_step_counter(counter_name: Optional[str] = None, begin: int = 1, step: int = 1) -> Variable:
    """An int64 variable [1] that grows by `step` in each run; in the first run it is `begin`.

    Args:
        counter_name: without it "@STEP_COUNTER@"; two calls with one name share the counter.
    """
    from ..framework import default_main_program
    name = counter_name or "@STEP_COUNTER@"
    block = default_main_program().global_block()
    if block.has_var(name):
        return block.var(name)
    counter = call("create_global_var", shape=[1], value=float(begin - step), dtype="int64", persistable=True,
                   name=name)
    block._prepend_op(type="increment", inputs={"X": [counter]}, outputs={"Out": [counter]},
                      attrs={"step": float(step)})
    return counter
