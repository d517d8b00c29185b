"""How often loops iterate, decided while they iterate.

In each iteration of the loops around them, loops of one kind
(`dependent_trip_counts.py`) iterate as often as their functions of one number ``n``
say. Nobody knows ``n`` beforehand: whoever first asks whether it is more than ``m``
gets an answer, which from then on holds for all others.

Two loops of a kind may stand one after another, in each role. What the first one has
shown of ``n`` would have to be remembered for the second one, however large it is; so
they get numbers of their own, if that is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks
from argus.verify.order.dependent_trip_counts import Kinds
from argus.verify.order.events import has_events
from argus.verify.order.fills import bodies
from argus.verify.order.state import GroupState

if TYPE_CHECKING:
    from argus.verify.order.walk import ClusterWalk

__all__ = ["Choices", "LoopPlace", "places"]

Choose = Callable[["ClusterWalk", GroupState, o.For], bool]
Site = tuple[tuple[int, int], ...]
"""A loop and those around it, outermost first: the kind of each, and which of that kind
it is among those beside it."""
_Number = tuple[int, Site, tuple[int, ...]]
"""A kind, where it is used, and the iterations of the loops around."""
_CONSTANT = -1
"""The kind of a loop that always iterates equally often."""


@dataclass(frozen=True)
class LoopPlace:
    """A loop with events in a role's program."""

    op: o.For
    around: tuple[o.For, ...]
    site: Site


@dataclass
class _Known:
    """What is known of a number: at least ``least``, at most ``most``."""

    least: int
    most: int | None = None


def places(
    program: Program, kinds: Kinds, *, apart: bool
) -> dict[str, tuple[LoopPlace, ...]]:
    """By name of a group: its loops with events, outer before inner.

    ``apart``: loops of a kind one after another have numbers of their own.
    """
    found: dict[str, list[LoopPlace]] = {}
    counts: dict[str, Counter[int]] = {}
    for name, body in bodies(program):
        mine = found.setdefault(name, [])
        _place(body, (), (), counts.setdefault(name, Counter()), kinds, mine)
    if not apart:
        found = {
            name: [LoopPlace(p.op, p.around, ((0, 0),) * len(p.site)) for p in mine]
            for name, mine in found.items()
        }
    return {name: tuple(mine) for name, mine in found.items()}


def _place(
    block: o.Block,
    around: tuple[o.For, ...],
    site: Site,
    before: Counter[int],
    kinds: Kinds,
    found: list[LoopPlace],
) -> None:
    for op in block.ops:
        if isinstance(op, o.For):
            if not has_events(op.body):
                continue
            kind = kinds.of[op][0] if op in kinds.of else _CONSTANT
            here = (*site, (kind, before[kind]))
            before[kind] += 1
            found.append(LoopPlace(op, around, here))
            _place(op.body, (*around, op), here, Counter(), kinds, found)
            continue
        for inner in blocks(op):
            _place(inner, around, site, before, kinds, found)


