"""A candidate against the kernel that the problem starts from, where it may differ.

Small sizes say little of a large problem: a condition may turn out otherwise for one
block, one element or one number. So both kernels are read for their conditions, and
chosen blocks of the problem at its own sizes are run on whole tiles
(`evaluation.tiles`), until each condition of each kernel has turned out in each way
that it can. What it cannot at the problem's sizes is looked for at others.

    1  first, last and some block; blocks in which conditions flip
    2  numbers at which conditions on data flip, then extreme ones
    3  sizes and scalars at which conditions flip that cannot at the problem's own
    4  all blocks of small sizes, drawn anew each time

What was not driven is said. A condition of the candidate that was not, and that the
problem's own kernel has not, makes the verdict "unknown".
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from argus.evaluation.drawing import DrawingMode, constants, specials
from argus.evaluation.judge.agreeing import ObservedProgram
from argus.evaluation.judge.compared_runs import ComparedRuns, Disagreed, Driven
from argus.evaluation.judge.drawing import EXTREME, LARGE, MEETING, MODES
from argus.evaluation.judge.elsewhere import ChosenScalars, VariedPrograms
from argus.evaluation.judge.finding import TILES, Places, asks_for_device
from argus.evaluation.judge.settings import Setting, unbounded
from argus.evaluation.judge.subject import Subject, own_request
from argus.evaluation.tiles import (
    MANY,
    Facet,
    Facets,
    NotExecutable,
    now,
    places,
)
from argus.ir.expr import evaluate
from argus.ir.program import Program
from argus.kernels.library import Case
from argus.requests import Request, tile_program

__all__ = ["Driven", "Effort", "driven"]

_ALL = 256
"""Blocks up to which all of a small case are run."""
_DIRECTED = 8
"""Blocks that were found for a condition, and are run with other numbers, too."""
_TRIES = 2
_NO_TIME = "no time was left for numbers of all kinds where conditions hold"
_SCALED = 0.3
"""Seconds of looking for a block at twice or half the sizes."""


@dataclass(frozen=True)
class Effort:
    """Seconds of `argus.clock`: ``usual`` for blocks without a cause.

    ``most`` for all conditions, ``search`` for finding where they turn out.
    """

    usual: float = 0.2
    most: float = 12.0
    search: float = 3.0


@dataclass(frozen=True, eq=False)
class _Spot:
    """A block at sizes and scalars; None: the problem's own."""

    block: int
    case: Case | None = None
    scalars: Mapping[str, int | float] | None = None


def driven(
    subject: Subject,
    request: Request,
    tolerances: Mapping[str, float],
    effort: Effort | None = None,
    *,
    equal: bool = False,
) -> Driven:
    """Compare a candidate with the problem's own kernel. Raises no error of theirs.

    ``equal``: it is proved to be right in real arithmetic, for all sizes. Then only
    rounding and overflow are left, which a choice of the candidate may change: what
    the own kernel decides is not driven, nor are ends of tensors, turns of loops, and
    quotients and extremes of whole numbers, which say which element is meant.
    """
    candidate = tile_program(request)
    own = tile_program(own_request(subject))
    limits = effort or Effort()
    return _Drive(subject, candidate, own, tolerances, limits, equal).run()


