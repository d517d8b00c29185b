"""Asynchronous operations that complete in groups: `cp.async`, TMA stores, wgmma."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from argus.isa.record import Scope
from argus.verify.order.clock import Moments

__all__ = ["Queue"]


@dataclass
class Queue:
    """Numbered asynchronous operations of a group, and its committed groups.

    ``scope``: who executes each operation together; ``units``: how many of these there
    are, each with a moment of its own.
    """

    units: int
    scope: Scope
    issued: int = 0
    covered: int = 0
    committed: deque[int] = field(default_factory=deque[int])
    bases: list[int] = field(default_factory=list[int])
    """First moment of each operation."""
    learned: int = 0

    def issue(self, moments: Moments) -> int:
        """One more; its first moment."""
        self.issued += 1
        self.bases.append(moments.take(self.units))
        return self.bases[-1]

    def commit(self) -> None:
        """Close the group of operations issued so far (it may be empty)."""
        self.committed.append(self.issued)

    def wait(self, pending: int) -> list[int]:
        """First moments of what is covered once ``pending`` groups remain, if new."""
        while len(self.committed) > pending:
            self.covered = self.committed.popleft()
        new = self.bases[self.learned : self.covered]
        self.learned = max(self.learned, self.covered)
        return new

    def shape(self, handed: int = 0) -> tuple[int, ...]:
        """The queue relative to its own numbers; up to ``handed`` others wait.

        Groups at its front that close nothing new make no difference to any wait.
        """
        done = max(self.covered, handed)
        open_ = (c for c in self.committed if c > self.covered)
        return (self.issued - done, *(self.issued - c for c in open_))
