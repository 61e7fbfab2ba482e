"""Programs: the graph of variables and ops that layers build and an Executor runs."""
import contextlib
from collections import OrderedDict

from .. import _core
from . import core, unique_name
from .core import (convert_np_dtype_to_dtype_, cpu_places, cuda_pinned_places, cuda_places,
                   is_compiled_with_cuda)
from .flags import get_flags, set_flags
from .regularizer import WeightDecayRegularizer
from .variable import Operator, Parameter, Variable

__all__ = [
    "Block", "EMPTY_VAR_NAME", "GRAD_VAR_SUFFIX", "Operator", "Parameter", "Program", "Variable",
    "convert_np_dtype_to_dtype_", "cpu_places", "cuda_pinned_places", "cuda_places", "default_main_program",
    "default_startup_program", "default_trainer_program", "get_flags", "grad_var_name", "is_compiled_with_cuda",
    "name_scope", "program_guard", "set_flags", "switch_main_program", "switch_startup_program",
]


GRAD_VAR_SUFFIX = "@GRAD"  # behind the name of a variable: its gradient
EMPTY_VAR_NAME = "@EMPTY@"  # in a slot: no variable


def grad_var_name(name: str) -> str:
    """The name of a variable's gradient."""
    return _core.grad_name(name)


def _names(slots) -> dict:
    """{'X': variable, name or list of them} as lists of names."""
    out = {}
    for slot, items in (slots or {}).items():
        if items is None:
            continue
        items = items if isinstance(items, (list, tuple)) else [items]
        out[slot] = [i.name if isinstance(i, Variable) else i for i in items]
    return out


def _decay(regularizer):
    """A regularizer as the core keeps it: ("l2", 0.01), or None."""
    if regularizer is None:
        return None
    if not isinstance(regularizer, WeightDecayRegularizer):
        raise TypeError("a regularizer should be one of fluid.regularizer, e.g. L2Decay(0.01), found "
                        f"{type(regularizer).__name__}")
    (pair,) = regularizer._plain().items()
    return pair


def _plain_attrs(attrs) -> dict:
    out = {}
    for name, value in (attrs or {}).items():
        out[name] = value.idx if isinstance(value, Block) else value
    return out