class _Drive:
    def __init__(
        self,
        subject: Subject,
        candidate: Program,
        own: Program,
        tolerances: Mapping[str, float],
        effort: Effort,
        equal: bool,
    ) -> None:
        self.subject = subject
        self.candidate = ObservedProgram(candidate, Facets(candidate))
        self.own = ObservedProgram(own, Facets(own))
        self.runs = ComparedRuns(
            subject, self.candidate, self.own, tolerances, effort.usual
        )
        self.effort = effort
        self.equal = equal
        self.seed = int.from_bytes(os.urandom(3), "little")
        programs = candidate, own
        self.special = specials(programs, subject.scalars.values())
        self.wide = unbounded(subject, programs)
        self.others = VariedPrograms(subject, programs, constants(programs))
        self.begin = now()
        self.latest = self.begin + effort.most
        self.places = Places()
        self.directed: list[_Spot] = []
        """Blocks that were run for a condition."""
        self.elsewhere: set[Facet] = set()
        """Other sizes or scalars may show them, and no run has."""
        self.short: set[Facet] = set()
        """Their search was ended by a limit, so that nothing is known of them."""

    def run(self) -> Driven:
        """All steps; the first disagreement ends them."""
        try:
            self._own_sizes()
            self._meetings(self.directed)
            self._data()
            self._other_scalars()
            self._small()
            self._meetings(self._elsewhere())
        except Disagreed:
            return self.runs.made
        except NotExecutable as why:
            self.runs.made.why = str(why)
            return self.runs.made
        self._say()
        return self.runs.made

    # --------------------------------------------------------------------- steps

    def _setting(
        self,
        mode: DrawingMode,
        case: Case | None = None,
        scalars: Mapping[str, int | float] | None = None,
        slack: float = 1.0,
        multiprocessors: int = MANY,
    ) -> Setting:
        self.seed += 1
        return Setting(
            self.subject,
            case or self.subject.case,
            self.subject.scalars if scalars is None else scalars,
            mode,
            self.seed,
            self.special,
            self.wide,
            slack,
            multiprocessors,
        )

    def _own_sizes(self) -> None:
        """Blocks where conditions flip, of either kernel; then some others."""
        modes = itertools.cycle(MODES)
        self._search()
        tried: set[tuple[bool, int]] = set()
        for side in (self.candidate, self.own):
            of_own = side is self.own
            for facet in self._different(side):
                place = self.places.known.get(facet)
                if not isinstance(place, int) or (of_own, place) in tried:
                    continue
                if facet in side.facets.seen:
                    continue
                if self._late(self.latest, [facet]):
                    continue
                count = self.places.counts.get(facet, MANY)
                if count == MANY:
                    tried.add((of_own, place))
                setting = self._setting(MODES[0], multiprocessors=count)
                self.runs.run(setting, [place], of_own)
                if not of_own and count == MANY:
                    self.directed.append(_Spot(place))
        grid = self._grid(self.candidate)
        rng = np.random.default_rng(self.seed)
        usual = now() + self.effort.usual
        order = [grid - 1, 0, *(int(b) for b in rng.integers(0, grid, 6))]
        for i, block in enumerate(order):
            if i >= len(MODES) and self._late(usual, ()):
                break
            if (False, block) not in tried:
                tried.add((False, block))
                self.runs.run(self._setting(next(modes)), [block], False)
        self.runs.run(self._setting(LARGE, slack=8.0), [grid // 2], False)
        self._persistent()

    def _persistent(self) -> None:
        """A block that goes through three tiles, if it asks for the multiprocessors.

        Where tiles are slow the small sizes must do, whose blocks have several, too.
        """
        if self.equal:
            return
        quick = self.runs.slowest * 2 * TILES < self.effort.usual * 4
        if quick and asks_for_device(self.candidate.program):
            some = -(-self._grid(self.candidate) // TILES)
            setting = self._setting(MODES[0], multiprocessors=some)
            self.runs.run(setting, [int(self.seed) % some], False)

    def _different(self, side: ObservedProgram) -> list[Facet]:
        """The facets of a kernel; of the problem's own what the candidate has not.

        Where the candidate is equal, those of its own choices.
        """
        every = [*side.facets.all, *side.facets.flips]
        if self.equal:
            own = side is self.own
            return [] if own else [f for f in every if f.decides and not f.places]
        if side is self.candidate:
            return every
        mine = self.candidate.facets
        seen = {f.mark for f in (*mine.all, *mine.flips)}
        return [f for f in every if f.mark not in seen]

    def _grid(self, side: ObservedProgram, setting: Setting | None = None) -> int:
        env = (setting or self._setting(MODES[0])).env(side.program)
        return int(evaluate(side.program.grid, env))

    def _search(self) -> None:
        """Where each facet is to be found at the problem's own sizes."""
        deadline = now() + self.effort.search
        setting = self._setting(MODES[0])
        for side in (self.candidate, self.own):
            facets = self._different(side)
            self.places.search(side.program, facets, setting, deadline)
            known = self.places.known
            self._late(deadline, [f for f in facets if known.get(f) == "unknown"])

    def _data(self) -> None:
        """Extreme numbers, while conditions on data are left."""
        short = now() + self.effort.usual
        rng = np.random.default_rng(self.seed)
        for mode in (*MODES, *EXTREME):
            left = [f for f in self._unseen() if self._open(f)]
            unseen = set(self.own.facets.unseen())
            theirs = [f for f in self._different(self.own) if f in unseen]
            theirs = [f for f in theirs if self._open(f)]
            if not (left or theirs):
                return
            if self._late(self.latest, [*left, *theirs]):
                return
            grid = self._grid(self.candidate)
            some = [0, grid - 1, int(rng.integers(0, grid))]
            directed = (spot.block for spot in self.directed[:_DIRECTED])
            blocks = list(dict.fromkeys([*directed, *some]))
            required = any(f.required for f in (*left, *theirs))
            if not required and self._late(short, ()):
                return
            extreme = mode in EXTREME
            setting = self._setting(mode, slack=8.0 if extreme else 1.0)
            for block in blocks:
                self.runs.run(setting, [block], False)
                unseen = {*self.candidate.facets.unseen(), *self.own.facets.unseen()}
                if not unseen.intersection([*left, *theirs]):
                    break

    def _meetings(self, spots: Sequence[_Spot]) -> None:
        """Numbers of all kinds where conditions hold that few blocks show.

        A condition on data may hold elsewhere, and matter only here. Each block meets
        some numbers, and some blocks those of each kind; that there was no time for
        it is said, and leaves the candidate undecided.
        """
        until = min(now() + self.effort.usual, self.latest)
        theirs = {f.mark for f in self.own.facets.all}
        mine = [f for f in self.candidate.facets.all if f.mark not in theirs]
        if not any(self._open(f) for f in mine):
            return  # nothing of its own depends on data
        for number, mode in enumerate(MEETING * _TRIES):
            for spot in spots[: _DIRECTED if number else None]:
                again = number >= len(MEETING)
                if self._late(until if again else self.latest, ()):
                    if not again:
                        self.runs.stuck.append(_NO_TIME)
                    return
                slack = 8.0 if mode.large else 1.0
                setting = self._setting(mode, spot.case, spot.scalars, slack)
                self.runs.run(setting, [spot.block], False)
            if all(f.required or not self._open(f) for f in self._unseen()):
                return

    def _unseen(self) -> list[Facet]:
        """Of the candidate, without conditions that meet in the other kernel, too."""
        theirs = {f.mark for f in self.own.facets.all}
        unseen = self.candidate.facets.unseen()
        unseen = [f for f in unseen if not (self.equal and f.places)]
        return [f for f in unseen if f.required or f.mark not in theirs]

    def _open(self, facet: Facet) -> bool:
        return facet.decides and self.places.known.get(facet) == "data"

    def _elsewhere(self) -> list[_Spot]:
        """Sizes and scalars at which conditions flip that cannot at the own ones.

        Returns blocks of the candidate that were run there.
        """
        deadline = min(self.latest, now() + self.effort.search)
        theirs = {f.mark for f in (*self.own.facets.all, *self.own.facets.flips)}
        found: list[_Spot] = []
        for side in (self.candidate, self.own):
            of_own = side is self.own
            for facet in self._different(side):
                if self.places.known.get(facet) != "never" or facet.when is None:
                    continue
                if not facet.compares and (of_own or facet.mark in theirs):
                    continue
                unseen = {*side.facets.unseen(), *side.facets.flips}
                if facet not in unseen:
                    continue
                if self._late(deadline, [facet]):
                    continue
                spot = self._flip(side, facet)
                if isinstance(spot, _Spot) and not of_own:
                    found.append(spot)
                if spot != "never" and facet in side.facets.unseen():
                    self.elsewhere.add(facet)
        return found

    def _flip(
        self, side: ObservedProgram, facet: Facet
    ) -> _Spot | Literal["never", "unknown"]:
        """Run a block that shows a facet, at other scalars or sizes; which one.

        "never": none does.
        """
        of_own, program = side is self.own, side.program
        flips = facet in side.facets.flips
        made: _Spot | None = None
        for chosen in self.others.scalars(program, facet):
            if chosen.changed or made is None:
                made = self._at_scalars(side, facet, chosen, flips) or made
        if made is not None:
            return made
        if flips:  # of sizes, ends and turns: proofs are about those
            return "never"
        chosen = next(self.others.scalars(program, facet))
        never: Literal["never", "unknown"] = "never" if chosen.settled else "unknown"
        scalars = chosen.values
        solved = self.others.solved(program, facet, scalars)
        if isinstance(solved, tuple):
            case, block = solved
            self.runs.run(self._setting(MODES[0], case, scalars), [block], of_own)
            return _Spot(block, case, scalars)
        return never if solved == "never" else "unknown"

    def _at_scalars(
        self, side: ObservedProgram, facet: Facet, chosen: ChosenScalars, flips: bool
    ) -> _Spot | None:
        """Run a block that shows a facet with these scalars, if one is found soon."""
        of_own, program, scalars = side is self.own, side.program, chosen.values
        cases: Iterable[Case] = () if flips else self.others.scaled()
        if chosen.changed:
            cases = itertools.chain([self.subject.case], cases)
        for case in cases:
            setting = self._setting(MODES[0], case, scalars)
            if not (setting.admits(self.candidate.program)
                    and setting.admits(self.own.program)):  # fmt: skip
                continue
            env, deadline = setting.env(program), now() + _SCALED
            place = places(program, [facet], setting.tensors(), env, deadline)[facet]
            if isinstance(place, int):
                self.runs.run(setting, [place], of_own)
                return _Spot(place, case, scalars)
        return None

    def _other_scalars(self) -> None:
        """Some blocks with scalars that are not the problem's own."""
        if self.equal or not self.subject.scalars:
            return
        rng = np.random.default_rng(self.seed)
        grid = self._grid(self.candidate)
        for _ in range(_TRIES):
            scalars = self.others.drawn_scalars(rng)
            setting = self._setting(MODES[0], scalars=scalars)
            if all(setting.admits(p.program) for p in (self.candidate, self.own)):
                self.runs.run(setting, [int(rng.integers(0, grid))], False)

    def _small(self) -> None:
        """All blocks, at small sizes that are drawn at random."""
        rng = np.random.default_rng(self.seed)
        until = now() + self.effort.usual
        for number, mode in enumerate(MODES):
            case = self.others.small(rng)
            if case is None or (number and self._late(until, ())):
                continue
            setting = self._setting(mode, case, multiprocessors=4)
            grid = self._grid(self.candidate, setting)
            if grid <= _ALL:
                self.runs.run(setting, list(range(grid)), False)

    # ---------------------------------------------------------------------- time

    def _late(self, until: float, left: Iterable[Facet]) -> bool:
        """Whether it is too late for something, by which ``left`` would be looked for.

        All limits are asked for here, so that what is left is never taken for seen:
        nothing, where what there is no time for has no condition as its cause.
        """
        late = now() > until
        if late:
            self.short.update(left)
        return late

    # ------------------------------------------------------------------- results

    def _say(self) -> None:
        if not self.runs.made.elements:
            nothing = "no element is written by blocks of both"
            self.runs.made.why = (*self.runs.stuck, nothing)[0]
            return
        theirs = {f.mark for f in (*self.own.facets.all, *self.own.facets.flips)}
        never = {f for f, place in self.places.known.items() if place == "never"}
        never -= self.elsewhere | self.short
        found = {f for f, p in self.places.known.items() if isinstance(p, int)}
        left = [f for f in self._unseen() if f not in never]
        left = [f for f in left if f.decides or f in found | self.elsewhere]
        left += [f for f in self.short if f in self.candidate.facets.flips]
        missed = [f for f in left if f.mark not in theirs]
        # Ends of tensors and turns of loops, which other sizes may show, are proved.
        decide = {f for f in missed if f.decides or f in found}
        missed = [f for f in missed if f in decide and (f.required or f in self.short)]
        rest = {f for f in self.own.facets.unseen() if f not in never and f.decides}
        more = [f for f in self._different(self.own) if f in rest]
        self.runs.made.missed = (*_texts(missed), *dict.fromkeys(self.runs.stuck))
        said = [f for f in left if f not in missed]
        self.runs.made.own = _texts([*said, *more])


def _texts(facets: Iterable[Facet]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.text for f in facets))