class Choices:
    """The trip counts of one walk. ``choose`` says whether a loop iterates again."""

    def __init__(
        self, kinds: Kinds, mine: Mapping[str, Sequence[LoopPlace]], choose: Choose
    ) -> None:
        self.of = {id(op): found for op, found in kinds.of.items()}
        self.least = kinds.least
        self.mine = mine
        """By name of a group: its loops with events."""
        self.place = {id(p.op): p for several in mine.values() for p in several}
        self.choose = choose
        self.known: dict[_Number, _Known] = {}
        self.left: dict[tuple[GroupState, int], tuple[int, ...]] = {}
        """In which iterations of the loops around it a group left a loop last."""

    def iterations(
        self, walk: ClusterWalk, group: GroupState, op: o.For, start: int, step: int
    ) -> Iterator[int]:
        """Values of the loop's variable, for as long as it is chosen to iterate."""
        iteration = 0
        while self._more(walk, group, op, iteration):
            yield start + iteration * step
            iteration += 1

    def leave(self, group: GroupState, op: o.For) -> None:
        """A group has left a loop, of any kind."""
        self.left[group, id(op)] = group.iterations

    def _more(
        self, walk: ClusterWalk, group: GroupState, op: o.For, iteration: int
    ) -> bool:
        kind, count = self.of[id(op)]
        outer = group.iterations[: len(group.loops) - 1]
        group.iterations = (*outer, iteration)
        group.op = op
        asked = count.last(iteration)
        number = self.known.setdefault(
            (kind, self.place[id(op)].site, outer), _Known(self.least[kind])
        )
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
        """Whether a group has begun its first loop."""
        loops = self.mine.get(group.name, ())
        return bool(group.loops) or not loops or (group, id(loops[0].op)) in self.left

    def state(self, groups: list[GroupState]) -> object:
        """Where groups are in their loops, and what is known that they will ask for.

        Relative to what all have passed: equal states have the same answers to come.
        """
        asked: dict[_Number, int] = {}
        """Numbers that matter -> below this, nobody will ask."""
        for number in tuple(self.known):
            least = [x for g in groups for x in self._asks(g, number)]
            if least:
                asked[number] = min(least)
            else:
                del self.known[number]
        firsts: dict[tuple[Site, tuple[int, ...]], int] = {}

        def passed(site: Site, outer: tuple[int, ...]) -> int:
            """How many iterations of a loop are behind all, beside ``outer``."""
            if (site, outer) not in firsts:
                firsts[site, outer] = min(
                    (x for g in groups for x in self._iterations(g, site, outer)),
                    default=0,
                )
            return firsts[site, outer]

        numbers = tuple(
            (
                kind,
                site,
                tuple(
                    t - passed(site[: level + 1], outer[:level])
                    for level, t in enumerate(outer)
                ),
                self.known[kind, site, outer].least - base,
                _minus(self.known[kind, site, outer].most, base),
            )
            for (kind, site, outer), base in sorted(asked.items())
        )
        return numbers, tuple(self._position(g, asked, passed) for g in groups)

    def _asks(self, group: GroupState, number: _Number) -> Iterator[int]:
        """The least that a group may still ask of a number, for each of its loops."""
        kind, site, outer = number
        for place in self.mine.get(group.name, ()):
            found = self.of.get(id(place.op))
            if found is None or found[0] != kind or place.site != site:
                continue
            for iteration in self._at(group, place, outer):
                yield found[1].last(iteration)

    def _iterations(
        self, group: GroupState, site: Site, outer: tuple[int, ...]
    ) -> Iterator[int]:
        """In which iteration a group is of loops at a site, or will be."""
        for place in self.mine.get(group.name, ()):
            if place.site == site:
                yield from self._at(group, place, outer)

    def _at(
        self, group: GroupState, place: LoopPlace, outer: tuple[int, ...]
    ) -> Iterator[int]:
        """The iteration of a loop, 0 before it; nothing where a group is past it."""
        for level, op in enumerate((*place.around, place.op)):
            if self.left.get((group, id(op))) == outer[:level]:
                return
            if group.loops[level : level + 1] != (id(op),):
                break
            now = group.iterations[level]
            if level == len(outer):
                yield now
                return
            if now != outer[level]:
                if now < outer[level]:
                    break
                return
        yield 0

    def _position(
        self,
        group: GroupState,
        asked: Mapping[_Number, int],
        passed: Callable[[Site, tuple[int, ...]], int],
    ) -> tuple[int, ...]:
        """Which iteration of each loop around it, relative to what matters."""
        found: list[int] = []
        for level, (loop, iteration) in enumerate(
            zip(group.loops, group.iterations, strict=True)
        ):
            if loop not in self.of:
                found.append(iteration)
                continue
            site, outer = self.place[loop].site, group.iterations[:level]
            kind, count = self.of[loop]
            # What it asks for from here on, relative to what all have passed.
            base = asked[kind, site, outer]
            found += (count.last(iteration) - base, iteration % count.growth)
            if self._nested(group, loop):
                found.append(iteration - passed(site, outer))
        return tuple(found)

    def _nested(self, group: GroupState, loop: int) -> bool:
        """Whether numbers belong to single iterations of a loop."""
        return any(
            id(place.op) in self.of and any(id(op) == loop for op in place.around)
            for place in self.mine[group.name]
        )


def _minus(number: int | None, base: int) -> int | None:
    return None if number is None else number - base
