"""What the text of a program says of its shared buffers: who writes them, and how.

Also of its mbarriers: who arrives there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Const, Expr
from argus.ir.memory import BarrierAlloc, BarrierRef, Ring, SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import bodies, walk
from argus.isa.registers import WARPGROUP

__all__ = [
    "Arrivals",
    "Buffers",
    "OneBarrier",
    "arrives_at",
]


@dataclass(frozen=True)
class OneBarrier:
    """One mbarrier of an array; ``index`` is None where a program chooses one."""

    alloc: BarrierAlloc
    index: int | None

    @staticmethod
    def of(ref: BarrierRef) -> OneBarrier:
        """The mbarrier that an operation uses."""
        if ref.alloc.count == 1:
            return OneBarrier(ref.alloc, 0)
        fixed = ref.index.value if isinstance(ref.index, Const) else None
        return OneBarrier(ref.alloc, None if fixed is None else int(fixed))

    @property
    def name(self) -> str:
        """What it is called."""
        several = self.alloc.count > 1 and self.index is not None
        return f"{self.alloc.name}[{self.index}]" if several else self.alloc.name


@dataclass
class Buffers:
    """Facts of the text of a program."""

    ring: dict[SharedAlloc, Ring] = field(default_factory=dict[SharedAlloc, Ring])
    """The ring that a buffer is a field of."""
    written: dict[SharedAlloc, list[tuple[str, SharedView]]] = field(
        default_factory=dict[SharedAlloc, list[tuple[str, SharedView]]]
    )
    """Who writes a buffer, and where: roles; "block" is the code before them."""
    turning: set[SharedAlloc] = field(default_factory=set[SharedAlloc])
    """Buffers outside of rings whose stage is chosen when the program runs."""
    handed: dict[SharedAlloc, OneBarrier] = field(
        default_factory=dict[SharedAlloc, OneBarrier]
    )
    """Buffers of one stage that one role copies into, and the barrier of all copies: a
    single one that completes when that role, and nobody else, has expected once. No
    barrier of its array is chosen when the program runs."""
    stored: set[SharedAlloc] = field(default_factory=set[SharedAlloc])
    """Buffers of one stage that one role alone writes, from registers."""
    taken: list[SharedAlloc] = field(default_factory=list[SharedAlloc])
    """Buffers outside of rings that several roles write, at constant stages."""
    waiting: dict[OneBarrier, set[str]] = field(
        default_factory=dict[OneBarrier, set[str]]
    )
    """Roles that wait for a barrier."""
    lets: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """What named scalars are defined as."""

    @staticmethod
    def of(program: Program) -> Buffers:
        """Read a program."""
        found = Buffers()
        for ring in program.rings:
            for alloc in ring.fields.values():
                found.ring[alloc] = ring
        barriers: dict[SharedAlloc, set[OneBarrier | None]] = {}
        arriving: dict[OneBarrier, set[str]] = {}
        for role, body in bodies(program.body):
            for op in walk(body):
                view = op.filled()
                if view is not None:
                    found._written(role, view)
                    by = op.barrier if isinstance(op, o.CopyAsync) else None
                    known = barriers.setdefault(view.alloc, set())
                    known.add(None if by is None else OneBarrier.of(by))
                match op:
                    case o.Let():
                        found.lets[op.sym.name] = op.value
                    case o.BarrierWait():
                        one = OneBarrier.of(op.barrier)
                        found.waiting.setdefault(one, set()).add(role)
                    case o.BarrierExpect():
                        arriving.setdefault(OneBarrier.of(op.barrier), set()).add(role)
                    case o.BarrierArrive() | o.CpAsyncArrive():
                        arriving.setdefault(OneBarrier.of(op.barrier), set()).add(
                            "other"
                        )
                    case (
                        o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                        | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                        | o.Annotation()
                    ):  # fmt: skip
                        pass
                    case _:
                        assert_never(op)
        for alloc, by_barrier in barriers.items():
            found._handed_over(alloc, by_barrier, arriving)
        found._stored(program)
        found.taken = [
            alloc
            for alloc in found.written
            if len(found.writers(alloc) - {"block"}) > 1
            and alloc not in found.turning
            and alloc not in found.ring
        ]
        return found

    def _written(self, role: str, view: SharedView) -> None:
        self.written.setdefault(view.alloc, []).append((role, view))
        if view.alloc not in self.ring and not isinstance(view.stage, Const):
            self.turning.add(view.alloc)

    def writers(self, alloc: SharedAlloc) -> set[str]:
        """Roles that write a buffer."""
        return {role for role, _ in self.written.get(alloc, ())}

    def is_own(self, role: str, view: SharedView) -> bool:
        """Whether what a role reads there is only written by itself and before roles.

        Other roles may write other parts of the buffer, at constant places.
        """
        return all(
            _apart(view, other)
            for writer, other in self.written.get(view.alloc, ())
            if writer not in (role, "block")
        )

    def _handed_over(
        self,
        alloc: SharedAlloc,
        barriers: set[OneBarrier | None],
        arriving: dict[OneBarrier, set[str]],
    ) -> None:
        if len(barriers) != 1 or alloc.stages != 1 or alloc in self.ring:
            return
        (barrier,) = barriers
        if barrier is None or barrier.alloc.arrivals != 1:
            return
        used = (*arriving, *self.waiting)
        if any(b.alloc is barrier.alloc and b.index is None for b in (barrier, *used)):
            return
        writers = self.writers(alloc)
        if len(writers) == 1 and arriving.get(barrier) == writers:
            self.handed[alloc] = barrier

    def _stored(self, program: Program) -> None:
        """Find buffers that one role writes by ordinary stores only."""
        copied = {
            op.dst.alloc for op in walk(program.body) if isinstance(op, o.CopyAsync)
        }
        for alloc in self.written:
            roles = self.writers(alloc)
            single = len(roles) == 1 and "block" not in roles and alloc.stages == 1
            if single and alloc not in copied and alloc not in self.ring:
                self.stored.add(alloc)
        self.stored -= self.turning


def _apart(one: SharedView, other: SharedView) -> bool:
    """Whether two views of a buffer have no element in common, by constants."""
    stages = one.stage, other.stage
    if all(isinstance(s, Const) for s in stages) and stages[0] != stages[1]:
        return True
    for axis, (a, b) in enumerate(zip(one.origin, other.origin, strict=True)):
        if isinstance(a, Const) and isinstance(b, Const):
            low, high = sorted(((a.value, one), (b.value, other)), key=lambda x: x[0])
            if low[0] + _extent(low[1], axis) <= high[0]:
                return True
    return False


def _extent(view: SharedView, axis: int) -> int:
    """How many elements of an axis of the buffer a view has."""
    return view.shape[view.axes.index(axis)] if axis in view.axes else 1


def arrives_at(op: o.AnyOp) -> OneBarrier | None:
    """The mbarrier at which threads arrive by an operation, if it is a fixed one."""
    if not isinstance(op, o.BarrierArrive):
        return None
    one = OneBarrier.of(op.barrier)
    return None if one.index is None else one


@dataclass
class Arrivals:
    """Roles by the mbarriers at which they arrive, or onto which they copy."""

    by: dict[OneBarrier, dict[str, bool]] = field(
        default_factory=dict[OneBarrier, dict[str, bool]]
    )
    """Whether each arrival of a role completes a phase, if nobody else arrives."""
    chosen: set[BarrierAlloc] = field(default_factory=set[BarrierAlloc])
    """Arrays of which a program chooses the barrier at which somebody arrives."""

    @staticmethod
    def of(program: Program) -> Arrivals:
        """Read a program."""
        found, threads = Arrivals(), {"block": 0}
        lanes = program.target.warp_threads
        for op in program.body.ops:
            if isinstance(op, o.Roles):
                threads |= {role.name: role.warps * lanes for role in op.roles}
        for role, body in bodies(program.body):
            for op in walk(body):
                found._add(role, op, threads[role], lanes)
        return found

    def _add(self, role: str, op: o.AnyOp, threads: int, lanes: int) -> None:
        match op:
            case o.BarrierArrive():
                apart = {"role": threads, "warpgroup": WARPGROUP * lanes, "warp": lanes}
                count = threads / apart.get(op.per, 1)
                whole = count == op.barrier.alloc.arrivals and not op.cluster
                one = OneBarrier.of(op.barrier)
            case o.BarrierExpect() | o.CpAsyncArrive():
                whole, one = False, OneBarrier.of(op.barrier)
            case o.CopyAsync() if op.barrier is not None:
                whole, one = False, OneBarrier.of(op.barrier)
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                return
            case _:
                assert_never(op)
        if one.index is None:
            self.chosen.add(one.alloc)
        known = self.by.setdefault(one, {})
        known[role] = known.get(role, True) and whole

    def roles(self, barrier: OneBarrier) -> set[str]:
        """Who arrives at a barrier; at any of its array, where a program chooses."""
        if barrier.alloc in self.chosen:
            same = (by for one, by in self.by.items() if one.alloc is barrier.alloc)
            return {role for by in same for role in by}
        return set(self.by.get(barrier, ()))

    def are_all_of(self, barrier: OneBarrier, role: str) -> bool:
        """Whether a role alone arrives, and completes a phase each time."""
        if barrier.alloc in self.chosen:
            return False
        return self.by.get(barrier) == {role: True}

    def completed_by(self, role: str) -> frozenset[OneBarrier]:
        """Barriers of which that is so."""
        return frozenset(one for one in self.by if self.are_all_of(one, role))
