"""Which loops of a kernel are rows, and which columns: those of its reductions.

A loop that both have keeps its name; the loops of several reductions over dimensions of
the same sizes are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from argus.programs.lowering.expressions import (
    ElementNode,
    ExpressionNode,
    ExpressionPool,
    ReduceNode,
    ScanNode,
    walked,
)
from argus.programs.lowering.lowered_group import (
    NotFusedError,
)
from argus.programs.tensors.loops import LoopSpace, NeedsSplitError

__all__ = ["chained", "matched"]


def matched(
    space: LoopSpace,
    pool: ExpressionPool,
    nodes: list[ExpressionNode],
    loops: list[str],
    alone: bool,
) -> tuple[list[ExpressionNode], list[str], list[str], dict[str, str]]:
    """Rows and columns; the loops of all reductions are renamed to the columns.

    ``alone``: nothing is computed on the way to what is stored.
    """
    found = [n for n in walked(nodes) if isinstance(n, ReduceNode)]
    along = {n.loop for n in walked(nodes) if isinstance(n, ScanNode)}
    if along:
        if found or len(along) > 1 or not along <= set(loops):
            raise NotFusedError("a scan beside other reductions")
        return nodes, [n for n in loops if n not in along], [*along], {}
    if not found:
        return nodes, loops, [], {}
    frees = {pool.free(n) for n in found}
    if len(frees) != 1:
        raise NotFusedError("reductions with results of different shapes")
    (free,) = frees
    if not free <= set(loops):
        raise NotFusedError("a reduction over results of another one")
    rows = [n for n in loops if n in free]
    columns = [n for n in loops if n not in free] or list(found[0].loops)
    names: dict[str, str] = {}
    if alone and free < set(loops):
        # Results that are repeated: each is computed where it is stored.
        rows, columns = loops, list(found[0].loops)
    elif rows != loops and not any(
        isinstance(n, ElementNode) and pool.free(n) & set(columns)
        for n in walked(nodes)
    ):
        raise NotFusedError("positions alone along what is as long as a reduction")
    for reduction in found:
        names.update(_paired(space, reduction.loops, columns))

    def rename(n: ExpressionNode) -> ExpressionNode:
        if isinstance(n, ReduceNode):
            return pool.reduce(n.function, n.body, columns, n.dtype)
        return pool.reindexed(n, lambda index: index.renamed(names))

    done: dict[ExpressionNode, ExpressionNode] = {}
    nodes = [pool.rewritten(n, rename, done) for n in nodes]
    return nodes, rows, columns, names


def chained(
    space: LoopSpace,
    pool: ExpressionPool,
    nodes: list[ExpressionNode],
    loops: list[str],
) -> tuple[list[ExpressionNode], list[str], list[str], dict[str, str]]:
    """Rows and columns where reductions are over results of others.

    The loops of all reductions over such results are renamed to those of the last.
    """
    found = [n for n in walked(nodes) if isinstance(n, ReduceNode)]
    outer = [r for r in found if any(
        isinstance(n, ReduceNode) for n in walked([r.body])
    )]  # fmt: skip
    if not outer or any(isinstance(n, ScanNode) for n in walked(nodes)):
        raise NotFusedError("no reduction over results of another one")
    columns = list(outer[-1].loops)
    names: dict[str, str] = {}
    for reduction in outer:
        names.update(_paired(space, reduction.loops, columns))

    def rename(n: ExpressionNode) -> ExpressionNode:
        if isinstance(n, ReduceNode):
            over = [names.get(loop, loop) for loop in n.loops]
            return pool.reduce(n.function, n.body, over, n.dtype)
        return pool.reindexed(n, lambda index: index.renamed(names))

    done: dict[ExpressionNode, ExpressionNode] = {}
    nodes = [pool.rewritten(n, rename, done) for n in nodes]
    over = [
        loop for n in walked(nodes) if isinstance(n, ReduceNode) for loop in n.loops
    ]
    return nodes, loops, list(dict.fromkeys([*columns, *over])), names


def _paired(
    space: LoopSpace, loops: Sequence[str], columns: Sequence[str]
) -> dict[str, str]:
    """Loops of a reduction by those of the columns, of the same sizes.

    Raises NotFusedError where they have another number of indices, and
    NeedsSplitError.
    """
    sizes = space.sizes
    if prod(sizes[n] for n in loops) != prod(sizes[n] for n in columns):
        raise NotFusedError("reductions over different numbers of elements")
    for mine, other in zip(reversed(loops), reversed(columns), strict=False):
        small, large = sorted((mine, other), key=sizes.__getitem__)
        if sizes[small] == sizes[large]:
            continue
        if sizes[large] % sizes[small]:
            raise NotFusedError("reductions over dimensions of different sizes")
        raise NeedsSplitError(large, sizes[small])
    return dict(zip(loops, columns, strict=True))