class Block:
    """Variables and ops, in order."""

    def __init__(self, program: "Program", idx: int):
        self.program = program
        self._core = program._core.block(idx)
        self._known = {}  # name -> Variable, so that a variable is one object

    @property
    def idx(self) -> int:
        """Its number in the program."""
        return self._core.idx

    @property
    def parent_idx(self) -> int:
        """The number of the block around it; -1 for the first."""
        return self._core.parent_idx

    @property
    def vars(self) -> OrderedDict:
        """Its own variables by name, in order of creation."""
        return OrderedDict((name, self._wrap(name)) for name in self._core.var_names())

    @property
    def ops(self) -> list:
        """Its ops."""
        return [Operator(self, self._core.op(i)) for i in range(self._core.num_ops)]

    def _wrap(self, name: str) -> Variable:
        found = self._known.get(name)
        is_parameter = self._core.var(name).is_parameter
        if found is None or isinstance(found, Parameter) != is_parameter:
            found = self._known[name] = (Parameter if is_parameter else Variable)(self, name)
        return found

    def has_var(self, name: str) -> bool:
        """Whether the block itself has the variable."""
        return self._core.has_local(name)

    def var(self, name: str) -> Variable:
        """The block's variable; ConfigError, which is a ValueError, where there is none."""
        if not isinstance(name, str):
            raise TypeError(f"a variable is looked up by its name, found {name!r} of type {type(name).__name__}")
        if not self._core.has_local(name):
            self._core.var(name)  # says "did you mean"
            raise core.ConfigError(f"the variable '{name}' is not in block {self.idx} itself")
        return self._wrap(name)

    def _find_var_recursive(self, name: str):
        block = self
        while True:
            if block.has_var(name):
                return block._wrap(name)
            if block.parent_idx < 0:
                return None
            block = self.program.block(block.parent_idx)

    def _var_recursive(self, name: str) -> Variable:
        found = self._find_var_recursive(name)
        return self.var(name) if found is None else found

    def all_parameters(self) -> list:
        """Its parameters, in order of creation."""
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    def _new_name(self, key: str) -> str:
        """The next name of `key` that the block has not: parts of a program may be built in several unique_name
        guards."""
        name = unique_name.generate(key)
        while self.has_var(name):
            name = unique_name.generate(key)
        return name

    def create_var(self, name=None, shape=(), dtype="float32", type=core.VarDesc.VarType.LOD_TENSOR, lod_level=0,
                   persistable=False, stop_gradient=False, **ignored) -> Variable:
        """Adds a variable; one that exists already is returned as it stands."""
        name = self._new_name("_generated_var") if name is None else name
        kind = core.VarDesc.VarType(type).name.lower()
        dtype = core.dtype_name("float32" if dtype is None else dtype)
        self._core.create_var(name, dtype, () if shape is None else shape, kind, lod_level or 0, bool(persistable),
                              bool(stop_gradient))
        return self._wrap(name)

    def create_parameter(self, shape, dtype, name=None, trainable=True, optimize_attr=None, regularizer=None,
                         initializer=None, gradient_clip_attr=None, do_model_average=True, **ignored) -> Parameter:
        """Adds a parameter.

        initializer: puts the op that makes its first value into this block; without it the caller adds one to the
            startup program. A parameter that an op of the block writes already keeps that op.
        regularizer: `fluid.regularizer.L1Decay` or `L2Decay`.
        """
        name = self._new_name("_param") if name is None else name
        rate = (optimize_attr or {}).get("learning_rate", 1.0)
        self._core.create_parameter(name, core.dtype_name(dtype), shape, bool(trainable), rate, _decay(regularizer))
        parameter = self._wrap(name)
        parameter._core.model_average = bool(do_model_average)
        if gradient_clip_attr is not None:
            parameter.gradient_clip_attr = gradient_clip_attr
        if initializer is not None and parameter.op is None:
            initializer(parameter, self)
        return parameter

    def append_op(self, type=None, inputs=None, outputs=None, attrs=None, **ignored) -> Operator:
        """Adds an op after checking it against its definition; shapes of its outputs are inferred."""
        return self._insert_op(self._core.num_ops, type, inputs, outputs, attrs)

    def _insert_op(self, index: int, type=None, inputs=None, outputs=None, attrs=None, **ignored) -> Operator:
        from . import layer_helper
        program = self.program._core
        program.current_origin = layer_helper.origin()
        try:
            handle = self._core.insert_op(index, type, _names(inputs), _names(outputs), _plain_attrs(attrs))
        finally:
            program.current_origin = ""
        return Operator(self, handle)

    def _prepend_op(self, type=None, inputs=None, outputs=None, attrs=None, **ignored) -> Operator:
        return self._insert_op(0, type, inputs, outputs, attrs)

    def _remove_op(self, index: int):
        self._core.remove_op(index)

    def _remove_var(self, name: str):
        self._core.remove_var(name)
        self._known.pop(name, None)

    def _rename_var(self, name: str, new_name: str) -> Variable:
        self._core.rename_var(name, new_name)
        found = self._known.pop(name, None)
        if found is not None:
            found.name = new_name
            self._known[new_name] = found
        return self._wrap(new_name)

    def _clone_variable(self, var: Variable, force_persistable=True) -> Variable:
        return self.create_var(var.name, var.shape, var.dtype, var.type, var.lod_level,
                               True if force_persistable else var.persistable, var.stop_gradient)

    def to_string(self, throw_on_error=True, with_details=False) -> str:
        """The block as protobuf's text form of the saved record has it."""
        return self._core.record_text()

    def __str__(self):
        return self.to_string()


