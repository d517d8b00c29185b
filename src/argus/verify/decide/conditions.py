"""Proving conditions by normal form: comparisons, and, or, cases.

Proves or says nothing; never refutes. Contexts of facts are kept, because one kernel
asks many questions under the same facts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym, select
from argus.verify.decide.evaluation import Unmodelled, negate
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.inequality import at_least, nonzero
from argus.verify.decide.normal import Normal

__all__ = ["context_of", "proved"]

CASES = 3
"""How many selections and minima are taken apart."""


@lru_cache(maxsize=512)
def context_of(facts: tuple[Expr, ...]) -> Normal:
    """The context of conjuncts, made once."""
    return Normal(facts, lambda context, p: at_least(context, p, 1))


def proved(goal: Expr, facts: tuple[Expr, ...], cases: int = CASES) -> bool:
    """Whether the goal follows from the facts, as far as this layer sees."""
    context = context_of(facts)
    if context.contradiction or goal in facts:
        return True
    try:
        if _holds(goal, facts, context, cases):
            return True
    except Unmodelled:
        return False
    return cases > 0 and _by_cases(goal, facts, cases)


def _holds(goal: Expr, facts: tuple[Expr, ...], context: Normal, cases: int) -> bool:
    match goal:
        case Const(value=v):
            return bool(v)
        case Binary(op="and", left=a, right=b):
            if not proved(a, facts, cases):
                return False
            return proved(b, facts, cases) or proved(b, conjuncts((*facts, a)), cases)
        case Binary(op="or", left=a, right=b):
            if proved(a, facts, 0):
                return True
            context.check(a)
            return proved(b, conjuncts((*facts, negate(a))), cases)
        case Select(cond=c, then=a, other=b):
            context.check(c)
            return proved(a, conjuncts((*facts, c)), cases) and proved(
                b, conjuncts((*facts, negate(c))), cases
            )
        case Binary(op="!=", left=a, right=b):
            return nonzero(context, context.of(a) - context.of(b))
        case Binary(op="==", left=a, right=b) if a.type == "bool" != b.type:
            # A condition compared with a number: negation is written like this.
            if isinstance(b, Const) and b.value in (0, 1):
                return proved(a if b.value else negate(a), facts, cases)
            return _sides(context, goal.op, a, b)
        case Binary(op=op, left=a, right=b) if op in _ORDERED:
            return _sides(context, op, a, b)
        case Sym(type="bool"):
            return at_least(context, context.of(goal), 1)
        case Sym() | Binary():
            return False
        case _:
            assert_never(goal)


_ORDERED = frozenset({"==", "<", "<=", ">", ">="})


def _sides(context: Normal, op: str, a: Expr, b: Expr) -> bool:
    return all(at_least(context, p, 0) for p in context.sides(op, a, b))


def _by_cases(goal: Expr, facts: tuple[Expr, ...], cases: int) -> bool:
    """Take the first selection, minimum or maximum apart."""
    condition = next((c for e in (goal, *facts) for c in _conditions(e)), None)
    if condition is None:
        return False
    try:
        context_of(facts).check(condition)
    except Unmodelled:
        return False
    for truth in (True, False):
        given = condition if truth else negate(condition)
        fixed = tuple(_resolved(f, condition, truth) for f in facts)
        inner = conjuncts((*fixed, given))
        if not proved(_resolved(goal, condition, truth), inner, cases - 1):
            return False
    return True


def _conditions(e: Expr) -> list[Expr]:
    """Conditions of selections, innermost first."""
    match e:
        case Binary():
            inner = _conditions(e.left) + _conditions(e.right)
            if e.op in ("min", "max"):
                return [*inner, Binary("<=", e.left, e.right)]
            return inner
        case Select():
            inner = [c for x in (e.cond, e.then, e.other) for c in _conditions(x)]
            return [*inner, e.cond]
        case Const() | Sym():
            return []
        case _:
            assert_never(e)


def _resolved(e: Expr, condition: Expr, truth: bool) -> Expr:
    """The expression where a condition is known."""
    match e:
        case Binary(op=op, left=a, right=b):
            left, right = _resolved(a, condition, truth), _resolved(b, condition, truth)
            if op in ("min", "max") and Binary("<=", a, b) == condition:
                return left if truth == (op == "min") else right
            return Binary(op, left, right)
        case Select(cond=c, then=a, other=b):
            if c == condition:
                return _resolved(a if truth else b, condition, truth)
            parts = (_resolved(x, condition, truth) for x in (c, a, b))
            return select(*parts)
        case Const() | Sym():
            return e
        case _:
            assert_never(e)
