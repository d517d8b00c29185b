"""Random scalar expressions over symbols of every type, and values for the symbols.

Whole numbers are kept so small that no expression overflows: what a launch promises of
sizes, the analysis of values has to show elsewhere. Literals and symbols reach the ends
of 32 and 64 bits where nothing is added to them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from argus.ir.expr import Binary, Const, Expr, Select, Sym

INTS = [
    Sym("m", "dim"),
    Sym("k", "loop"),
    Sym("n", "let", nonneg=False),
    Sym("p", "param", nonneg=False),
]
LONGS = [Sym("s", "stride"), Sym("w", "let", nonneg=False)]
FLOATS = [Sym("x", "param", "float", False), Sym("y", "let", "float", False)]
BOOLS = [Sym("t", "let", "bool")]
TYPES = {"s": "long long", "w": "long long", "x": "float", "y": "float", "t": "bool"}
"""C++ types of the symbols that are not int."""

_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 1e-45, 1e38, -3e38, 2.0**24 + 1)
_SPECIAL = (float("inf"), float("-inf"), float("nan"))
_ENDS = (2**31 - 1, -(2**31), 2**31, -(2**63), 2**63 - 1, 2**40)


@dataclass(frozen=True)
class Drawing:
    """A source of random expressions."""

    rng: random.Random

    def whole(self, depth: int) -> Expr:
        """An integer expression."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            if rng.random() < 0.3:
                return Const(rng.randint(-9, 9))
            return rng.choice(INTS + LONGS)
        a, b = (self.whole(depth - 1) for _ in range(2))
        match rng.randrange(7):
            case 0 | 1:
                return Binary(rng.choice(("+", "-")), a, b)
            case 2:
                return Binary("*", a, Const(rng.randint(-5, 5)))
            case 3:
                divisor: Expr = Const(rng.choice((1, 2, 3, 8, -1, -4)))
                if rng.random() < 0.4:
                    divisor = Binary("max", Binary("%", b, Const(7)), Const(1))
                return Binary(rng.choice(("//", "%")), a, divisor)
            case 4:
                return Binary("^", a, b)
            case 5:
                return Binary(rng.choice(("min", "max")), a, b)
            case _:
                return Select(self.truth(depth - 1), a, b)

    def limited(self, depth: int) -> Expr:
        """An integer expression and the end of a type."""
        return Binary(self.rng.choice(("min", "max")), self.whole(depth), self.end())

    def truth(self, depth: int) -> Expr:
        """A condition."""
        rng = self.rng
        if depth <= 0:
            return rng.choice(BOOLS)
        match rng.randrange(6):
            case 0 | 1:
                kinds = (self.whole, self.whole)
                return Binary(rng.choice(_COMPARE), *(f(depth - 1) for f in kinds))
            case 2:
                kinds = (self.real, rng.choice((self.real, self.small)))
                return Binary(rng.choice(_COMPARE), *(f(depth - 1) for f in kinds))
            case 3 | 4:
                parts = (self.truth(depth - 1) for _ in range(2))
                return Binary(rng.choice(("and", "or", "==", "!=")), *parts)
            case _:
                return Binary(rng.choice(_COMPARE), rng.choice(LONGS), self.end())

    def end(self) -> Expr:
        """A literal at the end of a type."""
        return Const(self.rng.choice(_ENDS))

    def small(self, depth: int) -> Expr:
        """An integer that meets floats."""
        return Binary("%", self.whole(depth), Const(50))

    def real(self, depth: int) -> Expr:
        """A float expression."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.1:
            if rng.random() < 0.4:
                return Const(rng.choice(_FLOATS + _SPECIAL))
            return rng.choice(FLOATS)
        a = self.real(depth - 1)
        b = rng.choice((self.real, self.real, self.small))(depth - 1)
        if rng.random() < 0.3:
            a, b = b, a
        match rng.randrange(6):
            case 0 | 1 | 2:
                return Binary(rng.choice(("+", "-", "*")), a, b)
            case 3:
                return Binary("/", a, b)
            case 4:
                return Binary(rng.choice(("min", "max")), a, b)
            case _:
                return Select(self.truth(depth - 1), a, b)

    def expression(self) -> Expr:
        """An expression of any type."""
        kinds = (self.whole, self.whole, self.limited, self.truth, self.real)
        kind = self.rng.choice(kinds)
        return kind(self.rng.randint(1, 4))

    def values(self) -> dict[str, int | float | bool]:
        """A value for every symbol, of its type."""
        rng = self.rng
        return {
            "m": rng.choice((1, 7, 100)),
            "k": rng.choice((0, 1, 13)),
            "n": rng.choice((-9, -1, 0, 5)),
            "p": rng.choice((-1000, -8, 0, 3, 1000)),
            "s": rng.choice((0, 1, 64, 2**33)),
            "w": rng.choice((-(2**35), -3, 0, 2**34)),
            "x": rng.choice(_FLOATS + _SPECIAL),
            "y": rng.choice((2.5, -0.0, 7.0, -1e-3)),
            "t": rng.random() < 0.5,
        }
