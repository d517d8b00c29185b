"""How often loops iterate, decided while they iterate.

In iteration t of the loops around them, loops of one kind (`dependent_trip_counts.py`)
iterate ``n`` times, less a constant each. Nobody knows ``n`` beforehand: whoever first
asks whether it is more than ``m`` gets an answer, which from then on holds for all
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.ir import ops as o
from argus.verify.order.dependent_trip_counts import Kinds
from argus.verify.order.events import has_events
from argus.verify.order.state import GroupState

if TYPE_CHECKING:
    from argus.verify.order.walk import ClusterWalk

__all__ = ["Choices", "loops_of"]

Choose = Callable[["ClusterWalk", GroupState, o.For], bool]
_Number = tuple[int, tuple[int, ...]]
"""A kind, and the iterations of the loops around."""


@dataclass
class _Known:
    """What is known of a number: at least ``least``, at most ``most``."""

    least: int
    most: int | None = None


class Choices:
    """The trip counts of one walk. ``choose`` says whether a loop iterates again."""

    def __init__(
        self, kinds: Kinds, mine: dict[str, list[o.For]], choose: Choose
    ) -> None:
        self.of = {id(op): found for op, found in kinds.of.items()}
        self.least = kinds.least
        self.mine = mine
        """By name of a group: its loops with events."""
        self.choose = choose
        self.known: dict[_Number, _Known] = {}
        self.left: dict[tuple[GroupState, int], int] = {}
        """How often a group has left a loop, by the loop's identity."""

    def iterations(
        self, walk: ClusterWalk, group: GroupState, op: o.For, start: int, step: int
    ) -> Iterator[int]:
        """Values of the loop's variable, for as long as it is chosen to iterate."""
        iteration = 0
        while self._more(walk, group, op, iteration):
            yield start + iteration * step
            iteration += 1
        self.left[group, id(op)] = self.left.get((group, id(op)), 0) + 1

    def _more(
        self, walk: ClusterWalk, group: GroupState, op: o.For, iteration: int
    ) -> bool:
        kind, less = self.of[id(op)]
        outer = group.iterations[: len(group.loops) - 1]
        group.iterations = (*outer, iteration)
        group.op = op
        asked = iteration - less
        number = self.known.setdefault((kind, outer), _Known(self.least[kind]))
        if number.least > asked:
            return True
        if number.most is not None and number.most <= asked:
            return False
        more = self.choose(walk, group, op)
        if more:
            number.least = asked + 1
        else:
            number.most = asked
        return more

    # -------------------------------------------------------------------- states

    def entered(self, group: GroupState) -> bool:
        """Whether a group will begin no outermost loop any more."""
        loops = self.mine.get(group.name, [])
        return bool(group.loops) or not loops or self._over(group, loops[0])

    def _over(self, group: GroupState, op: o.For) -> bool:
        return op in group.left

    def state(self, groups: list[GroupState]) -> object:
        """Where groups are in their loops, and what is known that they will ask for.

        Relative to what all have passed: equal states have the same answers to come.
        """
        first = min((g.iterations[0] for g in groups if g.loops), default=0)
        asked: dict[_Number, int] = {}
        """Numbers that matter -> below this, nobody will ask."""
        for number in self.known:
            least = [x for g in groups for x in self._asks(g, *number)]
            if least:
                asked[number] = min(least)
        numbers = tuple(
            (
                kind,
                tuple(t - first for t in outer),
                self.known[kind, outer].least - base,
                _minus(self.known[kind, outer].most, base),
            )
            for (kind, outer), base in sorted(asked.items())
        )
        return numbers, tuple(self._position(g, first, asked) for g in groups)

    def _asks(
        self, group: GroupState, kind: int, outer: tuple[int, ...]
    ) -> Iterator[int]:
        """The least that a group may still ask of a number, for each of its loops."""
        for op in self.mine.get(group.name, []):
            if self.of.get(id(op), (None,))[0] != kind:
                continue
            less = self.of[id(op)][1]
            depth = self._depth(op, group.name)
            if depth != len(outer) or self._past(group, op, outer):
                continue
            inside = id(op) in group.loops and group.iterations[:depth] == outer
            yield (group.iterations[depth] if inside else 0) - less

    def _past(self, group: GroupState, op: o.For, outer: tuple[int, ...]) -> bool:
        """Whether a group is done with a loop, in an iteration of the outer one."""
        outermost = self.mine[group.name][0]
        if not group.loops:
            return self._over(group, outermost)
        if not outer:
            return False
        if group.iterations[:1] != outer:
            return group.iterations[:1] > outer
        # In iteration t it has left the loop t times before, and once more if it is
        # done.
        return self.left.get((group, id(op)), 0) > outer[0]

    def _depth(self, op: o.For, name: str) -> int:
        return 0 if op is self.mine[name][0] else 1

    def _position(
        self, group: GroupState, first: int, asked: dict[_Number, int]
    ) -> tuple[int, ...]:
        """Which iteration of each loop around it, relative to what matters."""
        found: list[int] = []
        for depth, (loop, iteration) in enumerate(
            zip(group.loops, group.iterations, strict=True)
        ):
            if loop not in self.of:
                found.append(iteration)
                continue
            kind, less = self.of[loop]
            base = asked[kind, group.iterations[:depth]]
            found.append(iteration - less - base)
            if not depth:
                found.append(iteration - first)
        return tuple(found)


def _minus(number: int | None, base: int) -> int | None:
    return None if number is None else number - base


def loops_of(block: o.Block) -> list[o.For]:
    """Loops with events in a block, outer before inner."""
    found: list[o.For] = []
    for op in block.ops:
        if isinstance(op, o.For) and has_events(op.body):
            found += [op, *loops_of(op.body)]
    return found
