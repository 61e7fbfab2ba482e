"""Parameters: their values by name, and tar files of them."""
import io
import tarfile
from typing import BinaryIO, Dict, Iterator, List, Sequence, Tuple

import numpy as np

from .. import _core, fluid
from .attr import ParameterAttribute
from .topology import LayerOutput, Topology

__all__ = ["Parameters", "create"]


def create(layers) -> "Parameters":
    """First values for all parameters that the layers need. layers: a cost or several."""
    layers = list(layers) if isinstance(layers, (list, tuple)) else [layers]
    for layer in layers:
        if not isinstance(layer, LayerOutput):
            raise TypeError(f"parameters.create takes layers, got {type(layer).__name__}")
    topology = Topology(layers)
    out = Parameters()
    fluid.Executor(fluid.CPUPlace()).run(topology.startup, scope=out.scope)
    for p in topology.parameters():
        out._add(p.name, tuple(p.shape))
    for layer in _all(layers):
        for attr in getattr(layer, "attrs", ()):
            _own_values(out, attr)
    return out


def _all(layers: Sequence[LayerOutput]) -> Iterator[LayerOutput]:
    seen, left = set(), list(layers)
    while left:
        layer = left.pop()
        if layer.name not in seen:
            seen.add(layer.name)
            yield layer
            left.extend(layer.parents)


def _own_values(parameters: "Parameters", attr: Tuple[str, ParameterAttribute]) -> None:
    name, given = attr
    if given.initializer is not None:
        parameters[name] = given.initializer(name)


class Parameters:
    """Values by name, as arrays. A trainer works on these very values.

    >>> parameters["_proj"].shape
    (2000, 32)
    >>> with open("model.tar", "wb") as f:
    ...     parameters.to_tar(f)
    """

    def __init__(self):
        self.scope = fluid.Scope()
        self._shapes: Dict[str, Tuple[int, ...]] = {}
        self._sync = None  # brings the pservers' values here, where a trainer has some
        self._trainers = 0

    def _next_prefix(self) -> str:
        """For the names of the next trainer's learning rate, momenta …, which are kept beside the values: none for the
        first trainer, another one for each that follows, in all processes of a job alike."""
        self._trainers += 1
        return f"trainer_{self._trainers}_" if self._trainers > 1 else ""

    def _add(self, name: str, shape: Tuple[int, ...]) -> None:
        self._shapes[name] = shape

    def names(self) -> List[str]:
        """In the order of the layers."""
        return list(self._shapes)

    keys = names

    def has_key(self, key: str) -> bool:
        """Whether there is a parameter of this name."""
        return key in self._shapes

    __contains__ = has_key

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def get_shape(self, key: str) -> Tuple[int, ...]:
        """Its lengths."""
        return self._shapes[self._known(key)]

    def _known(self, key: str) -> str:
        if key not in self._shapes:
            raise ValueError(f"there is no parameter {key!r}; there are {', '.join(self._shapes) or 'none'}")
        return key

    def get(self, parameter_name: str) -> np.ndarray:
        """A copy of its values."""
        self._known(parameter_name)
        if self._sync:
            self._sync()
        return np.array(self.scope.find_var(parameter_name).get_tensor())

    __getitem__ = get

    def set(self, parameter_name: str, value: np.ndarray) -> None:
        """New values, of the same shape."""
        shape = self.get_shape(parameter_name)
        array = np.ascontiguousarray(value, dtype=np.float32)
        if array.shape != shape:
            raise ValueError(f"the parameter {parameter_name} has the shape {shape}, the value has {array.shape}")
        self.scope.var(parameter_name).get_tensor().set(array)

    __setitem__ = set

    def serialize(self, name: str, f: BinaryIO) -> None:
        """Writes one parameter: a head of 16 bytes and its elements."""
        f.write(_core.v2_parameter(self.get(name)))

    def deserialize(self, name: str, f: BinaryIO) -> None:
        """Reads what `serialize` wrote: all that is left of the file. DataError, a ValueError, where it is damaged."""
        self.set(name, _core.read_v2_parameter(f.read(), self.get_shape(name), name))

    def to_tar(self, f: BinaryIO) -> None:
        """Writes all parameters to a tar file: for each its values and a description of it."""
        with tarfile.TarFile(fileobj=f, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name in self.names():
                body = io.BytesIO()
                self.serialize(name, body)
                _add_member(tar, name, body.getvalue())
                _add_member(tar, f"{name}.protobuf", _core.v2_description(name, self._shapes[name]))

    @staticmethod
    def from_tar(f: BinaryIO) -> "Parameters":
        """The parameters of a tar file."""
        out = Parameters()
        with tarfile.TarFile(fileobj=f, mode="r") as tar:
            for member in tar.getmembers():
                if member.name.endswith(".protobuf"):
                    name, shape = _core.parse_v2_description(tar.extractfile(member).read(), member.name)
                    out._add(name, shape)
            for name in out.names():
                try:
                    body = tar.extractfile(name)
                except KeyError:
                    raise ValueError(f"the tar file describes the parameter {name} and does not hold it") from None
                out.deserialize(name, body)
        return out

    def init_from_tar(self, f: BinaryIO, exclude_params: Sequence[str] = ()) -> None:
        """Takes over those values of a tar file whose names are known here; shapes must agree."""
        for name, value in _values(Parameters.from_tar(f)):
            if name in self._shapes and name not in exclude_params:
                self.set(name, value)


def _values(parameters: Parameters) -> Iterator[Tuple[str, np.ndarray]]:
    return ((name, parameters.get(name)) for name in parameters.names())


def _add_member(tar: tarfile.TarFile, name: str, body: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(body)
    tar.addfile(member, io.BytesIO(body))
