"""Buffers that roles hand over by barriers.

A named barrier of which the threads are those of all roles that use it has rounds to
which each role comes once: the k-th time that a role comes is that of each other. (That
nobody comes twice is shown by `argus.verify.order`.) Let the writer have come c(t)
times to a barrier before its t-th write, and the reader r times before it reads. Write
t comes before the read if c(t) < r: after it the writer came to round c(t), for which
the reader has waited.

Where c(t) = t + k with one k for each barrier, the last write that comes before the
read by any of the barriers is that with t = r - 1 - k, the largest of them. If waiting
at these barriers is the reader's only way to learn of anything, no later write comes
before it. A third role may tell the reader only what the writer has done before it came
to the same round, if the writer waits there, too; or if it waits nowhere but where the
reader does. That no write is under way meanwhile is shown by `argus.verify.order`.

So is an mbarrier at which nobody but the writer arrives, and completes a phase each
time: c(t) are its arrivals before write t, and who has waited for completion n has
waited for n + 1 of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import SharedAlloc
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.terms import Integer, Unknown
from argus.verify.denotation.buffers import Arrivals, OneBarrier
from argus.verify.denotation.counts import arrived, met, turned, waited
from argus.verify.denotation.state import Context

__all__ = ["Meetings", "last_write", "meets_others", "written"]


@dataclass(frozen=True)
class RoleSyncs:
    """How a role syncs: threads, named barriers, and whether in other ways, too.

    ``waiting``: those of the named barriers at which it waits. ``phases``: mbarriers
    whose phases it waits for.
    """

    threads: int
    named: frozenset[str]
    waiting: frozenset[str]
    phases: frozenset[OneBarrier]
    otherwise: bool


class Meetings:
    """Who meets whom at named barriers, and how far ahead writes are of meetings."""

    def __init__(self, program: Program) -> None:
        self.roles: dict[str, RoleSyncs] = {}
        self._plain: dict[str, int] = {}
        """The number of threads of a barrier, as it is first used."""
        self._odd: set[str] = set()
        """Used for several numbers, or by a role that waits and that only arrives."""
        self.arrivals = Arrivals.of(program)
        lanes = program.target.warp_threads
        for op in program.body.ops:
            if isinstance(op, o.Roles):
                for role in op.roles:
                    self.roles[role.name] = self._read(role, lanes)
        self.ahead: dict[SharedAlloc, dict[str | OneBarrier, int]] = {}
        """Of each buffer and barrier: k, by which meetings are ahead of writes."""

    def _read(self, role: o.Role, lanes: int) -> RoleSyncs:
        named: set[str] = set()
        waiting: set[str] = set()
        arriving: set[str] = set()
        phases: set[OneBarrier] = set()
        otherwise = False
        for op in walk(role.body):
            match op:
                case o.Sync():
                    if op.name is not None:
                        named.add(op.name)
                        (arriving if op.arrive_only else waiting).add(op.name)
                        known = self._plain.setdefault(op.name, op.threads)
                        if known != op.threads:
                            self._odd.add(op.name)
                case o.BarrierWait():
                    one = OneBarrier.of(op.barrier)
                    phases.add(one)
                    otherwise = otherwise or one.index is None
                case o.RingAcquire() | o.RingWait() | o.ClusterSync():
                    otherwise = True
                case (
                    o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                    | o.Copy() | o.Synchronisation() | o.RingPublish()
                    | o.RingRelease() | o.Annotation()
                ):  # fmt: skip
                    pass
                case _:
                    assert_never(op)
        self._odd |= waiting & arriving
        return RoleSyncs(
            role.warps * lanes,
            frozenset(named),
            frozenset(waiting),
            frozenset(phases),
            otherwise,
        )

    def met_by(self, role: str) -> frozenset[str | OneBarrier]:
        """Barriers at which others may see how far a role has come."""
        return self.roles[role].named | self.arrivals.completed_by(role)

    def awaits_only(self, role: str, barrier: OneBarrier) -> bool:
        """Whether a role waits for an mbarrier, and for nothing else."""
        syncs = self.roles.get(role)
        if syncs is None or syncs.otherwise or syncs.waiting:
            return False
        return syncs.phases == frozenset({barrier})

    def _may_tell(self, writer: str, reader: str) -> bool:
        """Whether another role may know of a write that the reader does not."""
        seen = self.roles[reader].waiting
        others = [r for n, r in self.roles.items() if n not in (writer, reader)]
        return any(r.otherwise or r.phases or not r.waiting <= seen for r in others)

    def between(self, writer: str, reader: str) -> frozenset[str | OneBarrier]:
        """Barriers at which a reader waits, if it always waits for the writer, too.

        Raises Unknown where it does not, or syncs in other ways.
        """
        one, other = self.roles[writer], self.roles[reader]
        if other.otherwise:
            raise Unknown("which writes a role has seen that syncs in several ways")
        for name in other.waiting:
            meeting = {n: r for n, r in self.roles.items() if name in r.named}
            threads = sum(role.threads for role in meeting.values())
            more = writer not in meeting or len(meeting) > 2
            more = more and name not in one.waiting
            if more and self._may_tell(writer, reader):
                raise Unknown(f"what other roles have seen that meet at `{name}`")
            if self._plain[name] != threads:
                raise Unknown(f"who meets at the named barrier `{name}`")
            if name in self._odd:
                raise Unknown(f"who comes to which round of `{name}`")
        for barrier in other.phases:
            if self.arrivals.are_all_of(barrier, writer):
                continue
            by_writer = writer in self.arrivals.roles(barrier)
            if by_writer or self._may_tell(writer, reader):
                raise Unknown(f"whose arrivals complete phases of `{barrier.name}`")
        return other.waiting | other.phases


def written(context: Context, op: o.StoreShared) -> Integer:
    """The number of a write: how many came before. Raises Unknown.

    Notes how far ahead of it the meetings of this role are.
    """
    turns, alloc = turned(context, op), op.view.alloc
    ahead: dict[str | OneBarrier, int] = {}
    for name in context.meetings.met_by(context.role):
        difference = (_come(context, name) - turns).constant
        if difference is None:
            raise Unknown(f"how often roles meet between writes of `{alloc.name}`")
        ahead[name] = difference
    if not context.dry and context.meetings.ahead.setdefault(alloc, ahead) != ahead:
        raise Unknown(f"how often roles meet between writes of `{alloc.name}`")
    return turns


def last_write(context: Context, alloc: SharedAlloc) -> Integer:
    """The number of the last write that comes before a read here. Raises Unknown."""
    writers = context.buffers.writers(alloc)
    if alloc not in context.buffers.stored or context.role == "block":
        raise Unknown(f"which write of `{alloc.name}` another role reads")
    if alloc in context.earlier.unfilled:
        raise context.earlier.unfilled[alloc]
    (writer,) = writers
    names = context.meetings.between(writer, context.role)
    ahead = context.meetings.ahead.get(alloc, {})
    seen = [_seen(context, name) - ahead[name] for name in names if name in ahead]
    return _largest(alloc, seen)


def _come(context: Context, name: str | OneBarrier) -> Integer:
    """How often this role has come to a barrier. Raises Unknown."""
    return met(context, name) if isinstance(name, str) else arrived(context, name)


def _seen(context: Context, name: str | OneBarrier) -> Integer:
    """The last round that this role has waited for. Raises Unknown."""
    return met(context, name) - 1 if isinstance(name, str) else waited(context, name)


def _largest(alloc: SharedAlloc, numbers: Iterable[Integer]) -> Integer:
    """The largest of integers that differ by constants. Raises Unknown."""
    largest: Integer | None = None
    for number in numbers:
        more = 0 if largest is None else (number - largest).constant
        if more is None:
            raise Unknown(f"which write of `{alloc.name}` comes last before a read")
        if largest is None or more > 0:
            largest = number
    if largest is None:
        raise Unknown(f"which write of `{alloc.name}` another role reads")
    return largest


def meets_others(op: o.AnyOp) -> bool:
    """Whether an operation may order this role's accesses and those of other roles."""
    match op:
        case o.Sync():
            return op.name is not None
        case o.BarrierOp() | o.ClusterSync() | o.RingOp():
            return True
        case o.CopyAsync():
            return op.barrier is not None
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Copy() | o.Synchronisation() | o.Annotation()
        ):  # fmt: skip
            return False
        case _:
            assert_never(op)
