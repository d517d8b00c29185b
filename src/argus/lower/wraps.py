"""Pass: where a scalar may have more than 64 bits, the program says that it wraps.

What a launch bounds has 32 bits, and nearly everything else has less than 64, so that
hardly a program changes: numbers of i64 tables and arguments that are added, numbers
of i32 tables that are multiplied twice, and what a loop multiplies again and again.

A scalar that meets a tile of at most 32 bits takes its type, and wraps to 32 bits.

An element's coordinate is left as it is. It may leave 64 bits by less than 2**64, where
it is outside of every tensor, and so is the number to which it wraps.
"""

from __future__ import annotations

from typing import assert_never

from argus.diagnostics import Span, fail
from argus.ir import ops as o
from argus.ir.dtypes import i32
from argus.ir.expr import Binary, Const, Expr, Select, Sym, select, substitute, symbols
from argus.ir.numerics import arithmetic, common
from argus.ir.program import Program
from argus.ir.ranges import I32, I64, Range, Ranges, fits, study
from argus.ir.rewrite import change_expressions
from argus.ir.walk import bound, inner_symbols, walk
from argus.ir.wrapping import wrapped

__all__ = ["wrap_scalars"]

_ELEMENT = ("axis", "gather")
_OUTSIDE: Range = (2**31 - 2**64, 2**64 - 1)
"""Coordinates that are outside of tensors in 64 bits, too, where they are outside."""


def wrap_scalars(program: Program) -> None:
    """Let every scalar of ``program`` have at most 64 bits.

    Raises ArgusError AG0119 for a coordinate that may leave them too far.
    """
    ranges = study(program)
    changed = False

    def wrap(e: Expr, op: o.AnyOp) -> Expr:
        nonlocal changed
        made = _Wrapping(ranges, op.span).coordinate(e)
        if made.type == "int" and _is_narrow(op) and not fits(ranges.of(made), I32):
            made = wrapped(made, 32)
        changed = changed or made != e
        return made

    for op in walk(program.body):
        change_expressions(op, lambda e, op=op: wrap(e, op))
    if changed:
        _forget_signs(program)


def _is_narrow(op: o.AnyOp) -> bool:
    """Whether scalars are operands of a tile that is computed in 32 bits."""
    match op:
        case o.Full():
            return arithmetic(op.result.dtype) == i32
        case o.Elementwise():
            types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
            return common(op.fn, types, op.result.dtype) == i32
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return False
        case _:
            assert_never(op)


def _forget_signs(program: Program) -> None:
    """What has wrapped may be negative, though what it was made of is not."""
    ranges = study(program)
    signs: dict[str, Expr] = {}
    for op in walk(program.body):
        for sym in (*bound(op), *inner_symbols(op)):
            low = ranges.known.get(sym.name, (0, 0))[0]
            if sym.nonneg and low == I64[0]:
                signs[sym.name] = Sym(sym.name, sym.kind, sym.type, nonneg=False)
    for op in walk(program.body):
        change_expressions(op, lambda e: substitute(e, signs))


class _Wrapping:
    """Changes the expressions of an operation."""

    def __init__(self, ranges: Ranges, span: Span) -> None:
        self.ranges = ranges
        self.span = span

    def coordinate(self, e: Expr) -> Expr:
        """A whole expression of an operation."""
        if not _is_element(e):
            return self.number(e)
        made = self._element(e)
        if not fits(self.ranges.of(made), _OUTSIDE):
            raise self._too_far()
        return made

    def number(self, e: Expr) -> Expr:
        """An expression that has the value of ``e`` in 64 bits."""
        match e:
            case Const():
                return e if self._fits(e) else wrapped(e)
            case Sym():
                return e
            case Select(cond=c, then=a, other=b):
                return select(self.number(c), self.number(a), self.number(b))
            case Binary(op=op, left=a, right=b):
                if not _is_arithmetic(e):
                    made = Binary(op, self.number(a), self.number(b))
                    # The least number by -1.
                    return made if self._fits(made) else wrapped(made)
                made = self._terms(e)
                return made if self._all_fit(made) else wrapped(made)
            case _:
                assert_never(e)

    def _terms(self, e: Expr) -> Expr:
        """Sums and products as they are: they wrap once, at the end."""
        if isinstance(e, Binary) and _is_arithmetic(e):
            return Binary(e.op, self._terms(e.left), self._terms(e.right))
        return self.number(e)

    def _element(self, e: Expr) -> Expr:
        """A sum with coordinates of elements, whose other terms have 64 bits."""
        if not _is_element(e):
            return self.number(e)
        if isinstance(e, Binary) and e.op in ("+", "-") and e.type == "int":
            return Binary(e.op, self._element(e.left), self._element(e.right))
        match e:
            case Const() | Sym():
                return e
            case Select(cond=c, then=a, other=b):
                made: Expr = Select(*(self._inside(x) for x in (c, a, b)))
            case Binary(op=op, left=a, right=b):
                made = Binary(op, self._inside(a), self._inside(b))
            case _:
                assert_never(e)
        if not self._fits(made):
            raise self._too_far()
        return made

    def _inside(self, e: Expr) -> Expr:
        """An operand, which has to have 64 bits."""
        made = self._element(e)
        if not self._fits(made):
            raise self._too_far()
        return made

    def _fits(self, e: Expr) -> bool:
        return e.type != "int" or fits(self.ranges.of(e), I64)

    def _all_fit(self, e: Expr) -> bool:
        if isinstance(e, Binary) and _is_arithmetic(e):
            inside = self._all_fit(e.left) and self._all_fit(e.right)
            return inside and self._fits(e)
        return True

    def _too_far(self) -> Exception:
        return fail(
            "AG0119",
            self.span,
            "a coordinate may leave 64 bits",
            help="bound what it is made of, for instance with `%` or `ag.min`",
        )


def _is_arithmetic(e: Binary) -> bool:
    return e.op in ("+", "-", "*") and e.type == "int"


def _is_element(e: Expr) -> bool:
    return any(s.kind in _ELEMENT for s in symbols(e))
