"""Products that the compiler may not fuse with a sum.

NVRTC makes one instruction of ``a * b - c``, which rounds once. Where c is a product,
too, and may be the same number (the maximum of such products, of this step, the one
before, or the launch before), what is left is then not 0 but what was rounded off c:
2**-24 of it, so nothing beside ordinary numbers; but of 1e30, as masks leave it, 1e22,
of which an exponential is infinite, and a root none. So where both sides of a sum may
be products each is rounded by itself, as the program says and the interpreter has it.
What is loaded may be one. An author who wants one rounding writes ``ag.fma``, which all
readers know.

The sums of reductions and matrix products are as they were: what they are rounded to
depends on their order, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import frexp
from typing import cast

from argus.ir import ops as o
from argus.ir.combine import Combination, CombinationValue, split
from argus.ir.dtypes import DType
from argus.ir.expr import Binary, Const, Expr, Sym, subexpressions
from argus.ir.functions import FUNCTIONS
from argus.ir.program import Program
from argus.ir.tile_facts import FactDomain, walked
from argus.ir.walk import used

__all__ = [
    "ROUNDED",
    "exact_product",
    "is_power",
    "rounded_products",
    "rounded_steps",
]

ROUNDED = {32: "__fmul_rn({0}, {1})", 64: "__dmul_rn({0}, {1})"}
"""The product that is never fused, by bits of the type."""


def is_power(value: float) -> bool:
    """Whether it is a power of two of which the inverse is a normal f32."""
    mantissa, exponent = frexp(value)
    return abs(mantissa) == 0.5 and -100 < exponent < 100


def exact_product(e: Binary) -> bool:
    """Whether a product of scalars is one with a power of two, and loses nothing."""
    return _power(e.left) or _power(e.right)


def rounded_products(program: Program) -> frozenset[o.Elementwise]:
    """Products of tiles that are rounded before they meet another product in a sum."""
    domain = _Fusing()
    walked(program, domain)
    return frozenset(domain.rounded)


def rounded_steps(combine: Combination) -> frozenset[int]:
    """Numbers of the steps of a function of a scan that are such products."""
    found: set[int] = set()
    for step in combine.steps:
        if step.fn in ("add", "sub") and _reaches(step.dtype):
            made = [_product_step(combine, x) for x in step.args]
            found |= set() if None in made else {x for x in made if x is not None}
    return frozenset(found)


def _product_step(combine: Combination, x: CombinationValue) -> int | None:
    if not isinstance(x, str):
        return None
    kind, number = split(x)
    return number if kind == "t" and combine.steps[number].fn == "mul" else None


def _reaches(dtype: DType) -> bool:
    """Whether a product of the type reaches a sum as it is, and not as fewer bits."""
    return dtype.is_float and not dtype.encoded


def _power(value: o.Tile | Expr) -> bool:
    return isinstance(value, Const) and is_power(float(value.value))


@dataclass(frozen=True)
class _Products:
    """What a value may be, unchanged or by its sign and powers of two.

    ``made``: products of this kernel. ``given``: what was loaded, which another one may
    have made, or a scalar with a product in it.
    """

    made: frozenset[o.Elementwise] = frozenset()
    given: bool = False

    def __bool__(self) -> bool:
        return bool(self.made) or self.given


_NONE = _Products()


def _any(parts: Sequence[_Products]) -> _Products:
    made = frozenset[o.Elementwise]().union(*(x.made for x in parts))
    return _Products(made, any(x.given for x in parts))


@dataclass
class _Fusing(FactDomain[_Products]):
    """The domain. What is added, or of another type, is no product."""

    rounded: set[o.Elementwise] = field(default_factory=set[o.Elementwise])

    def nothing(self) -> _Products:
        return _NONE

    def scalar(self, value: Expr) -> _Products:
        """A product of floats, or a scalar that is computed or loaded."""
        return _Products(given=any(map(_may_be_product, subexpressions(value))))

    def element(self, held: _Products) -> _Products:
        return _Products(held.made, given=True)

    def joined(self, one: _Products, other: _Products) -> _Products:
        return _any((one, other))

    def made(self, op: o.RegisterOp, parts: Sequence[_Products]) -> _Products:
        """Moved, chosen or put in order; a sum may be of one."""
        tiles = used(cast("o.AnyOp", op))
        if not all(_reaches(x.dtype) for x in (op.result, *tiles)):
            return _NONE
        return _any(parts)

    def elementwise(self, op: o.Elementwise, args: Sequence[_Products]) -> _Products:
        """What an element-wise function makes of its operands."""
        if not _reaches(op.result.dtype):
            return _NONE
        parts = [
            _NONE if isinstance(x, o.Tile) and not _reaches(x.dtype) else fact
            for x, fact in zip(op.args, args, strict=True)
        ]
        law = FUNCTIONS[op.fn].law
        if law in ("add", "sub"):
            if all(parts):
                self.rounded |= _any(parts).made
            return _NONE
        if law == "where":
            return _any(parts[1:])
        if law in ("neg", "maximum", "minimum") or op.fn == "abs":
            return _any(parts)
        if law == "mul":
            powers = [_power(x) for x in op.args]
            return _any(parts) if any(powers) else _Products(frozenset({op}))
        return parts[0] if law == "div" and _power(op.args[1]) else _NONE


def _may_be_product(e: Expr) -> bool:
    if e.type != "float":
        return False
    if isinstance(e, Binary):
        return e.op == "*" and not exact_product(e)
    return isinstance(e, Sym) and e.kind == "let"
