"""Sizes of tiles, without those that mean something to the author.

A size means something where the author divides coordinates by it (`k // 64` chooses the
scale of a group) or where requirements or the signature relate dimensions by it.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, subexpressions, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.walk import defined, expressions, loops, walk

__all__ = ["tile_sizes"]


def tile_sizes(program: Program) -> tuple[int, ...]:
    """Steps of loops and extents of tiles that nothing explains, largest first."""
    steps = (op.step for op in loops(program.body))
    found = {int(step.value) for step in steps if isinstance(step, Const)}
    for op in walk(program.body):
        for tile in defined(op):
            found.update(tile.shape)
    meant = set(_meant(program))
    return tuple(
        sorted((n for n in found if n > 1 and not _explained(n, meant)), reverse=True)
    )


def _explained(size: int, meant: set[int]) -> bool:
    return any(n % size == 0 for n in meant)


def _meant(program: Program) -> Iterator[int]:
    """Numbers that relate dimensions, or by which coordinates are divided."""
    for param in program.params:
        if isinstance(param, GlobalTensor):
            yield from (int(e.value) for e in param.shape if isinstance(e, Const))
    for requirement in program.requirements:
        yield from _numbers(requirement.cond)
    for op in walk(program.body):
        for e in expressions(op):
            yield from _divisors(e)
        if isinstance(op, o.Elementwise) and op.fn in ("floordiv", "mod"):
            yield from (int(x.value) for x in op.args if isinstance(x, Const))


def _divisors(e: Expr) -> Iterator[int]:
    """Numbers by which something is divided that is not made of sizes alone."""
    for part in subexpressions(e):
        if not isinstance(part, Binary) or part.op not in ("//", "%"):
            continue
        if not isinstance(part.right, Const):
            continue
        if any(s.kind not in ("dim", "param", "stride") for s in symbols(part.left)):
            yield int(part.right.value)


def _numbers(e: Expr) -> Iterator[int]:
    """Numbers of a requirement on at least two dimensions."""
    if len({s.name for s in symbols(e) if s.kind == "dim"}) < 2:
        return
    for part in subexpressions(e):
        if isinstance(part, Const) and int(part.value) > 1:
            yield int(part.value)
