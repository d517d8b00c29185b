"""The order of the layers: normal form, trying values, enumeration, Z3; and a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from argus.ir.expr import Expr, Operand, binary, lift, symbols
from argus.verify.decide import conditions
from argus.verify.decide.decision import Decision
from argus.verify.decide.evaluation import (
    FLOATS,
    DivisionByZero,
    Unmodelled,
    has_floats,
)
from argus.verify.decide.facts import Skimmed, conjuncts, skim
from argus.verify.decide.search import attempt, breaks, enumerated
from argus.verify.decide.solver import solve
from argus.verify.verdict import Verdict

__all__ = ["ArrayDecision", "Relation", "bounds", "equal", "prove", "prove_all"]

TIMEOUT_MS = 500
UNDEFINED = "a divisor may be 0"


def prove(
    goal: Expr, given: Sequence[Expr] = (), *, timeout_ms: int = TIMEOUT_MS
) -> Decision:
    """Is a condition true for all values of its symbols that satisfy the given facts?

    Implicit facts: problem sizes, the grid and the number of multiprocessors are at
    least 1; symbols marked `nonneg` are at least 0; bool symbols are 0 or 1. Whatever
    else is known (`block_x < grid_x`, `bm == tile // n`, loop ranges) is given. Facts
    that contradict each other prove everything.

    Proved includes that no divisor in the goal is 0. Refuted comes with a model of all
    symbols in goal and facts, each of which was evaluated. Facts about floating-point
    numbers are left out; they are taken to be satisfiable.
    """
    facts = tuple(f for f in conjuncts(given) if not has_floats(f))
    return _prove(goal, facts, timeout_ms)


def equal(
    a: Operand,
    b: Operand,
    given: Sequence[Expr] = (),
    *,
    timeout_ms: int = TIMEOUT_MS,
) -> Decision:
    """Are two integer expressions equal for all values that satisfy the facts?"""
    return prove(binary("==", a, b), given, timeout_ms=timeout_ms)


def bounds(e: Expr, given: Sequence[Expr] = ()) -> tuple[int | None, int | None]:
    """Bounds that an integer expression never leaves; None where none was found.

    Sound, often exact, never slow (no solver). (None, None) for what is not modelled.
    Of facts that contradict each other, any bounds follow.
    """
    facts = tuple(f for f in conjuncts(given) if not has_floats(f))
    try:
        lo, hi = conditions.limits(e, facts)
    except Unmodelled:
        return None, None
    return (
        None if lo in (inf, -inf) else int(lo),
        None if hi in (inf, -inf) else int(hi),
    )


@lru_cache(maxsize=1 << 16)
def _prove(goal: Expr, facts: tuple[Expr, ...], timeout_ms: int) -> Decision:
    if has_floats(goal):
        return Decision(Verdict.UNKNOWN, "normal form", FLOATS)
    if conditions.proved(goal, facts):
        return Decision(Verdict.PROVED, "normal form")
    known = skim(goal, facts)
    try:
        return _by_values(goal, facts, known, timeout_ms)
    except DivisionByZero:
        return Decision(Verdict.UNKNOWN, "enumeration", UNDEFINED)


def _by_values(
    goal: Expr, facts: tuple[Expr, ...], known: Skimmed, timeout_ms: int
) -> Decision:
    model = attempt(goal, facts, known)
    if model is not None:
        return _refuted(model, "trying values", goal, facts)
    decided = enumerated(goal, facts, known)
    if decided is not None:
        holds, model = decided
        if holds:
            return Decision(Verdict.PROVED, "enumeration")
        return _refuted(model, "enumeration", goal, facts)
    answer = solve(goal, facts, known, timeout_ms)
    if answer.holds:
        return Decision(Verdict.PROVED, answer.method)
    if answer.model is not None:
        return _refuted(answer.model, answer.method, goal, facts)
    return Decision(Verdict.UNKNOWN, answer.method, answer.reason)


def _refuted(
    model: dict[str, int], method: str, goal: Expr, facts: tuple[Expr, ...]
) -> Decision:
    """Refuted, once the model was evaluated."""
    try:
        if breaks(model, goal, facts):
            return Decision(Verdict.REFUTED, method, model=dict(sorted(model.items())))
    except DivisionByZero:
        return Decision(Verdict.UNKNOWN, method, UNDEFINED, model)
    reason = "the model that was found does not break the condition (please report)"
    return Decision(Verdict.UNKNOWN, method, reason, model)


# ------------------------------------------------------------------------ arrays

Relation = Literal["==", "!=", "<", "<=", ">", ">="]
MAX_DISTINCT = 4096
"""Different array values that are looked at one by one, for `!=`."""


@dataclass(frozen=True)
class ArrayDecision:
    """A decision about every element; the index of one that decides where not proved.

    ``index`` is None where all was proved, or nothing is known of any element.
    """

    decision: Decision
    index: tuple[int, ...] | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict of the decision."""
        return self.decision.verdict


