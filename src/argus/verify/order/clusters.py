"""Whether all blocks of a cluster iterate equally often, and branch alike.

What decides that may not depend on which block of the cluster it is, but on the
cluster: ``block_x // n`` where n is a multiple of the cluster's blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.program import BLOCK_INDEX, GRID_SIZE, Program
from argus.verify.order.events import decisions
from argus.verify.order.scalar_sources import ScalarSources

__all__ = ["alike_in_cluster"]


def alike_in_cluster(program: Program, sources: ScalarSources) -> bool:
    """Whether loops with events and branches are decided alike in all its blocks."""
    if program.cluster == 1:
        return True
    todo = list(decisions(program.body))
    seen: set[str] = set()
    while todo:
        for sym in _told_apart(todo.pop(), program.cluster):
            if sym.name in seen:
                continue
            seen.add(sym.name)
            if sym.kind in ("block", "rank") and sym != GRID_SIZE:
                return False
            if sym.name in sources.data and sym.name not in sources.constants:
                return False  # an element of a tile is the block's own
            todo += sources.of(sym.name, places=True)
    return True


def _told_apart(e: Expr, cluster: int) -> Iterator[Sym]:
    """The symbols of a value, but for the block's where it only says the cluster."""
    match e:
        case Binary(op="//", left=Sym(name=BLOCK_INDEX.name), right=Const(value=n)):
            if int(n) % cluster:
                yield BLOCK_INDEX
        case Sym():
            yield e
        case Binary():
            yield from _told_apart(e.left, cluster)
            yield from _told_apart(e.right, cluster)
        case Select():
            for part in (e.cond, e.then, e.other):
                yield from _told_apart(part, cluster)
        case Const():
            return
        case _:
            assert_never(e)
