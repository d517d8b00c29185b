"""Sizes and scalars but the problem's own, which both kernels take.

Those at which a condition turns out in a way that it cannot at the problem's own: twice
or half the sizes, else what a solver finds. And small ones, drawn at random.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argus.evaluation.judge.drawing import MODES
from argus.evaluation.judge.settings import Setting, case_of
from argus.evaluation.judge.subject import Subject
from argus.evaluation.tiles import MANY, Facet, conditions, other_sizes
from argus.ir.expr import Binary, Expr, evaluate, symbols
from argus.ir.program import SM_COUNT, Program, ScalarParam
from argus.kernels.library import Case

__all__ = ["ChosenScalars", "VariedPrograms"]

_LEAST, _MOST = 1 << 16, 1 << 22
"""What sizes may grow to, at least; where that shows nothing, and tensors need not fit
any device."""
_BLOCKS = 1 << 22
"""Blocks of a kernel, at most: those that write an element are found among all."""
_SMALL = 1 << 22
"""Products of sizes up to which all blocks of a small case are run."""
_SMALLEST = 300
"""Small sizes are at most so large."""
_TURNS = 2
"""How often each scalar is chosen anew, beside what the others are by then."""
_LARGEST_SCALAR = 2.0**31
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class ChosenScalars:
    """Scalars to look for a condition with.

    ``changed``: they are not the problem's own. ``settled``: whether no others could
    show it where these do not: no condition is on scalars and something else.
    """

    values: Mapping[str, int | float]
    changed: bool
    settled: bool


@dataclass(frozen=True)
class VariedPrograms:
    """What may change; ``numbers`` are the constants of both ``programs``."""

    subject: Subject
    programs: tuple[Program, ...]
    numbers: tuple[float, ...]

    def free(self, most: int = _LEAST) -> dict[str, tuple[int, int]]:
        """Sizes that may change: what divides them, and their largest value.

        That is four times what they are, or ``most``.
        """
        fixed: set[str] = set()
        for program in self.programs:
            for param in program.params:
                if isinstance(param, ScalarParam):
                    continue
                for dim, extent in zip(param.dims, param.shape, strict=True):
                    if not any(True for _ in symbols(extent)):
                        fixed.add(dim)
        found: dict[str, tuple[int, int]] = {}
        for name, n in self.subject.case.sizes.items():
            if name in fixed:
                continue
            steps = [program.facts.get(name, 1) for program in self.programs]
            found[name] = math.lcm(*steps), max(4 * n, most)
        return found

    def admitted(self, sizes: Mapping[str, int]) -> Case | None:
        """The case of these sizes, if both kernels take it with the own scalars."""
        case = case_of(self.subject, {**self.subject.case.sizes, **sizes})
        if case is None:
            return None
        setting = self._setting(case)
        return case if all(setting.admits(p) for p in self.programs) else None

    def scaled(self) -> Iterator[Case]:
        """Twice and half the problem's sizes: no solver is needed for those."""
        own, free = self.subject.case.sizes, self.free()
        for up, down in ((2, 1), (1, 2)):
            case = self.admitted({n: own[n] * up // down for n in free})
            if free and case is not None:
                yield case

    def solved(
        self,
        program: Program,
        facet: Facet,
        scalars: Mapping[str, int | float],
    ) -> tuple[Case, int] | Literal["never", "unknown"]:
        """A case in which a block, which is named, shows a facet of a program.

        With these scalars; "never" if there is none.
        """
        known: dict[str, int | float] = {
            p.sym.name: scalars[p.name]
            for p in program.params
            if isinstance(p, ScalarParam)
        }
        known[SM_COUNT.name] = MANY
        # Near sizes first: the other one may be too large for a device. Then with one
        # size that is large, beside which others may not be.
        attempts = [self.free(_LEAST), self.free(_MOST)]
        attempts += [
            {n: (step, most if n == name else _SMALLEST) for n, (step, most) in far}
            for far in [list(attempts[1].items())]
            for name, _ in far
        ]
        for number, free in enumerate(attempts):
            if not free:
                return "never"
            sizes = self.subject.case.sizes
            fixed = {n: v for n, v in sizes.items() if n not in free}
            found = other_sizes(program, facet, {**known, **fixed}, free)
            if found == "never" and number == 1:
                return "never"
            if isinstance(found, str):
                continue
            case = self.admitted(found.sizes)
            if case is not None and self._blocks(case) <= _BLOCKS:
                return case, found.block
        return "unknown"

    def _setting(self, case: Case) -> Setting:
        """A case with the problem's own scalars; its numbers are not looked at."""
        own = self.subject.scalars
        return Setting(self.subject, case, own, MODES[0], 0, (), frozenset())

    def _blocks(self, case: Case) -> int:
        """The larger number of blocks of the two programs."""
        setting = self._setting(case)
        grids = (evaluate(p.grid, setting.env(p)) for p in self.programs)
        return max(int(grid) for grid in grids)

    def scalars(self, program: Program, facet: Facet) -> Iterator[ChosenScalars]:
        """Scalars for which all conditions on them turn out as a facet needs it.

        Of a condition on sizes, too, at the problem's own. Small ones are taken before
        large ones, beside which small errors are not seen; where a condition is on
        several of them, either may be the one that is changed.
        """
        forward = self._scalars(program, facet, 1)
        yield forward
        backward = self._scalars(program, facet, -1)
        if backward.values != forward.values:
            yield backward

    def _scalars(self, program: Program, facet: Facet, order: int) -> ChosenScalars:
        params = {p.sym.name: p for p in program.params if isinstance(p, ScalarParam)}
        own = self.subject.scalars
        env: dict[str, int | float] = {n: own[p.name] for n, p in params.items()}
        given = {p.name for p in params.values()}
        values = {n: v for n, v in own.items() if n in given}
        own_conditions = [
            (e, taken)
            for e, taken in conditions(facet)
            if any(s.name in params for s in symbols(e))
        ]
        if not own_conditions:
            return ChosenScalars(values, changed=False, settled=True)
        known = params.keys() | self.subject.case.sizes.keys()
        named = [{s.name for s in symbols(e)} for e, _ in own_conditions]
        told = [
            c for c, names in zip(own_conditions, named, strict=True) if names <= known
        ]
        sizes = self.subject.case.sizes
        mentioned = dict.fromkeys(n for x in named for n in sorted(x) if n in params)
        for name in [*mentioned][::order] * _TURNS:
            is_float = params[name].dtype.startswith("f")
            tries = (*self._tries(), *_roots(told, {**sizes, **env}, name))
            exact = _single if is_float else int
            # As many conditions as one of the numbers can fulfil, and a small one.
            env[name] = max(
                (env[name], *(exact(v) for v in tries if _fits(v))),
                key=lambda value: (
                    _fulfilled(told, {**sizes, **env, name: value}),
                    value == env[name],
                    -abs(value),
                ),
            )
        found = {p.name: env[n] for n, p in params.items()}
        fulfilled = _fulfilled(told, {**sizes, **env}) == len(told)
        alone = all(names <= params.keys() for names in named)
        return ChosenScalars(
            found if fulfilled else values,
            changed=fulfilled and found != values,
            settled=alone and fulfilled,
        )

    def drawn_scalars(self, rng: np.random.Generator) -> dict[str, int | float]:
        """Scalars at random, about as large as the problem's own, and of their signs.

        A kernel is for all of them, and might have the problem's own written into it.
        """
        made: dict[str, int | float] = {}
        for name, own in self.subject.scalars.items():
            factor = float(rng.uniform(0.5, 2.0))
            if isinstance(own, float):
                made[name] = float(np.float32(factor * own)) if own else factor
            else:
                near = int(rng.integers(own // 2, 2 * own + 2)) if own > 0 else own
                made[name] = near + (own >= 0 and near == own)
        return made

    def _tries(self) -> Iterator[float]:
        """Numbers at which conditions on scalars may turn out otherwise."""
        for c in (*self.numbers, 0.0, 1.0, 1e6, -1e6):
            single = np.float32(c)
            near = [float(np.nextafter(single, np.float32(s))) for s in (1e30, -1e30)]
            yield from (c, c + 1, c - 1, *near)

    def small(self, rng: np.random.Generator) -> Case | None:
        """Small sizes at random; None where they are too many, or not taken."""
        own = self.subject.case.sizes
        sizes = dict(own)
        for name, (step, _) in self.free().items():
            drawn = int(rng.integers(1, min(sizes[name], _SMALLEST) + 1))
            sizes[name] = max(step, drawn // step * step)
        sizes = _grouped(sizes, own)
        return None if math.prod(sizes.values()) > _SMALL else self.admitted(sizes)


def _grouped(sizes: dict[str, int], own: Mapping[str, int]) -> dict[str, int]:
    """Groups of heads keep their number of heads."""
    if {"H", "G"} <= own.keys():
        ratio = own["H"] // own["G"]
        sizes["G"] = min(sizes["G"], 2)
        sizes["H"] = ratio * sizes["G"]
        sizes["B"] = min(sizes.get("B", 1), 2)
    return sizes


def _single(value: float) -> float:
    """As a kernel gets it: scalars are f32."""
    return float(np.float32(value))


def _fits(value: float) -> bool:
    return math.isfinite(value) and abs(value) < _LARGEST_SCALAR


def _roots(
    conditions: list[tuple[Expr, bool]], env: Mapping[str, Any], name: str
) -> Iterator[float]:
    """Values of a scalar at which sides of a comparison are equal, or nearly so."""
    for cond, _ in conditions:
        if not (isinstance(cond, Binary) and cond.op in _COMPARISONS):
            continue
        off: list[float] = []
        for value in (0, 1):
            with contextlib.suppress(KeyError, ZeroDivisionError, OverflowError):
                at = {**env, name: value}
                off.append(float(evaluate(cond.left, at) - evaluate(cond.right, at)))
        if len(off) == 2 and off[0] != off[1] and all(map(math.isfinite, off)):
            root = off[0] / (off[0] - off[1])
            for factor in (1, 2, 0.5):
                yield from (factor * root, factor * root + 1, factor * root - 1)


def _fulfilled(conditions: list[tuple[Expr, bool]], env: Mapping[str, Any]) -> int:
    """How many conditions turn out as they shall."""
    count = 0
    for cond, taken in conditions:
        with contextlib.suppress(KeyError, ZeroDivisionError, OverflowError):
            count += bool(evaluate(cond, env)) == taken
    return count
