"""Is this a program at all? Run between passes; whatever it finds is a compiler bug.

    check(program)       raises InvalidProgramError

Always: everything is defined before it is used and once, shapes and element types of
each operation agree, views fit what they view, roles come last. Of a placed program
also: every tile has a layout over the threads of its role, operations that move no
registers have layouts that say so, every access has a plan for its layout, shared
buffers and barriers have their place, and no ring operation is left.

Not checked here: whether the program is right (the verifier), and whether a kernel may
be written like this (the frontend, with an error for its author).
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir.annotations import expressions_of
from argus.ir.check_layouts import check_layouts, check_same_layout
from argus.ir.dtypes import boolean, i32
from argus.ir.expr import Expr, symbols
from argus.ir.functions import FUNCTIONS
from argus.ir.printer import Names, print_op
from argus.ir.program import Program
from argus.ir.walk import defined, expressions, used, walk

__all__ = ["InvalidProgramError", "check"]


class InvalidProgramError(Exception):
    """A program that breaks the rules of the representation: a bug of the compiler."""


def check(program: Program) -> None:
    """Check a program, placed or not.

    Raises InvalidProgramError that names the first operation found wrong, and why.
    """
    checker = _Checker(program)
    if program.placed:
        checker.memory()
    scope = _Scope(set(), set(), program.warps * 32)
    checker.block(program.body, scope, top=True)
    if program.placed:
        checker.storages()


class _Scope:
    """What is defined here, and by how many threads it is run."""

    def __init__(self, tiles: set[o.Tile], scalars: set[str], threads: int) -> None:
        self.tiles = tiles
        self.scalars = scalars
        self.threads = threads

    def inner(self) -> _Scope:
        """A nested block: it sees what is here, and keeps what it defines."""
        return _Scope(set(self.tiles), set(self.scalars), self.threads)


class _Checker:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.placed = program.placed
        self.seen: set[o.Tile] = set()
        self.names = Names()
        self.op: o.AnyOp | None = None

    def need(self, condition: bool, message: str) -> None:
        if condition:
            return
        where = self.program.name
        if self.op is not None:
            where += f", line {self.op.span.line}: {print_op(self.op, self.names)}"
        raise InvalidProgramError(f"{message}\n  in {where}")

    # ---------------------------------------------------------- declarations

    def memory(self) -> None:
        """Shared buffers and barriers lie inside the block's memory, apart."""
        program = self.program
        limit = program.target.shared_bytes
        self.need(
            program.shared_bytes <= limit,
            f"{program.shared_bytes} bytes of shared memory; there are {limit}",
        )
        taken: list[tuple[int, int, str]] = []
        for alloc in program.shared:
            offset, layout = alloc.offset, alloc.layout
            if offset is None or layout is None:
                self.need(False, f"shared buffer {alloc.name} is not placed")
                continue
            self.need(
                layout.shape == alloc.shape,
                f"shared buffer {alloc.name} {alloc.shape} has a layout {layout.shape}",
            )
            for unit in (alloc.alignment, layout.alignment):
                starts = (offset, alloc.stage_bytes if alloc.stages > 1 else 0)
                self.need(
                    all(start % unit == 0 for start in starts),
                    f"shared buffer {alloc.name} at {offset} is not aligned to {unit}",
                )
            end = offset + alloc.stages * alloc.stage_bytes
            self.need(
                offset >= 0 and end <= program.shared_bytes,
                f"shared buffer {alloc.name} ends at {end} of {program.shared_bytes}",
            )
            taken.append((offset, end, alloc.name))
        for alloc in program.barriers:
            offset = alloc.offset
            if offset is None:
                self.need(False, f"barrier {alloc.name} is not placed")
                continue
            end = offset + 8 * alloc.count
            self.need(offset % 8 == 0, f"barrier {alloc.name} at {offset}")
            self.need(
                offset >= 0 and end <= program.shared_bytes,
                f"barrier {alloc.name} ends at {end} of {program.shared_bytes}",
            )
            # Buffers may share bytes when their lives do not overlap; barriers not.
            for start, stop, name in taken:
                self.need(
                    end <= start or stop <= offset,
                    f"barrier {alloc.name} overlaps {name}",
                )
            taken.append((offset, end, alloc.name))

    def storages(self) -> None:
        """Tiles that share registers have the same type and as many of them."""
        owners: dict[int, o.Tile] = {}
        for op in walk(self.program.body):
            self.op = op
            for tile in _all_tiles(op):
                if tile.storage is None or tile.layout is None:
                    continue
                other = owners.setdefault(tile.storage, tile)
                assert other.layout is not None
                self.need(
                    (other.dtype, other.layout.num_regs)
                    == (tile.dtype, tile.layout.num_regs),
                    f"storage {tile.storage} is shared by {other!r} and {tile!r}",
                )

    # -------------------------------------------------------------- structure

    def block(self, block: o.Block, scope: _Scope, top: bool = False) -> None:
        for position, op in enumerate(block.ops):
            self.op = op
            if isinstance(op, o.Roles):
                last = position == len(block.ops) - 1
                self.need(top and last, "roles come last in a kernel")
                self.roles(op, scope)
                continue
            if not isinstance(op, o.For | o.If):
                for tile in used(op):
                    self.need(tile in scope.tiles, f"{tile!r} is used before it exists")
                self.scalars(op, scope)
            self.structure(op, scope)
            self.op = op
            for tile in defined(op):
                self.define(tile, scope)
            self.rule(op, scope)

    def define(self, tile: o.Tile, scope: _Scope) -> None:
        self.need(tile not in self.seen, f"{tile!r} is defined twice")
        self.need(
            len(tile.shape) == len(tile.dims) and all(n > 0 for n in tile.shape),
            f"{tile!r} has dims {tile.dims} and shape {tile.shape}",
        )
        self.seen.add(tile)
        scope.tiles.add(tile)
        if not self.placed:
            return
        layout = tile.layout
        if layout is None:
            self.need(False, f"{tile!r} has no layout")
            return
        self.need(layout.shape == tile.shape, f"{tile!r} has layout {layout.shape}")
        self.need(
            layout.num_threads == scope.threads,
            f"{tile!r} is spread over {layout.num_threads} threads, but"
            f" {scope.threads} run it",
        )

    def scalars(self, op: o.AnyOp, scope: _Scope) -> None:
        """Let and loop symbols are in scope; axis and gather symbols in their view."""
        for e in (*expressions(op), *_plan_expressions(op)):
            self.bound(e, scope, _gather_names(op))

    def bound(self, e: Expr, scope: _Scope, gathers: set[str] | None = None) -> None:
        for sym in symbols(e):
            match sym.kind:
                case "let" | "loop":
                    self.need(
                        sym.name in scope.scalars, f"{sym} is used before it exists"
                    )
                case "gather":
                    self.need(
                        gathers is not None and sym.name in gathers,
                        f"{sym} stands for no index tile",
                    )
                case _:
                    pass

    def bind(self, name: str, scope: _Scope) -> None:
        self.need(name not in scope.scalars, f"{name} is bound twice")
        scope.scalars.add(name)

    def structure(self, op: o.AnyOp, scope: _Scope) -> None:
        """Nested blocks, and the scalars that an operation binds."""
        match op:
            case o.Let() | o.LoadScalar():
                self.bind(op.sym.name, scope)
            case o.For():
                self.loop(op, scope)
            case o.If():
                self.branch(op, scope)
            case _:
                return

    def loop(self, op: o.For, scope: _Scope) -> None:
        for e in (op.start, op.stop, op.step, *(c.init for c in op.scalars)):
            self.bound(e, scope)
        inner = scope.inner()
        self.bind(op.var.name, inner)
        for carry in op.tiles:
            self.need(carry.init in scope.tiles, f"{carry.init!r} does not exist yet")
            self.define(carry.arg, inner)
            self.same(carry.init, carry.arg)
        for scalar in op.scalars:
            self.bind(scalar.arg.name, inner)
        self.block(op.body, inner)
        self.op = op
        for carry in op.tiles:
            self.need(carry.yielded in inner.tiles, f"{carry.yielded!r} is not there")
            self.same(carry.arg, carry.yielded)
            self.same(carry.arg, carry.result)
        for scalar in op.scalars:
            self.bound(scalar.yielded, inner)
            self.bind(scalar.result.name, scope)

    def branch(self, op: o.If, scope: _Scope) -> None:
        self.bound(op.cond, scope)
        then, other = scope.inner(), scope.inner()
        self.block(op.then, then)
        self.block(op.other, other)
        self.op = op
        for merge in op.tiles:
            self.need(merge.then in then.tiles, f"{merge.then!r} is not there")
            self.need(merge.other in other.tiles, f"{merge.other!r} is not there")
            self.same(merge.then, merge.result)
            self.same(merge.other, merge.result)
        for scalar in op.scalars:
            self.bound(scalar.then, then)
            self.bound(scalar.other, other)
            self.bind(scalar.result.name, scope)

    def roles(self, op: o.Roles, scope: _Scope) -> None:
        """Roles see the scalars of the common code, and none of its tiles."""
        taken: set[int] = set()
        names = [role.name for role in op.roles]
        self.need(len(set(names)) == len(names), f"roles {names} share a name")
        for role in op.roles:
            inner = _Scope(set(), set(scope.scalars), 32 * role.warps)
            if self.placed:
                first = role.first_warp
                end = 0 if first is None else first + role.warps
                warps = set(range(first or 0, end))
                self.need(
                    bool(warps)
                    and warps <= set(range(self.program.warps))
                    and not warps & taken,
                    f"role {role.name} runs on warps {sorted(warps)} of"
                    f" {self.program.warps}",
                )
                taken |= warps
            self.block(role.body, inner)
            self.op = op

    # --------------------------------------------------- types of operations

    def same(self, left: o.Tile, right: o.Tile) -> None:
        """Same shape and type, and where placed the same registers."""
        self.need(
            (left.shape, left.dtype) == (right.shape, right.dtype),
            f"{left!r} and {right!r} differ in shape or type",
        )
        if self.placed:
            check_same_layout(left, right, self.need)

    def rule(self, op: o.AnyOp, scope: _Scope) -> None:
        """Shapes and types of one operation; where placed, its layouts and plan."""
        match op:
            case o.Index():
                self.need(0 <= op.axis < len(op.result.shape), "no such axis")
                self.need(op.result.dtype == i32, "an index is i32")
            case o.Elementwise():
                function = FUNCTIONS.get(op.fn)
                if function is None:
                    self.need(False, f"no function {op.fn}")
                    return
                self.need(function.arity == len(op.args), f"{op.fn} has other operands")
                for arg in used(op):
                    self.need(
                        arg.shape == op.result.shape, f"{arg!r} has another shape"
                    )
                if function.result == "bool":
                    self.need(op.result.dtype == boolean, f"{op.fn} gives bool")
            case o.Cast():
                self.need(op.src.shape == op.result.shape, "a cast keeps the shape")
            case o.Broadcast():
                self.distinct(op.axes, len(op.result.shape), len(op.src.shape))
                kept = tuple(op.result.shape[axis] for axis in op.axes)
                self.need(kept == op.src.shape, f"{op.src!r} does not run along {kept}")
                self.need(op.src.dtype == op.result.dtype, "types differ")
            case o.Transpose():
                self.distinct(op.axes, len(op.src.shape), len(op.src.shape))
                turned = tuple(op.src.shape[axis] for axis in op.axes)
                self.need(turned == op.result.shape, f"the transpose is {turned}")
                self.need(op.src.dtype == op.result.dtype, "types differ")
            case o.Reduce():
                shape = op.src.shape
                self.need(0 <= op.axis < len(shape), "no such axis")
                rest = shape[: op.axis] + shape[op.axis + 1 :]
                self.need(rest == op.result.shape, f"reducing leaves {rest}")
                known = ("sum", "max", "min", "prod", "argmax", "argmin")
                self.need(op.fn in known, f"no reduction {op.fn}")
                given = i32 if op.fn.startswith("arg") else op.src.dtype
                self.need(op.result.dtype == given, f"{op.fn} gives {given}")
            case o.Split():
                shape = op.src.shape
                self.need(
                    0 <= op.axis < len(shape) and shape[op.axis] % op.inner == 0,
                    "the axis does not split like this",
                )
                parts = (shape[op.axis] // op.inner, op.inner)
                whole = (*shape[: op.axis], *parts, *shape[op.axis + 1 :])
                self.need(whole == op.result.shape, f"splitting gives {whole}")
            case o.Slice():
                shape = list(op.src.shape)
                self.need(0 <= op.axis < len(shape), "no such axis")
                size = op.result.shape[op.axis]
                self.need(
                    0 <= op.start <= shape[op.axis] - size,
                    "the slice is outside",
                )
                shape[op.axis] = size
                self.need(tuple(shape) == op.result.shape, f"slicing gives {shape}")
            case o.Scan() | o.Convert():
                self.need(
                    (op.src.shape, op.src.dtype) == (op.result.shape, op.result.dtype),
                    "shape and type stay",
                )
            case o.Reinterpret():
                self.need(op.src.dtype == op.result.dtype, "the type stays")
            case o.Dot():
                self.dot(op)
            case o.LoadGlobal():
                self.view(op.view)
                self.transfer(op.view, op.result)
                self.mask(op.mask, op.view)
            case o.StoreGlobal():
                self.view(op.view)
                self.transfer(op.view, op.src)
                self.mask(op.mask, op.view)
            case o.LoadShared():
                self.shared(op.view)
                self.transfer(op.view, op.result)
            case o.StoreShared():
                self.shared(op.view)
                self.transfer(op.view, op.src)
            case o.CopyAsync():
                self.view(op.src)
                self.shared(op.dst)
                self.pair(op.src, op.dst)
                if op.barrier is not None:
                    self.barrier(op.barrier)
            case o.CopyOut():
                self.view(op.dst)
                self.shared(op.src)
                self.pair(op.dst, op.src)
            case (
                o.BarrierExpect() | o.BarrierArrive() | o.BarrierWait()
                | o.CpAsyncArrive()
            ):  # fmt: skip
                self.barrier(op.barrier)
            case o.RingAcquire() | o.RingPublish() | o.RingWait() | o.RingRelease():
                self.need(op.ring in self.program.rings, f"no ring {op.ring.name}")
                self.need(not self.placed, "a ring operation in a placed program")
            case o.Sync():
                if self.placed:
                    number = -1 if op.barrier is None else op.barrier
                    self.need(0 <= number < 16, f"named barrier {op.barrier}")
                self.need(
                    op.threads > 0 and op.threads % 32 == 0,
                    f"a sync of {op.threads} threads",
                )
            case o.CopyOutWait() | o.CpAsyncWait() | o.WgmmaWait():
                self.need(op.pending >= 0, "a wait for less than nothing")
                if isinstance(op, o.WgmmaWait):
                    for tile in op.tiles:
                        self.need(tile in scope.tiles, f"{tile!r} does not exist yet")
            case o.LoadScalar():
                self.need(len(op.coords) == op.tensor.rank, "coordinates are missing")
                self.tensor(op.tensor)
            case (
                o.For() | o.If() | o.Roles() | o.Let() | o.Full() | o.CopyOutCommit()
                | o.CpAsyncCommit() | o.ClusterSync() | o.Fence() | o.WgmmaCommit()
                | o.SetMaxRegisters() | o.Expect() | o.Trust()
            ):  # fmt: skip
                pass
            case o.Tag() | o.Check() | o.Assume():
                self.annotation(op, scope)
            case _:
                assert_never(op)
        if self.placed:
            check_layouts(op, self.need)

    def annotation(self, op: o.Tag | o.Check | o.Assume, scope: _Scope) -> None:
        """It speaks of what exists, by symbols that mean something here."""
        own: set[str] = set()
        match op:
            case o.Tag(target=target):
                own = {f"%{i}" for i in range(len(target.shape))}
                self.named(target, scope)
            case o.Check():
                for arg, axes in zip(op.args, op.axes, strict=True):
                    self.named(arg, scope)
                    self.distinct(axes, len(op.shape), len(arg.shape))
                    run = tuple(op.shape[axis] for axis in axes)
                    self.need(run == arg.shape, f"{arg} does not run along {run}")
                self.need(len(op.dims) == len(op.shape), "dims of the check")
            case o.Assume():
                own = {s.name for s in (*op.elements, *op.others)}
                for table in op.tables:
                    self.tensor(table)
                self.need(len(op.elements) == len(op.tables), "an element for each")
                pairs = len(op.others) in (0, len(op.tables))
                self.need(pairs, "a second element for each")
            case _:
                assert_never(op)
        for e in expressions_of(op):
            for sym in symbols(e):
                if sym.kind in ("axis", "gather"):
                    self.need(sym.name in own, f"{sym} is not of this annotation")
                elif sym.kind == "tag":
                    number = sym.name.partition(".")[0]
                    count = len(op.args) if isinstance(op, o.Check) else 0
                    self.need(number in map(str, range(count)), f"{sym} of no argument")
                else:
                    self.bound(sym, scope)

    def named(self, x: o.Tile | m.SharedView | m.GlobalTensor, scope: _Scope) -> None:
        match x:
            case o.Tile():
                self.need(x in scope.tiles, f"{x!r} does not exist yet")
            case m.SharedView():
                self.shared(x)
                for e in (x.stage, *x.origin):
                    self.bound(e, scope)
            case m.GlobalTensor():
                self.tensor(x)

    def distinct(self, axes: tuple[int, ...], rank: int, count: int) -> None:
        self.need(
            len(axes) == count
            and len(set(axes)) == count
            and all(0 <= axis < rank for axis in axes),
            f"axes {axes} of {rank}",
        )

    def dot(self, op: o.Dot) -> None:
        for operand in (op.a, op.b):
            if isinstance(operand, m.SharedView):
                self.shared(operand)
        a, b, d = op.a.shape, op.b.shape, op.result.shape
        self.need(
            len(b) == 2 and len(a) == len(d) >= 2 and a[-1] == b[0] and b[1] == d[-1],
            f"{a} @ {b} is not {d}",
        )
        self.need(a[:-1] == d[:-1], f"{a} @ {b} is not {d}")
        self.need(op.a.dtype == op.b.dtype, f"{op.a.dtype} times {op.b.dtype}")
        if op.acc is not None:
            self.same(op.acc, op.result)

    def tensor(self, tensor: m.GlobalTensor) -> None:
        self.need(tensor in self.program.params, f"{tensor.name} is no parameter")

    def view(self, view: m.GlobalView) -> None:
        self.tensor(view.tensor)
        rank = len(view.shape)
        self.need(len(view.coords) == view.tensor.rank, "coordinates are missing")
        self.need(len(view.dims) == rank, f"dims {view.dims} of {view.shape}")
        axes = {f"%{i}" for i in range(rank)}
        for e in (*view.coords, *(x.value for x in view.limits)):
            for sym in symbols(e):
                if sym.kind == "axis":
                    self.need(sym.name in axes, f"{sym} of a view with {rank} axes")
        for gather in view.gathers:
            fits = 0 <= gather.axis < rank
            self.need(
                fits
                and gather.tile.shape == (view.shape[gather.axis],)
                and gather.tile.dtype.kind == "int",
                f"{gather.tile!r} does not index axis {gather.axis}",
            )

    def shared(self, view: m.SharedView) -> None:
        alloc = view.alloc
        rank = len(alloc.shape)
        self.need(alloc in self.allocations(), f"no shared buffer {alloc.name}")
        self.need(
            len(view.origin) == rank and len(view.dims) == len(view.shape),
            f"a view of {alloc.name} with origin {view.origin}, dims {view.dims}",
        )
        self.distinct(view.axes, rank, len(view.shape))
        for axis, extent in zip(view.axes, view.shape, strict=True):
            self.need(
                1 <= extent <= alloc.shape[axis],
                f"a view {view.shape} of {alloc.name} {alloc.shape}",
            )

    def allocations(self) -> list[m.SharedAlloc]:
        """Shared buffers: those of rings belong to the ring until placed."""
        fields = [a for ring in self.program.rings for a in ring.fields.values()]
        return self.program.shared if self.placed else [*self.program.shared, *fields]

    def barrier(self, ref: m.BarrierRef) -> None:
        self.need(ref.alloc in self.program.barriers, f"no barrier {ref.alloc.name}")

    def transfer(self, view: m.GlobalView | m.SharedView, tile: o.Tile) -> None:
        self.need(
            (view.shape, view.dtype) == (tile.shape, tile.dtype),
            f"{tile!r} for a view of {view.dtype} {view.shape}",
        )

    def pair(self, outer: m.GlobalView, inner: m.SharedView) -> None:
        self.need(
            (outer.shape, outer.dtype) == (inner.shape, inner.dtype),
            f"a copy between {outer.dtype} {outer.shape} and"
            f" {inner.dtype} {inner.shape}",
        )

    def mask(self, mask: o.Tile | None, view: m.GlobalView) -> None:
        if mask is not None:
            self.need(
                (mask.shape, mask.dtype) == (view.shape, boolean),
                f"{mask!r} is no mask for {view.shape}",
            )


def _all_tiles(op: o.AnyOp) -> tuple[o.Tile, ...]:
    carried = tuple(c.arg for c in op.tiles) if isinstance(op, o.For) else ()
    return (*defined(op), *carried)


def _gather_names(op: o.AnyOp) -> set[str]:
    match op:
        case o.LoadGlobal() | o.StoreGlobal():
            view = op.view
        case o.CopyAsync():
            view = op.src
        case o.CopyOut():
            view = op.dst
        case _:
            return set()
    return {gather.symbol.name for gather in view.gathers}


def _plan_expressions(op: o.AnyOp) -> tuple[Expr, ...]:
    if isinstance(op, o.CopyAsync | o.CopyOut) and isinstance(op.plan, p.TmaPlan):
        return tuple(e for box in op.plan.boxes for e in (*box.coords, box.offset))
    return ()
