"""Reading values of fields: tiles, views, and what is made of them.

The other direction of :mod:`argus.ir.printer` and :mod:`argus.ir.text.names`.
"""

from __future__ import annotations

import re
from typing import Any

from argus.diagnostics import Span
from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir.combine import Combination, CombinationStep, CombinationValue
from argus.ir.dtypes import DTYPES, DType
from argus.ir.expr import Const, Expr, Sym
from argus.ir.functions import FUNCTIONS
from argus.ir.text.cursor import Cursor
from argus.ir.text.expressions import Expressions, NameScope
from argus.ir.text.syntax import FieldKind
from argus.ir.text.words import base_name
from argus.layout import Fragment

__all__ = ["Values", "is_tile"]


class Values(Expressions):
    """Values from a place in a line on.

    ``place`` is that of the line in the source. ``defined`` collects the tiles that
    are defined.
    Every method raises TextError for what is not so written.
    """

    def __init__(self, scope: NameScope, cursor: Cursor, place: str) -> None:
        super().__init__(scope, cursor)
        self.place = place
        self.defined: dict[str, o.Tile] = {}

    # ---------------------------------------------------------------- tiles

    def tile(self) -> o.Tile:
        """A tile that is defined already."""
        token = self.cursor.peek()
        if not is_tile(token):
            raise self.cursor.unexpected("a tile")
        return self.known(self.scope.tiles, token, "tile")

    def definition(self) -> o.Tile:
        """A tile with its type, layout and storage."""
        c = self.cursor
        token = c.peek()
        if not is_tile(token):
            raise c.unexpected("a tile")
        if token in self.scope.tiles or token in self.defined:
            raise c.error(f"the tile {token} is defined already")
        c.next()
        c.expect(":")
        dtype = self.dtype()
        dims, shape = self.extents()
        place = self.scope.lines.get(token, self.place)
        made = o.Tile(dtype, shape, dims, self.scope.at(place), base_name(token[1:]))
        if c.peek() in self.scope.layouts:
            made.layout = self.layout()
        if c.has("@"):
            made.storage = c.integer()
        if c.has("required"):
            made.required = self.layout()
        self.defined[token] = made
        return made

    def dtype(self) -> DType:
        """An element type."""
        return self.known(DTYPES, self.cursor.peek(), "element type")

    def layout(self) -> Fragment:
        """A layout of registers, by its name."""
        return self.known(self.scope.layouts, self.cursor.peek(), "layout")

    def extents(self) -> tuple[tuple[str | None, ...], tuple[int, ...]]:
        """Names and extents of dimensions."""
        c = self.cursor
        dims: list[str | None] = []
        shape: list[int] = []
        c.expect("[")
        while not c.has("]"):
            dims.append(self.dim())
            c.expect(":")
            shape.append(c.integer())
        return tuple(dims), tuple(shape)

    def dim(self) -> str | None:
        """The name of a dimension, or `_`."""
        found = self.cursor.match(r"\w+|`[^`]*`", "a dimension")[0]
        return None if found == "_" else found.strip("`")

    # ---------------------------------------------------------------- views

    def tensor(self) -> m.GlobalTensor:
        """A tensor that is a parameter."""
        return self.known(self.scope.tensors, self.cursor.peek(), "tensor")

    def indices(self) -> tuple[Expr, ...]:
        """Expressions in brackets."""
        return tuple(self.cursor.several(self.expr, "[", "]"))

    def integers(self) -> tuple[int, ...]:
        """Integers in parentheses."""
        return tuple(self.cursor.several(self.cursor.integer, "(", ")"))

    def view(self) -> m.GlobalView:
        """A tile of a tensor."""
        c = self.cursor
        tensor = self.tensor()
        coords = self.indices()
        dims, shape = self.extents()
        gathers: list[m.GatheredAxis] = []
        while (symbol := self.gathered()) is not None:
            tile = self.tile()
            c.expect("[")
            at = c.match(r"%\d+", "an axis")[0]
            c.expect("]")
            gathers.append(m.GatheredAxis(symbol, tile, int(at[1:])))
        limits: list[m.Limit] = []
        if c.has("where"):
            limits.append(self.limit())
            while c.has("and"):
                limits.append(self.limit())
        return m.GlobalView(tensor, shape, dims, coords, tuple(gathers), tuple(limits))

    def gathered(self) -> Sym | None:
        """The symbol of a gather with its `=`, if one comes next."""
        start = self.cursor.at
        if self.cursor.peek() in self.scope.symbols:
            symbol = self.symbol()
            if self.cursor.has("="):
                return symbol
        self.cursor.at = start
        return None

    def limit(self) -> m.Limit:
        """A condition for an element to exist."""
        self.cursor.expect("0 <=")
        value = self.part()
        self.cursor.expect("<")
        return m.Limit(value, self.part())

    def shared(self) -> m.SharedView:
        """A tile of a shared buffer."""
        c = self.cursor
        alloc = self.buffer()
        stage: Expr = Const(0)
        if c.has("("):
            stage = self.expr()
            c.expect(")")
        origin: tuple[Expr, ...] = (Const(0),) * len(alloc.shape)
        axes = tuple(range(len(alloc.shape)))
        if not self.at_extents():
            if c.peek() == "[":
                origin = self.indices()
            if c.has(".", "axes"):
                axes = self.integers()
        dims, shape = self.extents()
        return m.SharedView(alloc, stage, origin, axes, shape, dims)

    def buffer(self) -> m.SharedAlloc:
        """A shared buffer, by its name."""
        token = self.cursor.peek()
        if not token.startswith("$"):
            raise self.cursor.unexpected("a shared buffer")
        return self.known(self.scope.buffers, token, "shared buffer")

    def at_extents(self) -> bool:
        """Whether extents come next, and no other brackets."""
        c = self.cursor
        start = c.at
        found = c.has("[") and (c.peek() == "]" or (c.next() != "" and c.peek() == ":"))
        c.at = start
        return found

    def barrier(self) -> m.BarrierRef:
        """One barrier of several."""
        alloc = self.known(self.scope.barriers, self.cursor.peek(), "barrier")
        self.cursor.expect("[")
        index = self.expr()
        self.cursor.expect("]")
        return m.BarrierRef(alloc, index)

    def ring(self) -> m.Ring:
        """A ring, by its name."""
        return self.known(self.scope.rings, self.cursor.peek(), "ring")

    def span(self) -> Span:
        """Lines and columns of the source."""
        c = self.cursor
        first = self.scope.at(c.match(self.scope.places, "a line")[0])
        c.expect(":")
        column = c.integer()
        c.expect("-")
        end_line = c.integer()
        c.expect(":")
        return Span(first.file, first.line, column, end_line, c.integer())

    def combination(self) -> Combination:
        """A function of a scan: ``{mul.f32 a0 b0, add.f32 t0 1.0 -> t1}``."""
        c = self.cursor
        c.expect("{")
        steps: list[CombinationStep] = []
        while not c.has("->"):
            head = c.match(r"\w+\.\w+", "a function and its type")[0]
            fn, kind = head.split(".")
            if fn not in FUNCTIONS or kind not in DTYPES:
                raise c.error(f"no function {head}")
            args: list[CombinationValue] = []
            while c.peek() not in (",", "->", ""):
                args.append(self._combined())
            steps.append(CombinationStep(fn, DTYPES[kind], tuple(args)))
            c.has(",")
        results: list[CombinationValue] = []
        while not c.has("}"):
            results.append(self._combined())
        return Combination(tuple(steps), tuple(results))

    def _combined(self) -> CombinationValue:
        if re.fullmatch(r"[abt]\d+", self.cursor.peek()):
            return self.cursor.next()
        found = self.part()
        if not isinstance(found, Const):
            raise self.cursor.error("a number of a state, or a constant, is expected")
        return found.value

    # ---------------------------------------------------------------- kinds

    def of(self, kind: FieldKind) -> Any:
        """A value of a kind."""
        simple = {
            "definition": self.definition, "tile": self.tile, "symbol": self.symbol,
            "expr": self.expr, "int": self.cursor.integer, "word": self.cursor.string,
            "dim": self.dim, "tensor": self.tensor, "global": self.view,
            "shared": self.shared, "barrier": self.barrier, "ring": self.ring,
            "span": self.span, "combination": self.combination,
        }  # fmt: skip
        if kind.name in simple:
            return simple[kind.name]()
        c = self.cursor
        match kind.name:
            case "choice":
                if c.peek() not in kind.words:
                    raise c.unexpected(" or ".join(kind.words))
                return c.next()
            case "either":
                return self.either([x.name for x in kind.parts])
            case "pairs":
                return tuple(c.several(lambda: self._pair(kind), "{", "}"))
            case "listed":
                return tuple(c.several(lambda: self.of(kind.parts[0]), "(", ")"))
            case "indexed":
                return self.indices()
            case "bare" if not c.peek():
                return ()
            case "bare":
                found = [self.of(kind.parts[0])]
                while c.has(","):
                    found.append(self.of(kind.parts[0]))
                return tuple(found)
            case _:
                raise ValueError(f"no text for {kind}")

    def _pair(self, kind: FieldKind) -> tuple[Any, Any]:
        first = self.of(kind.parts[0])
        self.cursor.expect(":")
        return first, self.of(kind.parts[1])

    def either(self, kinds: list[str]) -> Any:
        """A value of one of several kinds, which its first token tells apart."""
        token = self.cursor.peek()
        if is_tile(token) and "tile" in kinds:
            return self.tile()
        if token.startswith("$") and "shared" in kinds:
            return self.shared()
        if "tensor" in kinds:
            return self.tensor()
        if "expr" in kinds:
            return self.expr()
        raise self.cursor.unexpected(f"a {' or '.join(kinds)}")


def is_tile(token: str) -> bool:
    """Whether a token is the name of a tile, and no axis."""
    return token[:1] == "%" and len(token) > 1 and not token[1:].isdigit()
