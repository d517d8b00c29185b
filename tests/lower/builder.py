"""Writes tile programs one operation at a time, as the frontend does, and runs them.

    b = Builder(warps=4)
    X, Y = b.tensor("X", "M N", f32), b.tensor("Y", "M N", f32)
    b.store(Y, b.cast(b.load(X, (64, 64), 0, 0), bf16), 0, 0)
    b.run({"X": x, "Y": y})             # placed, then interpreted; `y` is written

Nothing here decides a layout, an instruction or a sync: that is what is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import numpy as np

from argus.diagnostics import Span
from argus.interpret import bf16_to_f32, f32_to_bf16, run
from argus.ir import ops as o
from argus.ir.check import check
from argus.ir.combine import Combination
from argus.ir.dtypes import DType, bf16, boolean, f32, i32
from argus.ir.expr import Const, Expr, Sym, axis, lift
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import (
    GatheredAxis,
    GlobalTensor,
    GlobalView,
    Ring,
    SharedAlloc,
    SharedView,
)
from argus.ir.program import Program, stride_symbol
from argus.ir.walk import walk
from argus.layout import Fragment
from argus.lower import place
from argus.targets import TARGETS

AT = Span("kernel.py", 1, 1, 1, 2)
Op = TypeVar("Op", bound=o.Op)
Start = int | Expr
_names = count()


@dataclass
class Loop:
    """An open loop: its carried tiles and scalars, and what they become."""

    op: o.For
    args: list[o.Tile]
    counters: list[Sym]
    results: list[o.Tile]
    after: list[Sym]
    yielded: list[o.Tile] = field(default_factory=list)
    next: list[Expr] = field(default_factory=list)

    def carry(self, *tiles: o.Tile, scalars: Sequence[Expr] = ()) -> None:
        """Values of the next iteration, in the order of the loop's initial values."""
        self.yielded, self.next = list(tiles), list(scalars)