def prove_all(
    e: Operand,
    relation: Relation,
    values: NDArray[np.int64],
    limit: Operand = 0,
    given: Sequence[Expr] = (),
    *,
    timeout_ms: int = TIMEOUT_MS,
) -> ArrayDecision:
    """Is `(e + values[i]) relation limit` for every i and all values of symbols?

    The uniform part is symbolic, the array concrete: for an order only its extreme
    element matters, an equality can only hold for one value, and for `!=` a
    range of the difference leaves few elements to look at.
    """
    if values.size == 0:
        return ArrayDecision(Decision(Verdict.PROVED, "enumeration"))
    flat = values.reshape(-1)
    match relation:
        case "<" | "<=":
            picks = [int(np.argmax(flat))]
        case ">" | ">=":
            picks = [int(np.argmin(flat))]
        case "==":
            picks = list(dict.fromkeys((int(np.argmin(flat)), int(np.argmax(flat)))))
        case "!=":
            picks = _near(lift(e) - limit, flat, given)
    if len(picks) > MAX_DISTINCT:
        reason = f"more than {MAX_DISTINCT} different values"
        return ArrayDecision(Decision(Verdict.UNKNOWN, "enumeration", reason))
    decided = ArrayDecision(Decision(Verdict.PROVED, "normal form"))
    for pick in picks:
        goal = binary(relation, lift(e) + int(flat[pick]), limit)
        found = prove(goal, given, timeout_ms=timeout_ms)
        if found.verdict < decided.verdict:
            at = tuple(int(i) for i in np.unravel_index(pick, values.shape))
            decided = ArrayDecision(_whole(found, e, limit, given), at)
        if found.verdict is Verdict.REFUTED:
            break
    return decided


def _near(e: Expr, flat: NDArray[np.int64], given: Sequence[Expr]) -> list[int]:
    """First places of the different values v for which e + v may be 0."""
    lo, hi = bounds(e, given)
    _, first = np.unique(flat, return_index=True)
    found = flat[first]
    keep = np.ones(found.shape, np.bool_)
    if lo is not None:
        keep &= found <= -lo
    if hi is not None:
        keep &= found >= -hi
    return [int(i) for i in first[keep]]


def _whole(
    found: Decision, e: Operand, limit: Operand, given: Sequence[Expr]
) -> Decision:
    """A model also of symbols that cancelled out: any value will do, so one that fits.

    Left as it is where a fact would have to be solved for it.
    """
    if found.verdict is not Verdict.REFUTED:
        return found
    names = {s.name for x in (lift(e), lift(limit)) for s in symbols(x)}
    if names <= set(found.model):
        return found
    known = skim(lift(e) + lift(limit), ())
    extra = {
        n: int(r.lo) if r.lo != -inf else 0
        for n, r in known.ranges.items()
        if n not in found.model
    }
    return replace(found, model={**found.model, **extra})
