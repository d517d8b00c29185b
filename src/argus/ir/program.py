"""A kernel specialised to types, static parameters and a target.

Before placing, a program has tiles without layouts, rings, and no barriers of its own.
Placing fills in the rest (``placed`` becomes True) and never removes an operation's
source span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argus.ir.expr import Const, Expr, Sym, symbols
from argus.ir.memory import BarrierAlloc, GlobalTensor, Ring, SharedAlloc
from argus.ir.ops import Block
from argus.ir.placement import TensorMap
from argus.targets import Target

if TYPE_CHECKING:
    from argus.diagnostics import Span


@dataclass(frozen=True)
class ScalarParam:
    """A runtime scalar argument: i32, i64 or f32."""

    name: str
    dtype: str
    sym: Sym


@dataclass(frozen=True)
class LaunchRequirement:
    """A fact about the arguments that the placed program relies on.

    ``cond`` is a bool expression over dim, stride and param symbols, checked before
    every launch; ``why`` completes "required because ...".
    """

    cond: Expr
    why: str
    span: Span

    def refused(self, values: Mapping[str, int | float]) -> tuple[str, str]:
        """That it does not hold, with the values that it is about; and why it has to.

        ``values``: those of its symbols by name, and others.
        """
        used = dict.fromkeys(s.name for s in symbols(self.cond))
        given = ", ".join(f"{name} = {values[name]}" for name in used)
        return f"{self.cond} does not hold: {given}", f"required because {self.why}"


@dataclass(frozen=True)
class PointerAlignment:
    """The data pointer of ``tensor`` must be a multiple of ``bytes``."""

    tensor: str
    bytes: int


@dataclass(eq=False)
class Program:
    """One specialised kernel."""

    name: str
    file: str
    target: Target
    params: list[GlobalTensor | ScalarParam]
    statics: dict[str, object]
    body: Block
    span: Span
    grid: Expr = field(default_factory=lambda: Const(1))
    """Number of blocks: an expression over dims, params and Sym("sm_count", "sms")."""
    cluster: int = 1
    """Blocks per cluster along x; the grid is a multiple of it."""
    warps: int = 4
    """Warps of a block: the author's choice without roles, else set by placing."""
    min_blocks: int = 1
    """Blocks meant to be resident per multiprocessor."""
    rings: list[Ring] = field(default_factory=list[Ring])
    shared: list[SharedAlloc] = field(default_factory=list[SharedAlloc])
    barriers: list[BarrierAlloc] = field(default_factory=list[BarrierAlloc])
    tensor_maps: list[TensorMap] = field(default_factory=list[TensorMap])
    requirements: list[LaunchRequirement] = field(
        default_factory=list[LaunchRequirement]
    )
    alignments: list[PointerAlignment] = field(default_factory=list[PointerAlignment])
    facts: dict[str, int] = field(default_factory=dict[str, int])
    """Symbol name -> power of two known to divide it (from the specialisation)."""
    outputs: list[str] = field(default_factory=list[str])
    """Names of tensors the kernel writes, in the order of ``params``."""
    placed: bool = False
    shared_bytes: int = 0
    """Dynamic shared memory of a block; set by placing."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * self.target.warp_threads


BLOCK_INDEX = Sym("block_x", "block")
GRID_SIZE = Sym("grid_x", "block")
CLUSTER_RANK = Sym("cluster_rank", "rank")
SM_COUNT = Sym("sm_count", "sms")
HARDWARE = (BLOCK_INDEX, GRID_SIZE, CLUSTER_RANK, SM_COUNT)
"""Symbols that every program knows by name; an author's have other names."""


def stride_symbol(tensor: str, dim: int) -> Sym:
    """Symbol of a runtime stride (elements) of a tensor's dimension."""
    return Sym(f"{tensor}_s{dim}", "stride")
