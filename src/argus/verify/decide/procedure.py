"""The order of the layers: normal form, trying values, Z3; and a cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from argus.ir.expr import Const, Expr, Operand, binary
from argus.verify.decide import conditions
from argus.verify.decide.decision import Decision
from argus.verify.decide.evaluation import FLOATS, DivisionByZero, has_floats
from argus.verify.decide.facts import Skimmed, conjuncts, skim
from argus.verify.decide.search import attempt, breaks
from argus.verify.decide.solver import solve
from argus.verify.verdict import Verdict

__all__ = ["equal", "prove"]

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


@lru_cache(maxsize=1 << 16)
def _prove(goal: Expr, facts: tuple[Expr, ...], timeout_ms: int) -> Decision:
    if has_floats(goal):
        return Decision(Verdict.UNKNOWN, "normal form", FLOATS)
    # Facts mostly do not contradict each other, and few values show that.
    possible = goal == Const(False)
    if not possible and conditions.proved(goal, facts):
        return Decision(Verdict.PROVED, "normal form")
    known = skim(goal, facts)
    try:
        model = attempt(goal, facts, known)
        if model is not None:
            return _refuted(model, "trying values", goal, facts)
        if possible and conditions.proved(goal, facts):
            return Decision(Verdict.PROVED, "normal form")
        return _solved(goal, facts, known, timeout_ms)
    except DivisionByZero:
        return Decision(Verdict.UNKNOWN, "trying values", UNDEFINED)


def _solved(
    goal: Expr, facts: tuple[Expr, ...], known: Skimmed, timeout_ms: int
) -> Decision:
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
