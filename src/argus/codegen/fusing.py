"""Products that the compiler may not fuse with a sum.

NVRTC makes one instruction of ``a * b - c``, which rounds once. Where c is a product, too,
and may be the same number (the maximum of such products, the same row's in the step
before), what is left is then not 0 but what was rounded off c: 2**-24 of it, so nothing
beside ordinary numbers; but of 1e30, as masks leave it, 1e22, of which an exponential is
infinite, and a root none. So where both sides of a sum may be products each is rounded by
itself, as the program says and the interpreter has it. An author who wants one rounding
writes ``ag.fma``, which all readers know.

The sums of reductions and matrix products are as they were: what they are rounded to
depends on their order, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import frexp

from argus.ir import ops as o
from argus.ir.combine import Combination, CombinationValue, split
from argus.ir.dtypes import DType
from argus.ir.expr import Binary, Const, Expr, subexpressions, symbols
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import SharedAlloc
from argus.ir.walk import walk

__all__ = ["ROUNDED", "exact_product", "is_power", "rounded_products", "rounded_steps"]

ROUNDED = {32: "__fmul_rn({0}, {1})", 64: "__dmul_rn({0}, {1})"}
"""The product that is never fused, by bits of the type."""

_Source = o.Tile | Expr


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
        if isinstance(op, o.Elementwise) and op.fn in ("add", "sub") and _wide(op):
            sums.append(op)
    found: set[o.Elementwise] = set()
    for op in sums:
        left, right = (sources.products(x) for x in op.args)
        if left and right:
            found |= {x for x in (*left, *right) if isinstance(x, o.Elementwise)}
    return frozenset(found)


def rounded_steps(combine: Combination) -> frozenset[int]:
    """Numbers of the steps of a function of a scan that are such products."""
    found: set[int] = set()
    for step in combine.steps:
        if step.fn not in ("add", "sub") or not step.dtype.is_float:
            continue
        made = [_product_step(combine, x) for x in step.args]
        if None not in made:
            found |= {x for x in made if x is not None}
    return frozenset(found)


def _product_step(combine: Combination, x: CombinationValue) -> int | None:
    if not isinstance(x, str):
        return None
    kind, number = split(x)
    return number if kind == "t" and combine.steps[number].fn == "mul" else None


def _wide(op: o.Elementwise) -> bool:
    return _is_wide(op.result.dtype)


def _is_wide(dtype: DType) -> bool:
    """Whether nothing is rounded between two operations but by themselves."""
    return dtype.is_float and not dtype.encoded


@dataclass
class _Sources:
    """What each tile, scalar and shared buffer may be, unchanged or by its sign."""

    tiles: dict[o.Tile, list[_Source]] = field(
        default_factory=dict[o.Tile, list[_Source]]
    )
    scalars: dict[str, list[_Source]] = field(default_factory=dict[str, list[_Source]])
    shared: dict[SharedAlloc, list[_Source]] = field(
        default_factory=dict[SharedAlloc, list[_Source]]
    )
    loads: dict[o.Tile, SharedAlloc] = field(default_factory=dict[o.Tile, SharedAlloc])
    made: dict[o.Tile, o.Elementwise] = field(
        default_factory=dict[o.Tile, o.Elementwise]
    )
    """Products by what they make."""

    def note(self, op: o.AnyOp) -> None:
        """What an operation hands on."""
        match op:
            case o.Elementwise():
                self._note_function(op)
            case o.Moving():
                self.tiles[op.result] = [*op.sources]
            case o.Reinterpret():
                self.tiles[op.result] = [op.src]
            case o.Reduce() if op.fn in ("max", "min"):
                self.tiles[op.result] = [op.src]
            case o.Full():
                self.tiles[op.result] = [op.value]
            case o.Let():
                self.scalars[op.sym.name] = [op.value]
            case o.Extract():
                self.scalars[op.sym.name] = [op.src]
            case o.StoreShared():
                self.shared.setdefault(op.view.alloc, []).append(op.src)
            case o.LoadShared():
                self.loads[op.result] = op.view.alloc
            case o.For():
                for carry in op.tiles:
                    self.tiles[carry.arg] = [carry.init, carry.yielded]
                    self.tiles[carry.result] = [carry.init, carry.yielded]
                for scalar in op.scalars:
                    handed: list[_Source] = [scalar.init, scalar.yielded]
                    self.scalars[scalar.arg.name] = handed
                    self.scalars[scalar.result.name] = handed
            case o.If():
                for merge in op.tiles:
                    self.tiles[merge.result] = [merge.then, merge.other]
                for choice in op.scalars:
                    self.scalars[choice.result.name] = [choice.then, choice.other]
            case _:
                pass  # what it makes is no product

    def _note_function(self, op: o.Elementwise) -> None:
        law = FUNCTIONS[op.fn].law
        if law == "where":
            self.tiles[op.result] = [*op.args[1:]]
        elif law in ("neg", "maximum", "minimum") or op.fn == "abs":
            self.tiles[op.result] = [*op.args]
        elif law in ("mul", "div") and (kept := _exact(op)) is not None:
            self.tiles[op.result] = [kept]
        elif law == "mul" and _wide(op):
            self.made[op.result] = op

    def products(self, value: _Source) -> set[o.Elementwise | Expr]:
        """Products of tiles and of scalars that a value may be."""
        found: set[o.Elementwise | Expr] = set()
        seen: set[_Source | SharedAlloc] = set()
        waiting: list[_Source] = [value]
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if not isinstance(one, o.Tile):
                if _multiplies(one):
                    found.add(one)
                for symbol in symbols(one):
                    waiting += self.scalars.get(symbol.name, ())
            elif one in self.made:
                found.add(self.made[one])
            elif one in self.loads:
                alloc = self.loads[one]
                if alloc not in seen:
                    seen.add(alloc)
                    waiting += self.shared.get(alloc, ())
            else:
                waiting += self.tiles.get(one, ())
        return found


def exact_product(e: Binary) -> bool:
    """Whether a product of scalars is one with a power of two, and loses nothing."""
    return any(
        isinstance(x, Const) and is_power(float(x.value)) for x in (e.left, e.right)
    )


def _exact(op: o.Elementwise) -> _Source | None:
    """What a product or quotient is a power of two of; None where it is rounded."""
    first, second = op.args
    if isinstance(second, Const) and is_power(float(second.value)):
        return first
    if op.fn == "mul" and isinstance(first, Const) and is_power(float(first.value)):
        return second
    return None


def _multiplies(e: Expr) -> bool:
    """Whether a scalar is a product of floats, or has one in it."""
    return any(
        isinstance(x, Binary) and x.op == "*" and x.type == "float"
        and not exact_product(x)
        for x in subexpressions(e)
    )  # fmt: skip
