"""How much of a size makes one more iteration of a loop, as far as one can see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, subexpressions, symbols
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order.events import has_events

__all__ = ["units"]


def units(program: Program, sizes: frozenset[str]) -> dict[str, int]:
    """The largest constant that divides a size, or steps a loop up to it."""
    units = dict.fromkeys(sizes, 1)
    for op in walk(program.body):
        match op:
            case o.For():
                pairs = [(op.stop, op.step), (op.start, op.step)]
                found = [e for x in pairs for e in x]
                for bound, step in pairs:
                    if isinstance(step, Const) and has_events(op.body):
                        for sym in symbols(bound):
                            _raise(units, sym.name, int(step.value))
            case o.Let():
                found = [op.value]
            case (
                o.If() | o.Roles() | o.Binding() | o.RegisterOp() | o.Dot()
                | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                continue
            case _:
                assert_never(op)
        for e in (*found, program.grid):
            for size, divisor in _divided(e):
                _raise(units, size, divisor)
    return units


def _divided(e: Expr) -> Iterator[tuple[str, int]]:
    """(size, constant) for each constant division of an expression with the size."""
    for part in subexpressions(e):
        if not isinstance(part, Binary) or part.op != "//":
            continue
        if isinstance(part.right, Const):
            for sym in symbols(part.left):
                yield sym.name, int(part.right.value)


def _raise(units: dict[str, int], name: str, value: int) -> None:
    if name in units:
        units[name] = max(units[name], value)
