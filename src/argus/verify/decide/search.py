"""Values that break a condition: by trying some, or by trying all where they are few.

`attempt` tries values that tend to matter: ends of ranges, neighbours of constants.
`enumerated` decides exactly by evaluating every point on arrays. Both use
`evaluation.py` only, so they share nothing with the normal form and the solver.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from math import inf, prod
from typing import assert_never

import numpy as np

from argus.ir.expr import Binary, Const, Expr, Select, Sym, subexpressions
from argus.verify.decide.evaluation import Array, DivisionByZero, on_arrays, on_ints
from argus.verify.decide.facts import Skimmed, implicit_range, range_of, symbols_of
from argus.verify.decide.polynomial import Interval

__all__ = ["attempt", "breaks", "enumerated"]

TRIES = 96
POINTS = 1 << 18
"""Most points that are enumerated."""
SAFE = 1 << 62


def breaks(model: Mapping[str, int], goal: Expr, facts: Sequence[Expr]) -> bool:
    """Whether a model satisfies ranges and facts, and the goal is false in it.

    Raises DivisionByZero where the goal divides by zero while the facts hold.
    """
    for sym in symbols_of(goal, facts):
        if not implicit_range(sym).contains(model[sym.name]):
            return False
    try:
        if not all(on_ints(fact, model) for fact in facts):
            return False
    except DivisionByZero:
        return False
    return not on_ints(goal, model)


def attempt(goal: Expr, facts: Sequence[Expr], known: Skimmed) -> dict[str, int] | None:
    """A model that breaks the goal, if one of the tries does."""
    constants = sorted({c for e in (goal, *facts) for c in _constants(e)})
    choices = {n: _choices(n, known, constants) for n in known.free}
    if not all(choices.values()):
        return None
    for candidate in _candidates(choices):
        try:
            for name, value in known.definitions.items():
                candidate[name] = on_ints(value, candidate)
            if breaks(candidate, goal, facts):
                return candidate
        except DivisionByZero:
            continue
    return None


def _candidates(choices: dict[str, list[int]]) -> Iterator[dict[str, int]]:
    """All smallest, each alone at its other values, then mixtures (the same always)."""
    least = {n: values[0] for n, values in choices.items()}
    yield dict(least)
    count = 1
    for name, values in choices.items():
        for value in values[1:4]:
            if count >= TRIES // 2:
                break
            count += 1
            yield {**least, name: value}
    generator = random.Random(len(choices))
    for _ in range(TRIES - count):
        yield {n: generator.choice(values) for n, values in choices.items()}


def _choices(name: str, known: Skimmed, constants: Sequence[int]) -> list[int]:
    """Values to try for a symbol, the simplest first."""
    where, step = known.ranges[name], known.steps.get(name, 1)
    base = int(where.lo) if where.lo != -inf else 0
    top = int(where.hi) if where.hi != inf else None
    if where.lo == -inf and top is not None:
        base = min(0, top)
    base = -(-base // step) * step
    wanted = [base + i * step for i in (0, 1, 2, 3, 5, 8)]
    if top is not None:
        wanted += [top // step * step, (top - 1) // step * step]
    for c in constants:
        wanted += [c // step * step, (c + 1) // step * step, 2 * c // step * step]
    if where.lo == -inf:
        wanted += [-step, -2 * step, -7 * step]
    return [v for v in dict.fromkeys(wanted) if where.lo <= v <= where.hi]


def _constants(e: Expr) -> Iterator[int]:
    for part in subexpressions(e):
        if isinstance(part, Const) and isinstance(part.value, int):
            yield int(part.value)


def enumerated(
    goal: Expr, facts: Sequence[Expr], known: Skimmed, points: int = POINTS
) -> tuple[bool, dict[str, int]] | None:
    """Decide by all values: (holds, a model where it does not).

    None where the values are too many, or where values might not fit in 64 bits.
    Raises DivisionByZero where the goal divides by zero at a point of the facts.
    """
    free = known.free
    ranges = dict(known.ranges)
    axes: list[Array] = []
    for name in free:
        where, step = ranges[name], known.steps.get(name, 1)
        if not where.finite():
            return None
        first = -(-int(where.lo) // step) * step
        if (where.hi - first) // step + 1 > points:
            return None
        axes.append(np.arange(first, int(where.hi) + 1, step, dtype=np.int64))
    if prod(len(axis) for axis in axes) > points:
        return None
    computed = {n: ranges[n] for n in free}
    for name, value in known.definitions.items():
        computed[name] = range_of(value, computed)
    if not all(_fits(e, computed) for e in (goal, *facts, *known.definitions.values())):
        return None
    shape = tuple(len(axis) for axis in axes)
    env: dict[str, Array] = {}
    for i, (name, axis) in enumerate(zip(free, axes, strict=True)):
        env[name] = axis.reshape([-1 if i == j else 1 for j in range(len(axes))])
    allowed = np.ones(shape, np.bool_)
    for name, value in known.definitions.items():
        env[name], defined = on_arrays(value, env)
        allowed &= defined
        where = known.ranges[name]
        allowed &= (env[name] >= where.lo) & (env[name] <= where.hi)
    for fact in facts:
        value, defined = on_arrays(fact, env)
        allowed &= defined & (value != 0)
    value, defined = on_arrays(goal, env)
    if np.any(allowed & ~defined):
        raise DivisionByZero
    wrong = allowed & (value == 0)
    if not wrong.any():
        return True, {}
    at = np.unravel_index(int(np.argmax(wrong)), shape) if shape else ()
    model = {
        name: int(np.broadcast_to(values, shape)[at]) for name, values in env.items()
    }
    return False, model


def _fits(e: Expr, ranges: dict[str, Interval]) -> bool:
    """Whether every intermediate value fits in 64 bits."""
    if not range_of(e, ranges).within(-SAFE, SAFE):
        return False
    match e:
        case Binary():
            return _fits(e.left, ranges) and _fits(e.right, ranges)
        case Select():
            return all(_fits(x, ranges) for x in (e.cond, e.then, e.other))
        case Const() | Sym():
            return True
        case _:
            assert_never(e)
