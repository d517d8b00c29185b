"""Numbers that data of runs has because the author may have meant them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import permutations

import numpy as np

from argus.equivalence.references import Reference
from argus.evaluation.drawing import constants, numbers, specials
from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Sym, subexpressions, whole_constants
from argus.ir.program import Program, ScalarParam
from argus.ir.walk import expressions, walk

__all__ = [
    "compared_scalars",
    "has_infinities",
    "meant",
    "of_scalars",
    "required_numbers",
]

_COMPARED = ("==", "!=", "<", "<=", ">", ">=", "min", "max")

_MASK = -1e3
"""A constant that is no larger stands for minus infinity, as a rule."""
_GUARD, _THEIRS = 2.0**24, 6
"""Numbers of a reference up to this are data, and so many of them."""
_SCALARS, _LEAST = 3, 1e-6
"""Float arguments at which data is drawn, at most, and numbers that are not small."""
_SIMPLE = 5
"""Special numbers that belong to no program."""
_BEYOND = (3e9, -3e9)
"""Floats that 32 bits do not hold."""


def meant(program: Program, reference: Reference) -> tuple[float, ...]:
    """Special numbers of a program, and those of the reference that it lacks.

    A large negative constant masks scores, and stands for less than any of them: no
    score is anywhere near to it. Large numbers of a reference keep functions from
    overflowing.
    """
    least = max((c for c in constants([program]) if c <= _MASK), default=-math.inf)
    found = specials([program], ())
    own = [x for x in reference.numbers if _MASK < x <= _GUARD and x not in found]
    theirs = (*own[:_THEIRS], *(2.0 * x for x in own[:_THEIRS]))
    found = (*found[:_SIMPLE], *theirs, *found[_SIMPLE:])
    if any(_saturates(op) for op in walk(program.body)):
        found = (*found[:1], *_BEYOND, *found[1:])
    return tuple(s for s in found if s > least / 2)


def of_scalars(scalars: Mapping[str, int | float]) -> tuple[float, ...]:
    """Numbers at which data meets floats of a run: ``x > t``, ``x * b > t``."""
    some = [x for x in scalars.values() if isinstance(x, float) and x][:_SCALARS]
    found = dict.fromkeys(some)
    found |= dict.fromkeys(-x for x in some)
    for one, other in permutations(some, 2):
        found |= dict.fromkeys((one / other, one * other))
    near = (float(np.float32(x)) for x in found)
    return tuple(x for x in near if _LEAST < abs(x) < _GUARD)


def has_infinities(program: Program) -> bool:
    """Whether a program has an infinity, or a number that may stand for one."""
    return any(abs(c) >= -_MASK for c in numbers([program]))


def _saturates(op: o.AnyOp) -> bool:
    """Whether an operation cuts floats to whole numbers of 32 bits."""
    return (
        isinstance(op, o.Cast)
        and op.src.dtype.is_float
        and op.result.dtype.name == "i32"
    )


def compared_scalars(program: Program) -> list[tuple[str, float]]:
    """Scalar arguments of floats by name, and numbers that they are compared with.

    The smaller and the larger of both compare them, too.
    """
    params = (p for p in program.params if isinstance(p, ScalarParam))
    floats = {p.sym: p.name for p in params if p.dtype.startswith("f")}
    found: dict[tuple[str, float], None] = {}

    def note(scalar: Expr, number: Expr) -> None:
        if isinstance(scalar, Sym) and isinstance(number, Const) and scalar in floats:
            found[floats[scalar], float(number.value)] = None

    for op in walk(program.body) if floats else ():
        for e in expressions(op):
            for part in subexpressions(e):
                if isinstance(part, Binary) and part.op in _COMPARED:
                    note(part.left, part.right)
                    note(part.right, part.left)
    return list(found)


def required_numbers(program: Program) -> tuple[int, ...]:
    """Whole numbers by which a kernel says what it requires of a launch."""
    numbers = (n for r in program.requirements for n in whole_constants(r.cond))
    return tuple(dict.fromkeys(numbers))
