"""What a program's requirements say of sizes: numbers, and divisors."""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir.expr import Binary, Const, Expr, Select, Sym, substitute
from argus.ir.program import Program

__all__ = ["required_divisors", "required_sizes"]


def required_sizes(program: Program) -> dict[str, int]:
    """Dimensions of which a launch admits one size only, and that size.

    That of `ag.require(R == 3, ...)`, and of `ag.require(2 * P == R, ...)` beside it;
    not what several requirements say of several unknown sizes together.
    """
    equations = [
        sides
        for requirement in program.requirements
        for equation in _equations(requirement.cond)
        for sides in (equation, equation[::-1])
    ]
    found: dict[str, int] = {}
    while new := {
        name: size
        for left, right in equations
        for name, size in _solved(substitute(left, found), substitute(right, found))
        if name not in found
    }:
        found |= new
    return found


def required_divisors(program: Program) -> Iterator[tuple[str, str]]:
    """Dimensions of which a launch admits only those that divide another, and that.

    Of `ag.require(H % G == 0, ...)` it is G and H; G may be 0, by which all is 0.
    """
    for requirement in program.requirements:
        for left, right in _equations(requirement.cond):
            match left:
                case Binary(
                    op="%",
                    left=Sym(kind="dim", name=dividend),
                    right=Sym(kind="dim", name=divisor),
                ) if _number(right) == 0:
                    yield divisor, dividend
                case Const() | Sym() | Binary() | Select():
                    pass


def _equations(condition: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Both sides of the equations that a condition is made of, all of which hold."""
    if not isinstance(condition, Binary):
        return
    if condition.op == "and":
        yield from _equations(condition.left)
        yield from _equations(condition.right)
    elif condition.op == "==":
        yield condition.left, condition.right


def _solved(side: Expr, other: Expr) -> Iterator[tuple[str, int]]:
    """The dimension that a side is made of by sums and products with numbers, if any.

    ``other``: what the side is, where that is a number.
    """
    value = _number(other)
    while value is not None and isinstance(side, Binary):
        left, right = _number(side.left), _number(side.right)
        if (left is None) == (right is None):
            return
        number = right if left is None else left
        assert number is not None
        rest = side.left if left is None else side.right
        if side.op == "+":
            value -= number
        elif side.op == "-":
            value = value + number if left is None else number - value
        elif side.op == "*" and number != 0 and value % number == 0:
            value //= number
        else:
            return
        side = rest
    if value is not None and isinstance(side, Sym) and side.kind == "dim":
        yield side.name, value


def _number(e: Expr) -> int | None:
    value = e.value if isinstance(e, Const) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
