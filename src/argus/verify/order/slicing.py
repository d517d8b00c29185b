"""The operations of a program that a walk has to look at.

Left out: operations on registers that no matrix instruction uses while in flight,
scalars that do not decide the course, and loops and branches without events. What is
left is in program order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks, defined, used, walk
from argus.isa.effects import effects_of
from argus.verify.order.control_dependence import Control
from argus.verify.order.events import has_events
from argus.verify.order.state import storage_key

__all__ = ["Pruned", "prune", "registers_in_flight", "touches"]


@dataclass(frozen=True)
class Pruned:
    """What a walk looks at.

    ``ops``: by identity of a block its operations. ``scalars``: names of the scalars
    that decide the course.
    """

    ops: Mapping[int, Sequence[o.AnyOp]]
    scalars: frozenset[str]


def prune(program: Program, control: Control) -> Pruned:
    """The operations to look at in each block of a program."""
    kept: dict[int, list[o.AnyOp]] = {}
    _block(program.body, control, registers_in_flight(program), kept)
    return Pruned(kept, control.scalars)


def registers_in_flight(program: Program) -> set[object]:
    """Storage that matrix instructions use while they are in flight."""
    keys: set[object] = set()
    for op in walk(program.body):
        if isinstance(op, o.Dot) and effects_of(op).later:
            keys.update(storage_key(t) for t in (*used(op), *defined(op)))
    return keys


def touches(op: o.AnyOp, keys: set[object]) -> bool:
    """Whether an operation reads or defines a tile in some storage."""
    return any(storage_key(t) in keys for t in (*used(op), *defined(op)))


def _block(
    block: o.Block,
    control: Control,
    keys: set[object],
    kept: dict[int, list[o.AnyOp]],
) -> bool:
    """Keep what matters in a block and in those inside; whether anything does."""
    here: list[o.AnyOp] = []
    for op in block.ops:
        inner = [_block(b, control, keys, kept) for b in blocks(op)]
        if any(inner) or _matters(op, control, keys):
            here.append(op)
    kept[id(block)] = here
    return bool(here)


def _matters(op: o.AnyOp, control: Control, keys: set[object]) -> bool:
    match op:
        case o.Binding():
            return op.sym.name in control.scalars
        case o.For():
            names = [s.name for c in op.scalars for s in (c.arg, c.result)]
        case o.If():
            names = [m.result.name for m in op.scalars]
        case (
            o.Roles() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
            | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            names = []
            if has_events(o.Block([op])):
                return True
        case _:
            assert_never(op)
    return any(n in control.scalars for n in names) or touches(op, keys)
