"""Small placed programs, written by hand: what placing would make of them.

The fixture `kit` gives the functions below to every test module.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from argus.ir import ops as o
from argus.ir.check import check
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, Expr, Sym, cdiv
from argus.ir.memory import (
    BarrierAlloc,
    BarrierRef,
    GlobalTensor,
    SharedAlloc,
)
from argus.ir.placement import (
    MatrixOperand,
    TensorMap,
    TmaBox,
    TmaPlan,
    VectorPlan,
    WgmmaPlan,
)
from argus.ir.program import BLOCK_INDEX, PointerAlignment, Program
from argus.isa import wgmma
from argus.layout import blocked, wgmma_accumulator
from argus.targets import TARGETS
from pieces import at, shared, tensor, tile, whole, window


def program(
    ops: Sequence[o.AnyOp],
    params: Sequence[GlobalTensor],
    *,
    buffers: Sequence[SharedAlloc] = (),
    barriers: Sequence[BarrierAlloc] = (),
    maps: Sequence[TensorMap] = (),
    warps: int = 4,
    grid: Expr | int = 1,
    cluster: int = 1,
    checked: bool = True,
) -> Program:
    """A placed program; barriers go after the buffers."""
    end = max([0, *((a.offset or 0) + a.stages * a.stage_bytes for a in buffers)])
    for alloc in barriers:
        alloc.offset = end
        end += 8 * alloc.count
    made = Program(
        "kernel",
        "kernel.py",
        TARGETS["sm_90a"],
        list(params),
        {},
        o.Block(list(ops)),
        at(1),
        grid if isinstance(grid, Expr) else Const(grid),
        cluster,
        warps,
        shared=list(buffers),
        barriers=list(barriers),
        tensor_maps=list(maps),
        alignments=[PointerAlignment(p.name, 16) for p in params],
        placed=True,
        shared_bytes=end,
    )
    if checked:
        check(made)
    return made


def through_shared(rows: int = 32, columns: int = 32, *, sync: bool = True) -> Program:
    """Y = X.T through shared memory, by 128 threads."""
    x, y = tensor("X", f32, "M N"), tensor("Y", f32, "N M")
    buffer = shared("buffer", f32, (rows, columns))
    first = blocked((rows, columns), 128, 4)
    second = blocked((columns, rows), 128, 1)
    loaded, turned = tile("x", f32, first), tile("y", f32, second)
    ops: list[o.AnyOp] = [
        o.LoadGlobal(
            result=loaded,
            view=window(x, (rows, columns), 0, 0),
            plan=VectorPlan(first, 4, "ld.global"),
            span=at(2),
        ),
        o.StoreShared(
            view=whole(buffer),
            src=loaded,
            plan=VectorPlan(first, 4, "st.shared"),
            span=at(3),
        ),
        o.Sync(threads=128, barrier=0, span=at(4)),
        o.LoadShared(
            result=turned,
            view=whole(buffer).transposed,
            plan=VectorPlan(second, 1, "ld.shared"),
            span=at(5),
        ),
        o.StoreGlobal(
            view=window(y, (columns, rows), 0, 0),
            src=turned,
            plan=VectorPlan(second, 1, "st.global", unique=True),
            span=at(6),
        ),
    ]
    if not sync:
        del ops[2]
    return program(ops, [x, y], buffers=[buffer])


def gemm(
    bm: int = 128,
    bn: int = 64,
    *,
    bk: int = 64,
    stages: int = 2,
    warpgroups: int = 2,
    cluster: int = 1,
) -> Program:
    """C = A @ B.T in bf16: a load warp with TMA, a math role with wgmma.

    With a cluster, its blocks are neighbours along M and share the tile of B, of which
    each loads its part for all.
    """
    a, b, c = (
        tensor(n, bf16, d) for n, d in (("A", "M K"), ("B", "N K"), ("C", "M N"))
    )
    depth = Sym("K", "dim")
    tiles_m = cdiv(Sym("M", "dim"), bm)
    row, column = Sym("bm", "let"), Sym("bn", "let")
    sa = shared("a", bf16, (bm, bk), 0, stages, 128)
    sb = shared("b", bf16, (bn, bk), stages * sa.stage_bytes, stages, 128)
    full = BarrierAlloc("full", stages, 1, at(4), "ring full")
    empty = BarrierAlloc("empty", stages, warpgroups * cluster, at(4), "ring empty")
    part = bn // cluster
    map_a, map_b = TensorMap(a, (bm, bk), 128), TensorMap(b, (part, bk), 128)
    rank = Sym("cluster_rank", "rank")
    fill, drain = Sym("fill", "let"), Sym("drain", "let")
    k, kk = Sym("k", "loop"), Sym("kk", "loop")
    box_b = TmaBox((column * bn + rank * part, k), rank * (part * bk * 2))
    load = o.For(
        var=k,
        start=Const(0),
        stop=depth,
        step=Const(bk),
        span=at(8),
        scalars=[o.ScalarCarry(Const(0), fill, fill + 1, Sym("fills", "let"))],
        body=o.Block(
            [
                o.BarrierWait(
                    barrier=BarrierRef(empty, fill % stages),
                    n=fill // stages - 1,
                    span=at(9),
                ),
                o.BarrierExpect(
                    barrier=BarrierRef(full, fill % stages),
                    bytes=Const(sa.stage_bytes + sb.stage_bytes),
                    span=at(10),
                ),
                o.CopyAsync(
                    dst=whole(sa, fill % stages),
                    src=window(a, (bm, bk), row * bm, k),
                    barrier=BarrierRef(full, fill % stages),
                    plan=TmaPlan(
                        map_a, (TmaBox((row * bm, k), Const(0)),), sa.stage_bytes
                    ),
                    span=at(11),
                ),
                o.CopyAsync(
                    dst=whole(sb, fill % stages),
                    src=window(b, (bn, bk), column * bn, k),
                    barrier=BarrierRef(full, fill % stages),
                    multicast=cluster,
                    plan=TmaPlan(map_b, (box_b,), sb.stage_bytes, cluster),
                    span=at(12),
                ),
            ]
        ),
    )
    layout = wgmma_accumulator(bm, bn, warpgroups)
    accs = [tile("acc", f32, layout, storage=0) for _ in range(4)]
    out = tile("out", bf16, layout)
    atoms = bm // warpgroups // 64

    def operand(count: int, rows: int, stride: int) -> MatrixOperand:
        offsets = tuple(
            tuple(i * rows * 128 + 32 * s for s in range(bk // 16))
            for i in range(count)
        )
        return MatrixOperand(16, 1024, 128, False, offsets, stride)

    math = o.For(
        var=kk,
        start=Const(0),
        stop=depth,
        step=Const(bk),
        span=at(16),
        tiles=[o.TileCarry(*accs)],
        scalars=[o.ScalarCarry(Const(0), drain, drain + 1, Sym("drains", "let"))],
        body=o.Block(
            [
                o.BarrierWait(
                    barrier=BarrierRef(full, drain % stages),
                    n=drain // stages,
                    span=at(17),
                ),
                o.Dot(
                    result=accs[2],
                    a=whole(sa, drain % stages),
                    b=whole(sb, drain % stages).transposed,
                    acc=accs[1],
                    plan=WgmmaPlan(
                        bn,
                        atoms,
                        1,
                        bk // 16,
                        operand(atoms, 64, bm // warpgroups * 128),
                        operand(1, bn, 0),
                        wgmma.function_name(bn, "bf16", False, 0, 0),
                    ),
                    span=at(18),
                ),
                o.WgmmaCommit(span=at(18)),
                o.WgmmaWait(pending=0, tiles=(accs[2],), span=at(19)),
                o.BarrierArrive(
                    barrier=BarrierRef(empty, drain % stages),
                    per="warpgroup",
                    cluster=cluster > 1,
                    span=at(20),
                ),
            ]
        ),
    )
    if cluster > 1:
        # No block ends while another may still reach its memory.
        leave: list[o.AnyOp] = [o.ClusterSync(span=at(22))]
    else:
        leave = []
    ops: list[o.AnyOp] = [
        o.Let(sym=row, value=BLOCK_INDEX % tiles_m, span=at(3)),
        o.Let(sym=column, value=BLOCK_INDEX // tiles_m, span=at(3)),
        o.Roles(
            span=at(7),
            roles=[
                o.Role("load", 1, None, o.Block([load, *leave]), at(7), 4 * warpgroups),
                o.Role(
                    "math",
                    4 * warpgroups,
                    None,
                    o.Block(
                        [
                            o.Full(result=accs[0], value=Const(0.0), span=at(15)),
                            math,
                            o.Cast(result=out, src=accs[3], span=at(21)),
                            o.StoreGlobal(
                                view=window(c, (bm, bn), row * bm, column * bn),
                                src=out,
                                plan=VectorPlan(layout, 2, "st.global"),
                                span=at(21),
                            ),
                            *leave,
                        ]
                    ),
                    at(14),
                    0,
                ),
            ],
        ),
    ]
    return program(
        ops,
        [a, b, c],
        buffers=[sa, sb],
        barriers=[full, empty],
        maps=[map_a, map_b],
        warps=4 * warpgroups + 1,
        grid=tiles_m * cdiv(Sym("N", "dim"), bn),
        cluster=cluster,
    )


def half(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Random bf16 bit patterns."""
    from argus.interpret import f32_to_bf16

    values = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return f32_to_bf16(values)


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    return SimpleNamespace(
        at=at,
        tensor=tensor,
        tile=tile,
        window=window,
        shared=shared,
        whole=whole,
        program=program,
        through_shared=through_shared,
        gemm=gemm,
        half=half,
    )
