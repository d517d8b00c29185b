"""Scalars and register tiles: operations without memory, and matrix products."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from argus.ir.combine import Combination
from argus.ir.expr import Const, Expr, Sym
from argus.ir.memory import GlobalTensor, SharedView
from argus.ir.op import Op, Operand, Result
from argus.ir.ops.tile import Tile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argus.ir.dtypes import DType
    from argus.ir.placement import MmaPlan, WgmmaPlan


_RING = ("add", "sub", "mul", "neg", "fma", "where", "and", "or", "xor", "not")
"""Element-wise functions that are the same modulo 2**bits."""


@dataclass(eq=False)
class Binding(Op):
    """It gives a scalar its value. The same for all threads; no memory is written."""

    sym: Result[Sym]


@dataclass(eq=False)
class RegisterOp(Op):
    """A tile is made from tiles and scalars, at once and without touching memory."""

    result: Result[Tile]

    def elements_of(self) -> Tile | None:
        """The tile whose elements the result has, in any order; None: others, too."""
        return None

    def is_along(self, count: int) -> bool:
        """Whether an element is made of those at its own first ``count`` indices."""
        del count
        return False


@dataclass(eq=False)
class Let(Binding):
    """Name a scalar."""

    value: Expr


@dataclass(eq=False)
class LoadScalar(Binding):
    """Read one element of a global tensor into a uniform scalar (int or float)."""

    tensor: GlobalTensor
    coords: tuple[Expr, ...]


@dataclass(eq=False)
class Extract(Binding):
    """The only element of a tile as a scalar. Every thread holds a copy of it.

    A truth value, a whole number or a fraction (f32), as the tile's type says.
    """

    src: Operand[Tile]


@dataclass(eq=False)
class Full(RegisterOp):
    """Every element is ``value`` (a scalar expression)."""

    value: Expr


@dataclass(eq=False)
class Index(RegisterOp):
    """Element = its coordinate along ``axis`` (i32)."""

    axis: int


@dataclass(eq=False)
class Elementwise(RegisterOp):
    """``result[i] = fn(args[i]...)``; every tile argument has the result's shape.

    ``fn`` is a name in :data:`argus.ir.functions.FUNCTIONS`. Scalar arguments are
    expressions. Arithmetic on 16-bit floats is done in f32 and rounded once.
    """

    fn: str
    args: tuple[Operand[Tile] | Expr, ...]

    def is_along(self, count: int) -> bool:
        """It is made of those at its own indices."""
        return count <= len(self.result.shape)

    def keeps_residues(self, tile: Tile) -> bool:
        """Sums, products, choices and functions of single bits do."""
        moved = self.fn == "shl" and tile not in self.args[1:]
        return (self.fn in _RING or moved) and not _widens(self.result, tile)

    def hides_residues(self, tile: Tile) -> bool:
        """A mask that is not negative does."""
        if self.fn != "and" or tile.dtype.kind != "int":
            return False
        _, most = tile.dtype.integers
        return any(isinstance(a, Const) and 0 <= a.value <= most for a in self.args)

    def observed_scalars(self) -> Iterator[tuple[Expr, DType]]:
        """Its scalars take the type of the first tile."""
        first = next((a for a in self.args if isinstance(a, Tile)), None)
        if first is None or first.dtype.kind != "int" or self.keeps_residues(first):
            return
        for arg in self.args:
            if isinstance(arg, Expr):
                yield arg, first.dtype


@dataclass(eq=False)
class Cast(RegisterOp):
    """Element-wise conversion to ``result.dtype`` (round to nearest even)."""

    src: Operand[Tile]

    def is_along(self, count: int) -> bool:
        """It is made of those at its own indices."""
        return count <= len(self.result.shape)

    def keeps_residues(self, tile: Tile) -> bool:
        """To whole numbers of no more bits."""
        return not _widens(self.result, tile)

    def hides_residues(self, tile: Tile) -> bool:
        """To a type that does not hold all of them."""
        return self.keeps_residues(tile) and self.result.dtype != tile.dtype


@dataclass(eq=False)
class Reduce(RegisterOp):
    """Combine along ``axis``: fn in sum, max, min, prod, argmax, argmin.

    argmax and argmin give the i32 index of the first extreme. Placing leaves only
    reductions that stay inside a warp: ``plan``-free, the layout says which lanes hold
    the axis; a reduction across warps is split by placing into a warp reduction, a
    conversion through shared memory and a second reduction.
    """

    src: Operand[Tile]
    axis: int
    fn: str

    def is_along(self, count: int) -> bool:
        """All but the axis that is reduced."""
        return count <= self.axis

    def keeps_residues(self, tile: Tile) -> bool:
        """Sums and products do."""
        return self.fn in ("sum", "prod") and not _widens(self.result, tile)


@dataclass(eq=False)
class Combining(RegisterOp):
    """Number ``part`` of a state that ``combine`` makes of those along ``axis``.

    State i is element i of each of ``srcs``, which have one shape; the function is
    taken for associative, and not for commutative: elements are combined in order, in
    any grouping. ``result`` has the type of ``srcs[part]``.
    """

    srcs: tuple[Operand[Tile], ...]
    axis: int
    combine: Combination
    part: int


@dataclass(eq=False)
class Scan(Combining):
    """For each element along ``axis``, those up to it and itself: a prefix sum.

    ``reverse``: those from the last one to it, which come first in the combination.
    """

    reverse: bool = field(default=False, kw_only=True)


@dataclass(eq=False)
class ScanTotal(Combining):
    """All elements along ``axis``, which the result has not."""


@dataclass(eq=False)
class Sort(RegisterOp):
    """Elements in order along ``axis``, or ``indices`` (i32): where each was.

    Equal elements keep their order, also where it is ``descending``. NaN is greater
    than all numbers, -0 is equal to +0. The extent is a power of two.
    """

    src: Operand[Tile]
    axis: int
    descending: bool
    indices: bool

    def elements_of(self) -> Tile | None:
        """The tile that is sorted, but for indices."""
        return None if self.indices else self.src


@dataclass(eq=False)
class Reinterpret(RegisterOp):
    """The same registers under another layout (``result.required``)."""

    src: Operand[Tile]

    def elements_of(self) -> Tile | None:
        """The tile that is read in another layout."""
        return self.src


@dataclass(eq=False)
class Dot(Op):
    """``result = acc + a @ b``: a is (.., M, K), b is (K, N), acc and result (M, N).

    ``acc`` None means zero. Operands are shared views or register tiles. On sm_90a
    the plan is a :class:`WgmmaPlan`: the operation issues asynchronously and a
    WgmmaWait must complete it before ``result`` is read; else a :class:`MmaPlan`.
    The author may ask for one of them by ``instruction``, and for wgmma's N by
    ``inst_n``.
    """

    result: Result[Tile]
    a: Operand[Tile] | SharedView
    b: Operand[Tile] | SharedView
    acc: Operand[Tile] | None
    plan: WgmmaPlan | MmaPlan | None = None
    instruction: Literal["wgmma", "mma"] | None = None
    inst_n: int | None = None

    def keeps_residues(self, tile: Tile) -> bool:
        """As sums of products."""
        return not _widens(self.result, tile)


def _widens(result: Tile, tile: Tile) -> bool:
    """Whether a result has more than the last bits of an operand's type."""
    return result.dtype.kind != "int" or result.dtype.bits > tile.dtype.bits
