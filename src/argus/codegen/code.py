"""Text of C++ expressions that knows how tightly it binds.

    code = plus(name("smem"), xor)      xor is "x ^ 144"
    code.bare                           "smem + (x ^ 144)"
    code.operand                        "(smem + (x ^ 144))"

An expression cannot be put into an f-string as it is: who prints it says whether it
stands alone (``bare``: an argument, an index, the right side of an assignment) or takes
part in a larger expression (``operand``, or one of the functions here).

Knows no operation and no symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

ATOM: Final = 20
"""A name, a literal, a call, an element of an array, or what is in parentheses."""

UNARY: Final = 15
"""A conversion or an indirection: an operand of any binary operator."""

PRECEDENCE: Final = {
    "*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8.5, ">>": 8.5,
    "<": 8, "<=": 8, ">": 8, ">=": 8, "==": 7, "!=": 7,
    "&": 6, "^": 5, "|": 4.5, "&&": 4, "||": 3,
}  # fmt: skip
"""How tightly binary operators bind (C++ [expr]); a unary minus binds as "-" here, so
that two of them never meet."""

TERNARY: Final = 2
"""``c ? a : b``, and any text of which nothing is known but that it has no comma."""


@dataclass(frozen=True, slots=True)
class CppExpression:
    """A C++ expression; ``level`` is that of its outermost operator."""

    bare: str
    level: float = ATOM

    @property
    def operand(self) -> str:
        """The text, in parentheses unless it binds tighter than binary operators."""
        return self.inside(UNARY)

    def inside(self, level: float) -> str:
        """The text, in parentheses unless it binds at least as tightly as ``level``."""
        return self.bare if self.level >= level else f"({self.bare})"

    def __format__(self, spec: str) -> str:
        raise TypeError("say `.bare` or `.operand`: how tightly must this bind?")

    def __str__(self) -> str:
        raise TypeError("say `.bare` or `.operand`: how tightly must this bind?")


def name(text: str) -> CppExpression:
    """A name or a literal without a sign."""
    return CppExpression(text)


def call(function: str, *arguments: CppExpression) -> CppExpression:
    """``function(a, b, ...)``."""
    return CppExpression(f"{function}({', '.join(a.bare for a in arguments)})")


def item(array: str, index: CppExpression) -> CppExpression:
    """``array[index]``."""
    return CppExpression(f"{array}[{index.bare}]")


def converted(ctype: str, value: CppExpression) -> CppExpression:
    """``(ctype)value``."""
    return CppExpression(f"({ctype}){value.operand}", UNARY)


def at_address(ctype: str, address: CppExpression) -> CppExpression:
    """What lies at an address that holds a ``ctype``."""
    return CppExpression(f"*reinterpret_cast<{ctype}*>({address.bare})", UNARY)


def binary(operator: str, left: CppExpression, right: CppExpression) -> CppExpression:
    """``left operator right``; the left operand may be of the same precedence."""
    level = PRECEDENCE[operator]
    return CppExpression(
        f"{left.inside(level)} {operator} {right.inside(level + 0.5)}", level
    )


def plus(left: CppExpression, right: CppExpression) -> CppExpression:
    """A sum of pointers and integers; what adds nothing is left out."""
    if right.bare == "0":
        return left
    level = PRECEDENCE["+"]
    # Integer addition is associative: a sum may follow a + as it is.
    return CppExpression(f"{left.inside(level)} + {right.inside(level)}", level)


def joined(operator: str, parts: Sequence[CppExpression]) -> CppExpression:
    """At least one part, joined by an associative operator: &&, | or +."""
    if len(parts) == 1:
        return parts[0]
    level = PRECEDENCE[operator]
    # What is compared or added stays bare under && only, where everybody reads it.
    inner = level + 0.5 if operator == "&&" else UNARY
    return CppExpression(f" {operator} ".join(p.inside(inner) for p in parts), level)


def chosen(
    condition: CppExpression, then: CppExpression, other: CppExpression
) -> CppExpression:
    """``condition ? then : other``."""
    inner = TERNARY + 1
    parts = [x.inside(inner) for x in (condition, then, other)]
    return CppExpression(f"{parts[0]} ? {parts[1]} : {parts[2]}", TERNARY)
