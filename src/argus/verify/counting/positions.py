"""Expressions as remainders and quotients of numbers that only grow.

    3 asked for   (0 if n % 3 == 2 else n % 3 + 1)    is (n + 1) % 3
                  (n // 3 + (n % 3 == 2))             is (n + 1) // 3

The number is guessed: in each branch that does not ask for a number, the one that
stands there, and what the expression is where that is 0. The guess is proved for each
remainder of the numbers, whatever their quotients are.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import product

from argus.ir.expr import Const, Expr, Select, Sym, binary, select, substitute, symbols
from argus.verify.decide.conditions import proved

__all__ = ["LONGEST", "Positions", "quotient"]

LONGEST = 64
"""The largest period that is looked for."""
_NUMBERS = 2
"""The most numbers that one question is about."""


def quotient(n: Expr, period: int, c: int) -> Expr:
    """``n // period + c``."""
    return binary("+", binary("//", n, period), c)


class Positions:
    """Questions about expressions in which some symbols are numbers that only grow.

    ``numbers``: their names. None is negative.
    """

    def __init__(self, numbers: Container[str]) -> None:
        self.numbers = numbers

    def within(self, e: Expr) -> list[Sym]:
        """The numbers of an expression."""
        found = {s.name: s for s in symbols(e) if s.name in self.numbers}
        return list(found.values())

    def position(self, e: Expr, period: int) -> Expr | None:
        """An n with ``e == n % period``; None where none is found."""
        n = self._guessed(e, period)
        if n is None or not self.equal(e, binary("%", n, period), period):
            return None
        return n

    def _guessed(self, e: Expr, period: int) -> Expr | None:
        if isinstance(e, Select) and not self.within(e.cond):
            then = self._guessed(e.then, period)
            other = self._guessed(e.other, period)
            if then is None or other is None:
                return None
            return select(e.cond, then, other)
        numbers, step = self.within(e), self.at_zero(e)
        if step is None or len(numbers) > 1 or not 0 <= step < period:
            return None
        return binary("+", numbers[0], step) if numbers else Const(step)

    def plain(self, e: Expr, period: int) -> Expr:
        """A remainder or a quotient without choices; itself where it is neither."""
        n = self.position(e, period)
        if n is not None:
            return binary("%", n, period)
        numbers, start = self.within(e), self.at_zero(e)
        if len(numbers) != 1 or start is None:
            return e
        for ahead in range(min(period, LONGEST)):
            made = quotient(binary("+", numbers[0], ahead), period, start)
            if self.equal(e, made, period):
                return made
        return e

    def at_zero(self, e: Expr) -> int | None:
        """The first branch of an expression where its numbers are 0, if that is one."""
        while isinstance(e, Select) and not self.within(e.cond):
            e = e.then
        made = substitute(e, {s.name: 0 for s in self.within(e)})
        return int(made.value) if isinstance(made, Const) else None

    def equal(self, e: Expr, other: Expr, period: int) -> bool:
        """Whether two expressions are shown to be equal, whatever the numbers are."""
        numbers = self.within(binary("==", e, other))
        if len(numbers) > _NUMBERS or not 0 < period <= LONGEST:
            return False
        for rests in product(range(period), repeat=len(numbers)):
            turns = {s.name: Sym(f"{s.name}//", "let") for s in numbers}
            given = {
                s.name: binary("+", binary("*", turns[s.name], period), rest)
                for s, rest in zip(numbers, rests, strict=True)
            }
            if not proved(
                binary("==", substitute(e, given), substitute(other, given)), ()
            ):
                return False
        return True
