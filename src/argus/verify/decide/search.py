"""Values that break a condition, by trying some that tend to matter.

Ends of ranges, and neighbours of constants. Only `evaluation.py` is used, so that
nothing is shared with the normal form and the solver.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from argus.ir.expr import Expr, whole_constants
from argus.verify.decide.evaluation import DivisionByZero, on_ints
from argus.verify.decide.facts import Skimmed, implicit_range, symbols_of
from argus.verify.decide.polynomial import Interval

__all__ = ["attempt", "breaks"]

TRIES = 96


def breaks(model: Mapping[str, int], goal: Expr, facts: Sequence[Expr]) -> bool:
    """Whether a model satisfies ranges and facts, and the goal is false in it.

    Raises DivisionByZero where the goal divides by zero while the facts hold.
    """
    return _breaks(model, goal, facts, _admitted(goal, facts))


def _admitted(goal: Expr, facts: Sequence[Expr]) -> list[tuple[str, Interval]]:
    """What the kinds of symbols promise."""
    return [(s.name, implicit_range(s)) for s in symbols_of(goal, facts)]


def _breaks(
    model: Mapping[str, int],
    goal: Expr,
    facts: Sequence[Expr],
    admitted: Sequence[tuple[str, Interval]],
) -> bool:
    if not all(where.contains(model[name]) for name, where in admitted):
        return False
    try:
        if not all(on_ints(fact, model) for fact in facts):
            return False
    except DivisionByZero:
        return False
    return not on_ints(goal, model)


def attempt(goal: Expr, facts: Sequence[Expr], known: Skimmed) -> dict[str, int] | None:
    """A model that breaks the goal, if one of the tries does."""
    constants = sorted({c for e in (goal, *facts) for c in whole_constants(e)})
    choices = {n: _choices(n, known, constants) for n in known.free}
    if not all(choices.values()):
        return None
    admitted = _admitted(goal, facts)
    for candidate in _candidates(choices):
        try:
            for name, value in known.definitions.items():
                candidate[name] = on_ints(value, candidate)
            if _breaks(candidate, goal, facts, admitted):
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
