"""Tiles in grouped order, recognised by the form of their coordinates.

The lemma, for R, C >= 0 and G >= 1: over v = 0 .. R*C - 1, with per = C*G, g = v // per
and rows = min(R - g*G, G),

    v  <->  (g*G + v % per % rows, v % per // rows)

is one to one onto [0, R) x [0, C). Group g holds the C*rows values from g*per on: C*G
of them, or what is left of R*C. Inside the group it is division with remainder by
rows >= 1. So the two coordinates are variables of their own, and v a function of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, substitute, symbols
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
    for op in walk(block):
        if isinstance(op, o.Let):
            form = _form(resolved(op.value, lets), place)
            if form is not None:
                return form
    return None


def _form(e: Expr, place: Expr) -> GroupedForm | None:
    """The order of which an expression is the column."""
    match e:
        case Binary(
            op="//",
            left=Binary(op="%", left=v, right=per),
            right=Binary(
                op="min",
                left=Binary(op="-", left=total, right=first),
                right=Const(value=int(group)),
            ) as rows,
        ) if v == place and group >= 1:
            columns = _columns(per, group)
            if columns is None or first != _first(place, per, group):
                return None
            return GroupedForm(place, per, rows, group, total, columns)
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(e)


def _columns(per: Expr, group: int) -> Expr | None:
    if group == 1:
        return per
    match per:
        case Binary(op="*", left=columns, right=Const(value=g)) if g == group:
            return columns
        case Const(value=int(n)) if n % group == 0:
            return Const(n // group)
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(per)


def _first(place: Expr, per: Expr, group: int) -> Expr:
    """The first row of the group of a place."""
    number = Binary("//", place, per)
    return number if group == 1 else Binary("*", number, Const(group))


def is_column(e: Expr, form: GroupedForm) -> bool:
    """Whether an expression is the column of the tile at a place."""
    return e == Binary("//", form.at, form.rows)


def is_row(e: Expr, form: GroupedForm) -> bool:
    """Whether an expression is the row of the tile at a place."""
    first = _first(form.place, form.per, form.group)
    return e == Binary("+", first, Binary("%", form.at, form.rows))
