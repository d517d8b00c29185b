"""Small placed programs, written by hand: what placing would make of them.

The fixture `kit` gives the functions below to every test module.
"""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from argus.ir import ops as o
from argus.ir.check import check
from argus.ir.dtypes import f32
from argus.ir.expr import Const, Expr
from argus.ir.memory import (
    BarrierAlloc,
    GlobalTensor,
    SharedAlloc,
)
from argus.ir.parser import parse_program
from argus.ir.placement import (
    TensorMap,
    VectorPlan,
)
from argus.ir.program import PointerAlignment, Program
from argus.layout import blocked
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


def gemm(*, cluster: int = 1) -> Program:
    """C = A @ B.T in bf16: a load warp with TMA, a math role with wgmma.

    With a cluster of 2, its blocks are neighbours along M and share the tile of B, of
    which each loads its part for all.
    """
    name = {1: "gemm.txt", 2: "gemm_cluster.txt"}[cluster]
    return parse_program((Path(__file__).parent / name).read_text(encoding="utf-8"))


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
