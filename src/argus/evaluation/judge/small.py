"""Small cases that stand for a problem, for the interpreter.

Sizes become a few tiles of the candidate: one case keeps each size's remainder, one has
tails everywhere. What divides a size by itself divides the small one (up to 16), since
the program relies on it.

A candidate may be right for small sizes only: `if K > 4096`. What it does at the
problem's own sizes is the business of `driving.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from argus.evaluation.judge.candidate import environment
from argus.evaluation.judge.subject import Subject
from argus.evaluation.tiles.extents import tile_extents
from argus.ir.expr import Const, holds
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.kernels.library import Case
from argus.specialisations import divisor

WORK = 1 << 24
"""Products or elements below which a problem is run at its own sizes."""


@dataclass(frozen=True)
class Small:
    """A case to run; ``whole``: the problem itself."""

    case: Case
    why: str
    whole: bool = False


class Unrepresented(Exception):  # noqa: N818 - a result, not a fault
    """There is no small case that the kernel takes; says why."""


def small_cases(program: Program, subject: Subject) -> tuple[Small, ...]:
    """The cases to run instead of the problem's own.

    Raises :class:`Unrepresented`.
    """
    own = subject.case
    if _work(subject, own) <= WORK:
        return (Small(own, "the problem's own sizes", whole=True),)
    tiles, inner = tile_extents(program)
    depth = 1 + max((r.stages for r in program.rings), default=1)
    found: list[Small] = []
    for tails, why in ((False, "whole tiles"), (True, "tails")):
        sizes = _shrunk(subject, program, tiles, inner, depth, tails)
        made = _admitted(program, subject, _case(subject, sizes, why), tiles)
        if made is not None and made.case.sizes not in [s.case.sizes for s in found]:
            found.append(made)
    if not found:
        raise Unrepresented("the kernel's requirements refuse every small size")
    return tuple(found)


def _case(subject: Subject, sizes: Mapping[str, int], why: str) -> Small:
    name = ", ".join(f"{k}={v}" for k, v in sizes.items())
    return Small(Case(name, dict(sizes), subject.case.options), why)


def _work(subject: Subject, case: Case) -> int:
    work = subject.entry.work(case)
    elements = sum(math.prod(a.shape) for a in subject.entry.arguments(case))
    # A user's reference has no count of its operations; matrix products are the dear
    # ones, and all sizes together bound them.
    flops = work.flops if work.flops > 0 else math.prod(case.sizes.values())
    return max(flops // 2, elements)


# ------------------------------------------------------------------------------- sizes


def _shrunk(
    subject: Subject,
    program: Program,
    tiles: Mapping[str, int],
    inner: frozenset[str],
    depth: int,
    tails: bool,
) -> dict[str, int]:
    """Sizes of a few tiles; those that the program has fixed stay."""
    fixed = _fixed(program)
    sizes = dict(subject.case.sizes)
    blocks = 1
    for name, n in subject.case.sizes.items():
        if name in fixed or tiles.get(name, 1) > 1:
            continue
        sizes[name] = min(n, 3 if tails and blocks == 1 else 2)
        blocks *= sizes[name]
    if {"H", "G"} <= sizes.keys():  # groups of heads keep their number
        ratio = subject.case.sizes["H"] // subject.case.sizes["G"]
        sizes["G"] = min(subject.case.sizes["G"], 2 if ratio == 1 else 1)
        sizes["H"] = ratio * sizes["G"]
        sizes["B"] = 1 if tails or ratio > 2 else min(sizes["B"], 2)
        blocks = sizes["H"] * sizes["B"]
    cluster = program.cluster
    for name, n in subject.case.sizes.items():
        tile = tiles.get(name, 1)
        if name in fixed or tile == 1:
            continue
        step = program.facts.get(name, divisor(n))
        rest = max(step, (tile // 2 + 8) // step * step) if tails else n % tile
        if name in inner:
            # Around the ring once, and one more.
            whole = tile * (2 if tails or blocks > 4 else depth)
        elif tails:
            whole = tile if blocks <= 4 else 0
            blocks *= 8
        else:
            whole, cluster = tile * cluster, 1  # the first one is the rows' dimension
        sizes[name] = min(n, _up(whole + rest, step))
    return sizes


def _fixed(program: Program) -> frozenset[str]:
    """Dimensions whose size is a static parameter."""
    found: set[str] = set()
    for param in program.params:
        if isinstance(param, GlobalTensor):
            pairs = zip(param.dims, param.shape, strict=True)
            found.update(dim for dim, size in pairs if isinstance(size, Const))
    return frozenset(found)


def _up(n: int, step: int) -> int:
    return (n + step - 1) // step * step


def _admitted(
    program: Program, subject: Subject, small: Small, tiles: Mapping[str, int]
) -> Small | None:
    """The case, or one that is a little larger, where the program takes it.

    A size that follows from others (the length of a table of tiles) may have a divisor
    that the program relies on, too.
    """
    if _admits(program, subject, small.case):
        return small
    for name, n in small.case.sizes.items():
        if tiles.get(name, 1) > 1:
            continue
        for more in range(n + 1, min(n + 16, subject.case.sizes[name]) + 1):
            sizes = {**small.case.sizes, name: more}
            made = _case(subject, sizes, small.why)
            if _admits(program, subject, made.case):
                return made
    return None


def _admits(program: Program, subject: Subject, case: Case) -> bool:
    env = environment(program, subject.entry.arguments(case), subject)
    return all(holds(r.cond, env) for r in program.requirements)
