"""Reading expressions, and what names mean.

A name that is not declared, or not defined yet, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar, get_args

from argus.diagnostics import Span
from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir.annotations import component
from argus.ir.expr import Binary, BinaryOp, Const, Expr, Select, Sym, axis
from argus.ir.placement import MmaStep
from argus.ir.program import HARDWARE
from argus.ir.text.cursor import Cursor
from argus.ir.text.words import RESERVED
from argus.layout import Fragment

__all__ = ["Expressions", "NameScope"]

T = TypeVar("T")
_OPERATORS: dict[str, BinaryOp] = {
    x: x for x in get_args(BinaryOp) if x not in ("min", "max")
}
_FLOAT = r"\d+(\.\d+)?(e[+-]?\d+)?"


@dataclass
class NameScope:
    """What names mean, each under the name as it is written."""

    file: str
    symbols: dict[str, Sym] = field(
        default_factory=lambda: {x.name: x for x in HARDWARE}
    )
    layouts: dict[str, Fragment] = field(default_factory=dict[str, Fragment])
    tensors: dict[str, m.GlobalTensor] = field(
        default_factory=dict[str, m.GlobalTensor]
    )
    buffers: dict[str, m.SharedAlloc] = field(default_factory=dict[str, m.SharedAlloc])
    barriers: dict[str, m.BarrierAlloc] = field(
        default_factory=dict[str, m.BarrierAlloc]
    )
    rings: dict[str, m.Ring] = field(default_factory=dict[str, m.Ring])
    tiles: dict[str, o.Tile] = field(default_factory=dict[str, o.Tile])
    files: dict[str, str] = field(default_factory=dict[str, str])
    """Other files, by the letter that stands before their lines."""
    lines: dict[str, str] = field(default_factory=dict[str, str])
    """Tiles that stand on another line than their operation."""
    steps: dict[str, tuple[MmaStep, ...]] = field(
        default_factory=dict[str, tuple[MmaStep, ...]]
    )
    """Steps of the products that make these tiles."""

    def at(self, place: str) -> Span:
        """The beginning of a line, before which stands the letter of its file."""
        letter, line = (place[0], place[1:]) if place[0] in self.files else ("", place)
        return Span(self.files.get(letter, self.file), int(line), 1, int(line), 2)

    @property
    def places(self) -> str:
        """The regular expression of a place: a line, in a file that is declared."""
        return rf"[{''.join(self.files)}]?\d+" if self.files else r"\d+"


class Expressions:
    """Expressions from a place in a line on.

    Every method raises TextError for what is not so written.
    """

    def __init__(self, scope: NameScope, cursor: Cursor) -> None:
        self.scope = scope
        self.cursor = cursor

    def known(self, table: Mapping[str, T], written: str, what: str) -> T:
        """What a name that comes next means."""
        if written not in table:
            raise self.cursor.error(f"no {what} is called {written}")
        self.cursor.next()
        return table[written]

    def expr(self) -> Expr:
        """An expression; within one, every operation has parentheses."""
        left = self.part()
        op = self.cursor.peek()
        if op in _OPERATORS:
            self.cursor.next()
            return Binary(_OPERATORS[op], left, self.part())
        if self.cursor.has("if"):
            cond = self.part()
            self.cursor.expect("else")
            return Select(cond, left, self.part())
        return left

    def part(self) -> Expr:
        """A number, a symbol, or an expression in parentheses."""
        c = self.cursor
        token = c.peek()
        if c.has("("):
            inner = self.expr()
            c.expect(")")
            return inner
        if token in ("min", "max"):
            c.next()
            both = c.several(self.expr, "(", ")")
            if len(both) != 2:
                raise c.error(f"{token} has two arguments, not {len(both)}")
            return Binary("min" if token == "min" else "max", both[0], both[1])
        if token in ("True", "False"):
            return Const(c.next() == "True")
        if token[:1].isdigit() or token in ("-", "inf", "nan"):
            found = self.number()
            if isinstance(found, Const):
                return found
        if token[:1] == "%" and token[1:].isdigit():
            return axis(int(c.next()[1:]))
        if found := re.fullmatch(r"(\d+)\.([^\W\d]\w*)", token):
            c.next()
            return component(int(found[1]), found[2])
        return self.symbol()

    def number(self) -> Const | None:
        """A number, which may have a sign; None for what only begins like one."""
        c = self.cursor
        start = c.at
        negative = c.has("-")
        token = c.peek()
        if token.isdecimal():
            value: int | float = int(token)
        elif token in ("inf", "nan") or re.fullmatch(_FLOAT, token):
            value = float(token)
        else:
            c.at = start
            return None
        c.next()
        return Const(-value if negative else value)

    def symbol(self) -> Sym:
        """A symbol that the program declares."""
        token = self.cursor.peek()
        if token in RESERVED or not re.match(r"[\w`]", token):
            raise self.cursor.unexpected("an expression")
        return self.known(self.scope.symbols, token, "symbol")
