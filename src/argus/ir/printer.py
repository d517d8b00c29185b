"""Programs as text: stable, readable, the same for equal programs.

    print_program(program)

Tiles are named in order of appearance (`%acc`, then `%acc.1`), never by their global
ids, and layouts are listed once and referred to (`L0`), so that the text of a program
does not depend on what was compiled before it. The number on the left is the source
line, printed where it changes; `# ...` is the reason why an operation was inserted.

Nothing reads this text back, and it prints programs that `check.py` would reject.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import assert_never

from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir.annotations import AnyAnnotation
from argus.ir.expr import Const
from argus.ir.program import Program, ScalarParam
from argus.ir.text import (
    bare,
    extents,
    fragment_text,
    indexed,
    listed,
    plan_text,
    shared_layout_text,
)
from argus.layout import Fragment

__all__ = ["Names", "print_op", "print_program"]


class Names:
    """Names of tiles, layouts and allocations, given out in order of appearance."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}
        self._taken: dict[str, int] = {}
        self.layouts: dict[Fragment, str] = {}

    def of(self, thing: o.Tile | m.SharedAlloc | m.BarrierAlloc | m.Ring) -> str:
        """The name of a tile or an allocation; the second `acc` becomes `acc.1`."""
        if thing not in self._names:
            count = self._taken.get(thing.name, 0)
            self._taken[thing.name] = count + 1
            self._names[thing] = f"{thing.name}.{count}" if count else thing.name
        return self._names[thing]

    def layout(self, layout: Fragment) -> str:
        """The name of a register layout; equal layouts share it."""
        return self.layouts.setdefault(layout, f"L{len(self.layouts)}")

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
        return text


def print_program(program: Program) -> str:
    """The text of a program, placed or not; ends with a newline."""
    names = Names()
    for alloc in (*program.rings, *program.shared, *program.barriers):
        names.of(alloc)
    body = list(_Lines(names).block(program.body, 1))
    head = [
        f"program {program.name} ({PurePath(program.file).name})"
        f" target {program.target.name}{' placed' if program.placed else ''}",
        f"grid {bare(program.grid)}, cluster {program.cluster}, warps {program.warps},"
        f" min_blocks {program.min_blocks}",
    ]
    if program.placed:
        head.append(f"shared memory {program.shared_bytes} bytes")
    if program.statics:
        values = sorted(program.statics.items())
        head.append("statics " + ", ".join(f"{k}={v}" for k, v in values))
    if program.spill_bytes:
        head.append(f"spills up to {program.spill_bytes} bytes")
    head += [_param(x, x.name in program.outputs) for x in program.params]
    head += [_ring(names, ring) for ring in program.rings]
    head += [_shared(names, alloc) for alloc in program.shared]
    head += [_barrier(names, alloc) for alloc in program.barriers]
    head += [
        f"map {i}: {x.tensor.name} box {listed(x.box)} swizzle {x.swizzle}"
        for i, x in enumerate(program.tensor_maps)
    ]
    head += [f"require {bare(x.cond)}  # {x.why}" for x in program.requirements]
    head += [f"align {x.tensor} {x.bytes}" for x in program.alignments]
    head += [f"fact {name} % {d} == 0" for name, d in sorted(program.facts.items())]
    head += [f"layout {name}: {fragment_text(x)}" for x, name in names.layouts.items()]
    return "\n".join([*head, "", *body]) + "\n"


def print_op(op: o.AnyOp, names: Names | None = None) -> str:
    """One operation on one line, without its nested blocks; for messages."""
    return _Lines(names or Names()).head(op)


# ------------------------------------------------------------- declarations


def _param(param: m.GlobalTensor | ScalarParam, output: bool) -> str:
    if isinstance(param, ScalarParam):
        return f"param {param.name}: {param.dtype} = {param.sym}"
    pairs = zip(param.dims, param.shape, strict=True)
    dims = " ".join(d if d == str(e) else f"{d}={e}" for d, e in pairs)
    strides = ", ".join(str(s) for s in param.strides)
    kind = "out" if output else "param"
    return f"{kind} {param.name}: {param.dtype}[{dims}] strides ({strides})"


