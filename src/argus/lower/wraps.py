"""Pass: where a scalar may have more than 64 bits, the program says that it wraps.

What a launch bounds has 32 bits, and nearly everything else has less than 64, so that
hardly a program changes: numbers of i64 tables and arguments that are added, numbers
of i32 tables that are multiplied twice, and what a loop multiplies again and again.

A scalar that meets a tile of at most 32 bits takes its type, and wraps to 32 bits.

An element's coordinate is left as it is. It may leave 64 bits by less than 2**64, where
it is outside of every tensor, and so is the number to which it wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from argus.diagnostics import Span, fail
from argus.ir import ops as o
from argus.ir.dtypes import i32, u32
from argus.ir.expr import Binary, Const, Expr, Select, Sym, select, substitute
from argus.ir.numerics import arithmetic, common
from argus.ir.program import Program
from argus.ir.ranges import (
    I32,
    I64,
    Bounded,
    Range,
    Ranges,
    fits,
    joined,
    selected,
    study,
)
from argus.ir.rewrite import change_expressions
from argus.ir.walk import bound, inner_symbols, walk
from argus.ir.wrapping import wrapped, wrapped_parts

__all__ = ["Wrapping", "wrap_scalars"]

_ELEMENT = ("axis", "gather")
_OUTSIDE: Range = (2**31 - 2**64, 2**64 - 1)
"""Coordinates that are outside of tensors in 64 bits, too, where they are outside."""


def wrap_scalars(program: Program) -> None:
    """Let every scalar of ``program`` have at most 64 bits.

    A program that says already where its scalars wrap stays as it is. Raises ArgusError
    AG0122 for a coordinate that may leave 64 bits too far.
    """
    while _wrap_once(program):
        _forget_signs(program)


def _wrap_once(program: Program) -> bool:
    """Whether anything wraps of which the program did not say so."""
    ranges = study(program)
    changed = False

    def wrap(e: Expr, op: o.AnyOp) -> Expr:
        nonlocal changed
        made = Wrapping(ranges, op.span).coordinate(e)
        if made.type == "int" and _is_narrow(op) and not fits(ranges.of(made), I32):
            made = wrapped(made, 32)
        changed = changed or made != e
        return made

    for op in walk(program.body):
        change_expressions(op, lambda e, op=op: wrap(e, op))
    return changed


def _is_narrow(op: o.AnyOp) -> bool:
    """Whether scalars are operands of a tile that is computed in 32 bits."""
    match op:
        case o.Full():
            return arithmetic(op.result.dtype) in (i32, u32)
        case o.Elementwise():
            types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
            return common(op.fn, types, op.result.dtype) in (i32, u32)
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


class Wrapping:
    """Changes the expressions of an operation, which stands at ``span``."""

    def __init__(self, ranges: Ranges, span: Span) -> None:
        self.ranges = ranges
        self.span = span
        self._floats: set[int] = set()
        """Identities of the parts that are fractions."""

    def coordinate(self, e: Expr) -> Expr:
        """A whole expression of an operation."""
        elements: set[int] = set()
        if not _find(e, elements, _is_element):
            return self.number(e)
        _find(e, self._floats, _is_float)
        made, (where, _) = self._place(e, elements)
        if not fits(where, _OUTSIDE):
            raise self._too_far()
        return made

    def number(self, e: Expr) -> Expr:
        """An expression that has the value of ``e`` in 64 bits."""
        _find(e, self._floats, _is_float)
        return self._number(e)[0]

    def _number(self, e: Expr) -> _Made:
        made, where, fit = self._exact(e)
        return (made, where) if fit else _wrapped(made)

    def _exact(self, e: Expr) -> tuple[Expr, Bounded, bool]:
        """The same before it wraps, and whether it has 64 bits."""
        match e:
            case Sym():
                return e, self.ranges.leaf(e), True
            case Const():
                made, where = e, self.ranges.leaf(e)
            case Select(cond=c, then=a, other=b):
                (p, x), (q, y), (r, z) = (self._number(part) for part in (c, a, b))
                made, where = select(p, q, r), selected(x, y, z)
            case Binary(op=op, left=a, right=b):
                if op in _SUMS and id(e) not in self._floats:
                    return self._terms(e)
                (p, x), (q, y) = self._number(a), self._number(b)
                made, where = Binary(op, p, q), joined(op, x, y)
            case _:
                assert_never(e)
        # A literal may have more bits, and so has the least number by -1.
        return made, where, fits(where[0], I64) or id(e) in self._floats

    def _terms(self, e: Expr) -> tuple[Expr, Bounded, bool]:
        """Sums and products as they are, and whether all have 64 bits.

        They wrap once, at the end. What wraps already is one term.
        """
        parts = wrapped_parts(e)
        if parts is not None:
            x, bits, added = parts
            low, high = I32 if bits == 32 else I64
            made = wrapped(self._exact(x)[0], bits)
            where = (low + added, high + added), False
            return (made + added if added else made), where, fits(where[0], I64)
        if isinstance(e, Binary) and e.op in _SUMS and id(e) not in self._floats:
            p, x, fit = self._terms(e.left)
            q, y, too = self._terms(e.right)
            where = joined(e.op, x, y)
            return Binary(e.op, p, q), where, fit and too and fits(where[0], I64)
        made, where = self._number(e)
        return made, where, True

    def _place(self, e: Expr, elements: set[int]) -> _Made:
        """A sum with coordinates of elements, whose other terms have 64 bits."""
        if id(e) not in elements:
            return self._number(e)
        if isinstance(e, Binary) and e.op in ("+", "-"):
            (p, x), (q, y) = (self._place(part, elements) for part in (e.left, e.right))
            return Binary(e.op, p, q), joined(e.op, x, y)
        match e:
            case Const() | Sym():
                return e, self.ranges.leaf(e)
            case Select(cond=c, then=a, other=b):
                (p, x), (q, y), (r, z) = (self._inside(v, elements) for v in (c, a, b))
                made, where = Select(p, q, r), selected(x, y, z)
            case Binary(op=op, left=a, right=b):
                (p, x), (q, y) = self._inside(a, elements), self._inside(b, elements)
                made, where = Binary(op, p, q), joined(op, x, y)
            case _:
                assert_never(e)
        if not fits(where[0], I64):
            raise self._too_far()
        return made, where

    def _inside(self, e: Expr, elements: set[int]) -> _Made:
        """An operand, which has to have 64 bits."""
        made, where = self._place(e, elements)
        if not fits(where[0], I64):
            raise self._too_far()
        return made, where

    def _too_far(self) -> Exception:
        return fail(
            "AG0122",
            self.span,
            "an index of elements may have more than 64 bits",
            help="bound what it is made of, for instance with `ag.min` and `ag.max`",
        )


_Made = tuple[Expr, Bounded]
"""An expression, and where its value lies."""

_SUMS = ("+", "-", "*")


def _wrapped(e: Expr) -> _Made:
    return wrapped(e), (I64, False)


def _find(e: Expr, found: set[int], holds: Callable[[Expr, bool], bool]) -> bool:
    """Whether ``holds``; ``found`` gets the parts of which it does.

    It is told whether it does of a part. Parts are found by their identities: the
    expression has to live as long.
    """
    match e:
        case Const() | Sym():
            inside = False
        case Binary(left=a, right=b):
            left = _find(a, found, holds)
            inside = _find(b, found, holds) or left
        case Select(cond=c, then=a, other=b):
            first, left = _find(c, found, holds), _find(a, found, holds)
            inside = _find(b, found, holds) or left
            inside = inside or (first and holds is _is_element)
        case _:
            assert_never(e)
    if holds(e, inside):
        found.add(id(e))
        return True
    return False


def _is_element(e: Expr, inside: bool) -> bool:
    """Whether an element's coordinate takes part."""
    return inside or (isinstance(e, Sym) and e.kind in _ELEMENT)


def _is_float(e: Expr, inside: bool) -> bool:
    """Whether it is a fraction."""
    match e:
        case Const() | Sym():
            return e.type == "float"
        case Binary(op="==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or"):
            return False
        case Binary(op=op):
            return inside or op == "/"
        case Select():
            return inside
        case _:
            assert_never(e)
