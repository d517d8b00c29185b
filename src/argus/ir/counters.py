"""Counters: what loops carry and advance by small constants.

    n = 0                     the next fill of a ring
    for ...: n = n + 1

No launch can bound how often loops iterate, and what is computed for each fill of a
ring should not take 64 bits. So these numbers, and nothing else that loops carry, are
assumed to stay below :data:`COUNTED`; a proof says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import assert_never

from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.program import Program
from argus.ir.scalar_flow import ScalarFlow
from argus.ir.walk import walk

__all__ = ["COUNTED", "counters"]

COUNTED = 2**31 - 2**10
"""Counters stay below: a block that counts so far runs for many seconds."""
STEP = 16
"""The most by which an iteration of a loop advances a counter."""


def counters(program: Program) -> set[str]:
    """Names of what loops advance by small constants alone, and of what they leave."""
    loops = [op for op in walk(program.body) if isinstance(op, o.For)]
    carried = {c.arg.name: c for op in loops for c in op.scalars}
    names = {n for n, c in carried.items() if c.arg.type == "int"}
    while True:
        ahead = dict.fromkeys(names, 0)
        _Advances(names, ahead).block(program.body)
        kept = {
            n
            for n in names
            if _advance(carried[n].init, ahead) is not None
            and _advance(carried[n].yielded, ahead) is not None
        }
        if kept == names:
            return names | {carried[n].result.name for n in names}
        names = kept


class _Advances(ScalarFlow):
    """Adds to ``ahead`` the names that are at most so far ahead of a counter."""

    def __init__(self, names: AbstractSet[str], ahead: dict[str, int]) -> None:
        self.names, self.ahead = names, ahead

    def bind(self, sym: Sym, values: tuple[Expr, ...]) -> None:
        found = [_advance(v, self.ahead) for v in values]
        known = [x for x in found if x is not None]
        if len(known) == len(found):
            self.ahead[sym.name] = max(known)

    def data(self, sym: Sym, dtype: DType) -> None:
        """It is no counter."""

    def loop(self, op: o.For) -> None:
        self.block(op.body)
        for c in op.scalars:
            if c.arg.name in self.names:
                self.bind(c.result, (c.init,))


def _advance(e: Expr, ahead: Mapping[str, int]) -> int | None:
    """How far ahead of a counter an expression is at most.

    None: too far, or it is not made of counters and small constants.
    """
    match e:
        case Const(value=v):
            return 0 if not isinstance(v, float) and abs(v) <= COUNTED // 2 else None
        case Sym():
            return ahead.get(e.name)
        case Binary(op="+", left=left, right=right) if (c := _small(right)) is not None:
            before = _advance(left, ahead)
            return None if before is None or before + c > STEP else before + c
        case Binary(op="%", right=Const(value=int(c))) if 0 < c <= COUNTED:
            return 0
        case Binary(op="min" | "max", left=a, right=b) | Select(then=a, other=b):
            both = [_advance(x, ahead) for x in (a, b)]
            known = [x for x in both if x is not None]
            return max(known) if len(known) == len(both) else None
        case Binary():
            return None
        case _:
            assert_never(e)


def _small(e: Expr) -> int | None:
    """The most that an expression is, if that is neither negative nor much."""
    match e:
        case Const(value=int(c)):
            return int(c) if 0 <= c <= STEP else None
        case Binary(op="%", right=Const(value=int(c))):
            return c - 1 if 0 < c <= STEP else None
        case Select(then=a, other=b):
            both = [_small(x) for x in (a, b)]
            known = [x for x in both if x is not None]
            return max(known) if len(known) == len(both) else None
        case Const() | Sym() | Binary():
            return 1 if e.type == "bool" else None
        case _:
            assert_never(e)
