"""Layers that change shapes and order, and that choose elements."""
from __future__ import annotations

from typing import List, Optional, Sequence, Tuple, Union

from .. import unique_name
from ._call import Variable, Variables, call
from ._numbers import Int, Ints, append, given, given_one

__all__ = ["cumsum", "expand", "expand_as", "flatten", "gather", "gather_nd", "get_tensor_from_selected_rows",
           "merge_selected_rows", "one_hot", "reshape", "scatter", "shape", "shard_index", "slice", "split",
           "squeeze", "stack", "topk", "transpose", "unsqueeze", "unstack"]


def reshape(x: Variable, shape: Ints, actual_shape: Optional[Variable] = None, act: Optional[str] = None,
            inplace: bool = False, name: Optional[str] = None) -> Variable:
    """Other lengths, same elements.

    Args:
        x: what goes in.
        shape: the new lengths; 0 keeps a length of x, -1 (once) takes what is left. A length, or all of them, may be a
            variable of int32 or int64.
        actual_shape: such a variable in the place of `shape`, which then says what is known early.
        act: name of an activation.
        inplace: accepted; the plan shares memory where it can.
        name: stands in front of the name of the result.
    """
    wanted = shape if actual_shape is None else actual_shape
    lengths, slots = given("reshape", "shape", wanted, "Shape", "ShapeTensor")
    if not slots:
        return call("reshape", input=x, shape=lengths, act=act, name=name)
    if actual_shape is not None:
        lengths = given("reshape", "shape", shape, "Shape", "ShapeTensor")[0]
    out, _ = append("reshape2", {"X": x, **slots}, {"shape": lengths}, ("Out", "XShape"), name=name)
    return out if act is None else append(act, {"X": out}, {}, name=name)[0]


def transpose(x: Variable, perm: Sequence[int], name: Optional[str] = None) -> Variable:
    """Another order of dimensions: dimension i of the result is dimension perm[i] of x."""
    return call("transpose", input=x, perm=perm, name=name)


def squeeze(input: Variable, axes: Sequence[int], name: Optional[str] = None) -> Variable:
    """Removes the dimensions `axes`, which have length 1; without any, all of length 1."""
    return call("squeeze", input=input, axes=axes, name=name)


def unsqueeze(input: Variable, axes: Sequence[int], name: Optional[str] = None) -> Variable:
    """Adds dimensions of length 1; `axes` are their places in the result."""
    return call("unsqueeze", input=input, axes=axes, name=name)


def flatten(x: Variable, axis: int = 1, name: Optional[str] = None) -> Variable:
    """To a matrix: the dimensions before `axis` become the rows, the others the columns."""
    return call("flatten", input=x, axis=axis, name=name)


def stack(x: Variables, axis: int = 0) -> Variable:
    """Puts variables of one shape along a new dimension."""
    return call("stack", input=x, axis=axis)


def split(input: Variable, num_or_sections: Union[int, Sequence[int]], dim: int = -1,
          name: Optional[str] = None) -> List[Variable]:
    """Cuts into parts along `dim`.

    Args:
        input: what is cut.
        num_or_sections: the number of equal parts, or the length of each.
        dim: dimension that is cut; negative counts from the end.
        name: stands in front of the names of the results.
    """
    if not isinstance(num_or_sections, int) and len(num_or_sections) == 1:
        num_or_sections = 1  # one part: all of it
    parts = call("split", input=input, num_or_sections=num_or_sections, dim=dim, name=name)
    return parts if isinstance(parts, list) else [parts]


def slice(input: Variable, axes: Sequence[int], starts: Ints, ends: Ints) -> Variable:
    """A part along some dimensions: from starts[i] up to, not including, ends[i]; negative counts from the end. These
    numbers may be variables."""
    first, from_slots = given("slice", "starts", starts, "StartsTensor", "StartsTensorList")
    last, to_slots = given("slice", "ends", ends, "EndsTensor", "EndsTensorList")
    if not from_slots and not to_slots:
        return call("slice", input=input, axes=axes, starts=first, ends=last)
    return append("slice", {"Input": input, **from_slots, **to_slots},
                  {"axes": list(axes), "starts": first, "ends": last})[0]


def expand(x: Variable, expand_times: Ints, name: Optional[str] = None) -> Variable:
    """Repeats x expand_times[i] times along dimension i; a number, or all of them, may be a variable."""
    times, slots = given("expand", "expand_times", expand_times, "ExpandTimes", "expand_times_tensor")
    if not slots:
        return call("expand", input=x, expand_times=times, name=name)
    return append("expand", {"X": x, **slots}, {"expand_times": times}, name=name)[0]


