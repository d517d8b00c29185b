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

from argus.ir import ops as o
from argus.ir.combine import Combination, CombinationValue, split
from argus.ir.dtypes import DType
from argus.ir.expr import Binary, Const, Expr, subexpressions, symbols
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import SharedAlloc
from argus.ir.walk import walk

__all__ = [
    "ROUNDED",
    "exact_product",
    "is_power",
    "rounded_products",
    "rounded_steps",
]

ROUNDED = {32: "__fmul_rn({0}, {1})", 64: "__dmul_rn({0}, {1})"}
"""The product that is never fused, by bits of the type."""

_Place = o.Tile | SharedAlloc | str
"""Where a value is: in registers, in a shared buffer, in the scalar of a name."""
_Value = o.Tile | SharedAlloc | Expr


def is_power(value: float) -> bool:
    """Whether it is a power of two of which the inverse is a normal f32."""
    mantissa, exponent = frexp(value)
    return abs(mantissa) == 0.5 and -100 < exponent < 100


def rounded_products(body: o.Block) -> frozenset[o.Elementwise]:
    """Products of tiles that are rounded before they meet another product in a sum."""
    sources = _Sources()
    sums: list[o.Elementwise] = []
    for op in walk(body):
        sources.note(op)
        if isinstance(op, o.Elementwise) and op.fn in ("add", "sub"):
            sums += [op] if _rounds_once(op.result.dtype) else []
    found: set[o.Elementwise] = set()
    for op in sums:
        left, right = (sources.products(x) for x in op.args)
        if left.some and right.some:
            found |= left.made | right.made
    return frozenset(found)


def rounded_steps(combine: Combination) -> frozenset[int]:
    """Numbers of the steps of a function of a scan that are such products."""
    found: set[int] = set()
    for step in combine.steps:
        if step.fn in ("add", "sub") and _rounds_once(step.dtype):
            made = [_product_step(combine, x) for x in step.args]
            found |= set() if None in made else {x for x in made if x is not None}
    return frozenset(found)


def _product_step(combine: Combination, x: CombinationValue) -> int | None:
    if not isinstance(x, str):
        return None
    kind, number = split(x)
    return number if kind == "t" and combine.steps[number].fn == "mul" else None


def exact_product(e: Binary) -> bool:
    """Whether a product of scalars is one with a power of two, and loses nothing."""
    return any(
        isinstance(x, Const) and is_power(float(x.value)) for x in (e.left, e.right)
    )


def _rounds_once(dtype: DType) -> bool:
    """Whether a product of the type reaches a sum as it is, and not as fewer bits."""
    return dtype.is_float and not dtype.encoded


@dataclass
class _Products:
    """What a value may be: products that are printed, or ones from elsewhere."""

    made: set[o.Elementwise] = field(default_factory=set[o.Elementwise])
    given: bool = False

    @property
    def some(self) -> bool:
        return bool(self.made) or self.given


class _Sources:
    """What each value may be, unchanged or by its sign."""

    def __init__(self) -> None:
        self.handed: dict[_Place, list[_Value]] = {}
        self.loaded: set[_Place] = set()
        self.made: dict[o.Tile, o.Elementwise] = {}

    def note(self, op: o.AnyOp) -> None:
        """What an operation hands on."""
        match op:
            case o.Elementwise():
                self._note_function(op)
            case o.Moving():
                self._hand(op.result, op.sources)
            case o.Reinterpret():
                self._hand(op.result, [op.src])
            case o.Reduce() if op.fn in ("max", "min"):
                self._hand(op.result, [op.src])
            case o.Full():
                self._hand(op.result, [op.value])
            case o.Let():
                self._hand(op.sym.name, [op.value])
            case o.Extract():
                self._hand(op.sym.name, [op.src])
            case o.StoreShared():
                self._hand(op.view.alloc, [op.src])
            case o.LoadShared():
                self._hand(op.result, [op.view.alloc])
            case o.LoadGlobal():
                self._load(op.result, op.result.dtype)
            case o.LoadScalar():
                self._load(op.sym.name, op.tensor.dtype)
            case o.CopyAsync():
                self._load(op.dst.alloc, op.dst.alloc.dtype)
            case o.For():
                for carry in op.tiles:
                    self._hand(carry.arg, [carry.init, carry.yielded])
                    self._hand(carry.result, [carry.init, carry.yielded])
                for scalar in op.scalars:
                    self._hand(scalar.arg.name, [scalar.init, scalar.yielded])
                    self._hand(scalar.result.name, [scalar.init, scalar.yielded])
            case o.If():
                for merge in op.tiles:
                    self._hand(merge.result, [merge.then, merge.other])
                for choice in op.scalars:
                    self._hand(choice.result.name, [choice.then, choice.other])
            case _:
                pass  # what it makes is no product

    def _hand(self, to: _Place, values: Sequence[_Value]) -> None:
        self.handed.setdefault(to, []).extend(values)

    def _load(self, to: _Place, dtype: DType) -> None:
        if _rounds_once(dtype):
            self.loaded.add(to)

    def _note_function(self, op: o.Elementwise) -> None:
        law = FUNCTIONS[op.fn].law
        if law == "where":
            self._hand(op.result, op.args[1:])
        elif law in ("neg", "maximum", "minimum") or op.fn == "abs":
            self._hand(op.result, op.args)
        elif law in ("mul", "div") and (kept := _exact(op)) is not None:
            self._hand(op.result, [kept])
        elif law == "mul" and _rounds_once(op.result.dtype):
            self.made[op.result] = op

    def products(self, value: _Value) -> _Products:
        """Products that a value may be."""
        found = _Products()
        seen: set[_Value] = set()
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            places: list[_Place]
            if isinstance(one, o.Tile | SharedAlloc):
                places = [one]
            else:
                found.given |= _multiplies(one)
                places = [x.name for x in symbols(one)]
            for place in places:
                if isinstance(place, o.Tile) and place in self.made:
                    found.made.add(self.made[place])
                found.given |= place in self.loaded
                waiting += self.handed.get(place, ())
        return found


def _exact(op: o.Elementwise) -> o.Tile | Expr | None:
    """What a product or quotient is a power of two of; None where it is rounded."""
    first, second = op.args
    if isinstance(second, Const) and is_power(float(second.value)):
        return first
    if op.fn == "mul" and isinstance(first, Const) and is_power(float(first.value)):
        return second
    return None


def _multiplies(e: Expr) -> bool:
    """Whether a scalar is a rounded product of floats, or has one in it."""
    return any(
        isinstance(x, Binary) and x.op == "*" and x.type == "float"
        and not exact_product(x)
        for x in subexpressions(e)
    )  # fmt: skip
