"""What operations make of values that are relative to partial maxima: `shifts.py`.

What is added must be relative to the same maxima (AG0321). A function of numbers that
belong to rows gives another such number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.functions import FUNCTIONS, law
from argus.verify.tags.accumulation import is_zero
from argus.verify.tags.compare import Agreement
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shifts import (
    EXTREMES,
    Factors,
    collected,
    joined_factors,
    lost,
    scaled_like,
    scaled_terms,
    shift_of,
)
from argus.verify.tags.values import MASKED, AbstractValue, RowStatistic, RowTerm, Shift
from argus.verify.verdict import Verdict

if TYPE_CHECKING:
    from argus.verify.tags.state import WalkState

__all__ = ["met", "number_of_row", "product_shift", "reduced_shift", "shifted_by"]


def number_of_row(state: WalkState, op: object) -> RowStatistic:
    """The identity of a row's number that an operation computes here."""
    return RowStatistic(id(op), tuple(loop.sym for loop in state.scope.loops))


def _product(scope: PathScope, a: Shift | None, b: Shift | None, sign: float) -> Shift:
    """That of a * b (or a / b), where neither is a sum with terms."""
    x, y = a or Shift(exp=True), b or Shift(exp=True)
    terms = collected(scope, (*x.terms, *scaled_terms(y.terms, sign)))
    pure = a is not None and b is not None and a.pure and b.pure
    return Shift(terms, True, pure)


def shifted_by(
    state: WalkState,
    op: o.Elementwise,
    values: Sequence[AbstractValue],
    result: AbstractValue,
) -> AbstractValue:
    """The result of an element-wise operation, with its dependence on maxima."""
    scope = state.scope
    shifts = [shift_of(scope, v) for v in values]
    if all(s is None for s in shifts):
        return result
    if any(s.fn in EXTREMES for several in result.sums.values() for s in several):
        return replace(result, row=number_of_row(state, op))
    if any(x.fn in EXTREMES for x in result.lanes.values()):
        return replace(result, row=number_of_row(state, op))
    found = _of_function(state, op, values, shifts)
    if found is None or (not found.terms and not found.lost and not found.pure):
        return result
    if found.lost and _of_rows(result, shifts):
        # Some function of numbers of the row is another one.
        found = _another(state, op, result, shifts)
    return replace(result, shift=found)


def _of_rows(result: AbstractValue, shifts: Sequence[Shift | None]) -> bool:
    """Whether a result is one number for each row, made of such."""
    known = [s for s in shifts if s is not None]
    parts = {n for s in known for t in s.terms for n, _ in t.row.over}
    return not any(s.exp or s.lost for s in known) and not parts & result.tags.keys()


def _another(
    state: WalkState,
    op: o.Elementwise,
    result: AbstractValue,
    shifts: Sequence[Shift | None],
) -> Shift:
    rows = [t.row for s in shifts if s is not None for t in s.terms]
    over = dict(pair for row in rows for pair in row.over)
    row = replace(
        number_of_row(state, op),
        dims=frozenset(result.tags),
        over=tuple(sorted(over.items(), key=lambda pair: pair[0])),
        exact=False,
    )
    return Shift((RowTerm(row, (), 1.0),), pure=True)


