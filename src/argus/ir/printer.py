"""Programs as text: stable, readable, the same for equal programs.

    print_program(program)

:mod:`argus.ir.parser` reads the text back. It has three parts, with a blank line
between them: declarations, operations, and what would make their lines too long.

Tiles are named in order of appearance (`%acc`, then `%acc.1`), never by their global
ids, and layouts are listed once and referred to (`L0`), so that the text of a program
does not depend on what was compiled before it. The number on the left is the source
line, printed where it changes, with a letter for another file than the program's;
`# ...` is the reason why an operation was inserted.

It prints programs that `check.py` would reject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_never

from argus.diagnostics import Span
from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir import walk as w
from argus.ir.equality import identical
from argus.ir.expr import Binary, Const, Select, Sym
from argus.ir.program import Program
from argus.ir.text.declarations import declarations
from argus.ir.text.names import Names
from argus.ir.text.plans import plan_text
from argus.ir.text.syntax import Field, FieldKind, Flag, Word, default, items
from argus.ir.text.words import comment, dim, extents, listed, quoted, word

__all__ = ["Names", "print_op", "print_program"]


def print_program(program: Program) -> str:
    """The text of a program, placed or not; ends with a newline."""
    names = Names()
    names.place(program.span)
    for alloc in (*program.rings, *program.shared, *program.barriers):
        names.of(alloc)
    body = list(_Lines(names).block(program.body, 1))
    tail = list(_details(names, program))
    head = list(declarations(names, program))
    parts = [head, body, tail] if tail else [head, body]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def print_op(op: o.AnyOp, names: Names | None = None) -> str:
    """One operation on one line, without its nested blocks; for messages."""
    return _Lines(names or Names()).head(op)


def _details(names: Names, program: Program) -> Iterator[str]:
    """Tiles that stand on other lines than their operations, and steps of mma."""
    elsewhere: dict[str, list[str]] = {}
    steps: list[str] = []
    for op in w.walk(program.body):
        for tile in (*w.arguments(op), *w.defined(op)):
            if (place := names.place(tile.span)) != names.place(op.span):
                elsewhere.setdefault(place, []).append(names.tile(tile))
        if isinstance(op, o.Dot) and isinstance(op.plan, p.MmaPlan):
            each = " ".join(f"({x.acc} {x.a} {x.b})" for x in op.plan.steps)
            steps.append(f"steps {names.tile(op.result)}: {each}")
    for place, tiles in elsewhere.items():
        yield f"from line {place}: {', '.join(tiles)}"
    yield from steps


class _Lines:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.place = ""

    def block(self, block: o.Block, depth: int) -> Iterator[str]:
        if not block.ops:
            yield self.margin(None, depth) + "pass"
        for op in block.ops:
            note = "" if op.note is None else f"  # {comment(op.note)}"
            plan = f"  [{text}]" if (text := plan_text(op, self.names)) else ""
            margin = self.margin(op.span, depth)
            yield margin + self.head(op) + plan + note
            yield from self.nested(op, depth + 1)

    def margin(self, span: Span | None, depth: int) -> str:
        number = ""
        if span is not None and self.names.place(span) != self.place:
            self.place = number = self.names.place(span)
        return f"{number:>4} {'  ' * (depth - 1)}"

    def nested(self, op: o.AnyOp, depth: int) -> Iterator[str]:
        n = self.names
        match op:
            case o.For():
                yield from self.block(op.body, depth)
                yields = [n.tile(c.yielded) for c in op.tiles]
                yields += [n.expr(c.yielded) for c in op.scalars]
                yield from self.ending(yields, self.results(op), depth)
            case o.If():
                yield from self.block(op.then, depth)
                yields = [n.tile(x.then) for x in op.tiles]
                yields += [n.expr(x.then) for x in op.scalars]
                yield from self.ending(yields, [], depth)
                if op.other.ops or op.tiles or op.scalars:
                    yield self.margin(None, depth - 1) + "else"
                    yield from self.block(op.other, depth)
                others = [n.tile(x.other) for x in op.tiles]
                others += [n.expr(x.other) for x in op.scalars]
                yield from self.ending(others, self.results(op), depth)
            case o.Roles():
                for role in op.roles:
                    first = "" if role.first_warp is None else f" at {role.first_warp}"
                    budget = role.registers
                    registers = "" if budget is None else f" registers {budget}"
                    yield (
                        self.margin(role.span, depth)
                        + f"role {quoted(role.name)} warps {role.warps}"
                        + first
                        + registers
                    )
                    yield from self.block(role.body, depth + 1)
            case (
                o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                return
            case _:
                assert_never(op)

    def results(self, op: o.For | o.If) -> list[str]:
        tiles = [self.names.definition(x.result) for x in op.tiles]
        return tiles + [self.names.symbol(x.result) for x in op.scalars]

    def ending(
        self, yields: list[str], results: list[str], depth: int
    ) -> Iterator[str]:
        if yields:
            yield self.margin(None, depth) + "yield " + ", ".join(yields)
        if results:
            yield self.margin(None, depth - 1) + "-> " + ", ".join(results)

    def head(self, op: o.AnyOp) -> str:
        """An operation by its template, and what a loop carries."""
        text = ""
        for item in items(type(op)):
            match item:
                case Word():
                    text += item.text
                case Flag():
                    text += item.yes if getattr(op, item.name) else item.no
                case Field():
                    text += self.field(op, item)
                case _:
                    assert_never(item)
        return text + (self.carried(op) if isinstance(op, o.For) else "")

    def carried(self, op: o.For) -> str:
        n = self.names
        each = [f"{n.definition(c.arg)} = {n.tile(c.init)}" for c in op.tiles]
        each += [f"{n.symbol(c.arg)} = {n.expr(c.init)}" for c in op.scalars]
        return f" carry {', '.join(each)}" if each else ""

    def field(self, op: o.AnyOp, item: Field) -> str:
        value = getattr(op, item.name)
        if item.prefix is None:
            return self.show(item.kind, value)
        if identical(value, default(type(op), item.name)):
            return ""
        prefix = f"{item.prefix} " if item.prefix else ""
        return f" {prefix}{self.show(item.kind, value)}"

    def show(self, kind: FieldKind, value: Any) -> str:
        """A value of a kind."""
        n = self.names
        simple: dict[str, Callable[[Any], str]] = {
            "definition": n.definition, "tile": n.tile, "symbol": n.symbol,
            "expr": n.expr, "int": str, "choice": str, "word": word, "dim": dim,
            "tensor": self.tensor, "global": self.view, "shared": self.shared,
            "barrier": self.barrier, "ring": n.of, "span": self.span,
            "either": self.either, "combination": str,
        }  # fmt: skip
        if kind.name in simple:
            return simple[kind.name](value)
        return self.several(kind, value)

    def tensor(self, tensor: m.GlobalTensor) -> str:
        return quoted(tensor.name)

    def barrier(self, ref: m.BarrierRef) -> str:
        return f"{self.names.of(ref.alloc)}[{self.names.expr(ref.index)}]"

    def span(self, span: Span) -> str:
        first = f"{self.names.place(span)}:{span.column}"
        return f"{first} - {span.end_line}:{span.end_column}"

    def either(self, value: Any) -> str:
        """A value that may be of several kinds, which its class tells apart."""
        match value:
            case o.Tile():
                return self.names.tile(value)
            case m.SharedView():
                return self.shared(value)
            case m.GlobalTensor():
                return self.tensor(value)
            case Const() | Sym() | Binary() | Select():
                return self.names.expr(value)
            case _:
                raise TypeError(f"no text for {value!r}")

    def several(self, kind: FieldKind, values: Sequence[Any]) -> str:
        if kind.name == "pairs":
            first, second = kind.parts
            each = (f"{self.show(first, a)}: {self.show(second, b)}" for a, b in values)
            return "{" + ", ".join(each) + "}"
        (part,) = kind.parts
        texts = [self.show(part, x) for x in values]
        match kind.name:
            case "listed":
                return listed(texts)
            case "indexed":
                return f"[{', '.join(texts)}]"
            case "bare":
                return ", ".join(texts)
            case _:
                raise ValueError(f"no text for {kind}")

    def view(self, view: m.GlobalView) -> str:
        n = self.names
        coords = ", ".join(n.expr(x) for x in view.coords)
        text = f"{quoted(view.tensor.name)}[{coords}]"
        text += extents(view.dims, view.shape)
        for gather in view.gathers:
            text += f" {n.symbol(gather.symbol)}={n.tile(gather.tile)}[%{gather.axis}]"
        limits = " and ".join(
            f"0 <= {n.part(x.value)} < {n.part(x.extent)}" for x in view.limits
        )
        return text + (f" where {limits}" if limits else "")

    def shared(self, view: m.SharedView) -> str:
        text = f"${self.names.of(view.alloc)}"
        if view.alloc.stages > 1 or not identical(view.stage, Const(0)):
            text += f"({self.names.expr(view.stage)})"
        if not all(identical(x, Const(0)) for x in view.origin):
            text += f"[{', '.join(map(self.names.expr, view.origin))}]"
        if view.axes != tuple(range(len(view.alloc.shape))):
            text += f".axes{listed(view.axes)}"
        return text + extents(view.dims, view.shape)
