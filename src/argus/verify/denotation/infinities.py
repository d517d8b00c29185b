"""Which tiles are never infinite, whatever their elements are.

    finite = FiniteTiles(program)
    finite.is_number(op)        its result is never the difference of two infinities
    finite.factors              whether no infinity is multiplied with what may be 0

A kernel that begins a maximum with a finite stand-in (-1e30) and masks with -ag.inf
subtracts a number from what may be infinite. In terms the stand-in is infinity, too:
that it is none here is read off the operations. Inputs are finite, as everywhere.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from enum import Flag, auto
from math import inf, isnan

from argus.ir import ops as o
from argus.ir.expr import Const, Expr
from argus.ir.functions import FUNCTIONS
from argus.ir.program import Program
from argus.ir.tile_facts import FactDomain, walked
from argus.ir.walk import used, walk

__all__ = ["FiniteTiles"]


class _Is(Flag):
    """What an element of a tile may be, beside a finite number."""

    FINITE = 0
    LOW = auto()
    """Minus infinity."""
    HIGH = auto()
    """Infinity."""
    ANY = LOW | HIGH
    """Either, or no number."""


class FiniteTiles:
    """What is known of the tiles of a program."""

    def __init__(self, program: Program) -> None:
        domain = _Infinities()
        self._facts = walked(program, domain)
        bound = (op for op in walk(program.body) if isinstance(op, o.Binding))
        scalars = (tile for op in bound for tile in used(op))
        self.factors = not domain.multiplied and all(map(self._is_finite, scalars))
        """Whether all that tiles are multiplied with is finite, but for constants."""

    def _is_finite(self, tile: o.Tile) -> bool:
        return tile in self._facts and self._facts.of(tile) == _Is.FINITE

    def is_number(self, op: o.Elementwise) -> bool:
        """Whether no element of the result is a difference of two infinities."""
        known = op.result in self._facts
        return known and self._facts.of(op.result) != _Is.ANY


class _Infinities(FactDomain[_Is]):
    """The domain. Inputs are finite, as is a scalar that is no literal."""

    def __init__(self) -> None:
        self.multiplied = False
        """Whether what may be infinite is multiplied with what may be 0."""
        self._asked: dict[o.Tile, o.Elementwise] = {}
        """The comparisons and connectives that conditions are."""

    def nothing(self) -> _Is:
        return _Is.FINITE

    def scalar(self, value: Expr) -> _Is:
        if not isinstance(value, Const) or not isinstance(value.value, float):
            return _Is.FINITE
        if isnan(value.value):
            return _Is.ANY
        return {inf: _Is.HIGH, -inf: _Is.LOW}.get(value.value, _Is.FINITE)

    def element(self, held: _Is) -> _Is:
        return held

    def old(self) -> _Is:
        return _Is.ANY

    def joined(self, one: _Is, other: _Is) -> _Is:
        return one | other

    def product(self, op: o.Dot, parts: Sequence[_Is]) -> _Is:
        return self._product(_if_finite(parts))

    def _product(self, made: _Is) -> _Is:
        """What is multiplied; of infinity a product may be anything."""
        self.multiplied = self.multiplied or made == _Is.ANY
        return made

    def made(self, op: o.RegisterOp, parts: Sequence[_Is]) -> _Is:
        if isinstance(op, o.Full):
            return self.scalar(op.value)
        if isinstance(op, o.Combining):  # the author's function may say infinity itself
            return self._product(_Is.ANY)
        product = isinstance(op, o.Reduce) and op.fn == "prod"
        return self._product(_if_finite(parts)) if product else _either(parts)

    def elementwise(self, op: o.Elementwise, args: Sequence[_Is]) -> _Is:
        """Of finite numbers functions make finite ones, and a few allow more."""
        law = FUNCTIONS[op.fn].law
        if op.fn in _CONDITIONS:
            self._asked[op.result] = op
        if law == "where":
            return self._where(op, args[1], True) | self._where(op, args[2], False)
        if law == "exp":
            return _Is.ANY if args[0] == _Is.ANY else args[0] & _Is.HIGH
        if law == "neg":
            return _negative(args[0])
        if law == "add":
            return args[0] | args[1]
        if law == "sub":
            return args[0] | _negative(args[1])
        if law == "mul":
            return self._product(_times(op, args[0], args[1]))
        if law == "fma":
            return self._product(_times(op, args[0], args[1])) | args[2]
        if law == "div":
            return self._product(_if_finite(args))
        if law in ("maximum", "minimum"):
            both = _Is.LOW if law == "maximum" else _Is.HIGH
            return _extreme(args[0], args[1], both)
        return _if_finite(args)

    def _where(self, op: o.Elementwise, chosen: _Is, truth: bool) -> _Is:
        """What is chosen where a condition has a truth, which may tell of it."""
        arg = op.args[1 if truth else 2]
        if chosen == _Is.ANY or not isinstance(arg, o.Tile):
            return chosen  # what is no number is compared with nothing
        return chosen & ~self._excluded(op.args[0], arg, truth)

    def _excluded(self, condition: o.Tile | Expr, tile: o.Tile, truth: bool) -> _Is:
        """Which infinities elements are not where a condition on them has a truth."""
        asked = self._asked.get(condition) if isinstance(condition, o.Tile) else None
        if asked is None:
            return _Is.FINITE
        if asked.fn == "not":
            return self._excluded(asked.args[0], tile, not truth)
        if asked.fn in ("and", "or"):
            if truth == (asked.fn == "or"):
                return _Is.FINITE  # either of both may have it
            one, other = (self._excluded(x, tile, truth) for x in asked.args)
            return one | other
        left, right = asked.args
        turned = right == tile
        if not turned and left != tile:
            return _Is.FINITE
        bound = left if turned else right
        if not isinstance(bound, Const):
            return _Is.FINITE
        return _outside(asked.fn, float(bound.value), turned, truth)


_COMPARED: dict[str, Callable[[float, float], bool]] = {
    fn: getattr(operator, fn) for fn in ("eq", "ne", "lt", "le", "gt", "ge")
}
_CONDITIONS = (*_COMPARED, "and", "or", "not")


def _outside(fn: str, bound: float, turned: bool, truth: bool) -> _Is:
    """Which infinities a comparison with a number does not have a truth for."""
    found = _Is.FINITE
    for number, kind in ((-inf, _Is.LOW), (inf, _Is.HIGH)):
        operands = (bound, number) if turned else (number, bound)
        if _COMPARED[fn](*operands) != truth:
            found |= kind
    return found


def _times(op: o.Elementwise, x: _Is, y: _Is) -> _Is:
    """A product. A scalar that infinity is multiplied by is taken to be positive."""
    for infinite, factor, arg in ((x, y, op.args[1]), (y, x, op.args[0])):
        if factor == _Is.FINITE and not isinstance(arg, o.Tile):
            negative = isinstance(arg, Const) and arg.value < 0
            zero = isinstance(arg, Const) and arg.value == 0
            if not zero:
                return _negative(infinite) if negative else infinite
    return _if_finite([x, y])


def _extreme(x: _Is, y: _Is, both: _Is) -> _Is:
    """An extreme of two numbers, which is one infinity only where ``both`` are."""
    if _Is.ANY in (x, y):
        return _Is.ANY
    return (x & y) | ((x | y) & ~both)


def _negative(x: _Is) -> _Is:
    return {_Is.LOW: _Is.HIGH, _Is.HIGH: _Is.LOW}.get(x, x)


def _either(parts: Iterable[_Is]) -> _Is:
    made = _Is.FINITE
    for part in parts:
        made |= part
    return made


def _if_finite(parts: Iterable[_Is]) -> _Is:
    return _Is.FINITE if _either(parts) == _Is.FINITE else _Is.ANY
