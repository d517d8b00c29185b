"""Tensors that a kernel both reads and writes.

A term speaks of a tensor's elements as they were before the launch. So a read is what
it says only if nobody has written its element before. The pairs of a write and a read
of one element are a set; it may hold no pair of two blocks (nothing orders them), of
two roles, or with the write before the read in program order, unless the value of the
read knows of that write (`memory.py`). Where it may, what the kernel stores is Unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.terms import IndexSet, Integer, Unknown, Variable, World
from argus.verify.denotation.state import (
    Context,
    Path,
    SeenWrites,
    TensorAccess,
    ranges,
)

__all__ = ["earlier", "overwritten"]


def overwritten(
    context: Context, accesses: Sequence[TensorAccess]
) -> dict[str, Unknown]:
    """Tensors of which an element may be read after it was written."""
    found: dict[str, Unknown] = {}
    written = {a.tensor for a in accesses if a.write}
    for read in accesses:
        if read.write or read.tensor not in written or read.tensor in found:
            continue
        for write in accesses:
            if not write.write or write.tensor != read.tensor:
                continue
            try:
                clash = _clash(context, write, read)
            except Unknown as why:
                clash = why.reason
            if clash is not None:
                found[read.tensor] = Unknown(
                    f"`{read.tensor}` is read in place: {clash}", read.span
                )
    return found


def _clash(context: Context, write: TensorAccess, read: TensorAccess) -> str | None:
    """Why a read may not see what was there before the launch; None: it does."""
    world = context.world
    mine = _variables(write)
    other = {v: world.fresh(f"other {v.name}") for v in mine}
    pairs = read.where & ranges(world, _variables(read))
    there = write.where & ranges(world, mine)
    pairs = pairs & world.substitute(there, other)
    for a, b in zip(write.coords, read.coords, strict=True):
        pairs = pairs & world.compare(world.substitute(a, other), "==", b)
    if world.is_empty(pairs):
        return None
    blocks = [v for v in context.common if v in other]
    for block in blocks:
        apart = world.compare(other[block], "!=", Integer.atom(block))
        if not world.is_empty(pairs & apart):
            return "another block may write the element"
    if write.role != read.role:
        return "another role may write the element"
    pairs = pairs & earlier(world, write.path, read.path, other, {})
    known = read.seen.get(write.position)
    if known is not None:
        pairs = pairs & _apart(world, write, read, other, known)
    if not world.is_empty(pairs):
        return "the element may have been written before"
    return None


def _apart(
    world: World,
    write: TensorAccess,
    read: TensorAccess,
    other: dict[Variable, Integer],
    known: SeenWrites,
) -> IndexSet:
    """Where a write is not the one of which the value of a read knows.

    It is of another iteration of a loop that the value does not carry, or of another
    place in the tile.
    """
    at = tuple(world.substitute(c, known.turns) for c in write.coords)
    if at != read.coords:
        return IndexSet.universe
    found = IndexSet.nothing
    for turn, value in known.turns.items():
        found = found | world.compare(other[turn], "!=", value)
    for (p, loop), (q, _) in zip(write.path, read.path, strict=False):
        if p != q:
            break
        if loop is not None and loop not in known.counters:
            there = other[loop]
            found = found | world.compare(there, "!=", Integer.atom(loop))
    for axis in {v for c in write.coords for v in c.variables()} & other.keys():
        if axis not in write.scope:
            found = found | world.compare(other[axis], "!=", Integer.atom(axis))
    return found


def _variables(access: TensorAccess) -> list[Variable]:
    found = set(access.where.variables())
    for coord in access.coords:
        found |= coord.variables()
    found |= set(access.scope)
    return sorted((v for v in found if v.upper is not None), key=lambda v: v.name)


def earlier(
    world: World,
    first: Path,
    second: Path,
    one: Mapping[Variable, Integer],
    other: Mapping[Variable, Integer],
) -> IndexSet:
    """Where an operation comes before another one (or itself) in program order.

    ``one`` and ``other`` are what variables are called at each of both.
    """
    before, same = IndexSet.nothing, IndexSet.universe
    for (p, loop), (q, _) in zip(first, second, strict=False):
        if p != q:
            return before | same if p < q else before
        if loop is not None:
            atom = Integer.atom(loop)
            here, there = one.get(loop, atom), other.get(loop, atom)
            before = before | (same & world.compare(here, "<", there))
            same = same & world.compare(here, "==", there)
    return before
