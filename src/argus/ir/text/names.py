"""Names of tiles, symbols, layouts and allocations, given out in order of appearance.

The second tile `acc` is `acc.1`: the text of a program does not depend on ids, and two
things with one name are told apart.
"""

from __future__ import annotations

import re

from argus.diagnostics import Span
from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir.annotations import component
from argus.ir.expr import Expr, Sym, axis
from argus.ir.program import HARDWARE
from argus.ir.text.words import expression, extents, file_name, quoted
from argus.layout import Fragment

__all__ = ["Names"]

_AXIS, _COMPONENT = re.compile(r"%(\d+)"), re.compile(r"(\d+)\.([^\W\d]\w*)")


class Names:
    """Names that are given out so far."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}
        self._taken: dict[str, int] = {}
        self._symbols: dict[Sym, str] = {x: x.name for x in HARDWARE}
        self._symbol_names: dict[str, int] = {x.name: 1 for x in HARDWARE}
        self.layouts: dict[Fragment, str] = {}
        self.files: dict[str, str] = {}
        """A letter for each file; none for the first one, the program's."""

    def of(self, thing: o.Tile | m.SharedAlloc | m.BarrierAlloc | m.Ring) -> str:
        """The name of a tile or an allocation; the second `acc` becomes `acc.1`."""
        if thing not in self._names:
            self._names[thing] = _next(thing.name, self._taken)
        return self._names[thing]

    def layout(self, layout: Fragment) -> str:
        """The name of a register layout; equal layouts share it."""
        return self.layouts.setdefault(layout, f"L{len(self.layouts)}")

    def place(self, span: Span) -> str:
        """The line of a span, with the letter of its file."""
        file = file_name(span)
        if file not in self.files:
            self.files[file] = chr(ord("a") + len(self.files) - 1) if self.files else ""
        return f"{self.files[file]}{span.line}"

    def symbol(self, symbol: Sym) -> str:
        """The name of a symbol; another symbol of the same name becomes `n.1`."""
        if symbol not in self._symbols:
            if _says_what_it_is(symbol):
                return symbol.name
            self._symbols[symbol] = _next(symbol.name, self._symbol_names)
        return self._symbols[symbol]

    def symbols(self) -> dict[Sym, str]:
        """The symbols that have been named, but for those that all programs know."""
        return {x: name for x, name in self._symbols.items() if x not in HARDWARE}

    def expr(self, e: Expr) -> str:
        """An expression without the parentheses around all of it."""
        return expression(e, self.symbol)

    def part(self, e: Expr) -> str:
        """An expression as a part of a larger text."""
        return expression(e, self.symbol, outer=False)

    def tile(self, tile: o.Tile) -> str:
        """A use of a tile."""
        return "%" + self.of(tile)

    def definition(self, tile: o.Tile) -> str:
        """A tile with its type, layout and storage."""
        text = f"{self.tile(tile)}: {tile.dtype}{extents(tile.dims, tile.shape)}"
        if tile.layout is not None:
            text += f" {self.layout(tile.layout)}"
        if tile.storage is not None:
            text += f" @{tile.storage}"
        if tile.required is not None:
            text += f" required {self.layout(tile.required)}"
        return text


def _says_what_it_is(symbol: Sym) -> bool:
    """Whether the name of a symbol gives its kind, so that none declares it."""
    if found := _AXIS.fullmatch(symbol.name):
        return symbol == axis(int(found[1]))
    if found := _COMPONENT.fullmatch(symbol.name):
        return symbol == component(int(found[1]), found[2])
    return False


def _next(name: str, taken: dict[str, int]) -> str:
    count = taken.get(name, 0)
    taken[name] = count + 1
    return f"{quoted(name)}.{count}" if count else quoted(name)
