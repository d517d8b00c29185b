"""Tensors whose elements a block reads and writes in program order.

    sequential(program) -> names of tensors
    updated(program)    -> those of tensors that are read and written

Threads of a block see each other's writes to global memory in the order of the program
only where something makes them. So of each two accesses of which one writes, either

- both are of one tile, each element of which one thread alone loads and stores: the
  tile does not depend on the iterations of loops, or these move it by whole tiles
  (`steady_tiles.py`); or
- a sync of the role lies between them, on the way to the next iteration, too.

It says nothing of two blocks, of copies that complete later, or of atomics.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

from argus.ir import ops as o
from argus.ir.expr import symbols
from argus.ir.placement import VectorPlan
from argus.ir.program import Program
from argus.verify.order.in_place import (
    GlobalAccess,
    RoleSync,
    accesses,
    between,
    holders,
    owned,
    same_tile,
    syncs_of,
)
from argus.verify.order.steady_tiles import FIXED, closed, steady

__all__ = ["sequential", "updated"]


def sequential(program: Program) -> frozenset[str]:
    """Tensors that a placed program accesses in program order, in each block."""
    found: dict[str, list[GlobalAccess]] = {}
    for access in accesses(program):
        found.setdefault(access.tensor.name, []).append(access)
    meetings = syncs_of(program)
    return frozenset(
        name for name, several in found.items() if _ordered(several, meetings)
    )


def updated(program: Program) -> frozenset[str]:
    """Tensors that a placed program reads and writes."""
    every = list(accesses(program))
    written = {a.tensor.name for a in every if a.write and not a.atomic}
    return frozenset(a.tensor.name for a in every if not a.write) & written


def _ordered(several: list[GlobalAccess], meetings: dict[str, list[RoleSync]]) -> bool:
    if len({x.role for x in several}) != 1 or not all(_by_threads(x) for x in several):
        return False
    return all(
        not (a.write or b.write) or _one_thread(a, b) or between(a, b, meetings)
        for a, b in combinations_with_replacement(several, 2)
    )


def _by_threads(access: GlobalAccess) -> bool:
    """Whether it is done by its threads when it is executed."""
    op = access.op
    if access.view is None or access.atomic:
        return False
    if not isinstance(op, o.LoadGlobal | o.StoreGlobal):
        return False
    return isinstance(op.plan, VectorPlan)


def _one_thread(a: GlobalAccess, b: GlobalAccess) -> bool:
    """Whether one thread alone accesses an element, by both."""
    fixed = same_tile(a, b) and _is_fixed(a) and _is_fixed(b)
    if not fixed and (steady(a) is None or steady(a) != steady(b)):
        return False
    return by_one_thread(a, b)


def by_one_thread(a: GlobalAccess, b: GlobalAccess) -> bool:
    """Whether one thread alone accesses each place of a tile, by both."""
    assert a.view is not None
    assert b.view is not None
    assert isinstance(a.op, o.LoadGlobal | o.StoreGlobal)
    assert isinstance(b.op, o.LoadGlobal | o.StoreGlobal)
    assert isinstance(a.op.plan, VectorPlan)
    assert isinstance(b.op.plan, VectorPlan)
    write, other = (a, b) if a.write else (b, a)
    if not other.write:
        return owned(other.op, write.op, exactly=True, ends=other.ends)
    first, second = (
        holders(a.op.plan, a.view.shape, 1),
        holders(b.op.plan, b.view.shape, 1),
    )
    return bool((first.sum(axis=0) == 1).all() and (first == second).all())


def _is_fixed(access: GlobalAccess) -> bool:
    """Whether a block accesses the same tile in each iteration."""
    view = access.view
    assert view is not None
    if view.gathers:
        return False
    limits = [e for x in view.limits for e in (x.value, x.extent)]
    every = [closed(e, access.lets) for e in (*view.coords, *limits)]
    kinds = {s.kind for e in every for s in symbols(e)}
    return kinds <= {*FIXED, "axis"}
