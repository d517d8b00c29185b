"""What a walk knows at a place of a program, and what it has recorded.

A tile is a value over axis variables. There is one variable for each axis number and
extent, so that element-wise operations combine values as they are.

What is not known of one tile or scalar is kept in its place (an `Unknown`), and raised
by whoever reads it: a value that nobody needs costs nothing, and a reason is told once,
with the operation at which knowledge was lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Sym
from argus.ir.memory import GlobalView, Ring, SharedAlloc
from argus.ir.program import Program
from argus.ir.tile_facts import moved_back
from argus.ir.walk import walk
from argus.terms import AxisNames, IndexSet, Integer, Unknown, Value, Variable, World
from argus.terms.integers import variable_of
from argus.verify.denotation.buffers import Buffers
from argus.verify.denotation.infinities import FiniteTiles
from argus.verify.denotation.protocols import GridLike, MeetingsLike
from argus.verify.denotation.result import Noticed, NoticedKind, Path, Store

__all__ = [
    "Context",
    "Fill",
    "Filling",
    "GlobalWrite",
    "Held",
    "Path",
    "Record",
    "RoleValues",
    "SeenWrites",
    "TensorAccess",
    "Write",
    "integers",
    "ranges",
]


@dataclass(frozen=True)
class Held:
    """A tile: the value of its element at ``axes``."""

    axes: tuple[Variable, ...]
    value: Value


@dataclass(frozen=True)
class Write:
    """A tile that was put into a stage of a shared buffer.

    View axis i is buffer axis ``axes[i]``; ``origin`` says where it begins. ``held`` is
    Unknown where the written value is. ``where`` is the guard of branches around it.
    """

    stage: Integer
    origin: tuple[Integer, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    held: Held | Unknown
    where: IndexSet


@dataclass(frozen=True)
class SeenWrites:
    """Which writes of an operation a value knows of.

    Of loops around it, what earlier iterations wrote where their counter is one of
    ``counters``; of a loop that has ended, what iteration ``turns`` of it did; else
    what this iteration did.
    """

    counters: frozenset[Variable] = frozenset()
    turns: Mapping[Variable, Integer] = field(default_factory=dict[Variable, Integer])


@dataclass(frozen=True)
class GlobalWrite:
    """A tile that was put into global memory, by the element at each coordinate.

    ``seen``: writes that ``value`` knows of, by position of the operation. ``turns``:
    counters of loops that have ended: it is the tiles of all their iterations.
    """

    coords: tuple[Integer, ...]
    where: IndexSet
    value: Value | Unknown
    seen: Mapping[int, SeenWrites]
    turns: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Fill:
    """Writes that belong to one fill of a slot, for all iterations of ``scope``.

    ``scope`` are the variables around it, ``number`` which fill it is. ``turns`` counts
    such fills of the role before this one.
    """

    role: str
    scope: tuple[Variable, ...]
    number: Integer
    turns: Integer | Unknown
    where: IndexSet
    writes: dict[SharedAlloc, tuple[Write, ...]]
    span: Span

    @property
    def counted(self) -> bool:
        """Whether no other such fill of the role has this number.

        It differs from a count by a constant, and the count grows each time.
        """
        if isinstance(self.turns, Unknown):
            return False
        return (self.number - self.turns).constant is not None

    def continues(self, other: Fill) -> bool:
        """Whether the writes of both are parts of one fill."""
        return (
            self.scope == other.scope
            and self.number == other.number
            and self.turns == other.turns
            and self.where.same(other.where)
        )


@dataclass(frozen=True)
class TensorAccess:
    """A read or a write of a global tensor: for in-place use (`in_place.py`)."""

    tensor: str
    coords: tuple[Integer, ...]
    where: IndexSet
    scope: tuple[Variable, ...]
    role: str
    path: Path
    write: bool
    span: Span
    position: int
    """That of the operation."""
    seen: Mapping[int, SeenWrites]
    """Writes that a read knows of, see `GlobalWrite`."""


@dataclass
class RoleValues:
    """Values at a place of one role."""

    scalars: dict[str, Value | Unknown] = field(
        default_factory=dict[str, "Value | Unknown"]
    )
    tiles: dict[o.Tile, Held | Unknown] = field(
        default_factory=dict[o.Tile, "Held | Unknown"]
    )
    shared: dict[SharedAlloc, tuple[Write | Unknown, ...]] = field(
        default_factory=dict[SharedAlloc, "tuple[Write | Unknown, ...]"]
    )
    """Writes in program order, of buffers that one role uses. An Unknown hides what was
    written before it."""
    memory: dict[str, tuple[GlobalWrite, ...]] = field(
        default_factory=dict[str, "tuple[GlobalWrite, ...]"]
    )
    """What the role has written to global tensors, in program order."""
    where: IndexSet = IndexSet.universe
    """Conditions of the branches around."""
    scope: tuple[Variable, ...] = ()
    path: Path = ()

    def copy(self) -> RoleValues:
        """A state that can go on by itself."""
        return replace(
            self,
            scalars=dict(self.scalars),
            tiles=dict(self.tiles),
            shared=dict(self.shared),
            memory=dict(self.memory),
        )


@dataclass
class Record:
    """What has been recorded of the program so far."""

    stores: list[Store] = field(default_factory=list[Store])
    fills: dict[Ring | SharedAlloc, list[Fill]] = field(
        default_factory=dict["Ring | SharedAlloc", "list[Fill]"]
    )
    accesses: list[TensorAccess] = field(default_factory=list[TensorAccess])
    lost: dict[str, Unknown] = field(default_factory=dict[str, Unknown])
    """Tensors of which a store is not known."""
    unfilled: dict[Ring | SharedAlloc, Unknown] = field(
        default_factory=dict["Ring | SharedAlloc", Unknown]
    )
    """Buffers of which a fill is not known."""


@dataclass(frozen=True)
class RunningSum:
    """The sum of the steps of earlier iterations, as a function.

    ``step`` has blanks in the place of ``local`` variables and of the loop's counter;
    ``shared`` are block indices and tiles that it depends on.
    """

    step: Value
    over: Integer | None
    """The number of tiles of a persistent loop; None: iterations of an ordinary one."""
    name: str
    shared: tuple[Variable, ...]
    local: int


class Context(ABC):
    """A walk of one program: its state, its record, and how to run a block."""

    def __init__(self, program: Program, world: World) -> None:
        self.program = program
        self.world = world
        self.state = RoleValues()
        self.record = Record()
        self.earlier = Record()
        """What roles and passes recorded that have been walked already."""
        self.filling: dict[Ring, Filling] = {}
        """Fills that have begun and are not published."""
        self.dry = 0
        """Above 0: a body is read for what it carries, and nothing is recorded."""
        self.role = "block"
        self.notes: dict[str, None] = {}
        self.common: tuple[Variable, ...] = ()
        """Variables that all roles share: block indices, tiles of persistent loops."""
        self.constants: frozenset[Variable] = frozenset()
        """Sizes, strides and scalar arguments."""
        self.tiles: set[Variable] = set()
        """Those of persistent loops: a block has several values of them."""
        self.buffers = Buffers.of(program)
        self.finite = FiniteTiles(program)
        if not self.finite.factors and not world.infinite_factors:
            world.multiplies_infinity()
        self.moved_back = moved_back(program)
        self.sums: list[RunningSum] = []
        """Running sums that have a name (`counters.py`)."""
        self.assumed: set[o.Assume] = set()
        """Assumptions about tables that the world has been told of."""
        self.noticed: dict[tuple[str, o.AnyOp, str], Noticed] = {}
        """What numerical safety asks about; the last reading of an operation counts."""
        self._positions = {id(op): i for i, op in enumerate(walk(program.body))}
        self._axes: dict[tuple[int, int], Variable] = {}

    @property
    @abstractmethod
    def meetings(self) -> MeetingsLike:
        """Who meets whom at named barriers."""

    @property
    @abstractmethod
    def grid(self) -> GridLike:
        """Which variables block indices are."""

    @abstractmethod
    def run(self, block: o.Block) -> None:
        """Read the operations of a block. Raises Unknown where control flow is."""

    # ------------------------------------------------------------------- tiles

    def axis(self, position: int, extent: int) -> Variable:
        """The variable of axis ``position`` of tiles with this extent."""
        key = (position, extent)
        if key not in self._axes:
            made = self.world.fresh(f"i{position}", 0, extent)
            self._axes[key] = variable_of(made)
        return self._axes[key]

    @property
    def all_axes(self) -> frozenset[Variable]:
        """The axis variables of all tiles up to now."""
        return frozenset(self._axes.values())

    def axes(self, shape: Sequence[int]) -> tuple[Variable, ...]:
        """The axis variables of a tile of this shape."""
        return tuple(self.axis(i, n) for i, n in enumerate(shape))

    def named_axes(self, tile: o.Tile | GlobalView) -> AxisNames:
        """The axis variables of a tile with the names of its dimensions."""
        alone = (n if n and tile.dims.count(n) == 1 else "" for n in tile.dims)
        return tuple(zip(self.axes(tile.shape), alone, strict=True))

    def held(self, tile: o.Tile) -> Held:
        """A tile as it was made. Raises Unknown where it is not known."""
        found = self.state.tiles.get(tile)
        if found is None:
            raise Unknown(f"`{tile.name}` is read before it is made")
        if isinstance(found, Unknown):
            raise found
        return found

    def element(self, tile: o.Tile, indices: Sequence[Integer]) -> Value:
        """The element of a tile at these indices. Raises Unknown."""
        return self.at(self.held(tile), indices)

    def at(self, held: Held, indices: Sequence[Integer]) -> Value:
        """The value of a tile at these indices."""
        change = {
            axis: index
            for axis, index in zip(held.axes, indices, strict=True)
            if index.single != axis
        }
        return self.world.substitute(held.value, change) if change else held.value

    def own(self, tile: o.Tile, axes: Sequence[Variable]) -> Value:
        """The value of a tile at these axes. Raises Unknown."""
        return self.element(tile, integers(axes))

    def put(self, tile: o.Tile, value: Value) -> None:
        """Define a tile by its value at the axis variables of its shape."""
        self.state.tiles[tile] = Held(self.axes(tile.shape), value)

    # ----------------------------------------------------------------- scalars

    def define(self, sym: Sym, value: Value | Unknown) -> None:
        """Define a scalar."""
        self.state.scalars[sym.name] = value

    def position(self, op: o.AnyOp) -> int:
        """The position of an operation in the program."""
        return self._positions[id(op)]

    def blank(self, position: int) -> Integer:
        """What stands for the variable of a place when functions are compared."""
        return self.world.variable(f"place {position}")

    def note(self, text: str) -> None:
        """Add an assumption of the reading itself."""
        self.notes.setdefault(text)

    def notice(
        self,
        kind: NoticedKind,
        op: o.AnyOp,
        value: Value,
        dtype: DType,
        name: str = "",
    ) -> None:
        """Keep what numerical safety asks about."""
        if kind != "sum" and self.dry:
            return
        inside = ranges(self.world, (*self.state.scope, *self._axes.values()))
        where = self.state.where & inside if kind != "sum" else IndexSet.universe
        made = Noticed(kind, op, value, where, dtype, name)
        self.noticed[kind, op, name] = made

    def lose(self, tensor: str, why: Unknown) -> None:
        """What is stored to a tensor is not known; the first reason stays."""
        if not self.dry:
            self.record.lost.setdefault(tensor, why)


@dataclass
class Filling:
    """A fill of a ring between its acquire and its publish."""

    ring: Ring
    number: Integer
    writes: dict[SharedAlloc, tuple[Write, ...]]
    scope: tuple[Variable, ...]


def integers(variables: Sequence[Variable]) -> tuple[Integer, ...]:
    """Variables as integers."""
    return tuple(Integer.atom(v) for v in variables)


def ranges(world: World, variables: Sequence[Variable]) -> IndexSet:
    """Where variables are in their ranges."""
    found = IndexSet.universe
    for variable in variables:
        value = Integer.atom(variable)
        if variable.lower is not None:
            found = found & world.compare(value, ">=", variable.lower)
        if variable.upper is not None:
            found = found & world.compare(value, "<", variable.upper)
    return found
