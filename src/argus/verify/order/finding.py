"""What a walk finds wrong, before it becomes an obligation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from argus.ir.ops import AnyOp
from argus.verify.evidence import Event
from argus.verify.order.barrier_state import Did, Iteration
from argus.verify.order.state import GroupState

__all__ = ["OrderFinding", "OrderFindings", "event", "report"]


@dataclass(frozen=True)
class OrderFinding:
    """One rule that does not hold at one operation, in one concrete walk."""

    rule: str
    op: AnyOp
    message: str
    label: str
    role: str
    block: int
    thread: int | None
    iteration: dict[str, int]
    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None


@dataclass
class OrderFindings:
    """The first finding of each rule at each operation, in the order of the walk."""

    found: dict[tuple[str, int], OrderFinding] = field(
        default_factory=dict[tuple[str, int], OrderFinding]
    )

    gaps: list[str] = field(default_factory=list[str])
    """What the walks met and cannot judge."""

    def add(self, finding: OrderFinding) -> None:
        """Keep it, unless the same was found before."""
        self.found.setdefault((finding.rule, id(finding.op)), finding)


def event(group: GroupState, op: AnyOp, text: str, iteration: Iteration) -> Event:
    """An event of a group, as evidence."""
    return Event(group.who, text, op.span, dict(iteration))


def report(
    findings: OrderFindings,
    rule: str,
    group: GroupState,
    op: AnyOp,
    message: str,
    label: str,
    *,
    iteration: Iteration | None = None,
    thread: int | None = None,
    events: Sequence[Event | Did] = (),
    notes: Sequence[str] = (),
    help: str | None = None,
) -> None:
    """Keep a finding about an operation of a group."""
    at = group.iteration if iteration is None else iteration
    if (rule, id(op)) in findings.found:
        return
    findings.add(
        OrderFinding(
            rule,
            op,
            message,
            label,
            group.name,
            group.block.index,
            thread,
            dict(at),
            (
                *group.iterations_of(at),
                *(e.event() if isinstance(e, Did) else e for e in events),
            ),
            tuple(notes),
            help,
        )
    )
