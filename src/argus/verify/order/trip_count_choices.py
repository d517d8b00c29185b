"""How often loops iterate, decided while they iterate.

In each iteration of the loops around them, loops of one kind
(`dependent_trip_counts.py`) iterate as often as their functions of one number ``n``
say. Nobody knows ``n`` beforehand: whoever first asks whether it is more than ``m``
gets an answer, which from then on holds for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

from argus.ir import ops as o
from argus.ir.program import Program
from argus.verify.order.branch_tests import BranchTest, Either, Tests, parts
from argus.verify.order.choice_places import (
    CONSTANT,
    BranchPlace,
    LoopPlace,
    Site,
    asking,
    merged,
)
from argus.verify.order.dependent_trip_counts import Kinds
from argus.verify.order.state import GroupState

if TYPE_CHECKING:
    from argus.verify.order.walk import ClusterWalk

__all__ = ["Choices"]

Choose = Callable[["ClusterWalk", GroupState, o.For | o.If], bool]
_Number = tuple[int, Site, tuple[int, ...]]
"""A kind, where it is used, and the iterations of the loops around."""


@dataclass
class _Known:
    """What is known of a number: at least ``least``, at most ``most``."""

    least: int
    most: int | None = None


class Choices:
    """The trip counts of one walk. ``choose`` says whether a loop iterates again."""

    def __init__(
        self,
        program: Program,
        kinds: Kinds,
        mine: Mapping[str, Sequence[LoopPlace]],
        choose: Choose,
        *,
        apart: bool = True,
    ) -> None:
        self.of = {id(op): found for op, found in kinds.of.items()}
        self.least = kinds.least
        self.mine = mine
        """By name of a group: its loops with events."""
        self.place = {id(p.op): p for several in mine.values() for p in several}
        self.choose = choose
        self.apart = apart
        self.tests = {id(op): test for op, test in kinds.tests.items()}
        self.branches = {
            name: tuple(
                self._branch(test, around)
                for op, around in several
                for test in parts(kinds.tests[op])
            )
            for name, several in asking(program, kinds).items()
        }
        """By name of a group: what its branches ask."""
        self.repeats = [1] * len(kinds.least)
        """By kind: after so many numbers branches get the same answers again."""
        self.bounds: list[set[int]] = [set() for _ in kinds.least]
        """By kind: numbers that a branch asks for in every iteration."""
        for op in kinds.tests:
            for test in parts(kinds.tests[op]):
                if test.kind is not None and test.count.repeats:
                    period = test.count.period
                    self.repeats[test.kind] = lcm(self.repeats[test.kind], period)
                elif test.kind is not None and not test.by:
                    self.bounds[test.kind].add(test.count.last(0))
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
        number = self._number(kind, self.place[id(op)].site, outer)
        return self._ask(walk, group, op, number, count.last(iteration))

    def _number(self, kind: int, site: Site, outer: tuple[int, ...]) -> _Known:
        return self.known.setdefault((kind, site, outer), _Known(self.least[kind]))

    def _ask(
        self,
        walk: ClusterWalk,
        group: GroupState,
        op: o.For | o.If,
        number: _Known,
        asked: int,
    ) -> bool:
        """Whether a number is more than ``asked``."""
        known = _answer(number, asked)
        if known is not None:
            return known
        more = self.choose(walk, group, op)
        if more:
            number.least = asked + 1
        else:
            number.most = asked
        return more

    # ------------------------------------------------------------------ branches

    def holds(self, walk: ClusterWalk, group: GroupState, op: o.If) -> bool:
        """Whether a branch is taken."""
        group.op = op
        return self._tree(walk, group, op, self.tests[id(op)])

    def _tree(
        self, walk: ClusterWalk, group: GroupState, op: o.If, test: Tests
    ) -> bool:
        if isinstance(test, Either):
            left = self._tree(walk, group, op, test.left)
            if left != test.both:
                return left
            return self._tree(walk, group, op, test.right)
        more = 0 if test.level is None else test.by * group.iterations[test.level]
        if test.kind is None:
            return (test.count.constant + more > 0) != test.inverted
        around = [self.place[loop] for loop in group.loops]
        if test.level is None:
            sites, outer = [p.site[-1] for p in around], group.iterations
            site = self._site(test.kind, tuple(sites))
        else:
            site = around[test.level].site
            outer = group.iterations[: test.level]
        number = self._number(test.kind, site, outer)
        if test.count.rises:
            last = test.count.last(-more)
            return self._ask(walk, group, op, number, last) != test.inverted
        at, least = number.least, number.least
        while True:
            # As far as it stays the same, nobody has to know which number it is.
            same = test.count.of(at) > 0
            last = least + test.count.period - 1
            if number.most is not None:
                last = min(last, number.most)
            other = (n for n in range(at, last + 1) if (test.count.of(n) > 0) != same)
            change = next(other, None)
            if change is None or not self._ask(walk, group, op, number, change - 1):
                return same != test.inverted
            at, least = number.least, number.least

    def _site(self, kind: int, around: Site) -> Site:
        """Where a number of the iterations is that a branch is in."""
        site = (*around, (kind, 0))
        return site if self.apart else merged(site)

    def _branch(self, test: BranchTest, around: tuple[o.For, ...]) -> BranchPlace:
        if test.level is not None:
            loop = around[test.level]
            site = self.place[id(loop)].site
            return BranchPlace(test, around[: test.level], site, loop)
        sites = tuple(self.place[id(op)].site[-1] for op in around)
        kind = CONSTANT if test.kind is None else test.kind
        return BranchPlace(test, around, self._site(kind, sites))

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
                *self._relative(kind, self.known[kind, site, outer], base),
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
            for iteration in self._at(group, (*place.around, place.op), outer):
                yield found[1].last(iteration)
        known = self.known[number]
        for branch in self.branches.get(group.name, ()):
            test = branch.test
            if test.kind != kind or branch.site != site:
                continue
            loops = branch.around
            if branch.loop is not None:
                loops = (*loops, branch.loop)
            for iteration in self._at(group, loops, outer):
                if test.count.repeats or (
                    not test.by and _answer(known, test.count.last(0)) is not None
                ):
                    # What is known says it, and has to be remembered.
                    yield known.least
                else:
                    yield test.count.last(-test.by * iteration)

    def _relative(self, kind: int, known: _Known, base: int) -> tuple[object, ...]:
        """What is known of a number, and what branches will ask of it."""
        answers = [(_answer(known, n), n) for n in sorted(self.bounds[kind])]
        bounds = (n - base if found is None else str(found) for found, n in answers)
        return (
            known.least - base,
            None if known.most is None else known.most - base,
            base % self.repeats[kind],
            tuple(bounds),
        )

    def _iterations(
        self, group: GroupState, site: Site, outer: tuple[int, ...]
    ) -> Iterator[int]:
        """In which iteration a group is of loops at a site, or will be."""
        for place in self.mine.get(group.name, ()):
            if place.site == site:
                yield from self._at(group, (*place.around, place.op), outer)

    def _at(
        self, group: GroupState, loops: tuple[o.For, ...], outer: tuple[int, ...]
    ) -> Iterator[int]:
        """The iteration of the last of some loops that are one inside of the other.

        0 before it; nothing where a group is past it, or past those around it.
        """
        for level, op in enumerate(loops):
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
        for branch in self.branches.get(group.name, ()):
            test, level = branch.test, len(branch.around)
            if branch.loop is None or id(branch.loop) not in group.loops:
                continue
            iteration = group.iterations[level]
            if test.kind is None:
                found.append(min(iteration, test.later))
            elif test.by:
                base = asked[test.kind, branch.site, group.iterations[:level]]
                count, more = test.count, -test.by * iteration
                found += (count.last(more) - base, more % count.growth)
        return tuple(found)

    def _nested(self, group: GroupState, loop: int) -> bool:
        """Whether numbers belong to single iterations of a loop."""
        arounds = [p.around for p in self.mine[group.name] if id(p.op) in self.of]
        branches = self.branches.get(group.name, ())
        arounds += [b.around for b in branches if b.test.kind is not None]
        return any(id(op) == loop for around in arounds for op in around)


def _answer(known: _Known, asked: int) -> bool | None:
    """Whether a number is more than ``asked``, if that is known."""
    if known.least > asked:
        return True
    return False if known.most is not None and known.most <= asked else None
