"""Layers for outputs of many classes, and others with parameters that ranking and matching models need."""
from __future__ import annotations

from typing import Optional

from ._call import Attr, Variable, call

__all__ = ["data_norm", "hash", "hsigmoid", "nce", "sampled_softmax_with_cross_entropy", "sequence_conv"]


def nce(input: Variable, label: Variable, num_total_classes: int, sample_weight: Optional[Variable] = None,
        param_attr: Attr = None, bias_attr: Attr = None, num_neg_samples: Optional[int] = None,
        name: Optional[str] = None, sampler: str = "uniform", custom_dist=None, seed: int = 0,
        is_sparse: bool = False) -> Variable:
    """Noise-contrastive estimation: the cost of telling a row's classes from some that are drawn at random.

    Args:
        input: rows, [N, width].
        label: the classes of each row, int64 [N, classes of a row].
        num_total_classes: how many classes there are.
        sample_weight: factor of each row's cost, [N, 1].
        param_attr: the weights, [num_total_classes, width].
        bias_attr: the biases, [num_total_classes, 1]; False = none.
        num_neg_samples: classes that are drawn for each row, 10 where it is not given.
        name: stands in front of the names of parameters and results.
        sampler: "uniform", or "log_uniform" where classes are sorted by frequency. "custom_dist" is not supported.
        custom_dist: must be None.
        seed: of the drawing; 0 = that of the program.
        is_sparse: the gradient of the weights holds only the rows that were used.

    Returns:
        The cost of each row, [N, 1], divided by num_neg_samples + 1.
    """
    if custom_dist is not None or sampler == "custom_dist":
        raise ValueError("nce: sampler 'custom_dist' is not supported; use 'uniform', or 'log_uniform' with classes "
                         "sorted by frequency")
    return call("nce", input=input, label=label, num_total_classes=int(num_total_classes), sample_weight=sample_weight,
                param_attr=param_attr, bias_attr=bias_attr, num_neg_samples=num_neg_samples, name=name,
                sampler=sampler, seed=seed, is_sparse=is_sparse)


def sampled_softmax_with_cross_entropy(logits: Variable, label: Variable, num_samples: int, num_true: int = 1,
                                       remove_accidental_hits: bool = True, use_customized_samples: bool = False,
                                       customized_samples=None, customized_probabilities=None,
                                       seed: int = 0) -> Variable:
    """Softmax and cross entropy over a row's own classes and some that are drawn at random for the batch.

    Args:
        logits: scores of all classes, [N, classes].
        label: the classes of each row, int64 [N, num_true].
        num_samples: classes that are drawn, frequent ones (low numbers) more often.
        num_true: classes of a row.
        remove_accidental_hits: a drawn class that is one of the row's own does not count.
        use_customized_samples, customized_samples, customized_probabilities: samples of one's own are not supported.
        seed: of the drawing; 0 = that of the program.

    Returns:
        [N, 1]
    """
    if use_customized_samples or customized_samples is not None or customized_probabilities is not None:
        raise ValueError("sampled_softmax_with_cross_entropy: samples of one's own are not supported")
    return call("sampled_softmax_with_cross_entropy", logits=logits, label=label, num_samples=int(num_samples),
                num_true=int(num_true), remove_accidental_hits=remove_accidental_hits, seed=seed)


def hsigmoid(input: Variable, label: Variable, num_classes: int, param_attr: Attr = None, bias_attr: Attr = None,
             name: Optional[str] = None, path_table=None, path_code=None, is_custom: bool = False,
             is_sparse: bool = False) -> Variable:
    """The cost of each row's class in a binary tree of classes: log2(num_classes) turns instead of one score per class.

    Args:
        input: rows, [N, width].
        label: the class of each row, int64 [N, 1].
        num_classes: how many classes there are, at least 2.
        param_attr: weights of the inner nodes, [num_classes - 1, width].
        bias_attr: their biases, [num_classes - 1, 1]; False = none.
        name: stands in front of the names of parameters and results.
        path_table, path_code, is_custom: trees of one's own are not supported.
        is_sparse: kept in a saved model; gradients are dense.

    Returns:
        [N, 1]
    """
    if path_table is not None or path_code is not None or is_custom:
        raise ValueError("hsigmoid: trees of one's own (path_table, path_code, is_custom) are not supported")
    return call("hsigmoid", input=input, label=label, num_classes=int(num_classes), param_attr=param_attr,
                bias_attr=bias_attr, name=name, is_sparse=is_sparse)


def sequence_conv(input: Variable, num_filters: int, filter_size: int = 3, filter_stride: int = 1,
                  padding: bool = True, padding_start: Optional[int] = None, bias_attr: Attr = None,
                  param_attr: Attr = None, act: Optional[str] = None, name: Optional[str] = None) -> Variable:
    """Filters over the rows of each sequence; beyond its ends rows are 0.

    Args:
        input: sequences of rows.
        num_filters: columns of the result.
        filter_size: rows that a filter sees.
        filter_stride: must be 1.
        padding: without effect, as in PaddlePaddle.
        padding_start: the first row that a filter sees, counted from the present one; -(filter_size // 2) where it is
            not given.
        bias_attr: the bias; False = none.
        param_attr: the filters, [filter_size * width, num_filters].
        act: activation.
        name: stands in front of the names of parameters and results.
    """
    return call("sequence_conv", input=input, num_filters=int(num_filters), filter_size=int(filter_size),
                filter_stride=int(filter_stride), padding_start=padding_start, bias_attr=bias_attr,
                param_attr=param_attr, act=act, name=name)


def data_norm(input: Variable, act: Optional[str] = None, epsilon: float = 1e-5, param_attr=None,
              data_layout: str = "NCHW", in_place: bool = False, name: Optional[str] = None,
              moving_mean_name: Optional[str] = None, moving_variance_name: Optional[str] = None,
              do_model_average_for_mean_and_var: bool = True) -> Variable:
    """(x - mean) * scale per column, by sums over all batches so far.

    The sums (rows, their sum, the sum of squares) are parameters, and their gradients are what a batch adds to them.

    Args:
        input: rows, [N, width].
        act: activation.
        epsilon: added to the squares for each row.
        param_attr: first values of the sums: a dict with "batch_size" (10000), "batch_sum" (0) and "batch_square"
            (10000).
        data_layout, in_place, moving_mean_name, moving_variance_name, do_model_average_for_mean_and_var: without
            effect.
        name: stands in front of the names of the sums and of the result.
    """
    first = dict(param_attr) if isinstance(param_attr, dict) else {}
    return call("data_norm", input=input, act=act, epsilon=epsilon, name=name, batch_size=first.get("batch_size"),
                batch_sum=first.get("batch_sum"), batch_square_sum=first.get("batch_square"))


def hash(input: Variable, hash_size: int, num_hash: int = 1, name: Optional[str] = None) -> Variable:  # noqa: A001
    """Ids hashed into [0, hash_size), num_hash times, by XXH64 as in PaddlePaddle.

    Args:
        input: int32 or int64; the last dimension is hashed as a whole.
        hash_size: results lie below.
        num_hash: how many hashes of each.
        name: stands in front of the name of the result.

    Returns:
        int64 [..., num_hash, 1]
    """
    return call("hash", input=input, hash_size=int(hash_size), num_hash=int(num_hash), name=name)