def _ring(names: Names, ring: m.Ring) -> str:
    fields = ", ".join(
        f"{field}: {alloc.dtype}{extents(alloc.dims, alloc.shape)}"
        for field, alloc in ring.fields.items()
    )
    cluster = " cluster" if ring.cluster else ""
    return f"ring {names.of(ring)} x{ring.stages}{cluster} ({fields})"


def _shared(names: Names, alloc: m.SharedAlloc) -> str:
    text = f"shared {names.of(alloc)}: {alloc.dtype}{extents(alloc.dims, alloc.shape)}"
    text += f" x{alloc.stages}" if alloc.stages > 1 else ""
    text += " scratch" if alloc.scratch else ""
    if alloc.layout is None:
        return text + ("" if alloc.swizzle is None else f" swizzle {alloc.swizzle}")
    return f"{text} at {alloc.offset} ({shared_layout_text(alloc.layout)})"


def _barrier(names: Names, alloc: m.BarrierAlloc) -> str:
    where = "" if alloc.offset is None else f" at {alloc.offset}"
    return (
        f"barrier {names.of(alloc)} x{alloc.count} arrivals {alloc.arrivals}"
        f"{where} ({alloc.role})"
    )


# --------------------------------------------------------------- operations


class _Lines:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.line = 0

    def block(self, block: o.Block, depth: int) -> Iterator[str]:
        if not block.ops:
            yield self.margin(None, depth) + "pass"
        for op in block.ops:
            note = "" if op.note is None else f"  # {op.note}"
            plan = f"  [{text}]" if (text := plan_text(op)) else ""
            yield self.margin(op, depth) + self.head(op) + plan + note
            yield from self.nested(op, depth + 1)

    def margin(self, op: o.AnyOp | None, depth: int) -> str:
        number = ""
        if op is not None and op.span.line != self.line:
            self.line = op.span.line
            number = str(self.line)
        return f"{number:>4} {'  ' * (depth - 1)}"

    def nested(self, op: o.AnyOp, depth: int) -> Iterator[str]:
        match op:
            case o.For():
                yield from self.block(op.body, depth)
                yields = [self.names.tile(c.yielded) for c in op.tiles]
                yields += [bare(c.yielded) for c in op.scalars]
                results = [self.names.definition(c.result) for c in op.tiles]
                results += [str(c.result) for c in op.scalars]
                yield from self.ending(yields, results, depth)
            case o.If():
                yield from self.block(op.then, depth)
                yields = [self.names.tile(x.then) for x in op.tiles]
                yields += [bare(x.then) for x in op.scalars]
                yield from self.ending(yields, [], depth)
                if op.other.ops or op.tiles or op.scalars:
                    yield self.margin(None, depth - 1) + "else"
                    yield from self.block(op.other, depth)
                others = [self.names.tile(x.other) for x in op.tiles]
                others += [bare(x.other) for x in op.scalars]
                results = [self.names.definition(x.result) for x in op.tiles]
                results += [str(x.result) for x in op.scalars]
                yield from self.ending(others, results, depth)
            case o.Roles():
                for role in op.roles:
                    first = "" if role.first_warp is None else f" at {role.first_warp}"
                    registers = f" registers {role.registers}" if role.registers else ""
                    yield (
                        self.margin(None, depth)
                        + f"role {role.name} warps {role.warps}{first}{registers}"
                    )
                    yield from self.block(role.body, depth + 1)
            case (
                o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                return
            case _:
                assert_never(op)

    def ending(
        self, yields: list[str], results: list[str], depth: int
    ) -> Iterator[str]:
        if yields:
            yield self.margin(None, depth) + "yield " + ", ".join(yields)
        if results:
            yield self.margin(None, depth - 1) + "-> " + ", ".join(results)

    def head(self, op: o.AnyOp) -> str:
        n = self.names
        match op:
            case o.For():
                carried = [
                    f"{n.definition(c.arg)} = {n.tile(c.init)}" for c in op.tiles
                ]
                carried += [f"{c.arg} = {bare(c.init)}" for c in op.scalars]
                tail = f" carry {', '.join(carried)}" if carried else ""
                unroll = f" unroll {op.unroll}" if op.unroll else ""
                return (
                    f"for {op.var} in {bare(op.start)} .. {bare(op.stop)}"
                    f" step {bare(op.step)}"
                    f"{unroll}{tail}"
                )
            case o.If():
                return f"if {bare(op.cond)}"
            case o.Roles():
                return "roles"
            case o.Let():
                return f"let {op.sym} = {bare(op.value)}"
            case o.LoadScalar():
                return f"let {op.sym} = load {op.tensor.name}{indexed(op.coords)}"
            case o.Full():
                return f"{n.definition(op.result)} = full {bare(op.value)}"
            case o.Index():
                return f"{n.definition(op.result)} = index {op.axis}"
            case o.Elementwise():
                args = (
                    n.tile(a) if isinstance(a, o.Tile) else bare(a) for a in op.args
                )
                return f"{n.definition(op.result)} = {op.fn} {', '.join(args)}"
            case o.Cast() | o.Reinterpret() | o.Convert():
                word = type(op).__name__.lower()
                return f"{n.definition(op.result)} = {word} {n.tile(op.src)}"
            case o.Broadcast() | o.Transpose():
                word = type(op).__name__.lower()
                return (
                    f"{n.definition(op.result)} = {word} {n.tile(op.src)}"
                    f" axes {listed(op.axes)}"
                )
            case o.Reduce():
                return (
                    f"{n.definition(op.result)} = reduce {op.fn} {n.tile(op.src)}"
                    f" axis {op.axis}"
                )
            case o.Split():
                return (
                    f"{n.definition(op.result)} = split {n.tile(op.src)}"
                    f" axis {op.axis} inner {op.inner}"
                )
            case o.Slice():
                stop = op.start + op.result.shape[op.axis]
                return (
                    f"{n.definition(op.result)} = slice {n.tile(op.src)}"
                    f" axis {op.axis} [{op.start}, {stop})"
                )
            case o.Scan():
                return (
                    f"{n.definition(op.result)} = scan {n.tile(op.src)} axis {op.axis}"
                )
            case o.Dot():
                a, b = (
                    n.tile(x) if isinstance(x, o.Tile) else self.shared(x)
                    for x in (op.a, op.b)
                )
                acc = "" if op.acc is None else f" + {n.tile(op.acc)}"
                return f"{n.definition(op.result)} = dot {a}, {b}{acc}"
            case (
                o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                return self.memory(op)
            case _:
                assert_never(op)

    def memory(self, op: _MemoryOp) -> str:
        n = self.names
        match op:
            case o.LoadGlobal():
                fill = "" if op.fill == Const(0) else f" fill {op.fill}"
                return (
                    f"{n.definition(op.result)} = load {self.view(op.view)}{fill}"
                    + self.options(mask=op.mask, evict=op.evict)
                )
            case o.StoreGlobal():
                return f"store {self.view(op.view)}, {n.tile(op.src)}" + self.options(
                    mask=op.mask, atomic=op.atomic, evict=op.evict
                )
            case o.LoadShared():
                return f"{n.definition(op.result)} = load {self.shared(op.view)}"
            case o.StoreShared():
                return f"store {self.shared(op.view)}, {n.tile(op.src)}"
            case o.CopyAsync():
                return (
                    f"copy {self.shared(op.dst)} <- {self.view(op.src)}"
                    + self.options(
                        via=op.via,
                        barrier=None if op.barrier is None else self.ref(op.barrier),
                        multicast=None if op.multicast == 1 else op.multicast,
                        evict=op.evict,
                        ring=None if op.ring is None else n.of(op.ring),
                    )
                )
            case o.CopyOut():
                return f"copy_out {self.view(op.dst)} <- {self.shared(op.src)}"
            case o.CopyOutCommit():
                return "copy_out_commit"
            case o.CopyOutWait():
                return f"copy_out_wait {op.pending}{' read' if op.read else ''}"
            case o.CpAsyncCommit():
                return "cp_async_commit"
            case o.CpAsyncWait():
                return f"cp_async_wait {op.pending}"
            case o.CpAsyncArrive():
                return f"cp_async_arrive {self.ref(op.barrier)}"
            case o.BarrierExpect():
                return f"expect {self.ref(op.barrier)} bytes {bare(op.bytes)}"
            case o.BarrierArrive():
                cluster = " cluster" if op.cluster else ""
                return f"arrive {self.ref(op.barrier)} per {op.per}{cluster}"
            case o.BarrierWait():
                return f"wait {self.ref(op.barrier)} completion {bare(op.n)}"
            case o.Sync():
                word = "sync_arrive" if op.arrive_only else "sync"
                return f"{word} {op.threads} threads" + self.options(
                    barrier=op.barrier, name=op.name
                )
            case o.ClusterSync():
                return "cluster_sync"
            case o.Fence():
                return f"fence {op.kind}"
            case o.WgmmaCommit():
                return "wgmma_commit"
            case o.WgmmaWait():
                tiles = ", ".join(n.tile(t) for t in op.tiles)
                return f"wgmma_wait {op.pending}" + (f" ({tiles})" if tiles else "")
            case o.SetMaxRegisters():
                return f"setmaxnreg {'inc' if op.grow else 'dec'} {op.count}"
            case o.RingAcquire() | o.RingPublish() | o.RingWait() | o.RingRelease():
                word = type(op).__name__.removeprefix("Ring").lower()
                return f"ring_{word} {n.of(op.ring)} fill {bare(op.n)}"
            case o.Tag() | o.Check() | o.Assume() | o.Expect() | o.Trust():
                return self.annotation(op)
            case _:
                assert_never(op)

    def annotation(self, op: AnyAnnotation) -> str:
        match op:
            case o.Tag():
                target = (
                    op.target.name
                    if isinstance(op.target, m.GlobalTensor)
                    else self.value(op.target)
                )
                parts = (f"{name}: {bare(e)}" for name, e in op.components)
                return f"tag {target} {{{', '.join(parts)}}}"
            case o.Check():
                args = ", ".join(
                    f"{self.value(x)} axes {listed(axes)}"
                    for x, axes in zip(op.args, op.axes, strict=True)
                )
                shape = extents(op.dims, op.shape)
                return f"check {bare(op.cond)} for {shape} of {args}"
            case o.Assume():
                names = ", ".join(t.name for t in op.tables)
                tables = f" for all of {names}" if names else ""
                pairs = ", in pairs" if op.others else ""
                return f"assume {bare(op.cond)}{tables}{pairs}"
            case o.Expect():
                return "expect" + self.options(**dict(op.facts))
            case o.Trust():
                whole = " and the kernel" if op.whole else ""
                lines = f"{op.covers.line}-{op.covers.end_line}"
                return f"trust lines {lines}{whole}: {op.reason!r}"
            case _:
                assert_never(op)

    def value(self, x: o.Tile | m.SharedView) -> str:
        return self.names.tile(x) if isinstance(x, o.Tile) else self.shared(x)

    def options(self, **values: object) -> str:
        """Options that are set, as ` name value`."""
        return "".join(
            f" {key} {self.names.tile(v) if isinstance(v, o.Tile) else v}"
            for key, v in values.items()
            if v is not None
        )

    def ref(self, ref: m.BarrierRef) -> str:
        return f"{self.names.of(ref.alloc)}[{bare(ref.index)}]"

    def view(self, view: m.GlobalView) -> str:
        text = f"{view.tensor.name}{indexed(view.coords)}"
        text += extents(view.dims, view.shape)
        for gather in view.gathers:
            text += f" {gather.symbol}={self.names.tile(gather.tile)}[%{gather.axis}]"
        limits = " and ".join(f"0 <= {x.value} < {x.extent}" for x in view.limits)
        return text + (f" where {limits}" if limits else "")

    def shared(self, view: m.SharedView) -> str:
        text = f"${self.names.of(view.alloc)}"
        if view.alloc.stages > 1 or view.stage != Const(0):
            text += f"({bare(view.stage)})"
        if any(x != Const(0) for x in view.origin):
            text += indexed(view.origin)
        if view.axes != tuple(range(len(view.alloc.shape))):
            text += f".axes{listed(view.axes)}"
        return text + extents(view.dims, view.shape)


_MemoryOp = (
    o.LoadGlobal | o.StoreGlobal | o.LoadShared | o.StoreShared | o.CopyAsync
    | o.CopyOut | o.CopyOutCommit | o.CopyOutWait | o.CpAsyncCommit | o.CpAsyncWait
    | o.CpAsyncArrive | o.BarrierExpect | o.BarrierArrive | o.BarrierWait | o.Sync
    | o.ClusterSync | o.Fence | o.WgmmaCommit | o.WgmmaWait | o.SetMaxRegisters
    | o.RingAcquire | o.RingPublish | o.RingWait | o.RingRelease
    | o.Tag | o.Check | o.Assume | o.Expect | o.Trust
)  # fmt: skip
