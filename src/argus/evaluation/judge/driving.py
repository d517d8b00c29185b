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
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from argus.compiler import Request, tile_program
from argus.diagnostics import ArgusError
from argus.evaluation.judge.agreeing import (
    MANY,
    Disagreement,
    Setting,
    Side,
    agree,
)
from argus.evaluation.judge.drawing import (
    EXTREME,
    LARGE,
    MODES,
    Mode,
    constants,
    specials,
)
from argus.evaluation.judge.subject import Subject, own_request
from argus.evaluation.tiles import (
    Facet,
    Facets,
    Place,
    Stuck,
    Unmodelled,
    other_sizes,
    places,
)
from argus.ir.expr import evaluate, symbols
from argus.ir.program import GRID_SIZE, SM_COUNT, Program, ScalarParam
from argus.ir.walk import expressions, walk
from argus.kernels.library import Case

__all__ = ["Driven", "Effort", "driven"]

_TILES = 3
"""Tiles that a persistent block goes through, for each candidate that is persistent."""
_DEVICE = 132
"""Multiprocessors of the device whose persistent blocks are searched (H100, H200)."""
_SMALL = 1 << 22
"""Products of sizes up to which all blocks of a small case are run."""


@dataclass(frozen=True)
class Effort:
    """Seconds: ``usual`` for blocks without a cause, ``most`` for conditions."""

    usual: float = 0.2
    most: float = 12.0
    search: float = 3.0


@dataclass
class Driven:
    """What was found: a disagreement, or what no run has shown.

    ``missed`` are sentences about the candidate's conditions that its runs have not
    driven; ``own``: those that the problem's own kernel has, too, or shows itself.
    ``why`` says where nothing could be compared.
    """

    found: Disagreement | None = None
    where: str = ""
    missed: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    why: str = ""
    elements: int = 0
    runs: list[str] = field(default_factory=list[str])


class _Over(Exception):  # noqa: N818 - ends the runs
    """The kernels disagree."""


def driven(
    subject: Subject,
    request: Request,
    tolerances: Mapping[str, float],
    effort: Effort | None = None,
) -> Driven:
    """Compare a candidate with the problem's own kernel. Raises no error of theirs."""
    candidate = tile_program(request)
    own = tile_program(own_request(subject))
    return _Drive(subject, candidate, own, tolerances, effort or Effort()).run()


