"""What layout functions can be evaluated on: ints, numpy arrays, symbolic expressions.

A layout is a function of an index, and one formula serves every reader: the printer
and the verifier pass symbolic expressions, the interpreter passes numpy arrays, tests
pass ints. Evaluation therefore uses `+ - * // % ^` only, keeps the operand on the left
of a constant (`t // 4`, never `4 * t`), and never compares it or asks for its truth.

This file defines the type of such an operand and three building blocks that leave out
what has no effect (adding 0, multiplying by 1). It does not define a symbolic
expression: any class with the operators will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Operand", "T", "add", "digit", "scaled"]


class Operand(Protocol):
    """Anything with `+ - * // % ^`; ints, numpy arrays and symbolic expressions."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Operand)


def add(terms: Sequence[T | int]) -> T | int:
    """Sum of the terms; terms that are the int 0 do not appear in the expression."""
    present = [term for term in terms if not (isinstance(term, int) and term == 0)]
    if not present:
        return 0
    symbols = [term for term in present if not isinstance(term, int)]
    # Symbols first: an expression class then needs no reflected `int + expression`.
    ordered: list[Any] = symbols + [term for term in present if isinstance(term, int)]
    total = ordered[0]
    for term in ordered[1:]:
        total = total + term
    return total


def scaled(value: T | int, factor: int) -> T | int:
    """`value * factor`, written without the multiplication by 1 or 0."""
    if factor == 0:
        return 0
    if factor == 1:
        return value
    product: Any = value * factor
    return product


def digit(index: T, weight: int, size: int, top: bool) -> T | int:
    """Digit of `index` in a mixed-radix system: `index // weight % size`.

    `top` says that this is the slowest digit, which needs no `% size` as long as the
    index is in range; leaving it out keeps printed and symbolic forms short.
    """
    if size == 1:
        return 0
    value: Any = index if weight == 1 else index // weight
    return value if top else value % size
