"""The first part of a program's text: what it declares, a line for each.

The number on the left is the source line, as in the second part.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.diagnostics import Span
from argus.ir import memory as m
from argus.ir.dtypes import DTYPES
from argus.ir.expr import Sym
from argus.ir.program import Program, ScalarParam
from argus.ir.text.names import Names
from argus.ir.text.plans import boxed
from argus.ir.text.words import (
    comment,
    dim,
    extents,
    file_name,
    fragment_text,
    quoted,
    shared_layout_text,
    word,
)

__all__ = ["declarations", "implied_alignment"]


def implied_alignment(alloc: m.SharedAlloc) -> int:
    """The alignment of a buffer of which the text names none."""
    return 16 if alloc.layout is None else max(alloc.layout.alignment, 128)


def declarations(names: Names, program: Program) -> Iterator[str]:
    """The lines, once the operations have their text: all names are given out."""
    lines = list(_Declarations(names, program).lines())
    yield (
        f"program {word(program.name)} ({file_name(program.span)}:{program.span.line})"
        f" target {program.target.name}{' placed' if program.placed else ''}"
    )
    yield from (f"file {x}: {name}" for name, x in names.files.items() if x)
    yield from lines
    yield from _symbols(names.symbols())
    for layout, name in names.layouts.items():
        yield f"layout {name}: {fragment_text(layout)}"


def _symbols(symbols: dict[Sym, str]) -> Iterator[str]:
    """A line for the symbols of each kind, type and sign."""
    groups: dict[str, list[str]] = {}
    for symbol, name in symbols.items():
        type_ = "" if symbol.type == "int" else f" {symbol.type}"
        sign = "" if symbol.nonneg else " any sign"
        groups.setdefault(f"{symbol.kind}{type_}{sign}", []).append(name)
    for group, members in sorted(groups.items()):
        yield f"symbols {group}: {', '.join(members)}"


class _Declarations:
    def __init__(self, names: Names, program: Program) -> None:
        self.names = names
        self.program = program
        self.place = names.place(program.span)

    def lines(self) -> Iterator[str]:
        n, program = self.names, self.program
        yield (
            f"grid {n.expr(program.grid)}, cluster {program.cluster},"
            f" warps {program.warps}, min_blocks {program.min_blocks}"
        )
        if program.placed or program.shared_bytes:
            yield f"shared memory {program.shared_bytes} bytes"
        if program.statics:
            each = (f"{k}={_static(v)}" for k, v in sorted(program.statics.items()))
            yield "statics " + ", ".join(each)
        for param in program.params:
            yield self.param(param)
        if program.outputs != [x.name for x in program.params if self.is_out(x)]:
            yield "outputs " + ", ".join(quoted(x) for x in program.outputs)
        for ring in program.rings:
            yield from self.ring(ring)
        for alloc in program.shared:
            yield self.margin(alloc.span) + self.shared(alloc, "shared")
        for barrier in program.barriers:
            yield self.margin(barrier.span) + self.barrier(barrier)
        for i, x in enumerate(program.tensor_maps):
            yield f"map {i}: {quoted(x.tensor.name)} {boxed(x)}"
        for x in program.requirements:
            why = comment(x.why)
            yield f"{self.margin(x.span)}require {n.expr(x.cond)}  # {why}"
        for x in program.alignments:
            yield f"align {quoted(x.tensor)} {x.bytes}"
        for name, d in sorted(program.facts.items()):
            yield f"fact {quoted(name)} % {d} == 0"

    def margin(self, span: Span) -> str:
        before, self.place = self.place, self.names.place(span)
        return f"{'' if self.place == before else self.place:>4} "

    def is_out(self, param: m.GlobalTensor | ScalarParam) -> bool:
        return param.name in self.program.outputs

    def param(self, param: m.GlobalTensor | ScalarParam) -> str:
        n = self.names
        role = "out" if self.is_out(param) else "param"
        if isinstance(param, ScalarParam):
            symbol = n.symbol(param.sym)
            return f"{role} {quoted(param.name)}: {param.dtype} = {symbol}"
        pairs = [
            (dim(d), n.part(e)) for d, e in zip(param.dims, param.shape, strict=True)
        ]
        dims = " ".join(d if d == e else f"{d}={e}" for d, e in pairs)
        strides = ", ".join(n.expr(s) for s in param.strides)
        return f"{role} {quoted(param.name)}: {param.dtype}[{dims}] strides ({strides})"

    def ring(self, ring: m.Ring) -> Iterator[str]:
        """A ring, after those of its buffers that are not the program's (yet)."""
        n = self.names
        for alloc in ring.fields.values():
            if alloc not in self.program.shared:
                yield self.margin(alloc.span) + self.shared(alloc, "slots")
        fields = ", ".join(
            f"{quoted(field)}: ${n.of(alloc)}" for field, alloc in ring.fields.items()
        )
        text = f"ring {n.of(ring)} x{ring.stages}{' cluster' if ring.cluster else ''}"
        text += f" ({fields})"
        for of, barrier in (("full", ring.full), ("empty", ring.empty)):
            text += "" if barrier is None else f" {of} {n.of(barrier)}"
        yield self.margin(ring.span) + text

    def shared(self, alloc: m.SharedAlloc, kind: str) -> str:
        text = f"{kind} {self.names.of(alloc)}: {alloc.dtype}"
        text += extents(alloc.dims, alloc.shape)
        text += f" x{alloc.stages}" if alloc.stages != 1 else ""
        text += " scratch" if alloc.scratch else ""
        text += "" if alloc.offset is None else f" at {alloc.offset}"
        if alloc.layout is not None:
            text += f" ({shared_layout_text(alloc.layout)})"
        text += "" if alloc.swizzle is None else f" swizzle {alloc.swizzle}"
        own = alloc.alignment != implied_alignment(alloc)
        return text + (f" alignment {alloc.alignment}" if own else "")

    def barrier(self, alloc: m.BarrierAlloc) -> str:
        where = "" if alloc.offset is None else f" at {alloc.offset}"
        return (
            f"barrier {self.names.of(alloc)} x{alloc.count} arrivals {alloc.arrivals}"
            f"{where} ({alloc.role})"
        )


def _static(value: object) -> str:
    if isinstance(value, str):
        return repr(value) if value in DTYPES else word(value)
    return str(value)
