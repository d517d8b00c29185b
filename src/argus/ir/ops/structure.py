"""Blocks, loops, branches, roles: what runs, and who runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argus.ir.expr import Expr, Sym
from argus.ir.op import Inner, Operand, Result, Structure
from argus.ir.ops.tile import Tile

if TYPE_CHECKING:
    from argus.diagnostics import Span
    from argus.ir.ops import AnyOp


@dataclass(eq=False)
class Block:
    """A sequence of operations run in order by one group of threads."""

    ops: list[AnyOp] = field(default_factory=list["AnyOp"])


@dataclass(eq=False)
class TileCarry:
    """A register tile carried by a loop: ``arg`` inside, ``result`` after."""

    init: Operand[Tile]
    arg: Inner[Tile]
    yielded: Operand[Tile]
    result: Result[Tile]


@dataclass(eq=False)
class ScalarCarry:
    """A scalar carried by a loop. ``arg`` and ``result`` are "let" symbols."""

    init: Expr
    arg: Inner[Sym]
    yielded: Expr
    result: Result[Sym]


@dataclass(eq=False)
class For(Structure):
    """``for var in range(start, stop, step)``; step is positive.

    ``unroll``: 0 leaves it to the compiler, 1 forbids, n unrolls by n.
    """

    var: Inner[Sym]
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    tiles: list[TileCarry] = field(default_factory=list["TileCarry"])
    scalars: list[ScalarCarry] = field(default_factory=list["ScalarCarry"])
    unroll: int = 0


@dataclass(eq=False)
class TileMerge:
    """A tile whose value depends on the branch taken."""

    then: Operand[Tile]
    other: Operand[Tile]
    result: Result[Tile]


@dataclass(eq=False)
class ScalarMerge:
    """A scalar whose value depends on the branch taken."""

    then: Expr
    other: Expr
    result: Result[Sym]


@dataclass(eq=False)
class If(Structure):
    """A uniform branch. ``other`` may be empty."""

    cond: Expr
    then: Block
    other: Block
    tiles: list[TileMerge] = field(default_factory=list["TileMerge"])
    scalars: list[ScalarMerge] = field(default_factory=list["ScalarMerge"])


@dataclass(eq=False)
class Role:
    """A group of warps with its own program.

    ``warps`` run it; ``first_warp`` is set by placing
    (warpgroups start at a multiple of 4). ``registers`` is the setmaxnreg budget per
    thread or None.
    """

    name: str
    warps: int
    registers: int | None
    body: Block
    span: Span
    first_warp: int | None = None


@dataclass(eq=False)
class Roles(Structure):
    """Roles run concurrently from here to the end of the kernel."""

    roles: list[Role]
