"""A small program in both forms, to print and to break."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

import pieces
from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, Expr, Sym, axis, cdiv
from argus.ir.memory import (
    BarrierAlloc,
    BarrierRef,
    GlobalView,
    Ring,
    SharedAlloc,
    SharedView,
)
from argus.ir.placement import TensorMap, TmaBox, TmaPlan, VectorPlan
from argus.ir.program import BLOCK_INDEX, PointerAlignment, Program, Requirement
from argus.layout import blocked
from argus.layout.shared import panels
from argus.targets import TARGETS

FILE = "/some/where/rows.py"


def at(line: int) -> Span:
    return pieces.at(line, FILE)


@dataclass
class Sample:
    """A program and the parts that tests change."""

    program: Program
    load: list[o.AnyOp]
    math: list[o.AnyOp]
    loop: o.For
    sums: list[o.Tile]


def ringed() -> Program:
    """Unplaced: column sums of blocks of rows, through a ring."""
    x, y = (pieces.tensor(name, bf16) for name in "XY")
    field = SharedAlloc("rows_x", bf16, (16, 64), ("M", "N"), 2, at(4))
    ring = Ring("rows", 2, {"x": field}, at(4))
    n, k = Sym("n", "let"), Sym("k", "loop")
    row: Expr = BLOCK_INDEX * 16
    view = SharedView(field, n % 2, (Const(0), Const(0)), (0, 1), (16, 64), ("M", "N"))
    body = o.Block(
        [
            o.RingAcquire(ring=ring, n=n, span=at(6)),
            o.CopyAsync(
                dst=view,
                src=GlobalView(x, (16, 64), ("M", "N"), (axis(0) + row, axis(1) + k)),
                ring=ring,
                span=at(7),
            ),
            o.RingPublish(ring=ring, n=n, span=at(6)),
            o.RingWait(ring=ring, n=n, span=at(8)),
            o.RingRelease(ring=ring, n=n, span=at(8)),
        ]
    )
    loop = o.For(
        var=k,
        start=Const(0),
        stop=Sym("N", "dim"),
        step=Const(64),
        body=body,
        span=at(5),
        scalars=[o.ScalarCarry(Const(0), n, n + 1, Sym("fills", "let"))],
    )
    return Program(
        "rows",
        FILE,
        TARGETS["sm_90a"],
        [x, y],
        {"BN": 64},
        o.Block([loop]),
        at(1),
        cdiv(Sym("M", "dim"), 16),
        rings=[ring],
        outputs=["Y"],
    )


def placed() -> Sample:
    """Placed: Y = row-wise running sums, in f32, of X; load and math roles."""
    x, y = (pieces.tensor(name, bf16) for name in "XY")
    shared_layout = panels((16, 64), 2, 128)
    buffer = SharedAlloc(
        "rows", bf16, (16, 64), ("M", "N"), 2, at(4), layout=shared_layout, offset=0,
        alignment=1024,
    )  # fmt: skip
    full = BarrierAlloc("full", 2, 1, at(4), "ring full", 4096)
    tensor_map = TensorMap(x, (16, 64), 128)
    k, kk, n = Sym("k", "loop"), Sym("kk", "loop"), Sym("n", "let")
    slot = n % 2
    row: Expr = BLOCK_INDEX * 16
    view = SharedView(buffer, slot, (Const(0), Const(0)), (0, 1), (16, 64), ("M", "N"))
    layout = blocked((16, 64), 128, 8)

    def tile(name: str, dtype: object, storage: int | None = None) -> o.Tile:
        return o.Tile(
            dtype, (16, 64), ("M", "N"), at(8), name, layout=layout, storage=storage
        )  # type: ignore[arg-type]

    load_body: list[o.AnyOp] = [
        o.BarrierExpect(
            barrier=BarrierRef(full, slot), bytes=Const(2048), span=at(6), note="TMA"
        ),
        o.CopyAsync(
            dst=view,
            src=GlobalView(x, (16, 64), ("M", "N"), (axis(0) + row, axis(1) + k)),
            barrier=BarrierRef(full, slot),
            via="tma",
            plan=TmaPlan(tensor_map, (TmaBox((row, k), Const(0)),), 2048),
            span=at(7),
        ),
    ]
    carry = [o.ScalarCarry(Const(0), n, n + 1, Sym("fills", "let"))]
    load = o.For(
        var=k,
        start=Const(0),
        stop=Const(128),
        step=Const(64),
        body=o.Block(load_body),
        span=at(5),
        scalars=carry,
    )
    sums = [tile("sum", f32, 0) for _ in range(4)]
    held, wide, out = tile("x", bf16), tile("x", f32), tile("y", bf16)
    m = Sym("m", "let")
    drained = SharedView(
        buffer, m % 2, (Const(0), Const(0)), (0, 1), (16, 64), ("M", "N")
    )
    math_body: list[o.AnyOp] = [
        o.BarrierWait(barrier=BarrierRef(full, m % 2), n=m // 2, span=at(11)),
        o.LoadShared(
            result=held,
            view=drained,
            plan=VectorPlan(layout, 8, "ld.shared"),
            span=at(12),
        ),
        o.Cast(result=wide, src=held, span=at(12)),
        o.Elementwise(result=sums[2], fn="add", args=(sums[1], wide), span=at(13)),
    ]
    loop = o.For(
        var=kk,
        start=Const(0),
        stop=Const(128),
        step=Const(64),
        body=o.Block(math_body),
        span=at(10),
        tiles=[o.TileCarry(*sums)],
        scalars=[o.ScalarCarry(Const(0), m, m + 1, Sym("drains", "let"))],
    )
    math: list[o.AnyOp] = [
        o.Full(result=sums[0], value=Const(0.0), span=at(9)),
        loop,
        o.Cast(result=out, src=sums[3], span=at(14)),
        o.StoreGlobal(
            view=GlobalView(y, (16, 64), ("M", "N"), (axis(0) + row, axis(1))),
            src=out,
            plan=VectorPlan(layout, 8, "st.global", unique=True),
            span=at(14),
        ),
    ]
    roles = o.Roles(
        span=at(3),
        roles=[
            o.Role("load", 1, 40, o.Block([load]), at(3), 4),
            o.Role("math", 4, None, o.Block(math), at(8), 0),
        ],
    )
    program = Program(
        "rows",
        FILE,
        TARGETS["sm_90a"],
        [x, y],
        {"BN": 64},
        o.Block([roles]),
        at(1),
        cdiv(Sym("M", "dim"), 16),
        warps=5,
        shared=[buffer],
        barriers=[full],
        tensor_maps=[tensor_map],
        requirements=[Requirement(Sym("M", "dim") % 16, "TMA moves 16 bytes", at(1))],
        alignments=[PointerAlignment("X", 16)],
        facts={"N": 8},
        outputs=["Y"],
        placed=True,
        shared_bytes=4112,
    )
    return Sample(program, load_body, math_body, loop, sums)


@pytest.fixture
def unplaced_program() -> Program:
    return ringed()


@pytest.fixture
def make() -> Callable[[], Sample]:
    return placed
