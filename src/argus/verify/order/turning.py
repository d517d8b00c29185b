"""Rings whose slots are told apart by nothing but a counter.

Where everything that names a slot of an array names slot ``n % S`` for a number ``n``,
and waits are for completion ``n // S + c`` of it, the slots are all the same: with all
numbers moved by one, and each slot's state in the slot after it (the last one's in the
first one, one completion later), a program does the same as before, one slot further
on. Two states of which one is the other so moved have the same future, although they
are a part of a lap apart.

``Turning`` says of which arrays this holds, and of what each slot's number is made. It
does not where a slot is named otherwise (a constant, a table, a choice), where a fill
is numbered by waits, and where a buffer shares bytes with another one. That accesses
touch the same bytes of each stage is seen where these are known (`footprint.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.memory import BarrierAlloc, BarrierRef, SharedAlloc, SharedView
from argus.ir.program import Program
from argus.verify.order.events import barrier_of
from argus.verify.order.fills import Fills

__all__ = ["Turning", "numbered_by"]


class Turning:
    """The arrays of barriers and the buffers that turn, by what ``events`` name.

    ``events``: operations with the role of each; ``fills`` knows remainders.
    """

    def __init__(
        self, program: Program, fills: Fills, events: Iterable[tuple[o.AnyOp, str]]
    ) -> None:
        self.fills = fills
        self.barriers = {b for b in program.barriers if b.count > 1}
        rings = (b for b in program.shared if b.stages > 1)
        self.buffers = {b for b in rings if _apart(program, b)}
        for op, role in events:
            named = barrier_of(op)
            if named is not None and not self._turns(*named):
                self.barriers.discard(named[0].alloc)
            for touch in fills.effects.of(op).touches:
                view = touch.view
                if self.slot(view.stage, view.alloc.stages) is None:
                    self.buffers.discard(view.alloc)
                    by = numbered_by(fills, view, role, write=touch.write)
                    self.barriers -= {by}

    def without(self) -> None:
        """Nothing turns."""
        self.barriers.clear()
        self.buffers.clear()

    def slot(self, e: Expr, count: int) -> Expr | None:
        """The number of which a slot or a stage is the remainder."""
        return self.fills.running(e, count)

    def _turns(self, ref: BarrierRef, awaited: Expr | None) -> bool:
        number = self.slot(ref.index, ref.alloc.count)
        if number is None:
            return False
        return awaited is None or self._laps(awaited, number, ref.alloc.count)

    def _laps(self, e: Expr, number: Expr, count: int) -> bool:
        """Whether a completion is that of a number's lap, or so many from it."""
        match e:
            case Binary(op="+" | "-", left=x, right=Const(value=int())):
                return self._laps(x, number, count)
            case Binary(op="//", left=x, right=Const(value=n)):
                return n == count and x == number
            case Sym() if e.name in self.fills.lets:
                return self._laps(self.fills.lets[e.name], number, count)
            case Const() | Sym() | Binary() | Select():
                return False
            case _:
                assert_never(e)


def numbered_by(
    fills: Fills, view: SharedView, role: str, *, write: bool
) -> BarrierAlloc | None:
    """The barrier whose waits number an access without a number of its own."""
    if isinstance(view.stage, Const) and not write and fills.own(view, role):
        return None  # in program order, without numbers
    return (fills.empty if write else fills.full).get(view.alloc)


def _apart(program: Program, buffer: SharedAlloc) -> bool:
    """Whether a buffer shares no bytes with another one."""
    mine = _bytes(buffer)
    others = (_bytes(b) for b in program.shared if b is not buffer)
    return all(b.stop <= mine.start or mine.stop <= b.start for b in others)


def _bytes(buffer: SharedAlloc) -> range:
    assert buffer.offset is not None
    end = buffer.offset + buffer.stages * buffer.stage_bytes
    return range(buffer.offset, end)
