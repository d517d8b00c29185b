"""Programs as the compiler of printed text may contract them.

    program, count = contracted(placed)
    run(program, arrays)                  # what the card may compute, of any kernel

NVRTC fuses a product with the sum that it goes into, also where others read the
product, and then rounds once. The interpreter rounds each operation, and does not see
what becomes of numbers that cancel. So here each sum of a product is ``fma`` (which it
knows), but for products that are printed so that no compiler fuses them
(`argus.codegen.fusing`). `emulator.FUSED` has a host compiler do the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from argus.codegen.fusing import rounded_products
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.ir.program import Program
from argus.ir.walk import blocks, walk

__all__ = ["contracted"]

Value = o.Tile | Expr


def contracted(
    program: Program, *, last: bool = False, anything: bool = False
) -> tuple[Program, int]:
    """The placed program, changed in place, and how many sums are fused now.

    ``last``: of two products the second one is. ``anything``: those, too, that are
    printed so that they are not fused.
    """
    kept = frozenset() if anything else rounded_products(program)
    fusing = _Fusing(program.body, kept, last)
    fusing.change(program.body)
    return program, fusing.count


class _Fusing:
    def __init__(
        self, body: o.Block, kept: frozenset[o.Elementwise], last: bool
    ) -> None:
        self.kept, self.last, self.count = kept, last, 0
        self.makes: dict[o.Tile, o.AnyOp] = {}
        for op in walk(body):
            if isinstance(op, o.RegisterOp):
                self.makes[op.result] = op

    def change(self, body: o.Block) -> None:
        made: list[o.AnyOp] = []
        for op in body.ops:
            for inner in blocks(op):
                self.change(inner)
            made += self._fused(op)
        body.ops[:] = made

    def _fused(self, op: o.AnyOp) -> list[o.AnyOp]:
        if not isinstance(op, o.Elementwise) or op.fn not in ("add", "sub"):
            return [op]
        if not _wide(op.result):
            return [op]
        order = (1, 0) if self.last else (0, 1)
        for side in order:
            before: list[o.AnyOp] = []
            found = self._factors(op.args[side], before)
            if found is None:
                continue
            self.count += 1
            first, second, minus = found
            rest = op.args[1 - side]
            if op.fn == "sub" and side == 0:
                rest = _negative(rest, before, op)
            if minus != (op.fn == "sub" and side == 1):
                first = _negative(first, before, op)
            return [*before, replace(op, fn="fma", args=(first, second, rest))]
        return [op]

    def _factors(
        self, value: Value, before: list[o.AnyOp]
    ) -> tuple[Value, Value, bool] | None:
        """The factors of a product as it arrives, and whether its sign is changed."""
        op = self.makes.get(value) if isinstance(value, o.Tile) else None
        match op:
            case o.Elementwise(fn="mul") if op not in self.kept and _wide(op.result):
                return op.args[0], op.args[1], False
            case o.Elementwise(fn="neg"):
                found = self._factors(op.args[0], before)
                return None if found is None else (*found[:2], not found[2])
            case o.MovingOne() | o.Reinterpret():
                found = self._factors(op.src, before)
                if found is None:
                    return None
                moved = [_moved(x, op, before) for x in found[:2]]
                return moved[0], moved[1], found[2]
            case _:
                return None


def _wide(tile: o.Tile) -> bool:
    return tile.dtype.is_float and not tile.dtype.encoded


def _like(tile: o.Tile, source: o.Tile | None = None) -> o.Tile:
    kind = (source or tile).dtype
    return o.Tile(kind, tile.shape, tile.dims, tile.span, tile.name, tile.layout)


def _moved(
    value: Value, move: o.MovingOne | o.Reinterpret, before: list[o.AnyOp]
) -> Value:
    if not isinstance(value, o.Tile):
        return value
    result = _like(move.result, value)
    before.append(cast("o.AnyOp", replace(move, src=value, result=result)))
    return result


def _negative(value: Value, before: list[o.AnyOp], op: o.Elementwise) -> Value:
    if not isinstance(value, o.Tile):
        return binary("-", Const(0.0), value)
    result = _like(value)
    before.append(o.Elementwise(result=result, fn="neg", args=(value,), span=op.span))
    return result
