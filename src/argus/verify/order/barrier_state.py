"""The state of a barrier: who has arrived, what is complete, and who waited for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argus.ir.memory import BarrierAlloc
from argus.ir.ops import AnyOp
from argus.verify.evidence import Event
from argus.verify.order.clock import PARTS, Clock, Moments

if TYPE_CHECKING:
    from argus.verify.order.state import GroupState

__all__ = ["BarrierState", "Did", "Iteration", "Waited", "Waiting"]

Iteration = tuple[tuple[str, int], ...]
"""Loop variables and their values, outermost first."""


@dataclass(frozen=True, slots=True)
class Did:
    """Something that a group did; an :class:`Event` only if it is reported."""

    group: GroupState
    op: AnyOp
    text: str
    """May name the barrier as "{}"."""
    barrier: BarrierState | None
    iteration: Iteration

    def event(self) -> Event:
        """As evidence."""
        text = self.text.format(self.barrier.name) if self.barrier else self.text
        return Event(self.group.who, text, self.op.span, dict(self.iteration))


@dataclass(frozen=True, slots=True)
class Waited:
    """A wait for completion ``n`` returned at these moments of the group's warps."""

    op: AnyOp
    group: GroupState
    n: int
    base: int
    iteration: Iteration


@dataclass(eq=False, slots=True)
class BarrierState:
    """One mbarrier of one block (or, with ``alloc`` None, a barrier of threads)."""

    name: str
    rank: int
    alloc: BarrierAlloc | None
    count: int
    moments: Moments
    contribution: Clock = field(default_factory=lambda: [0, 0, 0])
    clock: Clock = field(default_factory=lambda: [0, 0, 0])
    pending: int = 0
    tx: int = 0
    completions: list[int] = field(default_factory=list[int])
    """Moments of the completions, and of the one that is next."""
    waits: list[Waited] = field(default_factory=list[Waited])
    expect: tuple[AnyOp, GroupState, Iteration] | None = None
    arrivals: list[Did] = field(default_factory=list[Did])
    """Who has arrived in the phase in progress, for reports."""

    def __post_init__(self) -> None:
        self.completions.append(self.moments.take())

    @property
    def completed(self) -> int:
        """Completions that have happened."""
        return len(self.completions) - 1

    def complete(self) -> None:
        """The phase in progress is over."""
        bit = 1 << self.completions[-1]
        for part in PARTS:
            self.clock[part] |= self.contribution[part] | bit
        self.contribution = [0, 0, 0]
        self.completions.append(self.moments.take())
        self.pending = self.count
        self.arrivals = []

    def contribute(self, given: Clock) -> None:
        """An arrival hands on what it knows."""
        for part in PARTS:
            self.contribution[part] |= given[part]

    def latest(self, known: int) -> bool:
        """Whether the latest completion is among what is known."""
        return len(self.completions) < 2 or bool(known >> self.completions[-2] & 1)

    def known(self, known: int) -> int:
        """How many completions are among what is known."""
        done = self.completed
        while done and not known >> self.completions[done - 1] & 1:
            done -= 1
        return done


@dataclass(eq=False, slots=True)
class Waiting:
    """What a group waits for: barrier completion ``n`` (a round of threads)."""

    op: AnyOp
    barrier: BarrierState
    n: int
    parity: bool = False

    def ready(self) -> bool:
        """Whether the hardware returns, or never will: completion n has been passed."""
        completed = self.barrier.completed
        return completed > self.n or (self.parity and completed % 2 != self.n % 2)
