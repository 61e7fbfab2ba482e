"""Tensors that hold sequences."""
import numpy as np

from . import core
from .core import LoDTensor

__all__ = ["create_lod_tensor", "create_random_int_lodtensor"]


def create_lod_tensor(data, recursive_seq_lens, place=None) -> LoDTensor:
    """A LoDTensor of rows that form sequences.

    data: an array whose rows are the elements of all sequences one after another, a LoDTensor, or a list of lists of
        numbers, each a sequence (then the tensor has the shape [number of elements, 1]).
    recursive_seq_lens: the lengths of the sequences per level: [[2, 3]] are sequences of 2 and of 3 rows.
    place: accepted; tensors are made on the CPU.
    """
    if isinstance(data, list):
        lengths = [len(sequence) for sequence in data]
        if [lengths] != [list(level) for level in recursive_seq_lens]:
            raise core.ConfigError(f"the lists in data have the lengths {lengths}, but recursive_seq_lens says "
                                   f"{recursive_seq_lens}")
        flat = np.concatenate([np.asarray(s) for s in data], axis=0) if data else np.zeros((0,), "int64")
        data = flat.reshape([len(flat), 1])
    elif isinstance(data, LoDTensor):
        data = np.array(data)
    if not isinstance(data, np.ndarray):
        raise TypeError(f"data must be an array, a LoDTensor or a list of lists, found {type(data).__name__}")
    tensor = LoDTensor()
    tensor.set(data, place)
    tensor.set_recursive_sequence_lengths(recursive_seq_lens)
    return tensor


def create_random_int_lodtensor(recursive_seq_lens, base_shape, place, low, high) -> LoDTensor:
    """Sequences of random integers from low to high, both included; each element has the shape base_shape."""
    rows = sum(recursive_seq_lens[-1])
    data = np.random.randint(low, high + 1, [rows, *base_shape]).astype("int64")
    return create_lod_tensor(data, recursive_seq_lens, place)