def gather(input: Variable, index: Variable, overwrite: bool = False) -> Variable:
    """Rows of `input` by their numbers, int32 or int64 [N].

    A row that is taken more than once gets the sum of its gradients; with `overwrite` it gets the last one.
    """
    out = call("gather", input=input, index=index)
    out.op._set_attr("overwrite", bool(overwrite))
    return out


def one_hot(input: Variable, depth: Int, allow_out_of_range: bool = False) -> Variable:
    """A row of `depth` zeros with a 1 at the place of each number of `input`, int64 [N, 1].

    With allow_out_of_range a number outside of [0, depth) gives zeros, else it is an error. `fluid.one_hot` takes
    numbers of any shape.
    """
    number, slots = given_one("one_hot", "depth", depth, "depth_tensor")
    if slots:
        return append("one_hot", {"X": input, **slots}, {"allow_out_of_range": bool(allow_out_of_range)})[0]
    out = call("one_hot", input=input, depth=number)
    out.op._set_attr("allow_out_of_range", bool(allow_out_of_range))
    return out


def topk(input: Variable, k: Int, name: Optional[str] = None) -> Tuple[Variable, Variable]:
    """The k largest of each row, and their places: (values, int64 indices)."""
    number, slots = given_one("topk", "k", k, "K")
    if slots:
        values, indices = append("top_k", {"X": input, **slots}, {}, ("Out", "Indices"), name=name)
    else:
        values, indices = call("topk", input=input, k=number, name=name)
    return values, indices


def shape(input: Variable) -> Variable:
    """The lengths of `input`, as a tensor of int32."""
    return call("shape", input=input)


def merge_selected_rows(x: Variable, name: Optional[str] = None) -> Variable:
    """Adds up repeated rows of a sparse gradient. The result has as many rows, the last ones 0."""
    return call("merge_selected_rows", input=x, name=name)


def get_tensor_from_selected_rows(x: Variable, name: Optional[str] = None) -> Variable:
    """The values of a sparse gradient as a dense tensor, one row per id."""
    return call("get_tensor_from_selected_rows", input=x, name=name)


def expand_as(x: Variable, target_tensor: Variable, name: Optional[str] = None) -> Variable:
    """Repeats x to the shape of `target_tensor`, whose lengths are multiples of those of x."""
    return call("expand_as", x=x, target_tensor=target_tensor, name=name)


def cumsum(x: Variable, axis: Optional[int] = None, exclusive: Optional[bool] = None,
           reverse: Optional[bool] = None) -> Variable:
    """The sums of the elements so far, along dimension `axis` (the last one unless given).

    With `exclusive` without the element itself; with `reverse` from the end.
    """
    return call("cumsum", x=x, axis=axis, exclusive=exclusive, reverse=reverse)


def scatter(input: Variable, index: Variable, updates: Variable, name: Optional[str] = None,
            overwrite: bool = True) -> Variable:
    """`input` with the rows that `index` names replaced by those of `updates`.

    Args:
        input: rows.
        index: numbers of rows, int32 or int64 [N].
        updates: the new rows, [N, ...].
        name: stands in front of the name of the result.
        overwrite: False adds up the rows that have one number.
    """
    return call("scatter", input=input, index=index, updates=updates, name=name, overwrite=overwrite)


def gather_nd(input: Variable, index: Variable, name: Optional[str] = None) -> Variable:
    """Parts of `input` by numbers of its first dimensions: index [..., how many dimensions], int32 or int64."""
    return call("gather_nd", input=input, index=index, name=name)


def unstack(x: Variable, axis: int = 0, num: Optional[int] = None) -> List[Variable]:
    """The parts of dimension `axis`, each without it; `num` says how many where the length is not known."""
    count = x.shape[axis] if num is None else num
    if count < 0:
        raise ValueError(f"unstack: the length of dimension {axis} of '{x.name}' is not known; give num=")
    block = x.block
    layer = unique_name.generate("unstack")
    parts = [block.create_var(name=block._new_name(f"{layer}.tmp")) for _ in range(count)]
    block.append_op(type="unstack", inputs={"X": x}, outputs={"Y": parts}, attrs={"axis": axis, "num": count})
    return parts


def shard_index(input: Variable, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Variable:
    """The places of ids within shard `shard_id` of `nshards`; `ignore_value` for those of other shards.

    Args:
        input: ids, int32 or int64.
        index_num: how many ids there are; each shard has ceil(index_num / nshards) of them.
        nshards: number of shards.
        shard_id: which one.
        ignore_value: for ids of other shards.
    """
    return call("shard_index", input=input, index_num=index_num, nshards=nshards, shard_id=shard_id,
                ignore_value=ignore_value)
