"""Parameters: their values by name, and tar files of them."""
import io
import struct
import tarfile
from typing import BinaryIO, Dict, Iterator, List, Sequence, Tuple

import numpy as np

from .. import fluid
from .attr import ParameterAttribute
from .topology import LayerOutput, Topology

__all__ = ["Parameters", "create"]

_HEAD = struct.Struct("<IIQ")  # format, bytes of an element, number of elements


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
        value = self.get(name)
        f.write(_HEAD.pack(0, value.itemsize, value.size))
        f.write(value.tobytes())

    def deserialize(self, name: str, f: BinaryIO) -> None:
        """Reads what `serialize` wrote."""
        head = f.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ValueError(f"the file of the parameter {name} ends within its head of {_HEAD.size} bytes")
        kind, size, count = _HEAD.unpack(head)
        shape = self.get_shape(name)
        if kind != 0 or size != 4 or count != int(np.prod(shape)):
            raise ValueError(f"the file of the parameter {name} has {count} elements of {size} bytes in format {kind}; "
                             f"expected {int(np.prod(shape))} of 4 bytes in format 0")
        data = f.read(4 * count)
        if len(data) < 4 * count:
            raise ValueError(f"the file of the parameter {name} ends after {len(data)} of {4 * count} bytes")
        self.set(name, np.frombuffer(data, np.float32).reshape(shape))

    def to_tar(self, f: BinaryIO) -> None:
        """Writes all parameters to a tar file: for each its values and a description of it."""
        with tarfile.TarFile(fileobj=f, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name in self.names():
                body = io.BytesIO()
                self.serialize(name, body)
                _add_member(tar, name, body.getvalue())
                _add_member(tar, f"{name}.protobuf", _config(name, self._shapes[name]))

    @staticmethod
    def from_tar(f: BinaryIO) -> "Parameters":
        """The parameters of a tar file."""
        out = Parameters()
        with tarfile.TarFile(fileobj=f, mode="r") as tar:
            for member in tar.getmembers():
                if member.name.endswith(".protobuf"):
                    name, shape = _parse_config(tar.extractfile(member).read(), member.name)
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


# ParameterConfig, a protocol buffer: 1 name, 2 size, 9 dims (one field each).

def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _config(name: str, shape: Tuple[int, ...]) -> bytes:
    text = name.encode()
    out = b"\x0a" + _varint(len(text)) + text + b"\x10" + _varint(int(np.prod(shape)))
    for dim in shape if len(shape) > 1 else (1, *shape):  # a vector is one row there
        out += b"\x48" + _varint(dim)
    return out


def _parse_config(data: bytes, where: str) -> Tuple[str, Tuple[int, ...]]:
    at, name, dims = 0, "", []

    def varint() -> int:
        nonlocal at
        out = shift = 0
        while True:
            byte = data[at]
            at += 1
            out |= (byte & 0x7F) << shift
            if byte < 0x80:
                return out
            shift += 7

    try:
        while at < len(data):
            key = varint()
            field, kind = key >> 3, key & 7
            if kind == 0:
                value = varint()
                if field == 9:
                    dims.append(value)
            elif kind in (1, 5):
                at += 8 if kind == 1 else 4
            elif kind == 2:
                length = varint()
                if field == 1:
                    name = data[at:at + length].decode()
                at += length
            else:
                raise IndexError
    except IndexError:
        raise ValueError(f"{where} in the tar file is no description of a parameter") from None
    if not name or not dims:
        raise ValueError(f"{where} in the tar file lacks the name or the shape of the parameter")
    return name, tuple(dims[1:] if len(dims) == 2 and dims[0] == 1 and name.endswith(".wbias") else dims)
