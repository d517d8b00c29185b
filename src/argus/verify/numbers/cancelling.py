"""Roots of a difference of sums of products (AG0334).

sum(x*x)/N - (sum(x)/N)**2 is a variance in real arithmetic, and cannot be below 0; nor
can |x|**2 + |y|**2 - 2 x.y, a distance. In floating point both parts are rounded: where
they are large beside the difference all digits cancel, and what is left may be below 0,
of which there is no root or logarithm (Chan, Golub, LeVeque, "Algorithms for Computing
the Sample Variance", 1983).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto

from argus.ir import ops as o
from argus.ir.functions import FUNCTIONS
from argus.ir.program import Program
from argus.ir.tile_facts import FactDomain, walked
from argus.verify.numbers.finding import NumericalFinding

__all__ = ["cancelled_roots"]

RULE = "AG0334"


class _Fact(Flag):
    """What a tile may be, up to positive factors."""

    NOTHING = 0
    DATA = auto()
    """It depends on elements of tensors."""
    PRODUCT = auto()
    """The product of two numbers that depend on data."""
    PRODUCTS = auto()
    """A sum of products."""
    DIFFERENCE = auto()
    """A sum of products less another, or less a product."""


@dataclass
class _Cancelling(FactDomain[_Fact]):
    """The domain."""

    roots: dict[o.Elementwise, None] = field(default_factory=dict[o.Elementwise, None])

    def nothing(self) -> _Fact:
        return _Fact.NOTHING

    def element(self, held: _Fact) -> _Fact:
        return held | _Fact.DATA

    def joined(self, one: _Fact, other: _Fact) -> _Fact:
        return one | other

    def product(self, op: o.Dot, parts: Sequence[_Fact]) -> _Fact:
        return _Fact.DATA | _Fact.PRODUCTS

    def made(self, op: o.RegisterOp, parts: Sequence[_Fact]) -> _Fact:
        fact = _either(parts)
        if not isinstance(op, o.Reduce):
            return fact
        kept = fact & (_Fact.DATA | _Fact.PRODUCTS)
        summed = op.fn == "sum" and fact & _Fact.PRODUCT
        return kept | _Fact.PRODUCTS if summed else kept

    def elementwise(self, op: o.Elementwise, args: Sequence[_Fact]) -> _Fact:
        """What an element-wise function makes of its operands."""
        data = _either(args) & _Fact.DATA
        law = FUNCTIONS[op.fn].law
        if law == "mul":
            # A factor that is no data is a weight, as 1 / N is.
            both = args[0] & args[1] & _Fact.DATA
            return data | _Fact.PRODUCT if both else _either(args)
        if law == "div":
            above, below = args
            return above if not below & _Fact.DATA else data
        if law == "fma":
            both = args[0] & args[1] & _Fact.DATA
            return data | _Fact.PRODUCTS if both else _either(args)
        if law == "add":
            # Two products are a sum; an epsilon besides changes nothing.
            both = _either(args)
            summed = args[0] & args[1] & _Fact.PRODUCT
            return both | _Fact.PRODUCTS if summed else both
        if law == "sub":
            parts = _Fact.PRODUCT | _Fact.PRODUCTS
            if args[0] & _Fact.PRODUCTS and args[1] & parts and args[1] & _Fact.DATA:
                return data | _Fact.DIFFERENCE
            return data
        if args[0] & _Fact.DIFFERENCE and (law == "log" or op.fn in ("sqrt", "rsqrt")):
            self.roots.setdefault(op)
        return data


def _either(parts: Sequence[_Fact]) -> _Fact:
    found = _Fact.NOTHING
    for part in parts:
        found |= part
    return found


def cancelled_roots(program: Program) -> Iterator[NumericalFinding]:
    """Roots and logarithms of what rounding may make negative."""
    domain = _Cancelling()
    walked(program, domain)
    for op in domain.roots:
        yield NumericalFinding(
            RULE,
            "rounding may make what a root is taken of negative",
            op.span,
            f"`{op.fn}` of a difference of sums of products",
            ("where the sums are large beside the difference all digits cancel",),
            "sum the squares of `x - mean`, or take the maximum with 0.0",
        )