class Builder:
    def __init__(
        self, target: str = "sm_90a", warps: int = 4, cluster: int = 1
    ) -> None:
        self.body = o.Block()
        self.program = Program(
            name="test",
            file="kernel.py",
            target=TARGETS[target],
            params=[],
            statics={},
            body=self.body,
            span=AT,
            warps=warps,
            cluster=cluster,
            grid=Const(cluster),
        )
        self.block = self.body

    # ------------------------------------------------------------ declarations

    def tensor(
        self, name: str, dims: str, dtype: DType = f32, fact: int = 16
    ) -> GlobalTensor:
        """A tensor; ``fact`` divides its innermost extent and its strides."""
        names = tuple(dims.split())
        strides: list[Expr] = [stride_symbol(name, i) for i in range(len(names) - 1)]
        shape = tuple(Sym(f"{name}_{d}", "dim") for d in names)
        made = GlobalTensor(name, dtype, names, shape, (*strides, Const(1)))
        self.program.params.append(made)
        for sym in (shape[-1], *strides):
            assert isinstance(sym, Sym)
            self.program.facts[sym.name] = fact
        return made

    def shared(
        self,
        shape: tuple[int, ...],
        dtype: DType = bf16,
        stages: int = 1,
        swizzle: int | None = None,
    ) -> SharedAlloc:
        name = f"s{len(self.program.shared)}"
        dims = (None,) * len(shape)
        made = SharedAlloc(name, dtype, shape, dims, stages, AT, swizzle=swizzle)
        self.program.shared.append(made)
        return made

    def ring(self, stages: int, **fields: tuple[DType, tuple[int, ...]]) -> Ring:
        name = f"ring{len(self.program.rings)}"
        allocs = {
            key: SharedAlloc(
                f"{name}_{key}", dtype, shape, (None,) * len(shape), stages, AT
            )
            for key, (dtype, shape) in fields.items()
        }
        made = Ring(name, stages, allocs, AT)
        self.program.rings.append(made)
        return made

    # ---------------------------------------------------------------- structure

    def emit(self, op: Op) -> Op:
        self.block.ops.append(op)  # type: ignore[arg-type]
        return op

    @contextmanager
    def into(self, block: o.Block) -> Iterator[None]:
        before, self.block = self.block, block
        try:
            yield
        finally:
            self.block = before

    @contextmanager
    def role(
        self, name: str, warps: int, registers: int | None = None
    ) -> Iterator[None]:
        ops = self.body.ops
        if not ops or not isinstance(ops[-1], o.Roles):
            ops.append(o.Roles([], span=AT))
        last = ops[-1]
        assert isinstance(last, o.Roles)
        last.roles.append(o.Role(name, warps, registers, o.Block(), AT))
        with self.into(last.roles[-1].body):
            yield

    @contextmanager
    def loop(
        self,
        stop: Start,
        step: int = 1,
        tiles: Sequence[o.Tile] = (),
        scalars: Sequence[Start] = (),
        start: Start = 0,
    ) -> Iterator[Loop]:
        args = [self.like(t) for t in tiles]
        results = [self.like(t) for t in tiles]
        counters = [Sym(f"n{next(_names)}", "let") for _ in scalars]
        after = [Sym(f"n{next(_names)}", "let") for _ in scalars]
        op = o.For(
            var=Sym(f"i{next(_names)}", "loop"),
            start=lift(start),
            stop=lift(stop),
            step=Const(step),
            body=o.Block(),
            span=AT,
        )
        made = Loop(op, args, counters, results, after)
        with self.into(op.body):
            yield made
        op.tiles = [
            o.TileCarry(*parts)
            for parts in zip(tiles, args, made.yielded, results, strict=True)
        ]
        op.scalars = [
            o.ScalarCarry(lift(init), arg, lift(new), result)
            for init, arg, new, result in zip(
                scalars, counters, made.next, after, strict=True
            )
        ]
        self.emit(op)

    def branch(
        self,
        cond: Expr,
        then: Callable[[], Sequence[o.Tile]],
        other: Callable[[], Sequence[o.Tile]],
    ) -> list[o.Tile]:
        blocks = (o.Block(), o.Block())
        with self.into(blocks[0]):
            left = then()
        with self.into(blocks[1]):
            right = other()
        results = [self.like(t) for t in left]
        merges = [
            o.TileMerge(*parts) for parts in zip(left, right, results, strict=True)
        ]
        self.emit(o.If(cond, *blocks, tiles=merges, span=AT))
        return results

    # -------------------------------------------------------------------- tiles

    def tile(
        self, dtype: DType, shape: Sequence[int], required: Fragment | None = None
    ) -> o.Tile:
        dims = (None,) * len(shape)
        return o.Tile(dtype, tuple(shape), dims, AT, required=required)

    def like(self, t: o.Tile) -> o.Tile:
        return self.tile(t.dtype, t.shape)

    def full(
        self, shape: Sequence[int], value: float = 0.0, dtype: DType = f32
    ) -> o.Tile:
        t = self.tile(dtype, shape)
        self.emit(o.Full(t, Const(value), span=AT))
        return t

    def index(self, shape: Sequence[int], along: int) -> o.Tile:
        t = self.tile(i32, shape)
        self.emit(o.Index(t, along, span=AT))
        return t

    def apply(self, fn: str, *args: o.Tile | float | Expr) -> o.Tile:
        first = [a for a in args if isinstance(a, o.Tile)][-1]
        dtype = boolean if FUNCTIONS[fn].result == "bool" else first.dtype
        t = self.tile(dtype, first.shape)
        operands = tuple(a if isinstance(a, o.Tile) else lift(a) for a in args)
        self.emit(o.Elementwise(t, fn, operands, span=AT))
        return t

    def cast(self, src: o.Tile, dtype: DType) -> o.Tile:
        t = self.tile(dtype, src.shape)
        self.emit(o.Cast(t, src, span=AT))
        return t

    def broadcast(
        self, src: o.Tile, shape: Sequence[int], axes: tuple[int, ...]
    ) -> o.Tile:
        t = self.tile(src.dtype, shape)
        self.emit(o.Broadcast(t, src, axes, span=AT))
        return t

    def transpose(self, src: o.Tile, axes: tuple[int, ...] = (1, 0)) -> o.Tile:
        t = self.tile(src.dtype, [src.shape[a] for a in axes])
        self.emit(o.Transpose(t, src, axes, span=AT))
        return t

    def reduce(self, src: o.Tile, along: int, fn: str = "sum") -> o.Tile:
        dtype = i32 if fn.startswith("arg") else src.dtype
        t = self.tile(dtype, (*src.shape[:along], *src.shape[along + 1 :]))
        self.emit(o.Reduce(t, src, along, fn, span=AT))
        return t

    def scan(self, src: o.Tile, along: int) -> o.Tile:
        t = self.like(src)
        self.emit(
            o.Scan(t, (src,), along, Combination.of("add", src.dtype), 0, span=AT)
        )
        return t

    def dot(
        self,
        a: o.Tile | SharedView,
        b: o.Tile | SharedView,
        acc: o.Tile | None = None,
    ) -> o.Tile:
        t = self.tile(f32, (*a.shape[:-1], b.shape[1]))
        self.emit(o.Dot(t, a, b, acc, span=AT))
        return t

    # ------------------------------------------------------------------- memory

    def view(
        self, tensor: GlobalTensor, shape: Sequence[int], *starts: Start
    ) -> GlobalView:
        """Tile axis i runs along the tensor's i-th last dimension."""
        fixed = tensor.rank - len(shape)
        coords = [lift(s) for s in starts]
        for i in range(len(shape)):
            coords[fixed + i] = coords[fixed + i] + axis(i)
        return GlobalView(tensor, tuple(shape), (None,) * len(shape), tuple(coords))

    def load(
        self,
        tensor: GlobalTensor,
        shape: Sequence[int],
        *starts: Start,
        mask: o.Tile | None = None,
        fill: float = 0,
        required: Fragment | None = None,
    ) -> o.Tile:
        t = self.tile(tensor.dtype, shape, required)
        view = self.view(tensor, shape, *starts)
        self.emit(o.LoadGlobal(t, view, Const(fill), mask, span=AT))
        return t

    def gather(
        self, tensor: GlobalTensor, rows: o.Tile, shape: Sequence[int], start: Start = 0
    ) -> GlobalView:
        """Rows of a matrix by index."""
        sym = Sym(f"g{next(_names)}", "gather")
        coords = (sym, lift(start) + axis(1))
        return GlobalView(
            tensor, tuple(shape), (None, None), coords, (GatheredAxis(sym, rows, 0),)
        )

    def load_view(self, view: GlobalView) -> o.Tile:
        t = self.tile(view.dtype, view.shape)
        self.emit(o.LoadGlobal(t, view, span=AT))
        return t

    def store(
        self,
        tensor: GlobalTensor,
        src: o.Tile,
        *starts: Start,
        mask: o.Tile | None = None,
        atomic: str | None = None,
    ) -> None:
        self.store_view(self.view(tensor, src.shape, *starts), src, mask, atomic)

    def store_view(
        self,
        view: GlobalView,
        src: o.Tile,
        mask: o.Tile | None = None,
        atomic: str | None = None,
    ) -> None:
        if view.tensor.name not in self.program.outputs:
            self.program.outputs.append(view.tensor.name)
        self.emit(o.StoreGlobal(view, src, mask, atomic, span=AT))

    def part(
        self,
        alloc: SharedAlloc,
        stage: Start = 0,
        origin: Sequence[Start] | None = None,
        shape: Sequence[int] | None = None,
    ) -> SharedView:
        rank = len(alloc.shape)
        where = tuple(lift(x) for x in origin or (0,) * rank)
        size = tuple(shape or alloc.shape)
        axes = tuple(range(rank))
        return SharedView(alloc, lift(stage), where, axes, size, (None,) * rank)

    def sts(self, where: SharedView, src: o.Tile) -> None:
        self.emit(o.StoreShared(where, src, span=AT))

    def lds(self, where: SharedView) -> o.Tile:
        t = self.tile(where.dtype, where.shape)
        self.emit(o.LoadShared(t, where, span=AT))
        return t

    def copy(self, dst: SharedView, src: GlobalView, **options: Any) -> o.CopyAsync:
        return self.emit(o.CopyAsync(dst, src, span=AT, **options))

    def copy_out(self, dst: GlobalView, src: SharedView) -> None:
        if dst.tensor.name not in self.program.outputs:
            self.program.outputs.append(dst.tensor.name)
        self.emit(o.CopyOut(dst, src, span=AT))
        self.emit(o.CopyOutCommit(span=AT))

    @contextmanager
    def fill(self, ring: Ring, n: Expr) -> Iterator[dict[str, SharedView]]:
        self.emit(o.RingAcquire(ring, n, span=AT))
        yield {k: self.part(a, n % ring.stages) for k, a in ring.fields.items()}
        self.emit(o.RingPublish(ring, n, span=AT))

    def wait(self, ring: Ring, n: Expr) -> dict[str, SharedView]:
        self.emit(o.RingWait(ring, n, span=AT))
        return {k: self.part(a, n % ring.stages) for k, a in ring.fields.items()}

    def release(self, ring: Ring, n: Expr) -> None:
        self.emit(o.RingRelease(ring, n, span=AT))

    # ------------------------------------------------------------------ results

    def placed(self) -> Program:
        """The program, checked before and after placing."""
        if not self.program.placed:
            check(self.program)
            place(self.program)
        return self.program

    def run(self, arrays: dict[str, Any], seeds: Sequence[int] = (0, 1)) -> None:
        """Place, and interpret under several schedules: all must agree.

        Arrays are float32 for bf16 tensors too; those are converted and back.
        """
        program = self.placed()
        kinds = {p.name: p for p in program.params if isinstance(p, GlobalTensor)}
        first: dict[str, Any] = {}
        for seed in seeds:
            held = {
                k: f32_to_bf16(v) if kinds[k].dtype == bf16 else v.copy()
                for k, v in arrays.items()
            }
            schedule = "in_order" if seed == seeds[0] else "random"
            run(program, held, {}, seed=seed, schedule=schedule).check()
            for name in program.outputs:
                value = held[name]
                if kinds[name].dtype == bf16:
                    value = bf16_to_f32(value)
                if name in first:
                    np.testing.assert_array_equal(first[name], value)
                first[name] = value
        for name, value in first.items():
            arrays[name][...] = value


def ops(program: Program, kind: type[Op]) -> list[Op]:
    """All operations of one kind, in program order."""
    return [x for x in walk(program.body) if isinstance(x, kind)]


def rounded(x: Any) -> Any:
    """float32 values that bf16 can hold."""
    return bf16_to_f32(f32_to_bf16(np.asarray(x, np.float32)))
