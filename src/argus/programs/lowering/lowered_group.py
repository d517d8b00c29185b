"""What a kernel of a program computes: loops, and what is stored of expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from argus.programs.lowering.expressions import (
    Border,
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    ReduceNode,
    ScanNode,
    walked,
)
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    GivenPrimitive,
    ProgramValue,
)
from argus.programs.tensors.views import LinearView

__all__ = ["KernelStore", "LoweredGroup", "NotFusedError", "over_windows"]


class NotFusedError(Exception):
    """Why some values cannot be computed by one kernel."""


@dataclass(frozen=True)
class KernelStore:
    """``node`` is stored at ``offset`` elements after the first of ``buffer``.

    ``borders``: coordinates of it that may lie outside, where nothing is stored.
    """

    buffer: ProgramValue
    offset: Affine
    node: ExpressionNode
    borders: tuple[Border, ...] = ()


@dataclass(frozen=True)
class LoweredGroup:
    """What a kernel computes. ``rows`` and ``columns`` are loops, outermost first.

    ``flat``: names for several of them, outermost first, that are walked as one.
    ``products``: the precision of each sum of products in it. ``windows``: some are
    over windows. ``chained``: reductions over results of others, see `lowered`.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    sizes: dict[str, int]
    stores: tuple[KernelStore, ...]
    pool: ExpressionPool
    flat: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    products: tuple[str, ...] = ()
    windows: bool = False
    chained: bool = False

    @cached_property
    def nodes(self) -> tuple[ExpressionNode, ...]:
        """All nodes, parts first."""
        return tuple(walked([s.node for s in self.stores]))

    @cached_property
    def elements(self) -> tuple[ElementNode, ...]:
        """All elements that are read."""
        return tuple(n for n in self.nodes if isinstance(n, ElementNode))

    @cached_property
    def scans(self) -> tuple[ScanNode, ...]:
        """All running sums, inner ones first."""
        return tuple(n for n in self.nodes if isinstance(n, ScanNode))

    @cached_property
    def reductions(self) -> tuple[ReduceNode, ...]:
        """All reductions, inner ones first."""
        return tuple(n for n in self.nodes if isinstance(n, ReduceNode))


def over_windows(made: ContractPrimitive) -> bool:
    """Whether some coordinate of an operand is a sum of several indices.

    The strides of a tensor that is given, and seen as a line, are none.
    """
    return any(
        sum(view.shape[dim] > 1 for dim, _ in pairs) > 1
        for operand in (made.left, made.right)
        for view in operand.views[_strided(operand.value) :]
        if isinstance(view, LinearView)
        for pairs in view.factors
    )


def _strided(value: ProgramValue) -> bool:
    """Whether the first view of a value has the strides of a given tensor."""
    made = value.made
    return isinstance(made, GivenPrimitive) and made.shape != value.shape
