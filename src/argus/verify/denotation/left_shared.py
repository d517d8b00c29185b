"""Shared tiles that an iteration reads as the one before it has left them.

    s.store(ag.load(X[i * 64 :, 0:], (64, 32)))
    for n in ag.range(0, steps):
        x = ag.load(X[i * 64 :, (n + 1) * 32 :], (64, 32))
        Y[i * 64 :, n * 32 :] = s.load()            what iteration n - 1 stored
        s.store(x)

One reading of the body says what an iteration writes. In program order iteration n > 0
finds that of n - 1, and the first one what was there before the loop. What iteration
n - 1 has not written is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from argus.ir import ops as o
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.walk import walk
from argus.terms import IndexSet, Integer, Unknown, Variable
from argus.verify.denotation.state import Context, Held, Write

__all__ = ["LeftTiles", "left_by", "moved", "read_first"]

LeftTiles = Mapping[SharedAlloc, Sequence[Write]]
"""What an iteration finds of the one before it, by buffer."""


def read_first(body: o.Block) -> set[SharedAlloc]:
    """Buffers of one stage that an iteration reads before it writes them."""
    touched: dict[SharedAlloc, bool] = {}
    written: set[SharedAlloc] = set()
    for op in walk(body):
        made = op.filled()
        for field in fields(op):
            view = getattr(op, field.name)
            if isinstance(view, SharedView):
                touched.setdefault(view.alloc, view is not made)
        if made is not None:
            written.add(made.alloc)
    return {a for a in written if touched[a] and a.stages == 1}


def left_by(
    context: Context,
    buffers: set[SharedAlloc],
    older: Mapping[SharedAlloc, tuple[int, int]],
) -> dict[SharedAlloc, Sequence[Write | Unknown]]:
    """What a reading of a body has written to buffers; ``older``: before it."""
    shared = context.state.shared
    return {a: shared[a][older[a][1] :] for a in buffers if a in older}


def moved(
    context: Context,
    alloc: SharedAlloc,
    written: Sequence[Write | Unknown],
    counter: Variable,
) -> tuple[Write, ...] | None:
    """What iteration ``counter`` finds of the one before it; None: it is not known."""
    world = context.world
    there = world.compare(Integer.atom(counter), ">=", 1)
    before = {counter: Integer.atom(counter) - 1}
    axes = tuple(range(len(alloc.shape)))
    why = f"`{alloc.name}` is read as an earlier iteration left it"
    origin = tuple(Integer.of(0) for _ in axes)
    made = [Write(Integer.of(0), origin, axes, alloc.shape, Unknown(why), there)]
    for write in written:
        if isinstance(write, Unknown):
            return None
        held = write.held
        if isinstance(held, Held):
            held = Held(held.axes, world.substitute(held.value, before))
        where: IndexSet = world.substitute(write.where, before) & there
        origin = tuple(world.substitute(x, before) for x in write.origin)
        made.append(replace(write, origin=origin, held=held, where=where))
    return tuple(made)
