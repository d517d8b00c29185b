"""Sizes and scalars but the problem's own, which both kernels take.

Those at which a condition turns out in a way that it cannot at the problem's own: twice
or half the sizes, else what a solver finds. And small ones, drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from argus.evaluation.judge.drawing import MODES
from argus.evaluation.judge.settings import MANY, Setting, case_of
from argus.evaluation.judge.subject import Subject
from argus.evaluation.tiles import Facet, other_sizes
from argus.ir.expr import evaluate, symbols
from argus.ir.program import SM_COUNT, Program, ScalarParam
from argus.kernels.library import Case

__all__ = ["Elsewhere"]

_LEAST = 1 << 16
"""What sizes may grow to, at least."""
_SMALL = 1 << 22
"""Products of sizes up to which all blocks of a small case are run."""
_SMALLEST = 300
"""Small sizes are at most so large."""


@dataclass(frozen=True)
class Elsewhere:
    """What may change; ``numbers`` are the constants of both ``programs``."""

    subject: Subject
    programs: tuple[Program, ...]
    numbers: tuple[float, ...]

    def free(self) -> dict[str, tuple[int, int]]:
        """Sizes that may change: what divides them, and their largest value."""
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
            found[name] = math.lcm(*steps), max(4 * n, _LEAST)
        return found

    def admitted(self, sizes: Mapping[str, int]) -> Case | None:
        """The case of these sizes, if both kernels take it."""
        case = case_of(self.subject, {**self.subject.case.sizes, **sizes})
        if case is None:
            return None
        setting = Setting(self.subject, case, self.subject.scalars, MODES[0], 0, ())
        return case if all(setting.admits(p) for p in self.programs) else None

    def scaled(self) -> Iterator[Case]:
        """Twice and half the problem's sizes: no solver is needed for those."""
        own, free = self.subject.case.sizes, self.free()
        for up, down in ((2, 1), (1, 2)):
            case = self.admitted({n: own[n] * up // down for n in free})
            if free and case is not None:
                yield case

    def solved(self, program: Program, facet: Facet) -> tuple[Case, int] | None:
        """A case in which a block, which is named, shows a facet of a program."""
        free = self.free()
        if not free:
            return None
        kept = {
            p.sym.name: int(self.subject.scalars[p.name])
            for p in program.params
            if isinstance(p, ScalarParam) and p.dtype.startswith("i")
        }
        kept[SM_COUNT.name] = MANY
        fixed = {n: v for n, v in self.subject.case.sizes.items() if n not in free}
        found = other_sizes(program, facet, {**kept, **fixed}, free)
        if found is None:
            return None
        case = self.admitted(found.sizes)
        return None if case is None else (case, found.block)

    def scalars(self, program: Program, facet: Facet) -> dict[str, int | float] | None:
        """Scalars for which a condition that depends on them alone turns out so."""
        assert facet.when is not None
        params = {p.sym.name: p for p in program.params if isinstance(p, ScalarParam)}
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
