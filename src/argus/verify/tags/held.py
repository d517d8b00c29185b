"""What the types of numbers say: which a tile holds, and which a table has.

Tiles of whole numbers wrap. A proof reads a number of a tile as an exact one; it may
where the number fits the type. What a launch bounds fits 32 bits (argus.ir.ranges), and
what tiles make of it with coordinates is assumed to. A number of a table has its whole
type, and with anything added to it is a number of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.ir.dtypes import DType
from argus.ir.expr import Expr, binary
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.ranges import I32, I64, Range, Ranges, arguments, fits
from argus.verify.tags.values import Coord, Tag
from argus.verify.tags.world import LoadedScalar, OpaqueScalar, TagWorld, Total

__all__ = ["held", "table_range", "type_facts"]


def held(world: TagWorld, number: Tag | None, dtype: DType) -> Tag | None:
    """The number, or None where a tile of ``dtype`` may hold another one."""
    if not isinstance(number, Coord):
        return number
    ranges = _ranges(world, number.base)
    if ranges.by_launch(number.base) and fits(I32, dtype.integers):
        return number
    low, high = ranges.of(number.base)
    if number.offs.size:
        low, high = low + int(number.offs.min()), high + int(number.offs.max())
    return number if fits((low, high), dtype.integers) else None


def type_facts(world: TagWorld, several: Sequence[Expr]) -> tuple[Expr, ...]:
    """The ends of the types of sizes, arguments and table entries in expressions.

    They are kept out of most questions, which do not need them and are harder to answer
    with them. A counterexample has to keep them.
    """
    found: dict[Expr, None] = {}
    for e in several:
        ranges = _ranges(world, e)
        for sym in world.all_symbols(e):
            low, high = ranges.symbol(sym)
            given = isinstance(world.meanings.get(sym.name), LoadedScalar)
            if sym.type == "int" and (given or sym.kind in ("dim", "param", "stride")):
                found[binary("<=", low, sym)] = None
                found[binary("<=", sym, high)] = None
    return tuple(found)


def table_range(program: Program, name: str) -> Range:
    """The values of the elements of a tensor of whole numbers."""
    for param in program.params:
        if isinstance(param, GlobalTensor) and param.name == name:
            return param.dtype.integers
    return I64


def _ranges(world: TagWorld, e: Expr) -> Ranges:
    """Where the symbols of a closed form lie."""
    ranges = arguments(world.program)
    for sym in world.all_symbols(e):
        match world.meanings.get(sym.name):
            case LoadedScalar(tensor=name):
                if sym.type == "int":
                    ranges.known[sym.name] = table_range(world.program, name)
                ranges.free.add(sym.name)
            case OpaqueScalar() | Total():
                ranges.known[sym.name] = I64
                ranges.free.add(sym.name)
            case None:
                pass
    return ranges
