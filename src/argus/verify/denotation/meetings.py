"""Buffers that roles hand over by named barriers.

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
from argus.verify.denotation.counts import met, turned
from argus.verify.denotation.state import Context

__all__ = ["Meetings", "last_write", "meets_others", "written"]


@dataclass(frozen=True)
class RoleSyncs:
    """How a role syncs: threads, named barriers, and whether in other ways, too.

    ``waiting``: those of the named barriers at which it waits.
    """

    threads: int
    named: frozenset[str]
    waiting: frozenset[str]
    otherwise: bool


class Meetings:
    """Who meets whom at named barriers, and how far ahead writes are of meetings."""

    def __init__(self, program: Program) -> None:
        self.roles: dict[str, RoleSyncs] = {}
        self._plain: dict[str, int] = {}
        """The number of threads of a barrier, as it is first used."""
        self._odd: set[str] = set()
        """Used for several numbers, or by a role that waits and that only arrives."""
        lanes = program.target.warp_threads
        for op in program.body.ops:
            if isinstance(op, o.Roles):
                for role in op.roles:
                    self.roles[role.name] = self._read(role, lanes)
        self.ahead: dict[SharedAlloc, dict[str, int]] = {}
        """Of each buffer and barrier: k, by which meetings are ahead of writes."""

    def _read(self, role: o.Role, lanes: int) -> RoleSyncs:
        named: set[str] = set()
        waiting: set[str] = set()
        arriving: set[str] = set()
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
                case (
                    o.RingAcquire() | o.RingWait() | o.BarrierWait() | o.ClusterSync()
                ):  # fmt: skip
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
            role.warps * lanes, frozenset(named), frozenset(waiting), otherwise
        )

    def _may_tell(self, writer: str, reader: str) -> bool:
        """Whether another role may know of a write that the reader does not."""
        seen = self.roles[reader].waiting
        others = [r for n, r in self.roles.items() if n not in (writer, reader)]
        return any(r.otherwise or not r.waiting <= seen for r in others)

    def between(self, writer: str, reader: str) -> frozenset[str]:
        """Barriers at which a reader waits, if it always waits for the writer, too.

        Raises Unknown where it does not, or syncs in other ways.
        """
        one, other = self.roles[writer], self.roles[reader]
        if other.otherwise:
            raise Unknown("which writes a role has seen that syncs in several ways")
        for name in other.waiting:
            meeting = {n: r for n, r in self.roles.items() if name in r.named}
            threads = sum(role.threads for role in meeting.values())
            more = len(meeting) > 2 and name not in one.waiting
            if more and self._may_tell(writer, reader):
                raise Unknown(f"what other roles have seen that meet at `{name}`")
            if writer not in meeting or self._plain[name] != threads:
                raise Unknown(f"who meets at the named barrier `{name}`")
            if name in self._odd:
                raise Unknown(f"who comes to which round of `{name}`")
        return other.waiting


def written(context: Context, op: o.StoreShared) -> Integer:
    """The number of a write: how many came before. Raises Unknown.

    Notes how far ahead of it the meetings of this role are.
    """
    turns, alloc = turned(context, op), op.view.alloc
    ahead: dict[str, int] = {}
    for name in context.meetings.roles[context.role].named:
        difference = (met(context, name) - turns).constant
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
    names = sorted(context.meetings.between(writer, context.role))
    ahead = context.meetings.ahead.get(alloc, {})
    seen = [met(context, name) - 1 - ahead[name] for name in names if name in ahead]
    return _largest(alloc, seen)


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
