"""What went wrong in a run: records, the list that collects them, the exception.

A fault names the operation, its source line, the block, the role and the first thread
it was seen in. One operation that goes wrong in the same way again (in every iteration
of a loop, in other blocks) is counted, not listed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from argus.diagnostics import Span
from argus.ir.ops import AnyOp
from argus.ir.printer import print_op

if TYPE_CHECKING:
    from argus.interpret.machine import ThreadGroup

__all__ = ["Fault", "FaultKind", "Faults", "InterpreterError", "TimeOver"]


class TimeOver(Exception):  # noqa: N818 - nothing is wrong
    """A run has taken longer than it was given."""


FaultKind = Literal[
    "uninitialised",  # a byte or register is read before anything was written
    "in_flight",  # memory is touched while an asynchronous operation uses it
    "unordered",  # nothing orders an access after the write or read it depends on
    "proxy_fence",  # async proxy after ordinary accesses without fence.proxy.async
    "accumulator",  # a wgmma register is touched before a wait covers it
    "bounds",  # an address outside the tensor or the block's shared memory
    "alignment",  # a vector, box or descriptor that is not aligned as it must be
    "vector",  # a vector access whose elements are not contiguous or only partly exist
    "barrier",  # arrivals, bytes or phases that break the mbarrier protocol
    "registers",  # a budget that setmaxnreg cannot set
    "unfinished",  # a block ends while its shared memory is still being used
    "layout",  # a layout that the operation cannot be executed with
    "deadlock",  # every role waits and nothing is in flight
    "assumption",  # an ag.assume is false of the arguments
    "arithmetic",  # a scalar is divided by zero
]


@dataclass
class Fault:
    """One mistake of the program. `thread` counts from the role's first thread."""

    kind: FaultKind
    message: str
    op: AnyOp | None
    span: Span | None
    block: int
    role: str
    thread: int | None = None
    details: dict[str, object] = field(default_factory=dict[str, object])
    count: int = 1

    def __str__(self) -> str:
        where = f"{self.span.file}:{self.span.line}: " if self.span else ""
        thread = "" if self.thread is None else f", thread {self.thread}"
        again = f" ({self.count} times)" if self.count > 1 else ""
        text = f"{where}{self.kind}: {self.message}{again}\n"
        text += f"  in block {self.block}, role {self.role}{thread}"
        return text + (f"\n  at {print_op(self.op)}" if self.op is not None else "")


class InterpreterError(Exception):
    """A run that found at least one fault."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(faults)
        self.faults = faults

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class Faults:
    """The faults of a run. The first one stops it unless `collect`."""

    def __init__(self, collect: bool) -> None:
        self.collect = collect
        self._seen: dict[tuple[FaultKind, AnyOp | None, str], Fault] = {}

    @property
    def found(self) -> list[Fault]:
        """Faults in the order in which they were met."""
        return list(self._seen.values())

    def add(
        self,
        kind: FaultKind,
        group: ThreadGroup,
        message: str,
        *,
        op: AnyOp | None = None,
        thread: int | None = None,
        **details: object,
    ) -> None:
        """Record a fault of a role's current operation, or of `op`.

        Raises InterpreterError unless faults are being collected.
        """
        at = op if op is not None else group.op
        key = (kind, at, group.name)
        if key in self._seen:
            self._seen[key].count += 1
            return
        self._seen[key] = Fault(
            kind,
            message,
            at,
            at.span if at is not None else None,
            group.block.index,
            group.name,
            thread,
            details,
        )
        if not self.collect:
            raise InterpreterError(self.found)
