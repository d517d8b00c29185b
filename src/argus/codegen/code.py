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
class Code:
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


def name(text: str) -> Code:
    """A name or a literal without a sign."""
    return Code(text)


def call(function: str, *arguments: Code) -> Code:
    """``function(a, b, ...)``."""
    return Code(f"{function}({', '.join(a.bare for a in arguments)})")


def item(array: str, index: Code) -> Code:
    """``array[index]``."""
    return Code(f"{array}[{index.bare}]")


def converted(ctype: str, value: Code) -> Code:
    """``(ctype)value``."""
    return Code(f"({ctype}){value.operand}", UNARY)


def at_address(ctype: str, address: Code) -> Code:
    """What lies at an address that holds a ``ctype``."""
    return Code(f"*reinterpret_cast<{ctype}*>({address.bare})", UNARY)


def binary(operator: str, left: Code, right: Code) -> Code:
    """``left operator right``; the left operand may be of the same precedence."""
    level = PRECEDENCE[operator]
    return Code(f"{left.inside(level)} {operator} {right.inside(level + 0.5)}", level)


def plus(left: Code, right: Code) -> Code:
    """A sum of pointers and integers; what adds nothing is left out."""
    if right.bare == "0":
        return left
    level = PRECEDENCE["+"]
    # Integer addition is associative: a sum may follow a + as it is.
    return Code(f"{left.inside(level)} + {right.inside(level)}", level)


def joined(operator: str, parts: Sequence[Code]) -> Code:
    """At least one part, joined by an associative operator: &&, | or +."""
    if len(parts) == 1:
        return parts[0]
    level = PRECEDENCE[operator]
    # What is compared or added stays bare under && only, where everybody reads it.
    inner = level + 0.5 if operator == "&&" else UNARY
    return Code(f" {operator} ".join(p.inside(inner) for p in parts), level)


def chosen(condition: Code, then: Code, other: Code) -> Code:
    """``condition ? then : other``."""
    inner = TERNARY + 1
    parts = [x.inside(inner) for x in (condition, then, other)]
    return Code(f"{parts[0]} ? {parts[1]} : {parts[2]}", TERNARY)
