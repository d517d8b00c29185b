"""Placed programs written by hand: what placing would make of small kernels."""

from __future__ import annotations

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.dtypes import DType, bf16, f32
from argus.ir.expr import Const, Expr, Sym, axis, binary, cdiv
from argus.ir.memory import (
    BarrierAlloc,
    BarrierRef,
    GlobalTensor,
    GlobalView,
    SharedAlloc,
    SharedView,
)
from argus.ir.placement import (
    MatrixOperand,
    TensorMap,
    TmaBox,
    TmaPlan,
    VectorPlan,
    WgmmaPlan,
)
from argus.ir.program import TARGETS, Program, stride_symbol
from argus.layout import Fragment, wgmma_accumulator
from argus.layout.shared import panels

FILE = "kernel.py"


def at(line: int) -> Span:
    return Span(FILE, line, 1, line, 2)


def tensor(name: str, dtype: DType, dims: str) -> GlobalTensor:
    names = tuple(dims.split())
    shape: list[Expr] = [
        Const(int(d)) if d.isdigit() else Sym(d, "dim") for d in names
    ]
    strides: list[Expr] = [stride_symbol(name, i) for i in range(len(names) - 1)]
    return GlobalTensor(name, dtype, names, tuple(shape), (*strides, Const(1)))


def tile(
    name: str, dtype: DType, layout: Fragment, dims: str, storage: int | None = None
) -> o.Tile:
    names = tuple(dims.split()) if dims else (None,) * layout.rank
    return o.Tile(
        dtype, layout.shape, names, at(1), name, layout=layout, storage=storage
    )


def window(t: GlobalTensor, shape: tuple[int, ...], *starts: Expr) -> GlobalView:
    coords = tuple(start + axis(i) for i, start in enumerate(starts))
    return GlobalView(t, shape, t.dims, coords)


def whole(alloc: SharedAlloc, stage: Expr | None = None) -> SharedView:
    rank = len(alloc.shape)
    zero: tuple[Expr, ...] = (Const(0),) * rank
    return SharedView(
        alloc, stage or Const(0), zero, tuple(range(rank)), alloc.shape, alloc.dims
    )


def shared(
    name: str,
    dtype: DType,
    shape: tuple[int, ...],
    offset: int,
    stages: int = 1,
    swizzle: int = 128,
) -> SharedAlloc:
    layout = panels(shape, dtype.bytes, swizzle)
    return SharedAlloc(
        name,
        dtype,
        shape,
        (None,) * len(shape),
        stages,
        at(1),
        layout=layout,
        offset=offset,
        alignment=max(layout.alignment, 128),
    )


