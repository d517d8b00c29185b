"""Functions of scans and folds as algebra: are they associative, what is neutral?

A combination is applied to states of which nothing is known (opaque leaves), in real
arithmetic, and both sides are compared by their normal form. One that only compares and
chooses is tried in every order of its numbers (`choosing_functions`). What is not shown
stays unknown, with numbers for which the two sides differ where some are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import inf

import numpy as np

from argus.ir.combine import Combination, CombinationStep
from argus.ir.combining import combined_once
from argus.ir.dtypes import DType
from argus.terms import (
    Applied,
    Carried,
    IndexSet,
    Integer,
    Unknown,
    Value,
    World,
    apply,
    leaf_term,
    literal,
    vanishes,
)
from argus.terms.maxima import maximum_over
from argus.verify.choosing_functions import chooses_alike

__all__ = ["applied", "associative", "constant", "left_out", "neutral"]

_MOST_CANDIDATES = 256
_EXTREMES = {"maximum": 1, "minimum": -1}


def applied(
    world: World, combine: Combination, before: Sequence[Value], after: Sequence[Value]
) -> list[Value]:
    """The state that is made of two. Raises Unknown.

    A largest number is one of all that it may be, each where it is: what is relative to
    it is so in each case.
    """

    def step(one: CombinationStep, args: list[Value]) -> Value:
        made = apply(world, one.fn, *args)
        if made.kind != "real" or one.fn not in _EXTREMES or len(made.cases) < 2:
            return made
        sign = _EXTREMES[one.fn]
        sources = (((), where, x.scaled(sign)) for where, x in made.terms)
        whole = maximum_over(world, sources).scaled(sign)
        return made if whole.special is not None else Value.real(whole)

    return combine.run(before, after, lambda x: constant(world, x), step)


@lru_cache(maxsize=256)
def associative(combine: Combination, types: tuple[DType, ...]) -> str | None:
    """None where ``f(f(a, b), c)`` is ``f(a, f(b, c))``; else why that is not shown.

    Sums, products and extremes of one number are.
    """
    if combine.reduction is not None:
        return None
    world = World()
    a, b, c = (_opaque(name, types) for name in "abc")
    try:
        left = applied(world, combine, applied(world, combine, a, b), c)
        right = applied(world, combine, a, applied(world, combine, b, c))
        if all(_equal(world, x, y) for x, y in zip(left, right, strict=True)):
            return None
        left_open = ""
    except Unknown as why:
        left_open = f"{why}"
    if chooses_alike(combine, types):
        return None
    shown = left_open or _differing(combine, types)
    return shown or "the two sides are not shown to be equal"


@lru_cache(maxsize=256)
def neutral(combine: Combination, types: tuple[DType, ...]) -> tuple[float, ...] | None:
    """A state that changes none that follows it: ``f(e, b)`` is ``b``."""
    world = World()
    after = _opaque("b", types)
    numbers = [(0.0, 1.0, -inf, inf) if t.is_float else (0, 1) for t in types]
    for count, candidate in enumerate(product(*numbers)):
        if count == _MOST_CANDIDATES:
            return None
        if is_neutral(world, combine, candidate, after):
            return candidate
    return None


def is_neutral(
    world: World,
    combine: Combination,
    candidate: Sequence[float],
    state: Sequence[Value],
    behind: bool = False,
) -> bool:
    """Whether a state of constants before (or behind) another one changes nothing."""
    constants = [constant(world, x) for x in candidate]
    pair = (state, constants) if behind else (constants, state)
    try:
        made = applied(world, combine, *pair)
        return all(_equal(world, x, y) for x, y in zip(made, state, strict=True))
    except Unknown:
        return False


def left_out(
    combine: Combination, types: tuple[DType, ...], padding: Sequence[float]
) -> bool:
    """Whether elements of these numbers may take part in a fold uncounted."""
    world = World()
    state = _opaque("a", types)
    return all(is_neutral(world, combine, padding, state, x) for x in (False, True))


def _opaque(name: str, types: Sequence[DType]) -> list[Value]:
    found: list[Value] = []
    for i, t in enumerate(types):
        if t.is_float:
            found.append(Value.real(leaf_term(Carried(f"{name}{i}", ()))))
        else:
            found.append(Value.whole(Integer.atom(Applied(f"{name}{i}", ()))))
    return found


def constant(world: World, value: int | float | bool) -> Value:
    """A number of a state."""
    if isinstance(value, bool):
        return Value.truth(IndexSet.universe if value else IndexSet.nothing)
    if isinstance(value, int):
        return Value.whole(Integer.of(value))
    return Value.real(literal(world, value))


def _equal(world: World, x: Value, y: Value) -> bool:
    """Whether two values are the same wherever both are asked for."""
    if x.kind != y.kind:
        return False
    if x.kind == "truth":
        return world.equal_sets(x.where, y.where)
    for where, one in x.cases:
        for there, other in y.cases:
            if one == other or world.is_empty(where & there):
                continue
            if isinstance(one, Integer) or isinstance(other, Integer):
                if not isinstance(one, Integer) or not isinstance(other, Integer):
                    return False
                apart = world.compare(one, "!=", other)
                if not world.is_empty(where & there & apart):
                    return False
            elif not vanishes(one - other):
                return False
    return True


def _differing(combine: Combination, types: tuple[DType, ...]) -> str | None:
    """Small numbers for which the two sides differ."""
    random = np.random.default_rng(0)
    shape = (3, len(types), 64)
    states = [[np.asarray(x) for x in s] for s in random.integers(-4, 5, shape)]
    a, b, c = states
    with np.errstate(all="ignore"):
        ab = combined_once(combine, types, _typed(a, types), _typed(b, types), True)
        left = combined_once(combine, types, ab, _typed(c, types), True)
        bc = combined_once(combine, types, _typed(b, types), _typed(c, types), True)
        right = combined_once(combine, types, _typed(a, types), bc, True)
    for x, y in zip(left, right, strict=True):
        wrong = np.isfinite(x) & np.isfinite(y) & ~np.isclose(x, y, 1e-6, 1e-6)
        if wrong.any():
            at = int(np.argmax(wrong))
            said = [tuple(int(v[at]) for v in s) for s in (a, b, c)]
            shown = [s[0] if len(s) == 1 else s for s in said]
            return (
                f"a = {shown[0]}, b = {shown[1]}, c = {shown[2]}: f(f(a, b), c) is "
                f"{x[at]:g}, and f(a, f(b, c)) is {y[at]:g}"
            )
    return None


def _typed(state: Sequence[np.ndarray], types: Sequence[DType]) -> list[np.ndarray]:
    kinds = [np.float64 if t.is_float else np.int64 for t in types]
    return [x.astype(k) for x, k in zip(state, kinds, strict=True)]
