"""What blocks are made of: variables, parameters, ops. fluid.framework exports them."""
from .. import _core
from . import core
from .arithmetic import Arithmetic

__all__ = ["Operator", "Parameter", "Variable"]


class Variable(Arithmetic):
    """A variable of a block: what is known of it before it has a value."""

    error_clip = None
    is_data = False  # whether fluid.data or fluid.layers.data made it

    def __init__(self, block, name: str):
        self.block = block
        self.name = name

    @property
    def _core(self):
        return self.block._core.var(self.name)

    @property
    def shape(self) -> tuple:
        """Lengths of the dimensions; -1 where not known before a batch comes."""
        return self._core.shape

    @property
    def dtype(self) -> core.VarDesc.VarType:
        """Element type."""
        return core.convert_np_dtype_to_dtype_(self._core.dtype)

    @property
    def type(self) -> core.VarDesc.VarType:
        """Kind of variable: LOD_TENSOR, SELECTED_ROWS, …"""
        return core.VarDesc.VarType[self._core.kind.upper()]

    @property
    def lod_level(self) -> int:
        """1 for sequences, 2 for sequences of sequences."""
        return self._core.lod_level

    @property
    def persistable(self) -> bool:
        """Whether its value outlives a run."""
        return self._core.persistable

    @persistable.setter
    def persistable(self, value: bool):
        self._core.persistable = bool(value)

    @property
    def stop_gradient(self) -> bool:
        """Whether no gradient flows into it."""
        return self._core.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool):
        self._core.stop_gradient = bool(value)

    @property
    def op(self):
        """The first op that writes it, or None."""
        for op in self.block.ops:
            if self.name in op.output_arg_names:
                return op
        return None

    def _set_error_clip(self, error_clip):
        self.error_clip = error_clip

    def to_string(self, throw_on_error=True, with_details=False) -> str:
        """The variable as protobuf's text form of the saved record has it."""
        return self._core.record_text()

    def __str__(self):
        return self.to_string()

    def __repr__(self):
        return self._core.text()


class Parameter(Variable):
    """A variable that training changes."""

    @property
    def trainable(self) -> bool:
        """Whether optimizers update it."""
        return self._core.trainable

    @trainable.setter
    def trainable(self, value: bool):
        self._core.trainable = bool(value)

    @property
    def optimize_attr(self) -> dict:
        """{'learning_rate': factor on the optimizer's}."""
        return {"learning_rate": self._core.learning_rate}

    @optimize_attr.setter
    def optimize_attr(self, value: dict):
        self._core.learning_rate = value["learning_rate"]

    @property
    def regularizer(self):
        """Its own weight decay, one of fluid.regularizer, or None."""
        from .regularizer import _from_plain
        return _from_plain(self._core.regularizer)

    @regularizer.setter
    def regularizer(self, value):
        self._core.regularizer = None if value is None else next(iter(value._plain().items()))

    @property
    def gradient_clip_attr(self):
        """Its own clip, one of fluid.clip.GradientClip*, or None."""
        from .clip import _from_plain
        return _from_plain(self._core.gradient_clip)

    @gradient_clip_attr.setter
    def gradient_clip_attr(self, value):
        plain = None if value is None else value._plain()
        _core.set_gradient_clip(self.block.program._core, plain or {}, [self.name])

    @property
    def do_model_average(self) -> bool:
        """Whether averages of models include it."""
        return self._core.model_average


class Operator:
    """An op of a block."""

    def __init__(self, block, handle):
        self.block = block
        self._core = handle

    @property
    def type(self) -> str:
        """The op's type: 'mul', 'sgd', …"""
        return self._core.type

    @property
    def input_names(self) -> list:
        """Its input slots."""
        return self._core.input_names

    @property
    def output_names(self) -> list:
        """Its output slots."""
        return self._core.output_names

    @property
    def input_arg_names(self) -> list:
        """All variables that it reads."""
        return self._core.input_arg_names

    @property
    def output_arg_names(self) -> list:
        """All variables that it writes."""
        return self._core.output_arg_names

    @property
    def attr_names(self) -> list:
        """Names of its attributes."""
        return list(self._core.attrs())

    @property
    def idx(self) -> int:
        """Its place in the block."""
        return self._core.index()

    def input(self, name: str) -> list:
        """Names of the variables in an input slot."""
        return self._core.input(name)

    def output(self, name: str) -> list:
        """Names of the variables in an output slot."""
        return self._core.output(name)

    def attr(self, name: str):
        """The value of an attribute."""
        return self._core.attr(name)

    def has_attr(self, name: str) -> bool:
        """Whether it has an attribute."""
        return self._core.has_attr(name)

    def all_attrs(self) -> dict:
        """All attributes."""
        return self._core.attrs()

    def _set_attr(self, name: str, value):
        self._core.set_attr(name, value)

    def _rename_input(self, old_name: str, new_name: str):
        self._core.rename_input(old_name, new_name)

    def _rename_output(self, old_name: str, new_name: str):
        self._core.rename_output(old_name, new_name)

    def to_string(self, throw_on_error=True) -> str:
        """The op as protobuf's text form of the saved record has it."""
        return self._core.record_text()

    def __str__(self):
        return self.to_string()

    def __repr__(self):
        return self._core.text()

    def __eq__(self, other):
        return isinstance(other, Operator) and self._core == other._core

    def __hash__(self):
        return hash(self._core)
