"""Tiles in grouped order, recognised by the form of their coordinates.

The lemma, for R, C >= 0 and G >= 1: over v = 0 .. R*C - 1, with per = C*G, g = v // per
and rows = min(R - g*G, G),

    v  <->  (g*G + v % per % rows, v % per // rows)

is one to one onto [0, R) x [0, C). Group g holds the C*rows values from g*per on: C*G
of them, or what is left of R*C. Inside the group it is division with remainder by
rows >= 1. So the two coordinates are variables of their own, and v a function of them.

With `v % rows` for `v % per % rows` it is, too: v is v % per and a number that is the
same in all of the group, which turns the rows of each column alike. It is another
order: a program that has both has one that is known, and one that is not.

Expressions are compared as `_canonical` writes them: operands of a sum, product or
extreme in one order, `max(d, 1)` as d where it divides v or a remainder of it,
``v - v // d * d`` as ``v % d``, and a choice of 0 where a divisor is 0 as what is
chosen else. In a form all these d are per or rows, and where there is a v, both are at
least 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Select,
    Sym,
    substitute,
    symbols,
)
from argus.ir.walk import walk

__all__ = ["GroupedForm", "find_grouped", "is_column", "is_row", "resolved"]


@dataclass(frozen=True)
class GroupedForm:
    """A grouped order, as expressions without names of scalars."""

    place: Expr
    """v"""
    per: Expr
    rows: Expr
    group: int
    total: Expr
    """R"""
    columns: Expr
    """C"""
    turned: bool = False
    """Whether rows are ``v % rows``, and nothing else."""

    @property
    def at(self) -> Expr:
        """The place inside of its group."""
        return Binary("%", self.place, self.per)


def resolved(e: Expr, lets: Mapping[str, Expr]) -> Expr:
    """An expression with named scalars replaced by what they are."""
    while True:
        names = {s.name: lets[s.name] for s in symbols(e) if s.name in lets}
        if not names:
            return e
        e = substitute(e, dict(names))


def find_grouped(
    block: o.Block, place: Expr, lets: Mapping[str, Expr]
) -> GroupedForm | None:
    """The grouped order in which a block takes tiles by ``place``, if it does."""
    named = [
        _canonical(resolved(op.value, lets), place)
        for op in walk(block)
        if isinstance(op, o.Let)
    ]
    form = next((form for e in named if (form := _form(e, place)) is not None), None)
    if form is None:
        return None
    # One of both orders is taken: an element has one row.
    turned = replace(form, turned=True)
    return turned if _row(turned) in named and _row(form) not in named else form


def is_column(e: Expr, form: GroupedForm) -> bool:
    """Whether an expression is the column of the tile at a place."""
    return _canonical(e, form.place) == Binary("//", form.at, form.rows)


def is_row(e: Expr, form: GroupedForm) -> bool:
    """Whether an expression is the row of the tile at a place."""
    return _canonical(e, form.place) == _row(form)


def _row(form: GroupedForm) -> Expr:
    first = _first(form.place, form.per, form.group)
    at = form.place if form.turned else form.at
    return _sorted("+", first, Binary("%", at, form.rows))


def _form(e: Expr, place: Expr) -> GroupedForm | None:
    """The order of which an expression is the column."""
    match e:
        case Binary(
            op="//", left=Binary(op="%", left=v, right=per), right=Binary() as rows
        ) if v == place:
            found = _group(rows)
            if found is None:
                return None
            total, first, group = found
            columns = _columns(per, group)
            if columns is None or first != _first(place, per, group):
                return None
            if set(symbols(place)) & {*symbols(total), *symbols(columns)}:
                return None
            return GroupedForm(place, per, rows, group, total, columns)
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(e)


def _group(rows: Binary) -> tuple[Expr, Expr, int] | None:
    """R, g*G and G of ``min(R - g*G, G)``, or of ``min(R, g*G + G) - g*G``."""
    for rest, group in _operands("min", rows):
        count = _count(group)
        if isinstance(rest, Binary) and rest.op == "-" and count:
            return rest.left, rest.right, count
    if rows.op == "-":
        for total, end in _operands("min", rows.left):
            for part, group in _operands("+", end):
                count = _count(group)
                if part == rows.right and count:
                    return total, part, count
    return None


def _count(e: Expr) -> int:
    """A number that is at least 1; 0 for anything else."""
    value = e.value if isinstance(e, Const) else 0
    return value if type(value) is int and value > 0 else 0


def _columns(per: Expr, group: int) -> Expr | None:
    if group == 1:
        return per
    whole = _count(per)
    if whole:
        return Const(whole // group) if whole % group == 0 else None
    return next((c for g, c in _operands("*", per) if g == Const(group)), None)


def _first(place: Expr, per: Expr, group: int) -> Expr:
    """The first row of the group of a place."""
    number = Binary("//", place, per)
    return number if group == 1 else _sorted("*", number, Const(group))


# ------------------------------------------------------------------------ one writing


def _canonical(e: Expr, place: Expr) -> Expr:
    """An expression as it is compared, see above."""
    match e:
        case Binary(op=op, left=left, right=right):
            a, b = _canonical(left, place), _canonical(right, place)
            if op in ("+", "*", "min", "max"):
                return _sorted(op, a, b)
            if op in ("//", "%") and _of(a, place):
                b = _without_floor(b)
            if op == "-" and a == place:
                for whole, by in _operands("*", b):
                    if whole == Binary("//", place, by):
                        return Binary("%", place, by)
            return Binary(op, a, b)
        case Select(
            cond=Binary(op="==", left=d, right=Const(value=0)),
            then=Const(value=0),
            other=Binary(op="//" | "%", left=left, right=by) as other,
        ) if d == by and _of(_canonical(left, place), place):
            return _canonical(other, place)
        case Const() | Sym() | Select():
            return e
        case _:
            assert_never(e)


def _of(e: Expr, place: Expr) -> bool:
    """Whether it is v, or what is left of it."""
    left = e.left if isinstance(e, Binary) and e.op == "%" else None
    return place in (e, left)


def _without_floor(e: Expr) -> Expr:
    return next((d for one, d in _operands("max", e) if one == Const(1)), e)


def _operands(op: BinaryOp, e: Expr) -> tuple[tuple[Expr, Expr], ...]:
    """The two operands in both orders; none where it is another operation."""
    if not isinstance(e, Binary) or e.op != op:
        return ()
    return (e.left, e.right), (e.right, e.left)


def _sorted(op: BinaryOp, a: Expr, b: Expr) -> Expr:
    left, right = sorted((a, b), key=str)
    return Binary(op, left, right)
