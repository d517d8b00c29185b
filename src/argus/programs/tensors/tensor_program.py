"""The tensor program: values in single assignment, made by few primitives.

| made by | is |
| --- | --- |
| `GivenPrimitive` | an input of the program, or a weight, which is a constant of it |
| `MapPrimitive` | a function of `argus.ir.functions` at each position, or a cast |
| `FilledPrimitive`, `PositionPrimitive` | one number; the position along a dimension |
| `ReducePrimitive` | sum, prod, max, min, argmax or argmin over dimensions |
| `ScanPrimitive` | running sums, products or extremes along a dimension |
| `ContractPrimitive` | a sum of products of two operands |
| `GatherPrimitive` | elements that a table of positions chooses |
| `JoinPrimitive` | operands one after the other, until `joining.py` |
| `JoinedPrimitive` | a value whose parts are values of their own, that lie in it |
| `TorchPrimitive` | what torch computes: an operator that is not translated |
| `WrittenPrimitive` | a kernel of a plan that was read back, which says no more of it |

Operands are values seen through views (`views.py`), which are never copies by
themselves. All sizes are numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from argus.ir.dtypes import DTYPES, FOREIGN, DType, u32, u64
from argus.programs.tensors.views import BorderedView, OperandView, ReshapedView

__all__ = [
    "CallOperand",
    "ContractPrimitive",
    "FilledPrimitive",
    "GatherPrimitive",
    "GivenPrimitive",
    "JoinPrimitive",
    "JoinedPrimitive",
    "MapPrimitive",
    "PositionPrimitive",
    "Primitive",
    "ProgramValue",
    "ReducePrimitive",
    "ScanPrimitive",
    "TensorProgram",
    "TorchPrimitive",
    "UntranslatedError",
    "ViewedValue",
    "WrittenPrimitive",
    "constant_of",
    "stored_type",
]


def stored_type(name: str) -> DType:
    """The element type of a value, by its name in programs or in torch.

    Values that torch makes for torch may have one that kernels lack, which is not among
    `DTYPES`: complex numbers of f16, and whole ones of which torch has few operators.
    """
    name = name.removeprefix("torch.")
    found = DTYPES.get(name) or FOREIGN.get(name)
    if found is None or found in (u32, u64):
        import torch

        bits = 8 * getattr(torch, name).itemsize
        found = DType(name, name, bits, "other", "", "", -1, None)
    return found


class UntranslatedError(Exception):
    """Why an operator has no translation: it stays in torch, and this is said."""


@dataclass(frozen=True, eq=False)
class ProgramValue:
    """One value: a tensor that is stored in this order. ``name`` is unique.

    ``pitch``: elements between its rows (along the last dimension), where there are
    more than in a row; 0: it is dense. ``home``: a value of the same rank that it is a
    part of, ``begin`` elements after its first.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    made: Primitive
    pitch: int = 0
    home: ProgramValue | None = None
    begin: int = 0

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours of each dimension."""
        if self.home is not None:
            return self.home.strides
        shape = (*self.shape[:-1], self.pitch) if self.pitch else self.shape
        return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ViewedValue:
    """A value seen through views, the first of which is nearest to it."""

    value: ProgramValue
    views: tuple[OperandView, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes after all views."""
        return self.views[-1].shape if self.views else self.value.shape

    def through(self, view: OperandView) -> ViewedValue:
        """Seen through one more view; of two reshapes the second says everything."""
        before = self.views
        if isinstance(view, ReshapedView) and before:
            before = before[:-1] if isinstance(before[-1], ReshapedView) else before
        return ViewedValue(self.value, (*before, view))


@dataclass(frozen=True)
class GivenPrimitive:
    """A tensor from outside: ``kind`` is "input", "weight" or "constant".

    ``source`` is the position of an input, else the name that the model has for it.
    ``shape``, ``strides`` (in elements) and ``device`` are those of the tensor. Where
    it is not dense in row-major order, the value is the line of elements from its first
    to its last one, and those who read it see that through a view. ``pairs``: it is
    complex, and all this is said of the pairs of floats that it consists of.
    """

    kind: str
    source: int | str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str = "cpu"
    pairs: bool = False


