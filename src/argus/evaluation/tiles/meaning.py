"""What the tiles and scalars of a program mean: where they come from, and how.

    mark    the same for what is computed alike in another program, definitions inlined
    known   an expression over sizes, scalars, iterations, blocks and axes, if there is
    one origin  "same" for all elements, from the "place" of an element, or from "data"

Names of scalars and of tiles say nothing, so no mark holds one. A program is read a few
times: what a loop carries and what a shared buffer holds is known after the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, assert_never

from argus.evaluation.tiles.decisions import expression
from argus.ir import ops as o
from argus.ir.dtypes import boolean
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    subexpressions,
    substitute,
)
from argus.ir.memory import GlobalView, SharedAlloc, SharedView
from argus.ir.program import GRID_SIZE, Program

__all__ = ["MeaningReader", "Origin"]

Origin = Literal["same", "place", "data"]
_PASSES = 6
_LONG = 300
"""Characters of a mark beyond which its digest stands for it."""
_EVERYWHERE = frozenset(
    ("abs", "add", "ceil", "div", "fdiv", "floor", "floordiv", "fma", "maximum",
     "minimum", "mod", "mul", "neg", "round", "sub", "where"),
)  # fmt: skip
"""Functions that are not nearly the same for all numbers but a few."""
_ENDLESS = 1e29
"""Numbers that stand for infinity: no data are as large."""


class MeaningReader:
    """Meanings, as far as a reader has come: it visits operations in their order."""

    def __init__(self, program: Program) -> None:
        self._carried: dict[o.Tile | str, str] = {}
        self._filled: dict[SharedAlloc, str] = {}
        self._origins: dict[o.Tile | str, Origin] = {}
        self._filling: dict[SharedAlloc, list[str]] = {}
        self._running: set[o.Tile] = set()
        self._begin()
        for number in range(_PASSES):
            before = dict(self._origins)
            self._visit(program.body)
            if number == 0:
                self._carried = self._carrying
                self._filled = {
                    alloc: _short("; ".join(sorted(set(found))))
                    for alloc, found in self._filling.items()
                }
            self._begin()
            if self._origins == before:
                break
        else:  # what is carried depends on data, for all that is known
            self._origins = dict.fromkeys(self._origins, "data")

    def _begin(self) -> None:
        self._scalars: dict[str, Expr] = {}
        self._scalar_origin: dict[str, Origin] = {}
        self._marks: dict[o.Tile, str] = {}
        self._known: dict[o.Tile, Expr | None] = {}
        self._origin: dict[o.Tile, Origin] = {}
        self._carrying: dict[o.Tile | str, str] = {}
        self._filling = {}
        self._depth = 0

    def _visit(self, block: o.Block) -> None:
        for op in block.ops:
            match op:
                case o.For():
                    self.enter(op)
                    self._visit(op.body)
                    self.leave(op)
                case o.If():
                    self._visit(op.then)
                    self._visit(op.other)
                    self.merge(op)
                case o.Roles():
                    for role in op.roles:
                        self._visit(role.body)
                case (
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    self.define(op)
                case _:
                    assert_never(op)

    # ---------------------------------------------------------------------- asking

    def scalar(self, e: Expr) -> str:
        """The mark of a scalar expression."""
        return _short(str(self._inlined(e)))

    def tile(self, tile: o.Tile) -> str:
        """The mark of a tile."""
        return self._marks[tile]

    def known(self, arg: o.Tile | Expr) -> Expr | None:
        """What an argument is of indices, sizes and scalars; None for data."""
        return self._known.get(arg) if isinstance(arg, o.Tile) else arg

    def origin(self, arg: o.Tile | Expr) -> Origin:
        """Where the values of an argument come from."""
        if isinstance(arg, o.Tile):
            return "same" if arg.dtype == boolean else self._origin[arg]
        return _latest(self._sources(arg))

    def mark(self, arg: o.Tile | Expr) -> str:
        """The mark of an argument."""
        return self._marks[arg] if isinstance(arg, o.Tile) else self.scalar(arg)

    def running(self, op: o.Elementwise) -> bool:
        """Whether it is the extreme, so far, of what a loop goes through.

        It begins with what stands for infinity, and is carried on as it is.
        """
        return op.fn in ("minimum", "maximum") and op.result in self._running

    def places(self, op: o.AnyOp) -> Iterator[str]:
        """Marks of numbers that follow from places and enter what is computed of data.

        Comparisons, quotients and extremes of whole numbers are no such: they have
        ways to turn out, and places are found for those.
        """
        match op:
            case o.Elementwise():
                args = op.args[1:] if op.fn == "where" else op.args
                if not any(self.origin(a) == "data" for a in args):
                    return
                floats = op.result.dtype.is_float or any(
                    a.dtype.is_float if isinstance(a, o.Tile) else a.type == "float"
                    for a in args
                )
                for a in args:
                    own = a.dtype.is_float if isinstance(a, o.Tile) else True
                    mixed = floats if op.result.dtype != boolean else own and floats
                    if self.origin(a) == "place" and mixed:
                        yield self.mark(a)
            case o.Dot():
                for a in (op.a, op.b):
                    if isinstance(a, o.Tile) and self.origin(a) == "place":
                        yield self.mark(a)
            case o.StoreGlobal() | o.StoreShared():
                if op.src.dtype.is_float and self.origin(op.src) == "place":
                    yield self.mark(op.src)
            case o.LoadGlobal():
                if self.origin(op.fill) == "place" and op.view.dtype.is_float:
                    yield self.scalar(op.fill)
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.LoadShared()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    def bumps(self, op: o.AnyOp) -> Iterator[str]:
        """Marks of numbers that may be large near some sizes or scalars alone.

        Functions of these, and quotients by a difference: a few sizes and scalars at
        random show what sums and products of them do.
        """
        if not isinstance(op, o.Elementwise | o.Full):
            return
        if isinstance(op, o.Elementwise) and op.result.dtype.is_float:
            follows = all(self.origin(a) == "same" for a in op.args)
            fixed = all(isinstance(self.known(a), Const) for a in op.args)
            if op.fn not in _EVERYWHERE and follows and not fixed:
                yield self.tile(op.result)
            if op.fn in ("div", "fdiv"):
                yield from self._poles(self.known(op.args[-1]))
        values = op.args if isinstance(op, o.Elementwise) else (op.value,)
        for value in values:
            if not isinstance(value, o.Tile):
                yield from (
                    mark
                    for e in subexpressions(self._inlined(value))
                    if isinstance(e, Binary) and e.op == "/"
                    for mark in self._poles(e.right)
                )

    def _poles(self, divisor: Expr | None) -> Iterator[str]:
        """The mark of a divisor that may be near 0 for some sizes or scalars."""
        if divisor is None or isinstance(divisor, Const | Sym):
            return
        made = self._inlined(divisor)
        if self.origin(divisor) == "same" and _least(made) < 0:
            yield self.scalar(divisor)

    # -------------------------------------------------------------------- visiting

    def enter(self, op: o.For) -> None:
        """A loop begins."""
        self._depth += 1
        iteration = f"iteration{self._depth}({self._header(op)})"
        self._bind(op.var.name, Sym(_short(iteration), "loop"), "place")
        for n, s in enumerate(op.scalars):
            rest = self._carried.get(s.arg.name, "")
            text = f"carried{n}({self._header(op)}; {self.scalar(s.init)}; {rest})"
            origin = self._origins.get(s.arg.name, "place")
            self._bind(s.arg.name, Sym(_short(text), "let", s.arg.type), origin)
        for c in op.tiles:
            rest = self._carried.get(c.arg, "")
            text = f"carried({self._header(op)}; {self.tile(c.init)}; {rest})"
            first = _latest((self.origin(c.init), "place"))
            self._name(c.arg, text, None, self._origins.get(c.arg, first))
        self._find_running(op)

    def leave(self, op: o.For) -> None:
        """A loop is over, and its results are there."""
        for s in op.scalars:
            yielded = self.scalar(s.yielded)
            self._carrying[s.arg.name] = yielded
            origin = _latest((*self._sources(s.init), *self._sources(s.yielded)))
            origin = _latest((origin, "place"))
            self._origins[s.arg.name] = origin
            text = f"loop({self._header(op)}; {self.scalar(s.init)}; {yielded})"
            self._bind(s.result.name, Sym(_short(text), "let", s.result.type), origin)
        for c in op.tiles:
            yielded = self.tile(c.yielded)
            self._carrying[c.arg] = yielded
            origin = _latest((self.origin(c.init), self.origin(c.yielded), "place"))
            self._origins[c.arg] = origin
            text = f"loop({self._header(op)}; {self.tile(c.init)}; {yielded})"
            self._name(c.result, text, None, origin)
        self._depth -= 1

    def merge(self, op: o.If) -> None:
        """A branch is over, and its results are there."""
        cond = self.scalar(op.cond)
        for m in op.tiles:
            text = f"branch({cond}; {self.tile(m.then)}; {self.tile(m.other)})"
            origin = _latest((self.origin(m.then), self.origin(m.other)))
            self._name(m.result, text, None, origin)
        for s in op.scalars:
            text = f"branch({cond}; {self.scalar(s.then)}; {self.scalar(s.other)})"
            origin = _latest((*self._sources(s.then), *self._sources(s.other)))
            self._bind(s.result.name, Sym(_short(text), "let", s.result.type), origin)

    def define(self, op: o.AnyOp) -> None:
        """An operation that contains none."""
        match op:
            case o.Let():
                origin = _latest(self._sources(op.value))
                self._bind(op.sym.name, self._inlined(op.value), origin)
            case o.LoadScalar():
                at = ", ".join(self.scalar(e) for e in op.coords)
                text = _short(f"{op.tensor.name}[{at}]")
                self._bind(op.sym.name, Sym(text, "let", op.sym.type), "data")
            case o.Extract():
                text = _short(f"element({self.tile(op.src)})")
                self._bind(op.sym.name, Sym(text, "let", op.sym.type), "data")
            case o.Index():
                axis = Sym(f"%{op.axis}", "axis")
                self._name(op.result, f"index {axis}", axis, "place")
            case o.Full():
                text = f"full {self.scalar(op.value)}"
                self._name(op.result, text, op.value, self.origin(op.value))
            case o.Broadcast():
                axes = {f"%{i}": Sym(f"%{a}", "axis") for i, a in enumerate(op.axes)}
                e = self._known.get(op.src)
                known = None if e is None else substitute(e, axes)
                text = f"{op.words} {self.tile(op.src)}"
                self._name(op.result, text, known, self.origin(op.src))
            case o.Cast():
                text = f"{op.result.dtype}({self.tile(op.src)})"
                e = None if op.src.dtype.is_float else self._known.get(op.src)
                self._name(op.result, text, e, self.origin(op.src))
            case o.Elementwise():
                text = f"{op.fn}({', '.join(self.mark(a) for a in op.args)})"
                args = op.args[1:] if op.fn == "where" else op.args
                known = expression(op, [self.known(a) for a in op.args])
                origin = _latest([self.origin(a) for a in args])
                self._name(op.result, text, known, origin)
            case o.Reduce():
                text = f"{op.fn} {op.axis} {self.tile(op.src)}"
                self._name(op.result, text, None, self.origin(op.src))
            case o.Sort():
                text = (
                    f"sort {op.axis} {op.descending} {op.indices} {self.tile(op.src)}"
                )
                self._name(op.result, text, None, self.origin(op.src))
            case o.Combining():
                text = f"{type(op).__name__} {op.axis} {op.part} {op.combine}"
                if isinstance(op, o.Scan) and op.reverse:
                    text += " reverse"
                text += f"({', '.join(map(self.tile, op.srcs))})"
                self._name(op.result, text, None, _latest(map(self.origin, op.srcs)))
            case o.Moving():
                text = f"{op.words} {'; '.join(map(self.tile, op.sources))}"
                self._name(op.result, text, None, _latest(map(self.origin, op.sources)))
            case o.Reinterpret():
                text = f"Reinterpret({self.tile(op.src)})"
                self._name(op.result, text, None, self.origin(op.src))
            case o.Dot():
                text = f"dot({self._operand(op.a)}; {self._operand(op.b)}"
                text += f"; {'' if op.acc is None else self.tile(op.acc)})"
                self._name(op.result, text, None, "data")
            case o.LoadGlobal():
                self._name(op.result, self._global(op.view, op.mask), None, "data")
            case o.LoadShared():
                self._name(op.result, self._shared(op.view), None, "data")
            case o.Atomic():
                text = f"before {op.atomic}({self._global(op.view, op.mask)})"
                self._name(op.result, text, None, "data")
            case o.StoreShared():
                self._fill(op.view, self.tile(op.src))
            case o.CopyAsync():
                self._fill(op.dst, self._global(op.src, None))
            case (
                o.StoreGlobal() | o.CopyOut() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                pass  # they define nothing
            case o.For() | o.If() | o.Roles():
                raise TypeError(f"{type(op).__name__} contains operations")
            case _:
                assert_never(op)

    # ---------------------------------------------------------------------- helpers

    def _header(self, op: o.For) -> str:
        return ", ".join(self.scalar(e) for e in (op.start, op.stop, op.step))

    def _inlined(self, e: Expr) -> Expr:
        made = substitute(e, self._scalars)
        text = str(made)
        return made if len(text) < _LONG else Sym(_short(text), "let", made.type)

    def _bind(self, name: str, e: Expr, origin: Origin) -> None:
        self._scalars[name] = e
        self._scalar_origin[name] = origin

    def _name(
        self, tile: o.Tile, mark: str, known: Expr | None, origin: Origin
    ) -> None:
        self._marks[tile] = _short(mark)
        self._known[tile] = known
        self._origin[tile] = origin

    def _operand(self, a: o.Tile | SharedView) -> str:
        return self.tile(a) if isinstance(a, o.Tile) else self._shared(a)

    def _global(self, view: GlobalView, mask: o.Tile | None) -> str:
        gathered: Mapping[str, Expr] = {
            g.symbol.name: Sym(f"<{self.tile(g.tile)}>", "gather") for g in view.gathers
        }
        parts = [substitute(e, gathered) for e in view.coords]
        parts += [e for x in view.limits for e in (x.value, x.extent)]
        at = ", ".join(self.scalar(e) for e in parts)
        masked = "" if mask is None else f" if {self.tile(mask)}"
        return f"{view.tensor.name}[{at}]{masked}"

    def _shared(self, view: SharedView) -> str:
        at = ", ".join(self.scalar(e) for e in view.origin)
        return f"shared({self._filled.get(view.alloc, '')})[{at}] {view.axes}"

    def _fill(self, view: SharedView, what: str) -> None:
        at = ", ".join(self.scalar(e) for e in view.origin)
        self._filling.setdefault(view.alloc, []).append(f"[{at}] {what}")

    def _find_running(self, op: o.For) -> None:
        made = {x.result: x for x in op.body.ops if isinstance(x, o.Elementwise)}
        for c in op.tiles:
            start, last = self._known.get(c.init), made.get(c.yielded)
            if last is None or c.arg not in last.args or not isinstance(start, Const):
                continue
            least = -_ENDLESS if last.fn == "maximum" else _ENDLESS
            if float(start.value) / least >= 1:
                self._running.add(last.result)

    def _sources(self, e: Expr) -> Iterator[Origin]:
        """Where it comes from; its conditions have ways of their own."""
        match e:
            case Const():
                yield "same"
            case Sym():
                if e.name in self._scalar_origin:
                    yield self._scalar_origin[e.name]
                elif e.name == GRID_SIZE.name or e.kind in (
                    "dim", "stride", "param", "sms",
                ):  # fmt: skip
                    yield "same"
                else:
                    yield "place"
            case Select():
                yield from self._sources(e.then)
                yield from self._sources(e.other)
            case Binary():
                if e.type == "bool":
                    yield "same"
                    return
                yield from self._sources(e.left)
                yield from self._sources(e.right)
            case _:
                assert_never(e)


def _least(e: Expr) -> float:
    """A number that an expression of sizes is not below; scalars may be anything."""
    match e:
        case Const(value=value):
            return float(value)
        case Sym(kind="dim" | "stride" | "sms"):
            return 1.0
        case Binary(op="+"):
            return _least(e.left) + _least(e.right)
        case Binary(op="-") if isinstance(e.right, Const):
            return _least(e.left) - float(e.right.value)
        case Binary(op="*" | "/") if min(_least(e.left), _least(e.right)) >= 0:
            return _least(e.left) * _least(e.right) if e.op == "*" else 0.0
        case Binary(op="//" | "%") if min(_least(e.left), _least(e.right)) >= 0:
            return 0.0
        case Select():
            return min(_least(e.then), _least(e.other))
        case Binary() | Sym():
            return -math.inf
        case _:
            assert_never(e)


def _latest(origins: Iterable[Origin]) -> Origin:
    """What mixes origins: data, if any is."""
    found = set(origins)
    if "data" in found:
        return "data"
    return "place" if "place" in found else "same"


def _short(text: str) -> str:
    return text if len(text) < _LONG else f"{text[:60]}~{hash(text):x}"