def _of_function(
    state: WalkState,
    op: o.Elementwise,
    values: Sequence[AbstractValue],
    shifts: Sequence[Shift | None],
) -> Shift | None:
    scope = state.scope
    for s in shifts:
        if s is not None and s.lost:
            return s
    a = shifts[0]
    b = shifts[1] if len(shifts) > 1 else None
    match law(op.fn):
        case "add" | "sub":
            sign = 1.0 if op.fn == "add" else -1.0
            return _added(state, op, values, (a, b), sign)
        case "mul":
            return _multiplied(state, op, values, (a, b), (0, 1), 1.0)
        case "div":
            return _multiplied(state, op, values, (a, b), (0, 1), -1.0)
        case "fma":
            made = _multiplied(state, op, values, (a, b), (0, 1), 1.0)
            if made is not None and made.lost:
                return made
            zero = is_zero(values[0]) or is_zero(values[1])
            product = AbstractValue((), kind=0.0 if zero else "data")
            return _added(state, op, (product, values[2]), (made, shifts[2]), 1.0)
        case "where":
            return _chosen(scope, values, shifts)
        case "neg":
            assert a is not None
            return a if a.exp else replace(a, terms=scaled_terms(a.terms, -1.0))
        case "exp" if a is not None and not a.exp:
            factor = FUNCTIONS[op.fn].factor
            return replace(a, terms=scaled_terms(a.terms, factor), exp=True)
        case "log" if a is not None and a.exp:
            factor = FUNCTIONS[op.fn].factor
            return replace(a, terms=scaled_terms(a.terms, factor), exp=False)
        case "power" if a is not None and a.exp:
            factor = FUNCTIONS[op.fn].factor
            return replace(a, terms=scaled_terms(a.terms, factor))
        case (
            "maximum" | "minimum" | "floordiv" | "mod" | "exp" | "log" | "power"
            | "none"
        ):  # fmt: skip
            return lost(f"{op.fn} of a value that is relative to a part of its row")


def _added(
    state: WalkState,
    op: o.Elementwise,
    values: Sequence[AbstractValue],
    shifts: tuple[Shift | None, Shift | None],
    sign: float,
) -> Shift | None:
    a, b = shifts
    if not any(s is not None and s.exp for s in shifts):
        x, y = a or Shift(), b or Shift()
        terms = collected(state.scope, (*x.terms, *scaled_terms(y.terms, sign)))
        pures = [
            is_zero(v) if s is None else s.pure
            for v, s in zip(values, shifts, strict=True)
        ]
        return Shift(terms, pure=all(pures))
    return met(state, op, values[0], values[1], shifts)


def met(
    state: WalkState,
    op: o.AnyOp,
    first: AbstractValue,
    second: AbstractValue,
    shifts: tuple[Shift | None, Shift | None],
) -> Shift | None:
    """What two values that are added depend on; reports whether it is the same."""
    a, b = shifts
    if is_zero(first) or (a is not None and a.lost):
        return a if a is not None and a.lost else b
    if is_zero(second) or (b is not None and b.lost):
        return b if b is not None and b.lost else a
    fits = scaled_like(state.scope, a, b)
    rows = [t.row for s in shifts if s is not None for t in s.terms]
    plain = all(s is None or s.exp for s in shifts) and all(r.exact for r in rows)
    outcome = Agreement(Verdict.PROVED, "normal form")
    if not fits and plain:
        outcome = Agreement(
            Verdict.REFUTED, "normal form", "", state.scope.some_point(), (0, 0)
        )
    elif not fits:
        text = "whether both are relative to the same maximum is not known"
        outcome = Agreement(Verdict.UNKNOWN, "", text)
    state.report(
        "AG0321",
        "what is added is relative to the same maximum",
        op.span,
        outcome,
        "parts that are relative to different maxima are added",
        "an earlier part has not been moved to the new maximum",
        help="multiply it by exp(old maximum - new maximum) first",
    )
    # Reported once: from here on as if the first had been moved.
    return None if b is None else replace(b, pure=False)


