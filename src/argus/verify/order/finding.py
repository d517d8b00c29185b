"""What a walk finds wrong, before it becomes an obligation."""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.ir.ops import AnyOp
from argus.verify.evidence import Event

__all__ = ["OrderFinding", "OrderFindings"]


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
