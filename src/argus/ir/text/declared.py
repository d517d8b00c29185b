"""Reading what a program declares: the first part of its text (`declarations.py`)."""

from __future__ import annotations

import re
from typing import Any, get_args

from argus.ir import memory as m
from argus.ir.dtypes import DTYPES
from argus.ir.expr import Const, Expr, ScalarType, Sym, SymKind
from argus.ir.ops import Block
from argus.ir.program import (
    LaunchRequirement,
    PointerAlignment,
    Program,
    ScalarParam,
)
from argus.ir.text.cursor import Cursor, TextError
from argus.ir.text.declarations import implied_alignment
from argus.ir.text.expressions import NameScope
from argus.ir.text.layout_reader import read_fragment, read_shared_layout
from argus.ir.text.plan_reader import tensor_map
from argus.ir.text.values import Values
from argus.ir.text.words import base_name
from argus.targets import TARGETS

__all__ = ["Declared", "first_line"]

_FIRST = re.compile(r"program (\S+) \((.+):(\d+)\) target (\w+)( placed)?")
_ORDER = {
    "symbols": 0,
    "layout": 0,
    "param": 1,
    "out": 1,
    "ring": 3,
    "outputs": 2,
}
"""A line may use what lines of a lower number declare; others are 2."""
_ONCE = ("grid", "statics", "outputs")
SYMBOL_KINDS: dict[str, SymKind] = {x: x for x in get_args(SymKind)}
_SCALARS = ("i32", "i64", "f32")


def first_line(text: str, number: int) -> Program:
    """A program without anything. Raises TextError for another line than the first."""
    found = _FIRST.fullmatch(text)
    if found is None:
        wanted = "program NAME (FILE:LINE) target NAME"
        raise TextError(f"{wanted!r} is expected", number, 1)
    name, file, line, target, placed = found.groups()
    if target not in TARGETS:
        raise TextError(f"no target is called {target}", number, found.start(4) + 1)
    scope = NameScope(file)
    return Program(
        Cursor(name, number).string(),
        file,
        TARGETS[target],
        [],
        {},
        Block(),
        scope.at(line),
        placed=placed is not None,
    )


