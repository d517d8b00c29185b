"""Watching a long walk for a repetition of its joint state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import lcm

from argus.ir import ops as o
from argus.verify.order.block_exit import ends_within
from argus.verify.order.control_dependence import Control
from argus.verify.order.slot_names import SlotNames
from argus.verify.order.snapshot import Position, position, snapshot
from argus.verify.order.walk import ClusterWalk

__all__ = ["SEEN", "RecurrenceDetector", "TripBound"]


@dataclass(frozen=True)
class TripBound:
    """Trip counts up to ``most`` stand for all; the last ``period`` of them repeat."""

    most: int
    period: int


SEEN = TripBound(-1, 1)
"""All trip counts were seen."""

_Begun = tuple[int, tuple[int, ...], int]
"""A loop, iterations of those around it, and its own."""


class _Positions:
    """Where groups were in one state, each time.

    Those of which a later position could be a repetition are found by what is alike
    in both: all iterations of a group but one. Where one group goes on alone, all
    pairs would be many.
    """

    def __init__(self) -> None:
        self.all: list[Position] = []
        self.numbers: dict[_Line, dict[int, list[int]]] = {}
        """By iterations of a group but one, and by that one."""

    def append(self, at: Position) -> None:
        """One more."""
        for line, iteration in _lines(at):
            here = self.numbers.setdefault(line, {})
            here.setdefault(iteration, []).append(len(self.all))
        self.all.append(at)

    def before(
        self, at: Position, wanted: Callable[[int, tuple[int, ...]], bool]
    ) -> list[Position]:
        """Those from which a group moved on in a loop that is wanted, oldest first."""
        found: set[int] = set()
        for line, now in _lines(at):
            group, level, outer, _ = line
            here = self.numbers.get(line)
            if here is None or not wanted(at[group][0][level], outer):
                continue
            found.update(n for was, many in here.items() if was < now for n in many)
        return [self.all[n] for n in sorted(found)]


_Line = tuple[int, int, tuple[int, ...], tuple[int, ...]]
"""A group, the level of a loop around it, iterations outside of it and inside."""


def _lines(at: Position) -> Iterator[tuple[_Line, int]]:
    for group, (_, iterations) in enumerate(at):
        for level, iteration in enumerate(iterations):
            outer, inner = iterations[:level], iterations[level + 1 :]
            yield (group, level, outer, inner), iteration


class RecurrenceDetector:
    """Looks for a repetition of the joint state in each of some loops.

    ``tails``: what groups do after these loops, if that is simple (`block_exit.py`).
    ``names`` says how slots are called in a state.
    """

    def __init__(
        self,
        control: Control,
        loops: list[o.For],
        tails: dict[str, list[o.AnyOp]],
        names: Callable[[ClusterWalk], SlotNames],
    ) -> None:
        self.control = control
        self.names = names
        self.tails = tails
        self.ends = bool(tails)
        """All ends after fewer iterations were looked at."""
        self.loops = {id(op): op for op in loops}
        self.states: dict[object, _Positions] = {}
        self.found: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
        """Loop and iterations of those around it -> iterations before the first of two
        equal states, and between them.
        """
        self.most: dict[tuple[int, tuple[int, ...]], int] = {}
        self.begun: object = ()
        self.goal = 0
        """Iterations that all groups have to begin once the loops have repeated."""

    @property
    def complete(self) -> bool:
        """Whether each loop has repeated, an inner one in two outer iterations."""
        return all(
            sum(1 for loop, _ in self.found if loop == key)
            > (self.control.depth[op] > 0)
            for key, op in self.loops.items()
        )

    def start(self) -> None:
        """A walk begins."""
        self.states = {}

    def end(self, walk: ClusterWalk) -> None:
        """A walk has ended, is stuck, or need not go on."""
        if self.ends and not walk.stuck:
            self.ends = ends_within(
                walk.findings,
                walk.blocks,
                walk.everyone,
                self.tails,
                self.goal,
            )

    def look(self, walk: ClusterWalk) -> bool:
        """After a round of the walk: whether it need not go on."""
        at = position(walk)
        begun = tuple(
            tuple(
                (loop, iterations[:level], iterations[level])
                for level, loop in enumerate(path)
                if loop in self.loops
            )
            for path, iterations in at
        )
        if begun == self.begun or not any(begun):
            return False  # nobody has begun an iteration of a loop of interest
        self.begun = begun
        for loop, outer, iteration in (x for group in begun for x in group):
            self.most[loop, outer] = max(self.most.get((loop, outer), 0), iteration)
        if self.complete:
            least = min((t for group in begun for *_, t in group), default=0)
            return least >= self.goal
        if self._known(begun) or not self._inside(walk):
            return False
        names = self.names(walk)
        state = snapshot(walk, self.control.counters, self.control.modulus, names)
        seen = self.states.setdefault(state, _Positions())
        for earlier in seen.before(at, self._open):
            self._repeats(earlier, at)
        seen.append(at)
        if self.complete:
            self.goal = max(t for group in begun for *_, t in group)
        return False

    def _open(self, loop: int, outer: tuple[int, ...]) -> bool:
        """Whether a loop of interest has not repeated within these outer iterations."""
        return loop in self.loops and (loop, outer) not in self.found

    def _known(self, begun: Iterable[Iterable[_Begun]]) -> bool:
        """Whether all loops that groups are in have repeated already.

        Two equal states, one of which is here, would say nothing new.
        """
        return all((loop, outer) in self.found for x in begun for loop, outer, _ in x)

    def _inside(self, walk: ClusterWalk) -> bool:
        """Whether no group is where conditions may differ, near an end of its loop."""
        lead, tail = self.control.lead, self.control.tail
        return not (lead or tail) or all(
            lead <= iteration < extent - tail
            for group in walk.groups
            for iteration, extent in zip(group.iterations, group.extents, strict=True)
        )

    def _repeats(self, earlier: Position, now: Position) -> None:
        """The same state twice: which loop went on alike in all groups?"""
        moved: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
        for (path, before), (_, after) in zip(earlier, now, strict=True):
            for level, (loop, a, b) in enumerate(zip(path, before, after, strict=True)):
                if a == b:
                    continue
                key = (loop, before[:level])
                first, shift = moved.get(key, (a, b - a))
                if shift != b - a or after[level + 1 :] != before[level + 1 :]:
                    return
                moved[key] = (max(first, a), shift)
                break
        shifts = {shift for _, shift in moved.values()}
        if len(shifts) != 1 or min(shifts) <= 0:
            return
        for key, (first, shift) in moved.items():
            if key[0] in self.loops:
                self.found.setdefault(key, (first + 1, shift))

    def missing(self) -> list[o.For]:
        """Loops that turned, and did not repeat."""
        if self.complete:
            return []
        without = {loop for loop, outer in self.most if (loop, outer) not in self.found}
        return [op for key, op in self.loops.items() if key in without]

    @property
    def period(self) -> int:
        """Iterations after which all loops repeat."""
        return lcm(*(shift for _, shift in self.found.values()))

    def bound(self) -> int:
        """Trip counts up to this one show everything.

        With at least ``first`` iterations and a period more, the walk passes both of
        two equal states, and so goes on as the walk with a period less does. Iterations
        at the end, in which conditions differ, come on top, as do trip counts at which
        they do.
        """
        if not self.found:
            return 1
        first = max(first for first, _ in self.found.values())
        return first + self.period - 1 + max(self.control.tail, self.control.near)
