"""Loops of few indices that no element depends on are not walked: each has a store.

Parts of a number (three of bf16 for one of f32, see `product_operands.py`) and channels
that are high or low (`channels_last.py`) are values chosen by a position. As loops of
their own they would compute what they share once for each.
"""

from __future__ import annotations

from dataclasses import replace

from argus.programs.lowering.collapsing import collapsed
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    PositionNode,
    ReduceNode,
    ScanNode,
)
from argus.programs.lowering.lowered_group import KernelStore, LoweredGroup
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.joining import LONG

_MOST = 4
"""Indices of such a loop, at most."""


def unrolled(group: LoweredGroup) -> LoweredGroup:
    """The group in which the first such loop is stores side by side."""
    for loop in group.rows:
        few = 1 < group.sizes[loop] <= _MOST and len(group.rows) > 1
        if few and not _side_by_side(group, loop):
            found = _without(group, loop)
            if found is not group:
                return collapsed(found)
    return group


def _side_by_side(group: LoweredGroup, loop: str) -> bool:
    """Whether such a loop walks several neighbours in memory, without long functions.

    A store of every third element takes as long as one of all (an H200 stored 402 MB so
    in 477 us). Pairs are stored apart: what both share is computed once.
    """
    functions = {n.function for n in group.nodes if isinstance(n, ApplyNode)}
    if group.sizes[loop] == 2 or functions & LONG:
        return False
    return any(store.offset.factor(loop) == 1 for store in group.stores)


def _without(group: LoweredGroup, loop: str) -> LoweredGroup:
    """Without this loop, if only positions depend on it."""
    pool = group.pool
    if any(isinstance(n, ElementNode) and loop in pool.free(n) for n in group.nodes):
        return group
    if not any(
        isinstance(n, PositionNode) and loop in pool.free(n) for n in group.nodes
    ):
        return group
    if any(
        loop in pool.free(n)
        for n in group.nodes
        if isinstance(n, ReduceNode | ScanNode)
    ):
        return group
    stores: list[KernelStore] = []
    for store in group.stores:
        if loop not in store.offset.loops:
            stores.append(store)
            continue
        for i in range(group.sizes[loop]):
            at = {loop: Affine((), i)}

            def change(
                node: ExpressionNode, at: dict[str, Affine] = at
            ) -> ExpressionNode:
                return pool.reindexed(node, lambda index: index.replaced(at))

            node = pool.rewritten(store.node, change, {})
            stores.append(KernelStore(store.buffer, store.offset.replaced(at), node))
    sizes = {n: s for n, s in group.sizes.items() if n != loop}
    rows = tuple(n for n in group.rows if n != loop)
    return replace(group, rows=rows, sizes=sizes, stores=tuple(stores))
