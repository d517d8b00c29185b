"""Values for the sizes and arguments of a program, before any of them is varied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm

from argus.ir.expr import Sym, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import SM_COUNT, Program

__all__ = ["usual"]

_STRIDE = 1 << 16
_USUAL = 16
"""Elements of what decides nothing, or as many as are known to divide it."""


def usual(program: Program, units: Mapping[str, int]) -> dict[str, int | float]:
    """Values of all symbols but the grid's size; no requirement is looked at.

    ``units``: elements of a tile of each size that decides how often loops iterate, of
    which it has one.
    """
    found: dict[str, int | float] = {}
    for sym, float_ in _symbols(program):
        if float_:
            found[sym.name] = 1.0
        elif sym.kind == "stride":
            found.setdefault(sym.name, _STRIDE)
        else:
            few = units.get(sym.name, _USUAL)
            found.setdefault(sym.name, lcm(few, program.facts.get(sym.name, 1)))
    found[SM_COUNT.name] = program.cluster
    return found


def _symbols(program: Program) -> Iterator[tuple[Sym, bool]]:
    """Symbols of parameters, and whether each is a number with a fraction."""
    for param in program.params:
        if isinstance(param, GlobalTensor):
            for extent in (*param.shape, *param.strides):
                yield from ((sym, False) for sym in symbols(extent))
        else:
            yield param.sym, param.dtype == "f32"