class _Drive:
    def __init__(
        self,
        subject: Subject,
        candidate: Program,
        own: Program,
        tolerances: Mapping[str, float],
        effort: Effort,
    ) -> None:
        self.subject = subject
        self.candidate = Side(candidate, Facets(candidate))
        self.own = Side(own, Facets(own))
        self.tolerances = tolerances
        self.effort = effort
        self.seed = int.from_bytes(os.urandom(3), "little")
        programs = candidate, own
        self.special = specials(programs, subject.scalars.values())
        self.numbers = constants(programs)
        self.made = Driven()
        self.begin = time.monotonic()
        self.latest = self.begin + effort.most
        self.known: dict[Facet, Place] = {}
        self.stuck: list[str] = []
        self.slowest = 0.0
        self.counts: dict[Facet, int] = {}
        """Multiprocessors of those that not every number of them shows."""
        self.directed: list[int] = []

    def run(self) -> Driven:
        """All steps; the first disagreement ends them."""
        try:
            self._own_sizes()
            self._data()
            self._small()
            self._elsewhere()
        except _Over:
            return self.made
        except Unmodelled as why:
            self.made.why = str(why)
            return self.made
        self._say()
        return self.made

    # --------------------------------------------------------------------- steps

    def _setting(
        self,
        mode: Mode,
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
                place = self.known.get(facet)
                if not isinstance(place, int) or (of_own, place) in tried:
                    continue
                if facet in side.facets.seen or time.monotonic() > self.latest:
                    continue
                count = self.counts.get(facet, MANY)
                if count == MANY:
                    tried.add((of_own, place))
                setting = self._setting(MODES[0], multiprocessors=count)
                self._pair(setting, [place], of_own)
                if not of_own and count == MANY:
                    self.directed.append(place)
        grid = self._grid(self.candidate)
        rng = np.random.default_rng(self.seed)
        usual = time.monotonic() + self.effort.usual
        order = [grid - 1, 0, *(int(b) for b in rng.integers(0, grid, 6))]
        for i, block in enumerate(order):
            if time.monotonic() > usual and (i or tried):
                break
            if (False, block) not in tried:
                tried.add((False, block))
                self._pair(self._setting(next(modes)), [block], False)
        self._pair(self._setting(LARGE, slack=8.0), [grid // 2], False)
        self._persistent()

    def _persistent(self) -> None:
        """A block that goes through three tiles, if it asks for the multiprocessors.

        Where tiles are slow the small sizes must do, whose blocks have several, too.
        """
        quick = self.slowest * 2 * _TILES < self.effort.usual * 4
        if quick and _asks_for_device(self.candidate.program):
            some = -(-self._grid(self.candidate) // _TILES)
            setting = self._setting(MODES[0], multiprocessors=some)
            self._pair(setting, [int(self.seed) % some], False)

    def _different(self, side: Side) -> list[Facet]:
        """The facets of a kernel; of the problem's own what the candidate has not."""
        if side is self.candidate:
            return [*side.facets.all, *side.facets.flips]
        mine = self.candidate.facets
        seen = {f.mark for f in (*mine.all, *mine.flips)}
        theirs = (*side.facets.all, *side.facets.flips)
        return [f for f in theirs if f.mark not in seen]

    def _grid(self, side: Side) -> int:
        env = self._setting(MODES[0]).env(side.program)
        return int(evaluate(side.program.grid, env))

    def _search(self) -> None:
        """Where each facet is to be found at the problem's own sizes."""
        deadline = time.monotonic() + self.effort.search
        setting = self._setting(MODES[0])
        tensors = setting.tensors()
        for side in (self.candidate, self.own):
            program, facets = side.program, self._different(side)
            env = setting.env(program)
            self.known |= places(program, facets, tensors, env, deadline)
            if not _asks_for_device(program):
                continue
            tiles = int(evaluate(program.grid, env))
            for count in dict.fromkeys((-(-tiles // _TILES), _DEVICE)):
                left = [
                    f
                    for f in facets
                    if f.decides and self.known.get(f) in ("never", "unknown")
                ]
                env[SM_COUNT.name] = count
                found = places(program, left, tensors, env, deadline)
                for facet in left:
                    place = found.get(facet, "unknown")
                    if place != "never":
                        self.known[facet] = place
                    if isinstance(place, int):
                        self.counts[facet] = count

    def _data(self) -> None:
        """Extreme numbers, while conditions on data are left."""
        rng = np.random.default_rng(self.seed)
        for mode in (*MODES, *EXTREME):
            left = [f for f in self.candidate.facets.unseen() if self._open(f)]
            unseen = set(self.own.facets.unseen())
            theirs = [f for f in self._different(self.own) if f in unseen]
            theirs = [f for f in theirs if self._open(f)]
            if not (left or theirs) or time.monotonic() > self.latest:
                return
            grid = self._grid(self.candidate)
            some = [0, grid - 1, int(rng.integers(0, grid))]
            blocks = list(dict.fromkeys([*self.directed[:8], *some]))
            extreme = mode in EXTREME
            setting = self._setting(mode, slack=8.0 if extreme else 1.0)
            for block in blocks:
                self._pair(setting, [block], False)
                unseen = {*self.candidate.facets.unseen(), *self.own.facets.unseen()}
                if not unseen.intersection([*left, *theirs]):
                    break

    def _open(self, facet: Facet) -> bool:
        return facet.decides and self.known.get(facet) == "data"

    def _elsewhere(self) -> None:
        """Sizes and scalars at which conditions flip that cannot at the own ones."""
        deadline = min(self.latest, time.monotonic() + self.effort.search)
        theirs = {f.mark for f in self.own.facets.all}
        for side in (self.candidate, self.own):
            of_own = side is self.own
            for facet in self._different(side):
                if time.monotonic() > deadline:
                    return
                if self.known.get(facet) != "never" or facet.when is None:
                    continue
                if not facet.compares and (of_own or facet.mark in theirs):
                    continue
                if facet in side.facets.unseen():
                    self._flip(side, facet)

    def _flip(self, side: Side, facet: Facet) -> None:
        of_own = side is self.own
        scalars = self._scalars(side, facet)
        if scalars is not None:
            setting = self._setting(MODES[0], scalars=scalars)
            self._pair(setting, [0], of_own)
            return
        free = self._free()
        if not free or self._doubled(side, facet, free):
            return
        kept = {
            p.sym.name: int(self.subject.scalars[p.name])
            for p in side.program.params
            if isinstance(p, ScalarParam) and p.dtype.startswith("i")
        }
        kept[SM_COUNT.name] = MANY
        fixed = {n: v for n, v in self.subject.case.sizes.items() if n not in free}
        found = other_sizes(side.program, facet, {**kept, **fixed}, free)
        if found is None:
            return
        case = self._case({**self.subject.case.sizes, **found.sizes})
        if case is not None:
            grid_ok = self._admitted(case)
            if grid_ok:
                self._pair(self._setting(MODES[0], case), [found.block], of_own)

    def _doubled(self, side: Side, facet: Facet, free: Iterable[str]) -> bool:
        """Whether twice or half the sizes show it: no solver is needed then."""
        for up, down in ((2, 1), (1, 2)):
            sizes = {n: v * up // down for n, v in self.subject.case.sizes.items()}
            own = self.subject.case.sizes
            case = self._case({**own, **{n: sizes[n] for n in free}})
            if case is None or not self._admitted(case):
                continue
            setting = self._setting(MODES[0], case)
            env, deadline = setting.env(side.program), time.monotonic() + 0.3
            found = places(side.program, [facet], setting.tensors(), env, deadline)
            place = found.get(facet)
            if isinstance(place, int):
                self._pair(setting, [place], side is self.own)
                return True
        return False

    def _scalars(self, side: Side, facet: Facet) -> dict[str, int | float] | None:
        """Scalars for which a condition that depends on them alone flips."""
        assert facet.when is not None
        params = {
            p.sym.name: p for p in side.program.params if isinstance(p, ScalarParam)
        }
        names = {s.name for s in symbols(facet.when)}
        if not names or not names <= params.keys():
            return None
        given = {n: self.subject.scalars[p.name] for n, p in params.items()}
        tries = [t for c in (*self.numbers, 0.0, 1.0) for t in (c, c + 1, c - 1)]
        tries += [math.nextafter(c, s) for c in self.numbers for s in (1e30, -1e30)]
        for name in names:
            for value in (*tries, 1e6, -1e6):
                is_float = params[name].dtype.startswith("f")
                env = {**given, name: float(value) if is_float else int(value)}
                try:
                    if evaluate(facet.when, env):
                        return {p.name: env[n] for n, p in params.items()}
                except (KeyError, ZeroDivisionError):
                    break
        return None

    def _free(self) -> dict[str, tuple[int, int]]:
        """Sizes that may change: what divides them, and their largest value."""
        fixed: set[str] = set()
        for side in (self.candidate, self.own):
            for param in side.program.params:
                if isinstance(param, ScalarParam):
                    continue
                for dim, extent in zip(param.dims, param.shape, strict=True):
                    if not any(True for _ in symbols(extent)):
                        fixed.add(dim)
        found: dict[str, tuple[int, int]] = {}
        for name, n in self.subject.case.sizes.items():
            if name in fixed:
                continue
            steps = [s.program.facts.get(name, 1) for s in (self.candidate, self.own)]
            found[name] = math.lcm(*steps), max(4 * n, 1 << 16)
        return found

    def _case(self, sizes: Mapping[str, int]) -> Case | None:
        name = ", ".join(f"{k}={v}" for k, v in sizes.items())
        case = Case(name, dict(sizes), self.subject.case.options)
        try:
            self.subject.entry.arguments(case)
        except (ValueError, ZeroDivisionError, AssertionError, ArgusError):
            return None
        return case

    def _admitted(self, case: Case) -> bool:
        setting = self._setting(MODES[0], case)
        return all(setting.admits(side.program) for side in (self.candidate, self.own))

    def _small(self) -> None:
        """All blocks, at small sizes that are drawn at random."""
        rng = np.random.default_rng(self.seed)
        free = self._free()
        until = time.monotonic() + self.effort.usual
        for mode in MODES:
            sizes = dict(self.subject.case.sizes)
            for name, (step, _) in free.items():
                least = min(sizes[name], 300)
                sizes[name] = max(step, int(rng.integers(1, least + 1)) // step * step)
            case = self._case(_grouped(sizes, self.subject.case.sizes))
            if case is None or math.prod(case.sizes.values()) > _SMALL:
                continue
            if time.monotonic() > until or not self._admitted(case):
                continue
            setting = self._setting(mode, case, multiprocessors=4)
            grid = int(
                evaluate(
                    self.candidate.program.grid, setting.env(self.candidate.program)
                )
            )
            if grid <= 256:
                self._pair(setting, list(range(grid)), False)

    # ---------------------------------------------------------------------- runs

    def _pair(self, setting: Setting, blocks: list[int], of_own: bool) -> None:
        begin = time.monotonic()
        try:
            made = agree(
                self.candidate,
                self.own,
                setting,
                blocks,
                of_own=of_own,
                tolerances=self.tolerances,
                seconds=self.effort.usual,
            )
        except Stuck as why:
            self.candidate.facets.keep(False)
            self.own.facets.keep(False)
            if setting.case is self.subject.case:
                shown = ", ".join(map(str, blocks[:4]))
                self.stuck.append(f"block {shown} cannot be run: {why}")
            return
        self.slowest = max(self.slowest, time.monotonic() - begin)
        self.made.elements += made.elements
        self.made.runs.append(setting.where())
        if made.found is not None:
            self.made.found = made.found
            whose = "the problem's own kernel" if of_own else "the candidate"
            shown = ", ".join(map(str, blocks[:4]))
            self.made.where = f"block {shown} of {whose}, {setting.where()}"
            raise _Over

    def _say(self) -> None:
        if not self.made.elements:
            nothing = "no element is written by blocks of both"
            self.made.why = self.stuck[0] if self.stuck else nothing
            return
        theirs = {f.mark for f in self.own.facets.all}
        never = {f for f, place in self.known.items() if place == "never"}
        missed = [
            f
            for f in self.candidate.facets.unseen()
            if f not in never and (f.decides or isinstance(self.known.get(f), int))
        ]
        theirs_left = {
            f for f in self.own.facets.unseen() if f not in never and f.decides
        }
        own = _texts(f for f in missed if f.mark not in theirs)
        self.made.missed = (*own, *dict.fromkeys(self.stuck))
        self.made.own = _texts(
            [
                *(f for f in missed if f.mark in theirs),
                *(f for f in self._different(self.own) if f in theirs_left),
            ]
        )


def _asks_for_device(program: Program) -> bool:
    """Whether it depends on the number of multiprocessors: a persistent grid."""
    own = (e for op in walk(program.body) for e in expressions(op))
    every = (s for e in (program.grid, *own) for s in symbols(e))
    return any(s.name in (SM_COUNT.name, GRID_SIZE.name) for s in every)


def _texts(facets: Iterable[Facet]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.text for f in facets))


def _grouped(sizes: dict[str, int], own: Mapping[str, int]) -> dict[str, int]:
    """Groups of heads keep their number of heads."""
    if {"H", "G"} <= own.keys():
        ratio = own["H"] // own["G"]
        sizes["G"] = min(sizes["G"], 2)
        sizes["H"] = ratio * sizes["G"]
        sizes["B"] = min(sizes.get("B", 1), 2)
    return sizes