class Declared:
    """Fills a program and a scope, line by line."""

    def __init__(self, program: Program, scope: NameScope) -> None:
        self.program = program
        self.scope = scope
        self.once: set[str] = set()

    def read(self, lines: list[tuple[Cursor, str]]) -> None:
        """Read the lines, each with its place in the source. Raises TextError."""
        for cursor, line in sorted(lines, key=lambda x: _ORDER.get(x[0].peek(), 2)):
            self._line(Values(self.scope, cursor, line))
            cursor.end()

    def _line(self, v: Values) -> None:
        c, program = v.cursor, self.program
        start = c.at
        word = c.next()
        if word == "shared" and re.match(r"shared memory \d", c.text[start:]):
            word = "shared memory"
            c.next()
        if word in _ONCE or word == "shared memory":
            if word in self.once:
                c.at = start
                raise c.error(f"a second line {word!r}")
            self.once.add(word)
        match word:
            case "symbols":
                self._symbols(v)
            case "layout":
                name = c.name()
                if name in self.scope.layouts:
                    raise c.error(f"{name} is declared already")
                c.expect(":")
                self.scope.layouts[name] = read_fragment(v)
            case "grid":
                program.grid = v.expr()
                for name in ("cluster", "warps", "min_blocks"):
                    c.expect(f", {name}")
                    setattr(program, name, c.integer())
            case "shared memory":
                program.shared_bytes = c.integer()
                c.expect("bytes")
            case "statics":
                for name, value in _separated(c, lambda: _static(v)):
                    program.statics[name] = value
            case "param" | "out":
                self._param(v, word == "out")
            case "outputs":
                program.outputs = _separated(c, c.plain)
            case "ring":
                self._ring(v)
            case "shared" | "slots":
                alloc = self._buffer(v)
                if word == "shared":
                    program.shared.append(alloc)
            case "barrier":
                self._barrier(v)
            case "map":
                if c.integer() != len(program.tensor_maps):
                    raise c.error("maps are numbered from 0")
                c.expect(":")
                tensor = v.tensor()
                program.tensor_maps.append(tensor_map(v, tensor))
            case "require":
                cond = v.expr()
                why = c.comment()
                if why is None:
                    raise c.unexpected("'# ' and the reason")
                at = self.scope.at(v.place)
                program.requirements.append(LaunchRequirement(cond, why, at))
            case "align":
                program.alignments.append(PointerAlignment(c.plain(), c.integer()))
            case "fact":
                name = c.plain()
                c.expect("%")
                program.facts[name] = c.integer()
                c.expect("== 0")
            case _:
                c.at = start
                raise c.error(f"no declaration begins with {word!r}")

    def _symbols(self, v: Values) -> None:
        c = v.cursor
        if c.peek() not in SYMBOL_KINDS:
            raise c.unexpected("a kind of symbols")
        kind = SYMBOL_KINDS[c.next()]
        type_: ScalarType = (
            "float" if c.has("float") else "bool" if c.has("bool") else "int"
        )
        nonneg = not c.has("any", "sign")
        c.expect(":")
        for name in _separated(c, c.name):
            if name in self.scope.symbols:
                raise c.error(f"the symbol {name} is declared already")
            self.scope.symbols[name] = Sym(base_name(name), kind, type_, nonneg)

    def _param(self, v: Values, output: bool) -> None:
        c, program = v.cursor, self.program
        name = c.plain()
        if name in (x.name for x in program.params):
            raise c.error(f"a second parameter {name}")
        c.expect(":")
        dtype = v.dtype()
        if output:
            program.outputs.append(name)
        if c.has("="):
            if dtype.name not in _SCALARS:
                raise c.error(f"a scalar is one of {', '.join(_SCALARS)}")
            program.params.append(ScalarParam(name, dtype.name, v.symbol()))
            return
        dims: list[str] = []
        shape: list[Expr] = []
        c.expect("[")
        while not c.has("]"):
            written = c.peek()
            dim = v.dim()
            if dim is None:
                raise c.error("a dimension of a tensor has a name")
            dims.append(dim)
            if c.has("="):
                shape.append(v.part())
            elif written.isdecimal():
                shape.append(Const(int(written)))
            elif written in self.scope.symbols:
                shape.append(self.scope.symbols[written])
            else:
                raise c.error(f"no symbol is called {written}")
        c.expect("strides")
        strides = c.several(v.expr, "(", ")")
        tensor = m.GlobalTensor(name, dtype, tuple(dims), tuple(shape), tuple(strides))
        program.params.append(tensor)
        self.scope.tensors[name] = tensor

    def _buffer(self, v: Values) -> m.SharedAlloc:
        c = v.cursor
        name = self._fresh(c)
        c.expect(":")
        dtype = v.dtype()
        dims, shape = v.extents()
        stages = c.match(r"x(\d+)", "") if c.peek().startswith("x") else None
        made = m.SharedAlloc(
            base_name(name), dtype, shape, dims, int(stages[1]) if stages else 1,
            self.scope.at(v.place), scratch=c.has("scratch"),
        )  # fmt: skip
        if c.has("at"):
            made.offset = c.integer()
        if c.peek() == "(":
            made.layout = read_shared_layout(c, shape)
        if c.has("swizzle"):
            made.swizzle = c.integer()
        own = c.has("alignment")
        made.alignment = c.integer() if own else implied_alignment(made)
        self.scope.buffers["$" + name] = made
        return made

    def _barrier(self, v: Values) -> None:
        c = v.cursor
        name = self._fresh(c)
        count = int(c.match(r"x(\d+)", "a count")[1])
        c.expect("arrivals")
        arrivals = c.integer()
        offset = c.integer() if c.has("at") else None
        role = c.text[c.at :].rstrip()
        if not (role.startswith("(") and role.endswith(")")):
            raise c.unexpected("what it is for, in parentheses")
        c.at = len(c.text)
        made = m.BarrierAlloc(
            base_name(name), count, arrivals, self.scope.at(v.place), role[1:-1], offset
        )
        self.program.barriers.append(made)
        self.scope.barriers[name] = made

    def _ring(self, v: Values) -> None:
        c = v.cursor
        name = self._fresh(c)
        stages = int(c.match(r"x(\d+)", "a number of stages")[1])
        cluster = c.has("cluster")

        def slot() -> tuple[str, m.SharedAlloc]:
            field = c.plain()
            c.expect(":")
            return field, v.buffer()

        slots = c.several(slot, "(", ")")
        made = m.Ring(
            base_name(name), stages, dict(slots), self.scope.at(v.place), cluster
        )
        barriers: dict[str, Any] = self.scope.barriers
        made.full = v.known(barriers, c.peek(), "barrier") if c.has("full") else None
        made.empty = v.known(barriers, c.peek(), "barrier") if c.has("empty") else None
        self.program.rings.append(made)
        self.scope.rings[name] = made

    def _fresh(self, c: Cursor) -> str:
        """A name that no buffer, barrier or ring has."""
        name = c.name()
        taken = self.scope
        if f"${name}" in taken.buffers or name in {**taken.barriers, **taken.rings}:
            raise c.error(f"{name} is declared already")
        return name


def _separated(c: Cursor, read: Any) -> list[Any]:
    found = [read()]
    while c.has(","):
        found.append(read())
    return found


def _static(v: Values) -> tuple[str, object]:
    c = v.cursor
    name = c.plain()
    c.expect("=")
    token = c.peek()
    if c.has("None"):
        return name, None
    if token in ("True", "False", "inf", "nan", "-") or token[:1].isdigit():
        found = v.part()
        if isinstance(found, Const):
            return name, found.value
        raise c.unexpected("a value")
    return (name, v.dtype()) if token in DTYPES else (name, c.string())