def gemm(bm: int = 128, bn: int = 256, bk: int = 64, stages: int = 4) -> Program:
    """C = A @ B.T: one load warp with TMA, two math warpgroups with wgmma."""
    a, b, c = (
        tensor("A", bf16, "M K"),
        tensor("B", bf16, "N K"),
        tensor("C", bf16, "M N"),
    )
    m, n, k_size = Sym("M", "dim"), Sym("N", "dim"), Sym("K", "dim")
    block_x = Sym("block_x", "block")
    tiles_n = cdiv(n, bn)
    row, column = Sym("bm", "let"), Sym("bn", "let")
    a_bytes, b_bytes = bm * bk * 2, bn * bk * 2
    sa = shared("ring_a", bf16, (bm, bk), 0, stages)
    sb = shared("ring_b", bf16, (bn, bk), stages * a_bytes, stages)
    end = stages * (a_bytes + b_bytes)
    full = BarrierAlloc("ring_full", stages, 1, at(5), "ring full", end)
    empty = BarrierAlloc("ring_empty", stages, 2, at(5), "ring empty", end + 8 * stages)
    map_a, map_b = TensorMap(a, (bm, bk), 128), TensorMap(b, (bn, bk), 128)

    fill, k, drain, kk = (
        Sym("fill", "let"),
        Sym("k", "loop"),
        Sym("drain", "let"),
        Sym("k_2", "loop"),
    )
    slot = fill % stages
    load = o.For(
        var=k,
        start=Const(0),
        stop=k_size,
        step=Const(bk),
        span=at(8),
        body=o.Block(
            [
                o.BarrierWait(
                    barrier=BarrierRef(empty, slot),
                    n=fill // stages - 1,
                    span=at(9),
                    note="the slot's last reader is done",
                ),
                o.BarrierExpect(
                    barrier=BarrierRef(full, slot),
                    bytes=Const(a_bytes + b_bytes),
                    span=at(9),
                ),
                o.CopyAsync(
                    dst=whole(sa, slot),
                    src=window(a, (bm, bk), row * bm, k),
                    barrier=BarrierRef(full, slot),
                    span=at(10),
                    plan=TmaPlan(map_a, (TmaBox((row * bm, k), Const(0)),), a_bytes),
                ),
                o.CopyAsync(
                    dst=whole(sb, slot),
                    src=window(b, (bn, bk), column * bn, k),
                    barrier=BarrierRef(full, slot),
                    span=at(11),
                    plan=TmaPlan(map_b, (TmaBox((column * bn, k), Const(0)),), b_bytes),
                ),
            ]
        ),
        scalars=[o.ScalarCarry(Const(0), fill, fill + 1, Sym("fill_end", "let"))],
    )
    layout = wgmma_accumulator(bm, bn, 2)
    acc0, acc1, acc2, acc3 = (tile("acc", f32, layout, "M N", 0) for _ in range(4))
    out = tile("out", bf16, layout, "M N")
    slot2 = drain % stages
    steps = bk // 16
    offsets = (tuple(32 * s for s in range(steps)),)
    dot = o.Dot(
        result=acc2,
        a=whole(sa, slot2),
        b=whole(sb, slot2).transposed,
        acc=acc1,
        span=at(17),
        plan=WgmmaPlan(
            bn,
            1,
            1,
            steps,
            MatrixOperand(16, 1024, 128, False, offsets, bm // 2 * 128),
            MatrixOperand(16, 1024, 128, False, offsets, 0),
            "wgmma",
        ),
    )
    math = o.For(
        var=kk,
        start=Const(0),
        stop=k_size,
        step=Const(bk),
        span=at(15),
        body=o.Block(
            [
                o.BarrierWait(
                    barrier=BarrierRef(full, slot2), n=drain // stages, span=at(16)
                ),
                dot,
                o.WgmmaCommit(span=at(17)),
                o.WgmmaWait(pending=0, tiles=(acc2,), span=at(17), note="acc is read"),
                o.BarrierArrive(
                    barrier=BarrierRef(empty, slot2), per="warpgroup", span=at(16)
                ),
            ]
        ),
        tiles=[o.TileCarry(acc0, acc1, acc2, acc3)],
        scalars=[o.ScalarCarry(Const(0), drain, drain + 1, Sym("drain_end", "let"))],
    )
    view = window(c, (bm, bn), row * bm, column * bn)
    load_role = o.Role(
        "load",
        1,
        40,
        o.Block([o.SetMaxRegisters(count=40, grow=False, span=at(7)), load]),
        at(7),
        0,
    )
    math_role = o.Role(
        "math",
        8,
        232,
        o.Block(
            [
                o.SetMaxRegisters(count=232, grow=True, span=at(13)),
                o.Full(result=acc0, value=Const(0.0), span=at(14)),
                math,
                o.Cast(result=out, src=acc3, span=at(18)),
                o.StoreGlobal(
                    view=view,
                    src=out,
                    span=at(18),
                    plan=VectorPlan(layout, 2, "st.global"),
                ),
            ]
        ),
        at(13),
        4,
    )
    body = o.Block(
        [
            o.Let(sym=row, value=block_x // tiles_n, span=at(4)),
            o.Let(sym=column, value=block_x % tiles_n, span=at(4)),
            o.Roles(roles=[load_role, math_role], span=at(7)),
        ]
    )
    return Program(
        name="gemm",
        file=FILE,
        target=TARGETS["sm_90a"],
        params=[a, b, c],
        statics={"BM": bm, "BN": bn, "BK": bk, "STAGES": stages},
        body=body,
        span=at(1),
        grid=binary("*", cdiv(m, bm), tiles_n),
        warps=12,
        shared=[sa, sb],
        barriers=[full, empty],
        tensor_maps=[map_a, map_b],
        facts={s: 16 for s in ("M", "N", "K", "A_s0", "B_s0", "C_s0")},
        outputs=["C"],
        placed=True,
        shared_bytes=end + 16 * stages,
    )
