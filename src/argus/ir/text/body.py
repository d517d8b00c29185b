"""Reading operations, and the blocks that they contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argus.ir import ops as o
from argus.ir.expr import Expr
from argus.ir.op import Op
from argus.ir.text.cursor import Cursor, TextError
from argus.ir.text.expressions import NameScope
from argus.ir.text.plan_reader import read_plan
from argus.ir.text.syntax import SYNTAX, Field, Flag, Word, beginnings, default, items
from argus.ir.text.values import Values, is_tile

__all__ = ["Body", "Line"]


@dataclass
class Line:
    """A line of the text; ``source`` is the place in the source from which it comes."""

    number: int
    text: str
    source: str = ""

    def cursor(self) -> Cursor:
        """The beginning of the line."""
        return Cursor(self.text, self.number)

    @property
    def indent(self) -> int:
        """How far it is indented."""
        return len(self.text) - len(self.text.lstrip(" "))


@dataclass
class _Head:
    """An operation without its blocks: fields, and what a loop carries in."""

    cls: type[Op]
    values: dict[str, Any]
    tiles: list[tuple[o.Tile, o.Tile]]
    scalars: list[tuple[Any, Expr]]


class Body:
    """Operations; blocks are told by how far lines are indented."""

    def __init__(self, scope: NameScope, lines: list[Line]) -> None:
        self.scope = scope
        self.lines = lines
        self.at = 0

    def whole(self) -> o.Block:
        """All lines as one block. Raises TextError."""
        block = self._block(self.lines[0].indent)
        if self.at < len(self.lines):
            raise self.lines[self.at].cursor().error("no operation is expected here")
        for name in (*self.scope.lines, *self.scope.steps):
            if name not in self.scope.tiles:
                last = self.lines[-1]
                raise TextError(f"no tile is called {name}", last.number, 1)
        return block

    def _here(self, indent: int, *words: str) -> Cursor | None:
        """The line that comes next if it begins with one of the words."""
        if self.at == len(self.lines) or self.lines[self.at].indent != indent:
            return None
        cursor = self.lines[self.at].cursor()
        return cursor if cursor.peek() in words else None

    def _inner(self, indent: int) -> int:
        """How far the block is indented that begins here, below ``indent``."""
        if self.at < len(self.lines) and self.lines[self.at].indent > indent:
            return self.lines[self.at].indent
        last = self.lines[self.at - 1]
        raise TextError("a block is expected below", last.number, len(last.text) + 1)

    def _block(self, indent: int) -> o.Block:
        if (empty := self._here(indent, "pass")) is not None:
            empty.next()
            empty.end()
            self.at += 1
            return o.Block()
        block = o.Block()
        while (
            self.at < len(self.lines)
            and self.lines[self.at].indent == indent
            and self._here(indent, "yield", "else", "->", "role") is None
        ):
            block.ops.append(self._operation(indent))
        if not block.ops:
            raise self.lines[self.at].cursor().unexpected("an operation or pass")
        return block

    def _operation(self, indent: int) -> Any:
        line = self.lines[self.at]
        self.at += 1
        head = self._head(line)
        if head.cls is o.For:
            return self._loop(head, line, indent)
        if head.cls is o.If:
            return self._branch(head, line, indent)
        if head.cls is o.Roles:
            return o.Roles(**head.values, roles=self._roles(indent))
        return head.cls(**head.values)

    # ------------------------------------------------------------ structure

    def _loop(self, head: _Head, line: Line, indent: int) -> o.For:
        inner = self._inner(indent)
        body = self._block(inner)
        values = self._yielded(inner, len(head.tiles), len(head.scalars))
        tiles, scalars = self._results(indent, line, values)
        count = len(head.tiles)
        return o.For(
            **head.values,
            body=body,
            tiles=[
                o.TileCarry(init, arg, value, result)
                for (arg, init), value, result in zip(
                    head.tiles, values[:count], tiles, strict=True
                )
            ],
            scalars=[
                o.ScalarCarry(init, arg, value, result)
                for (arg, init), value, result in zip(
                    head.scalars, values[count:], scalars, strict=True
                )
            ],
        )

    def _branch(self, head: _Head, line: Line, indent: int) -> o.If:
        inner = self._inner(indent)
        then = self._block(inner)
        values = self._yielded(inner)
        other, others = o.Block(), []
        count = sum(isinstance(x, o.Tile) for x in values)
        if (found := self._here(indent, "else")) is not None:
            found.next()
            found.end()
            self.at += 1
            inner = self._inner(indent)
            other = self._block(inner)
            others = self._yielded(inner, count, len(values) - count)
        elif values:
            raise self._missing(indent, "else")
        tiles, scalars = self._results(indent, line, values)
        each = list(zip(values, others, strict=True))
        return o.If(
            **head.values,
            then=then,
            other=other,
            tiles=[
                o.TileMerge(a, b, result)
                for (a, b), result in zip(each[:count], tiles, strict=True)
            ],
            scalars=[
                o.ScalarMerge(a, b, result)
                for (a, b), result in zip(each[count:], scalars, strict=True)
            ],
        )

    def _missing(self, indent: int, wanted: str) -> TextError:
        if self.at < len(self.lines):
            return self.lines[self.at].cursor().unexpected(repr(wanted))
        last = self.lines[-1]
        return TextError(f"{wanted!r} is expected", last.number, indent + 1)

    def _yielded(
        self, indent: int, tiles: int | None = None, scalars: int = 0
    ) -> list[Any]:
        """What a block yields: tiles, then scalars; so many, where they are given."""
        if (cursor := self._here(indent, "yield")) is None:
            if tiles or scalars:
                raise self._missing(indent, "yield")
            return []
        v = Values(self.scope, cursor, "")
        cursor.next()
        start = cursor.at
        found: list[Any] = [v.either(["tile", "expr"])]
        while cursor.has(","):
            found.append(v.either(["tile", "expr"]))
        cursor.end()
        order = [isinstance(x, o.Tile) for x in found]
        wanted = sum(order) if tiles is None else tiles
        if order != [True] * wanted + [False] * (
            len(found) - wanted if tiles is None else scalars
        ):
            cursor.at = start
            raise cursor.error("other tiles and scalars are yielded than carried")
        self.at += 1
        return found

    def _results(
        self, indent: int, line: Line, values: list[Any]
    ) -> tuple[list[o.Tile], list[Any]]:
        """What becomes of the yielded values: tiles, then scalars."""
        if not values:
            return [], []
        if (cursor := self._here(indent, "->")) is None:
            raise self._missing(indent, "->")
        v = Values(self.scope, cursor, line.source)
        tiles: list[o.Tile] = []
        scalars: list[Any] = []
        for i, value in enumerate(values):
            cursor.expect("," if i else "->")
            if isinstance(value, o.Tile):
                tiles.append(v.definition())
            else:
                scalars.append(v.symbol())
        cursor.end()
        self.scope.tiles.update(v.defined)
        self.at += 1
        return tiles, scalars

    def _roles(self, indent: int) -> list[o.Role]:
        inner = self._inner(indent)
        found: list[o.Role] = []
        while (c := self._here(inner, "role")) is not None:
            line = self.lines[self.at]
            self.at += 1
            c.next()
            name = c.plain()
            c.expect("warps")
            warps = c.integer()
            first = c.integer() if c.has("at") else None
            registers = c.integer() if c.has("registers") else None
            c.end()
            body = self._block(self._inner(inner))
            at = self.scope.at(line.source)
            found.append(o.Role(name, warps, registers, body, at, first))
        if not found:
            raise self._missing(inner, "role")
        return found

    # ---------------------------------------------------------------- lines

    def _head(self, line: Line) -> _Head:
        """An operation, by the first template that fits the line."""
        errors: list[TextError] = []
        token = line.cursor().peek()
        for cls in SYNTAX:
            words = beginnings(cls)
            if not (is_tile(token) if words is None else token in words):
                continue
            values = Values(self.scope, line.cursor(), line.source)
            try:
                found = self._fit(cls, values)
            except TextError as error:
                errors.append(error)
            else:
                self.scope.tiles.update(values.defined)
                return found
        if not errors:
            raise line.cursor().error(f"{token!r} begins no operation")
        column = max(x.column for x in errors)
        furthest = [x for x in errors if x.column == column]
        if len(furthest) == 1:
            raise furthest[0]
        token = Cursor(line.text, line.number, column - 1).peek()
        raise TextError(f"{token!r} continues no operation", line.number, column)

    def _fit(self, cls: type[Op], v: Values) -> _Head:
        """Read a line by a template. Raises TextError where it does not fit."""
        c = v.cursor
        values: dict[str, Any] = {"span": self.scope.at(v.place)}
        for item in items(cls):
            if isinstance(item, Word):
                c.expect(item.text)
            elif isinstance(item, Flag):
                values[item.name] = bool(item.yes) and c.has(*item.yes.split())
                if not values[item.name]:
                    c.expect(item.no)
            else:
                values[item.name] = self._field(cls, item, v)
        head = _Head(cls, values, [], [])
        if cls is o.For and c.has("carry"):
            self._carried(head, v)
        if "plan" in cls.__dataclass_fields__ and c.has("["):
            result = next(iter(v.defined), None)
            values["plan"] = read_plan(v, cls(**values), result)
        values["note"] = c.comment()
        c.end()
        return head

    def _field(self, cls: type[Op], item: Field, v: Values) -> Any:
        if item.prefix is None:
            return v.of(item.kind)
        there = (
            v.cursor.has(*item.prefix.split())
            if item.prefix
            else (v.cursor.peek() == "(")
        )
        return v.of(item.kind) if there else default(cls, item.name)

    def _carried(self, head: _Head, v: Values) -> None:
        """What a loop carries: tiles, then scalars, each with its first value."""
        c = v.cursor
        while True:
            if c.peek().startswith("%"):
                if head.scalars:
                    raise c.error("tiles are carried before scalars")
                arg = v.definition()
                c.expect("=")
                head.tiles.append((arg, v.tile()))
            else:
                symbol = v.symbol()
                c.expect("=")
                head.scalars.append((symbol, v.expr()))
            if not c.has(","):
                return