def _multiplied(
    state: WalkState,
    op: o.Elementwise,
    values: Sequence[AbstractValue],
    shifts: tuple[Shift | None, Shift | None],
    at: tuple[int, int],
    sign: float,
) -> Shift | None:
    a, b = shifts
    if is_zero(values[at[0]]) or (sign > 0 and is_zero(values[at[1]])):
        return None
    if not any(s is not None and not s.exp for s in shifts):
        if a is None and b is None:
            return None
        ones = [v.kind == 1 for v in values[:2]]
        a = a or (Shift(exp=True, pure=True) if ones[0] else None)
        b = b or (Shift(exp=True, pure=True) if ones[1] else None)
        return _product(state.scope, a, b, sign)
    mine = 0 if a is not None and not a.exp else 1
    shift, other = (a, b) if mine == 0 else (b, a)
    factor = _factor(state, op.args[at[1 - mine]], values[at[1 - mine]])
    if other is not None or factor is None or (mine == 1 and sign < 0):
        return lost("a maximum of a part of a row is a factor")
    assert shift is not None
    number, names = factor
    if sign < 0 and number == 0:
        return lost("a value that is relative to a part of its row is divided by 0")
    number, power = (number, 1) if sign > 0 else (1.0 / number, -1)
    terms = tuple(
        replace(
            t, times=t.times * number, factors=joined_factors(t.factors, names, power)
        )
        for t in shift.terms
    )
    return replace(shift, terms=terms)


def _factor(
    state: WalkState, arg: o.Tile | Expr, value: AbstractValue
) -> tuple[float, Factors] | None:
    """A uniform factor as a number and named scalars; None where it is none."""
    if not isinstance(value.kind, str) and not value.holes:
        return float(value.kind), ()
    if isinstance(arg, o.Tile):
        return None
    e = state.close(arg)
    if any(state.world.depends(e, loop.sym) for loop in state.scope.loops):
        return None  # another number in each iteration, under one name
    return _factors(e)


def _factors(e: Expr) -> tuple[float, Factors]:
    match e:
        case Const(value=v):
            return float(v), ()
        case Binary(op="*" | "/" as op, left=left, right=right):
            (x, a), (y, b) = _factors(left), _factors(right)
            if op == "/" and y == 0:
                return 1.0, ((str(e), 1),)
            number = x * y if op == "*" else x / y
            return number, joined_factors(a, b, 1 if op == "*" else -1)
        case Sym(name=name):
            return 1.0, ((name, 1),)
        case Binary() | Select():
            return 1.0, ((str(e), 1),)
        case _:
            assert_never(e)


def _chosen(
    scope: PathScope, values: Sequence[AbstractValue], shifts: Sequence[Shift | None]
) -> Shift | None:
    """That of ``where``: a masked element counts for nothing."""
    condition, a, b = shifts
    if condition is not None:
        return lost("a condition on a value that is relative to a part of its row")
    for mine, other, value in ((a, b, values[2]), (b, a, values[1])):
        if mine is None or other is not None:
            continue
        number = value.kind if isinstance(value.kind, float | int) else 1.0
        if (number == 0) if mine.exp else (abs(number) >= MASKED):
            return replace(mine, pure=False)
    if scaled_like(scope, a, b):
        assert a is not None and b is not None
        return replace(a, pure=a.pure and b.pure)
    return lost("one of two values that are relative to different parts of the row")


def reduced_shift(
    state: WalkState, op: o.Reduce, value: AbstractValue, names: Sequence[str]
) -> Shift | None:
    """That of a reduction over these components."""
    shift = shift_of(state.scope, value)
    if shift is None or shift.lost:
        return shift
    if value.row is not None and value.shift is None and op.fn in EXTREMES:
        return None  # a maximum of maxima
    if op.fn == "sum" and shift.exp and not _across(shift, names):
        return replace(shift, pure=False)
    return lost(f"a {op.fn} over values that are relative to a part of their row")


def _across(shift: Shift, names: Sequence[str]) -> bool:
    """Whether different rows, with different maxima, are put together."""
    return any(t.row.dims & set(names) for t in shift.terms)


def product_shift(
    scope: PathScope, a: AbstractValue, b: AbstractValue, names: Sequence[str]
) -> Shift | None:
    """That of a matrix product that sums over these components."""
    x, y = shift_of(scope, a), shift_of(scope, b)
    for s in (x, y):
        if s is not None and s.lost:
            return s
        if s is not None and (not s.exp or _across(s, names)):
            return lost("a product of values that are relative to a part of their row")
    if x is None and y is None:
        return None
    return replace(_product(scope, x, y, 1.0), pure=False)
