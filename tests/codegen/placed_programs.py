"""Placed programs written by hand: what placing would make of small kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from placed_builder import BLOCK, Build

from argus.ir import ops as o
from argus.ir.dtypes import DType, bf16, boolean, f32, i32
from argus.ir.expr import Const, Sym, axis, binary, cdiv
from argus.ir.memory import (
    BarrierAlloc,
    BarrierRef,
    GatheredAxis,
    GlobalView,
)
from argus.ir.parser import parse_program
from argus.ir.placement import (
    MmaPlan,
    MmaStep,
    TensorMap,
    TmaBox,
    TmaPlan,
    VectorPlan,
)
from argus.ir.program import Program, ScalarParam
from argus.layout import (
    Fragment,
    Mode,
    blocked,
    mma_a_operand,
    mma_accumulator,
    mma_b_operand,
)
from pieces import at, prefix_sum, shared, tensor, tile, whole, window


def gemm() -> Program:
    """C = A @ B.T in bf16: a load warp with TMA, a math role with wgmma."""
    text = (Path(__file__).parent / "gemm.txt").read_text(encoding="utf-8")
    return parse_program(text)


def scaled_add() -> Program:
    """Z = X + Y * alpha, f32, vectors of 4 with a tail."""
    x, y, z = (tensor(n, f32, "N") for n in "XYZ")
    alpha = ScalarParam("alpha", "f32", Sym("alpha", "param", "float", False))
    b = Build("scaled_add")
    layout = blocked((1024,), 128, 4)
    start = BLOCK * 1024
    tx = b.load("x", window(x, (1024,), start), layout, 4)
    ty = b.load("y", window(y, (1024,), start), layout, 4)
    scaled = b.apply("scaled", "mul", ty, alpha.sym)
    total = b.apply("total", "add", tx, scaled)
    b.store(window(z, (1024,), start), total, 4)
    return b.program([x, y, z, alpha], ["Z"], cdiv(Sym("N", "dim"), 1024))


def softmax(dtype: DType = bf16, width: int = 8) -> Program:
    """Row-wise softmax of (M, N <= 256), 4 rows a block, one warp each."""
    x, y = tensor("X", dtype, "M N"), tensor("Y", dtype, "M N")
    b = Build("softmax")
    layout = blocked((4, 256), 128, width)
    minus = Const(float("-inf"))
    view = window(x, (4, 256), BLOCK * 4, Const(0))
    loaded = b.load("x", view, layout, width, fill=minus)
    wide = b.cast("wide", loaded, f32)
    top = b.reduce("top", "max", wide, 1)
    tops = b.broadcast("tops", top, wide, (0,))
    shifted = b.apply("shifted", "sub", wide, tops)
    scaled = b.apply("scaled", "mul", shifted, Const(1.4426950408889634))
    p = b.apply("p", "exp2", scaled)
    total = b.reduce("total", "sum", p, 1)
    totals = b.broadcast("totals", total, p, (0,))
    ratio = b.apply("ratio", "div", p, totals)
    out = b.cast("out", ratio, dtype)
    b.store(window(y, (4, 256), BLOCK * 4, Const(0)), out, width)
    return b.program([x, y], ["Y"], cdiv(Sym("M", "dim"), 4))


def masked(dtype: DType = bf16) -> Program:
    """Odd rows, masks, an affine fill, index, where, argmax: element by element."""
    x, y = tensor("X", dtype, "M 33"), tensor("Y", dtype, "M 33")
    best = tensor("Best", i32, "M")
    b = Build("masked", warps=4)
    layout = blocked((128, 33), 128, 1, order=(0, 1))
    like = tile("like", dtype, layout, "M 33")
    column = b.index("column", like, 1)
    keep = b.apply("keep", "ne", column, Const(7), dtype=boolean)
    view = window(x, (128, 33), BLOCK * 128, Const(0))
    loaded = b.load("x", view, layout, 1, fill=Const(-2.0), mask=keep)
    even = b.apply("even", "mod", column, Const(2))
    is_even = b.apply("is_even", "eq", even, Const(0), dtype=boolean)
    negated = b.apply("negated", "neg", loaded)
    chosen = b.apply("chosen", "where", is_even, loaded, negated, dtype=dtype)
    where = b.reduce("where_", "argmax", chosen, 1, dtype=i32)
    b.store(window(y, (128, 33), BLOCK * 128, Const(0)), chosen, 1, mask=keep)
    b.store(window(best, (128,), BLOCK * 128), where, 1)
    return b.program([x, y, best], ["Y", "Best"], cdiv(Sym("M", "dim"), 128))


def gather() -> Program:
    """Y[i] += sum over n of X[rows[i], n], with atomic adds; replicated result."""
    x, rows, y = (
        tensor("X", f32, "R N"),
        tensor("Rows", i32, "M"),
        tensor("Y", f32, "M"),
    )
    b = Build("gather")
    layout = blocked((8, 64), 128, 4)
    index_layout = layout.slice(1)
    picked = b.load("picked", window(rows, (8,), BLOCK * 8), index_layout, 1)
    symbol = Sym("row", "gather", nonneg=False)
    view = GlobalView(
        x,
        (8, 64),
        ("M", "N"),
        (symbol, axis(1)),
        gathers=(GatheredAxis(symbol, picked, 0),),
    )
    loaded = b.load("x", view, layout, 4)
    total = b.reduce("total", "sum", loaded, 1)
    b.store(window(y, (8,), BLOCK * 8), total, 1, atomic="add")
    return b.program([x, rows, y], ["Y"], cdiv(Sym("M", "dim"), 8))


def scan(dtype: DType = f32) -> Program:
    """Prefix sums along rows of 256: registers, lanes, registers."""
    x, y = tensor("X", dtype, "M N"), tensor("Y", dtype, "M N")
    b = Build("scan")
    layout = Fragment(
        (4, 256),
        (Mode(32, 1, 4), Mode(4, 0, 1)),
        (Mode(4, 1, 1), Mode(2, 1, 128)),
    )
    loaded = b.load("x", window(x, (4, 256), BLOCK * 4, Const(0)), layout, 4)
    out = tile("sums", f32, layout, "M N")
    wide = loaded if dtype is f32 else b.cast("wide", loaded, f32)
    b.add(prefix_sum(out, wide, b.here()))
    if dtype is not f32:
        out = b.cast("narrow", out, dtype)
    b.store(window(y, (4, 256), BLOCK * 4, Const(0)), out, 4)
    return b.program([x, y], ["Y"], cdiv(Sym("M", "dim"), 4))


def control() -> Program:
    """Carried tiles and scalars that swap; a branch that merges tiles and scalars.

    Over n turns (a, b) = (b, a + b) and (i, j) = (j, i + 1); then X is a if i > j.
    """
    steps = Sym("steps", "param")
    x, y = tensor("X", i32, "N"), tensor("Y", i32, "N")
    b = Build("control", warps=1)
    layout = blocked((64,), 32, 2)

    def t(name: str) -> o.Tile:
        return tile(name, i32, layout, "N")

    first = b.load("a", window(x, (64,), Const(0)), layout, 2)
    second = b.full("b", i32, layout, 1)
    a1, b1, total, a2, b2, merged = (
        t(n) for n in ("a", "b", "total", "a", "b", "merged")
    )
    i, j = Sym("i", "let"), Sym("j", "let")
    i2, j2 = Sym("i_out", "let"), Sym("j_out", "let")
    turn = Sym("turn", "loop")
    body = o.Block(
        [o.Elementwise(result=total, fn="add", args=(a1, b1), span=b.here())]
    )
    b.add(
        o.For(
            var=turn,
            start=Const(0),
            stop=steps,
            step=Const(1),
            body=body,
            tiles=[o.TileCarry(first, a1, b1, a2), o.TileCarry(second, b1, total, b2)],
            scalars=[
                o.ScalarCarry(Const(0), i, j, i2),
                o.ScalarCarry(Const(5), j, i + 1, j2),
            ],
            span=b.here(),
        )
    )
    doubled = t("doubled")
    double = o.Elementwise(result=doubled, fn="mul", args=(a2, Const(2)), span=b.here())
    add = Sym("extra", "let")
    b.add(
        o.If(
            cond=binary(">", i2, j2),
            then=o.Block([double]),
            other=o.Block([]),
            tiles=[o.TileMerge(doubled, b2, merged)],
            scalars=[o.ScalarMerge(i2 - j2, (j2 - i2) % 4, add)],
            span=b.here(),
        )
    )
    out = b.apply("out", "add", merged, add)
    b.store(window(y, (64,), Const(0)), out, 2)
    return b.program([x, y, ScalarParam("steps", "i32", steps)], ["Y"], Const(1))


def transpose(dtype: DType = bf16) -> Program:
    """Y = X.T of (64, 128) through swizzled shared memory."""
    x, y = tensor("X", dtype, "64 128"), tensor("Y", dtype, "128 64")
    b = Build("transpose")
    buffer = shared("buffer", dtype, (64, 128), swizzle=128)
    b.shared.append(buffer)
    width = 16 // dtype.bytes
    layout = blocked((64, 128), 128, width)
    loaded = b.load("x", window(x, (64, 128), Const(0), Const(0)), layout, width)
    plan = VectorPlan(layout, width, "st.shared")
    b.add(o.StoreShared(view=whole(buffer), src=loaded, plan=plan, span=b.here()))
    b.add(o.Sync(threads=128, barrier=0, span=b.here(), note="buffer is read"))
    other = blocked((128, 64), 128, 1, order=(0, 1))
    moved = tile("moved", dtype, other, "N M")
    plan = VectorPlan(other, 1, "ld.shared")
    view = whole(buffer).transposed
    b.add(o.LoadShared(result=moved, view=view, plan=plan, span=b.here()))
    b.store(window(y, (128, 64), Const(0), Const(0)), moved, 1)
    return b.program([x, y], ["Y"], Const(1), 64 * 128 * dtype.bytes)


def mma(target: str = "sm_80") -> Program:
    """C = A @ B for (64, 64) x (64, 64): cp.async, ldmatrix, mma.sync."""
    m = n = k = 64
    a, bt, c = (
        tensor("A", bf16, "M K"),
        tensor("B", bf16, "K N"),
        tensor("C", f32, "M N"),
    )
    b = Build("mma", target=target)
    sa = shared("sa", bf16, (m, k), 0, 2, 128)
    sb = shared("sb", bf16, (k, n), 2 * m * k * 2, swizzle=128)
    b.shared += [sa, sb]
    copy = blocked((64, 64), 128, 8)
    for buffer, source, stage in ((sa, a, 1), (sb, bt, 0)):
        b.add(
            o.CopyAsync(
                dst=whole(buffer, Const(stage)),
                src=window(source, (64, 64), Const(0), Const(0)),
                via="cp_async",
                plan=VectorPlan(copy, 8, "cp.async"),
                span=b.here(),
            )
        )
    b.add(o.CpAsyncCommit(span=b.here()))
    b.add(o.CpAsyncWait(pending=0, span=b.here()))
    b.add(o.Sync(threads=128, barrier=0, span=b.here()))
    rows, columns = 2, 2
    la = mma_a_operand(m, k, rows, columns)
    lb = mma_b_operand(n, k, rows, columns).permute((1, 0))
    lc = mma_accumulator(m, n, rows, columns)
    ta, tb, acc = (
        tile("a", bf16, la, "M K"),
        tile("b", bf16, lb, "K N"),
        tile("acc", f32, lc, "M N"),
    )
    b.add(
        o.LoadShared(
            result=ta,
            view=whole(sa, Const(1)),
            plan=VectorPlan(la, 8, "ldmatrix"),
            span=b.here(),
        )
    )
    b.add(
        o.LoadShared(
            result=tb,
            view=whole(sb),
            plan=VectorPlan(lb, 8, "ldmatrix.trans"),
            span=b.here(),
        )
    )
    steps: list[MmaStep] = []
    k_atoms = k // 16
    for kk in range(k_atoms):
        for i in range(m // 16 // rows):
            for j in range(n // 8 // columns):
                steps.append(
                    MmaStep(
                        (i * (n // 8 // columns) + j) * 4,
                        (i * k_atoms + kk) * 8,
                        (j * k_atoms + kk) * 4,
                    )
                )
    b.add(
        o.Dot(
            result=acc, a=ta, b=tb, acc=None,
            plan=MmaPlan("argus_mma_m16n8k16_bf16", tuple(steps)),
            span=b.here(),
        )
    )  # fmt: skip
    b.store(window(c, (m, n), Const(0), Const(0)), acc, 2)
    return b.program([a, bt, c], ["C"], Const(1), 3 * 64 * 64 * 2)


def cluster_copy() -> Program:
    """Two blocks share a tile by multicast, add one to it, store it by TMA."""
    x, y = tensor("X", f32, "M N"), tensor("Y", f32, "M N")
    b = Build("cluster_copy")
    buffer = shared("buffer", f32, (32, 32), swizzle=128)
    out = shared("out", f32, (32, 32), 4096, swizzle=128)
    b.shared += [buffer, out]
    full = BarrierAlloc("full", 1, 1, at(1), "explicit", 8192)
    rank = Sym("cluster_rank", "rank")
    m0 = BLOCK // 2 * 32
    map_x, map_y = TensorMap(x, (16, 32), 128), TensorMap(y, (32, 32), 128)
    b.add(o.BarrierExpect(barrier=BarrierRef(full), bytes=Const(4096), span=b.here()))
    b.add(
        o.CopyAsync(
            dst=whole(buffer),
            src=window(x, (32, 32), m0, Const(0)),
            barrier=BarrierRef(full),
            multicast=2,
            evict="first",
            plan=TmaPlan(
                map_x, (TmaBox((m0 + rank * 16, Const(0)), rank * 2048),), 4096, 2
            ),
            span=b.here(),
        )
    )
    b.add(o.BarrierWait(barrier=BarrierRef(full), n=Const(0), span=b.here()))
    layout = blocked((32, 32), 128, 4)
    held = tile("held", f32, layout, "M N")
    plan = VectorPlan(layout, 4, "ld.shared")
    b.add(o.LoadShared(result=held, view=whole(buffer), plan=plan, span=b.here()))
    more = b.apply("more", "add", held, Const(1))
    plan = VectorPlan(layout, 4, "st.shared")
    b.add(o.StoreShared(view=whole(out), src=more, plan=plan, span=b.here()))
    b.add(o.Fence(kind="proxy.async", span=b.here(), note="TMA reads out"))
    b.add(o.Sync(threads=128, barrier=0, span=b.here()))
    b.add(
        o.CopyOut(
            dst=window(y, (32, 32), m0, Const(0)),
            src=whole(out),
            plan=TmaPlan(map_y, (TmaBox((m0, Const(0)), Const(0)),), 4096),
            span=b.here(),
        )
    )
    b.add(o.CopyOutCommit(span=b.here()))
    b.add(o.CopyOutWait(pending=0, span=b.here()))
    b.add(
        o.BarrierArrive(
            barrier=BarrierRef(full), per="warp", cluster=True, span=b.here()
        )
    )
    b.add(o.ClusterSync(span=b.here()))
    grid = cdiv(Sym("M", "dim"), 32) * 2
    program = b.program([x, y], ["Y"], grid, 8200)
    program.cluster = 2
    program.barriers = [full]
    program.tensor_maps = [map_x, map_y]
    return program


PROGRAMS: dict[str, Callable[[], Program]] = {
    f.__name__: f
    for f in (
        gemm, scaled_add, softmax, masked, gather, scan, control, transpose, mma,
        cluster_copy,
    )
}  # fmt: skip