class Program:
    """A graph of variables and ops. Layers add to the default one; an Executor runs it."""

    # Set by transpile() on the halves of a divided program: an object whose run() the Executor calls.
    _distributed = None

    def __init__(self):
        self._attach(_core.Program())

    def _attach(self, handle):
        self._core = handle
        self._blocks = {}
        self._current = 0

    @classmethod
    def _over(cls, handle) -> "Program":
        """A Program over a handle of the core."""
        program = cls.__new__(cls)
        program._attach(handle)
        return program

    @property
    def random_seed(self) -> int:
        """Where random first values and dropout come from; 0 = a new one in each process."""
        return self._core.random_seed

    @random_seed.setter
    def random_seed(self, seed: int):
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise core.ConfigError(f"random_seed must be an integer from 0 to 2**32 - 1, found {seed!r}")
        self._core.random_seed = seed

    @property
    def num_blocks(self) -> int:
        """How many blocks there are."""
        return self._core.num_blocks

    @property
    def blocks(self) -> list:
        """All blocks."""
        return [self.block(i) for i in range(self.num_blocks)]

    def block(self, index: int) -> Block:
        """A block by number."""
        found = self._blocks.get(index)
        if found is None:
            found = self._blocks[index] = Block(self, index)
        return found

    def global_block(self) -> Block:
        """The first block."""
        return self.block(0)

    def current_block(self) -> Block:
        """The block that ops are added to: the first, unless _create_block() was called."""
        return self.block(self._current)

    def _create_block(self, parent_idx=None) -> Block:
        parent = self._current if parent_idx is None else parent_idx
        self._current = self._core.append_block(parent).idx
        return self.current_block()

    def _rollback(self):
        self._current = self.current_block().parent_idx

    def clone(self, for_test: bool = False) -> "Program":
        """A copy. With for_test, dropout and batch_norm behave as in inference; ops of backward and optimizer stay, so
        clone before minimize()."""
        copy = Program._over(self._core.clone(for_test))
        copy._distributed = self._distributed
        for name, var in self.global_block()._known.items():
            if var.is_data and copy.global_block().has_var(name):
                copy.global_block().var(name).is_data = True
        return copy

    def _prune(self, targets) -> "Program":
        targets = targets if isinstance(targets, (list, tuple)) else [targets]
        return Program._over(self._core.prune([t.name if isinstance(t, Variable) else t for t in targets]))

    def list_vars(self):
        """All variables of all blocks."""
        for block in self.blocks:
            yield from block.vars.values()

    def all_parameters(self) -> list:
        """The parameters."""
        return self.global_block().all_parameters()

    def to_string(self, throw_on_error=True, with_details=False) -> str:
        """The program as protobuf's text form of the saved record has it; _text() is easier to read."""
        return self._core.record_text()

    def _text(self) -> str:
        """The program in lines: blocks, variables, ops with the attributes that differ from their defaults."""
        return self._core.text()

    def __str__(self):
        return self.to_string()

    @property
    def desc(self) -> "Program":
        """The program itself, for scripts that write `program.desc.serialize_to_string()`."""
        return self

    def serialize_to_string(self) -> bytes:
        """The program as PaddlePaddle saves it in __model__."""
        return self._core.serialize()

    @staticmethod
    def parse_from_string(binary_str: bytes) -> "Program":
        """The program in such bytes."""
        return Program._over(_core.Program.parse(binary_str))


_main_program = Program()
_startup_program = Program()


def default_main_program() -> Program:
    """The program that layers add to."""
    return _main_program


def default_startup_program() -> Program:
    """The program that gives parameters their first values."""
    return _startup_program


# The first guide's name for the startup program.
default_trainer_program = default_startup_program


def switch_main_program(program: Program) -> Program:
    """Makes another program the default main program and returns the old one."""
    global _main_program
    old, _main_program = _main_program, program
    return old


def switch_startup_program(program: Program) -> Program:
    """Makes another program the default startup program and returns the old one."""
    global _startup_program
    old, _startup_program = _startup_program, program
    return old


@contextlib.contextmanager
def program_guard(main_program: Program, startup_program: Program = None):
    """Layers add to these programs inside."""
    for program in (main_program, startup_program):
        if program is not None and not isinstance(program, Program):
            raise TypeError(f"program_guard takes Programs, found {program!r} of type {type(program).__name__}")
    old_main = switch_main_program(main_program)
    old_startup = None if startup_program is None else switch_startup_program(startup_program)
    try:
        yield
    finally:
        switch_main_program(old_main)
        if old_startup is not None:
            switch_startup_program(old_startup)


@contextlib.contextmanager
def name_scope(prefix: str = None):
    """Ops made inside carry the scope in their attribute op_namescope; names of variables do not change."""
    programs = [default_main_program()._core, default_startup_program()._core]
    before = [p.name_scope for p in programs]
    for program, outer in zip(programs, before):
        program.name_scope = f"{outer}{unique_name.generate(prefix) if prefix is None else prefix}/"
    try:
        yield
    finally:
        for program, outer in zip(programs, before):
            program.name_scope = outer
