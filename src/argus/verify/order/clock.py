"""Moments, and what each warp knows to have happened.

A moment is one event that somebody may learn of: a stretch of a warp's operations
between two points at which it hands knowledge on, one asynchronous copy, store or
matrix product, one completion of a barrier. Moments are numbered; a set of them is an
integer with one bit each, so that to learn is ``|`` and to ask is ``&``. Whoever knows
a moment of a warp knows that warp's earlier ones: nobody ever forgets. A clock is
three such sets:

    ORDER    moments ordered before, in memory
    FENCED   ordinary accesses, reads and writes, that a fence.proxy.async on the way
             here covers: one of their own threads, or, of copies that complete by
             themselves, of threads that knew them to be complete
    CAUSE    moments that must have happened in time, ordered in memory or not

ORDER is part of CAUSE: bytes of a TMA copy cannot land before the copy was issued, so
that a phase they complete came later, but they order nothing else in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from argus.isa.registers import WARPGROUP

__all__ = [
    "CAUSE",
    "FENCED",
    "ORDER",
    "PARTS",
    "Clock",
    "Knowledge",
    "Moments",
    "common",
    "joined",
]

ORDER, FENCED, CAUSE = PARTS = (0, 1, 2)
PROLOGUE = 0
"""The moment before all others, at which barriers are made (axiom "prologue")."""
Clock = list[int]
"""Sets of moments: ORDER, FENCED, CAUSE."""


def common(sets: Iterable[int]) -> int:
    """Moments that are in all sets, of which there is at least one."""
    found = -1
    for one in sets:
        found &= one
    return found


def joined(sets: Iterable[int]) -> int:
    """Moments that are in any of the sets."""
    found = 0
    for one in sets:
        found |= one
    return found


class Moments:
    """Numbers of moments, consecutive for those of one event."""

    def __init__(self) -> None:
        self.taken = PROLOGUE + 1

    def take(self, count: int = 1) -> int:
        """The first of ``count`` new numbers."""
        first = self.taken
        self.taken += count
        return first


class Knowledge:
    """What the warps of a group know: something together, and each by itself.

    ``together[part]`` is known to all warps, ``own[part][warp]`` to one.
    """

    __slots__ = ("own", "together", "warps")

    def __init__(self, together: Clock, own: list[list[int]]) -> None:
        self.together = together
        self.own = own
        self.warps = len(own[0])

    @staticmethod
    def first(warps: int) -> Knowledge:
        """Warps that know of the prologue only."""
        return Knowledge([1 << PROLOGUE] * 3, [[0] * warps for _ in PARTS])

    def of(self, first: int, warps: int) -> Knowledge:
        """A copy for some of the warps."""
        own = [row[first : first + warps] for row in self.own]
        return Knowledge(list(self.together), own)

    def row(self, part: int, warp: int) -> int:
        """What one warp knows."""
        return self.together[part] | self.own[part][warp]

    def every(self, part: int, warps: slice = slice(None)) -> int:
        """What each of some warps knows."""
        return self.together[part] | common(self.own[part][warps])

    def any(self, part: int, warps: slice = slice(None)) -> int:
        """What some of these warps know."""
        return self.together[part] | joined(self.own[part][warps])

    def clock(self, warps: slice = slice(None)) -> Clock:
        """What some of these warps know, in all parts."""
        return [self.any(part, warps) for part in PARTS]

    def acquire(self, clock: Iterable[int]) -> None:
        """All warps learn."""
        for part, known in enumerate(clock):
            self.together[part] |= known

    def meet(self, clock: Iterable[int]) -> None:
        """All warps learn, and what they learn has most of what each knew."""
        self.acquire(clock)
        for part in PARTS:
            outside = ~self.together[part]
            self.own[part] = [known & outside for known in self.own[part]]

    def learn(self, part: int, base: int, units: int) -> None:
        """Each of so many equal parts of the warps learns a moment of its own."""
        if units == 1:
            self.together[part] |= 1 << base
        else:
            each = self.warps // units
            own = self.own[part]
            self.own[part] = [x | 1 << base + w // each for w, x in enumerate(own)]

    def tell_first(self, part: int, base: int) -> None:
        """The first warp learns a moment."""
        if self.warps == 1:
            self.together[part] |= 1 << base
        else:
            self.own[part][0] |= 1 << base

    def share(self, part: int, known: list[int]) -> None:
        """All warps of each warpgroup learn the same."""
        if len(known) == 1:
            self.together[part] |= known[0]
        else:
            own = self.own[part]
            self.own[part] = [x | known[w // WARPGROUP] for w, x in enumerate(own)]

    def fence(self, own: Iterable[int], others: int) -> None:
        """Accesses are fenced: those of moments of each warp, and known ones of others.

        ``own`` are first moments, one for each warp from there on.
        """
        for base in own:
            self.learn(FENCED, base, self.warps)
        self.together[FENCED] |= self.together[ORDER] & others
        pairs = zip(self.own[FENCED], self.own[ORDER], strict=True)
        self.own[FENCED] = [fenced | known & others for fenced, known in pairs]
