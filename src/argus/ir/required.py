"""Sizes that a program's requirements make numbers."""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir.expr import Binary, Const, Expr, Sym
from argus.ir.program import Program

__all__ = ["required_sizes"]


def required_sizes(program: Program) -> dict[str, int]:
    """Dimensions of which a launch admits one size only, and that size.

    That of `ag.require(R == 3, ...)`; not what several requirements together say.
    """
    return {
        side.name: other.value
        for requirement in program.requirements
        for equation in _equations(requirement.cond)
        for side, other in (equation, equation[::-1])
        if isinstance(side, Sym) and side.kind == "dim"
        if isinstance(other, Const) and isinstance(other.value, int)
    }


def _equations(condition: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Both sides of the equations that a condition is made of, all of which hold."""
    if not isinstance(condition, Binary):
        return
    if condition.op == "and":
        yield from _equations(condition.left)
        yield from _equations(condition.right)
    elif condition.op == "==":
        yield condition.left, condition.right
