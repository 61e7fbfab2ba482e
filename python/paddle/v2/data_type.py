"""What a data layer gets."""
from dataclasses import dataclass

__all__ = ["InputType", "dense_array", "dense_vector", "dense_vector_sequence", "integer_value",
           "integer_value_sequence", "sparse_binary_vector", "sparse_float_vector"]


@dataclass(frozen=True)
class InputType:
    """`dim` values (or, of an integer, as many possible ones), each sample one of them or a sequence."""
    dim: int
    kind: str  # "dense", "integer", "sparse_binary", "sparse_float"
    sequence: bool = False


def dense_vector(dim: int) -> InputType:
    """`dim` floats."""
    return InputType(dim, "dense")


dense_array = dense_vector


def dense_vector_sequence(dim: int) -> InputType:
    """A list of vectors of `dim` floats."""
    return InputType(dim, "dense", True)


def integer_value(value_range: int) -> InputType:
    """A number from 0 to `value_range` - 1: a word, a class."""
    return InputType(value_range, "integer")


def integer_value_sequence(value_range: int) -> InputType:
    """A list of numbers from 0 to `value_range` - 1: the words of a sentence."""
    return InputType(value_range, "integer", True)


def sparse_binary_vector(dim: int) -> InputType:
    """`dim` zeros and ones; a sample is the list of places that are one."""
    return InputType(dim, "sparse_binary")


def sparse_float_vector(dim: int) -> InputType:
    """`dim` floats; a sample is the list of (place, value) that are not zero."""
    return InputType(dim, "sparse_float")