@dataclass(frozen=True)
class MapPrimitive:
    """A function of operands that all have the shape of the result.

    ``function`` is a name of `argus.ir.functions`, or "cast" to the result's type.
    An operand that is a number is the same everywhere.
    """

    function: str
    operands: tuple[ViewedValue | float | int | bool, ...]


@dataclass(frozen=True)
class FilledPrimitive:
    """One number at every position."""

    value: float | int | bool


@dataclass(frozen=True)
class PositionPrimitive:
    """``start + step * position`` along dimension ``dim`` (iota)."""

    dim: int
    start: int = 0
    step: int = 1


@dataclass(frozen=True)
class ReducePrimitive:
    """``function`` over ``dims`` of the operand; those dimensions are gone."""

    function: str
    operand: ViewedValue
    dims: tuple[int, ...]


@dataclass(frozen=True)
class ScanPrimitive:
    """``function`` of all elements of the operand up to each position along ``dim``.

    It is sum, prod, max or min.
    """

    operand: ViewedValue
    dim: int
    function: str = "sum"


@dataclass(frozen=True)
class ContractPrimitive:
    """The sum of products over positions that two operands share.

    Each dimension of an operand has a letter; ``result`` are letters that remain, in
    order. A letter that is not in it is summed, in f32 where operands are
    floats, in f64 where they are f64.

    ``precision`` is "f32", or of f32 the tensor cores' bits, "tf32", which are cut off,
    or "nearest": the same of a factor that the kernel rounds (`product_factors.py`), or
    "split": three parts of bf16, which the kernel of the product makes. ``terms``: the
    operands are parts, and the first letter of each says of which number; what is
    summed are products of these parts of left and right (see `products.py`).
    ``alone``: a kernel stores it, and what reads it is in others.

    ``between``: two tables with a number for each position of the result's first
    letter, which no factor has: of the first letter of both factors, positions from the
    first number up to the second one are summed, and no others.
    """

    left: ViewedValue
    right: ViewedValue
    left_letters: str
    right_letters: str
    result: str
    precision: str = "f32"
    terms: tuple[tuple[int, int], ...] = ()
    alone: bool = False
    between: tuple[ViewedValue, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each letter."""
        left = zip(self.left_letters, self.left.shape, strict=True)
        found = {**dict(left), **dict(zip(self.right_letters, self.right.shape))}  # noqa: B905
        for table in self.between:
            found[self.result[0]] = table.shape[0]
        return found


@dataclass(frozen=True)
class GatherPrimitive:
    """Of the operand's last dimension, the element whose position the table has.

    The other dimensions are those of the table and of the result.
    """

    operand: ViewedValue
    table: ViewedValue


@dataclass(frozen=True)
class JoinPrimitive:
    """Operands of one type, one after the other along ``dim``.

    ``grows``: one of them is given, and longer in another call (a cache of keys).
    """

    operands: tuple[ViewedValue, ...]
    dim: int
    grows: bool = False


@dataclass(frozen=True)
class JoinedPrimitive:
    """Parts with so many positions along ``dim``, which are stored as such.

    They are values of their own, which have this one as their ``home``.
    """

    sizes: tuple[int, ...]
    dim: int


@dataclass(frozen=True)
class TorchPrimitive:
    """Result number ``index`` of a call that torch makes; see `TorchCall`.

    ``order``: which of its dimensions are those of the value, outermost first in
    memory as torch lays it; empty: all in order. ``pairs``: torch makes a complex
    tensor, of which the value has the pairs.
    """

    call: TorchCall
    index: int
    order: tuple[int, ...] = ()
    pairs: bool = False


@dataclass(frozen=True)
class WrittenPrimitive:
    """What kernels write, of a plan that was read back: their files say what.

    ``bounds``: where the parts end that several launches write, see `parts_of`.
    """

    bounds: tuple[int, ...] = ()


@dataclass(frozen=True)
class CallOperand:
    """Operand number ``index`` of a call of torch, among its arguments.

    ``strides``: how torch said that it lies; (): in any way. ``pairs``: torch takes the
    complex tensor whose pairs it has.
    """

    index: int
    strides: tuple[int, ...] = ()
    pairs: bool = False


@dataclass(frozen=True, eq=False)
class TorchCall:
    """An operator that stays in torch. ``operands`` are the tensors in its arguments.

    ``target`` is the operator; in ``arguments`` and ``named`` (values, lists, dicts)
    each tensor is a `CallOperand`.
    """

    name: str
    target: Any
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    operands: tuple[ViewedValue, ...]
    why: str


Primitive = (
    GivenPrimitive
    | MapPrimitive
    | FilledPrimitive
    | PositionPrimitive
    | ReducePrimitive
    | ScanPrimitive
    | ContractPrimitive
    | GatherPrimitive
    | JoinPrimitive
    | JoinedPrimitive
    | TorchPrimitive
    | WrittenPrimitive
)


@dataclass(frozen=True)
class ShownMemory:
    """Where a result lies in a tensor that the program changes.

    ``source``: a buffer of the module by name, an input by position, whose strides are
    ``within``; ``shape``, ``strides`` and ``offset``, from its first element on, are
    those of the result, in elements.
    """

    source: str | int
    within: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class TensorProgram:
    """Values in the order of their making. ``results`` is what the program returns.

    A result that is no operand is a Python value (None, a number). ``tensors`` are the
    weights and constants by the names of `GivenPrimitive`; ``tree`` says how results
    were nested (torch's pytree). ``fixed`` are inputs that are no tensors, by position:
    the program is for these values. ``told``: strides that each result has in torch, in
    elements; None for what is no tensor. Results of different values share no memory.
    ``device`` as torch names it ("cuda:0"), on which everything is but what stays in
    torch. ``updates``: what takes the first results: buffers of the module
    by name, inputs by position. ``shown``: which of the others lie in one of these.
    ``pairs``: positions of results that are complex, and
    which the program has as pairs of floats.
    """

    values: tuple[ProgramValue, ...]
    results: tuple[Any, ...]
    tensors: dict[str, Any] = field(default_factory=dict[str, Any])
    tree: Any = None
    fixed: dict[int, Any] = field(default_factory=dict[int, Any])
    told: tuple[tuple[int, ...] | None, ...] = ()
    device: str = "cpu"
    updates: tuple[str | int, ...] = ()
    shown: tuple[ShownMemory | None, ...] = ()
    pairs: frozenset[int] = frozenset()


def constant_of(operand: ViewedValue) -> float | int | bool | None:
    """The number that an operand is at every position; None where it is none.

    A border of another number makes it none: -0.0 and 0.0 are two.
    """
    made = operand.value.made
    if not isinstance(made, FilledPrimitive):
        return None
    fills = [v.fill for v in operand.views if isinstance(v, BorderedView)]
    if any(repr(fill) != repr(made.value) for fill in fills):
        return None
    return made.value


def operands_of(value: ProgramValue) -> tuple[ViewedValue, ...]:
    """The operands that a value is made of."""
    match value.made:
        case MapPrimitive(operands=operands):
            return tuple(x for x in operands if isinstance(x, ViewedValue))
        case ReducePrimitive(operand=operand) | ScanPrimitive(operand=operand):
            return (operand,)
        case ContractPrimitive(left=left, right=right, between=between):
            return (left, right, *between)
        case GatherPrimitive(operand=operand, table=table):
            return (operand, table)
        case JoinPrimitive(operands=operands):
            return operands
        case TorchPrimitive(call=call):
            return call.operands
        case GivenPrimitive() | FilledPrimitive() | PositionPrimitive():
            return ()
        case JoinedPrimitive() | WrittenPrimitive():
            return ()
