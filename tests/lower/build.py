"""Tile programs built by hand, as the frontend builds them, to test placing on."""

import numpy as np
from builder import Builder

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, Expr, Sym, cdiv
from argus.ir.memory import Ring, SharedAlloc
from argus.ir.program import BLOCK_INDEX, Program
from argus.targets import TARGETS
from pieces import tensor, whole, window

AT = Span("kernel.py", 1, 1, 1, 2)


def tile(name: str, shape: tuple[int, ...], dims: tuple[str | None, ...], dtype=f32):
    """An unplaced register tile."""
    return o.Tile(dtype, shape, dims, AT, name=name)


def gemm(
    bm: int = 128,
    bn: int = 128,
    bk: int = 64,
    stages: int = 3,
    warpgroups: int = 2,
    target: str = "sm_90a",
) -> Program:
    """C = A B^T with a load role and a math role, one tile per block."""
    a, b, c = (
        tensor(name, bf16, dims)
        for name, dims in (("A", "M K"), ("B", "N K"), ("C", "M N"))
    )
    m, n, k = (Sym(d, "dim") for d in "MNK")
    grid_n = cdiv(n, bn)
    m0, n0 = BLOCK_INDEX // grid_n * bm, BLOCK_INDEX % grid_n * bn
    ring = Ring(
        "ring",
        stages,
        {
            "a": SharedAlloc("a", bf16, (bm, bk), ("M", "K"), stages, AT),
            "b": SharedAlloc("b", bf16, (bn, bk), ("N", "K"), stages, AT),
        },
        AT,
    )

    def loop(name: str, body: o.Block, tiles: list[o.TileCarry]) -> o.For:
        var = Sym(f"k_{name}", "loop")
        count, after = Sym(f"n_{name}", "let"), Sym(f"n_{name}_after", "let")
        return o.For(
            var=var,
            start=Const(0),
            stop=k,
            step=Const(bk),
            body=body,
            tiles=tiles,
            scalars=[o.ScalarCarry(Const(0), count, count + 1, after)],
            span=AT,
        )

    fill = Sym("n_load", "let")
    k_load = Sym("k_load", "loop")
    slot = fill % stages
    load = o.Block(
        [
            o.RingAcquire(ring=ring, n=fill, span=AT),
            o.CopyAsync(
                dst=whole(ring.fields["a"], slot),
                src=window(a, (bm, bk), m0, k_load),
                ring=ring,
                span=AT,
            ),
            o.CopyAsync(
                dst=whole(ring.fields["b"], slot),
                src=window(b, (bn, bk), n0, k_load),
                ring=ring,
                span=AT,
            ),
            o.RingPublish(ring=ring, n=fill, span=AT),
        ]
    )
    drain = Sym("n_math", "let")
    acc0, arg = tile("acc", (bm, bn), (None, None)), tile("acc", (bm, bn), ("M", "N"))
    dot, result = tile("acc", (bm, bn), ("M", "N")), tile("acc", (bm, bn), ("M", "N"))
    math = o.Block(
        [
            o.RingWait(ring=ring, n=drain, span=AT),
            o.Dot(
                result=dot,
                a=whole(ring.fields["a"], drain % stages),
                b=whole(ring.fields["b"], drain % stages).transposed,
                acc=arg,
                span=AT,
            ),
            o.RingRelease(ring=ring, n=drain, span=AT),
        ]
    )
    out = tile("out", (bm, bn), ("M", "N"), bf16)
    roles = o.Roles(
        roles=[
            o.Role("load", 1, 40, o.Block([loop("load", load, [])]), AT),
            o.Role(
                "math",
                4 * warpgroups,
                232,
                o.Block(
                    [
                        o.Full(result=acc0, value=Const(0.0), span=AT),
                        loop("math", math, [o.TileCarry(acc0, arg, dot, result)]),
                        o.Cast(result=out, src=result, span=AT),
                        o.StoreGlobal(
                            view=window(c, (bm, bn), m0, n0), src=out, span=AT
                        ),
                    ]
                ),
                AT,
            ),
        ],
        span=AT,
    )
    names = ["M", "N", "K", "A_s0", "B_s0", "C_s0"]
    return Program(
        name="gemm",
        file="kernel.py",
        target=TARGETS[target],
        params=[a, b, c],
        statics={},
        body=o.Block([roles]),
        span=AT,
        grid=cdiv(m, bm) * grid_n,
        rings=[ring],
        facts=dict.fromkeys(names, 16),
        outputs=["C"],
    )


def product(
    target: str = "sm_90a",
    warps: int = 4,
    m: int = 64,
    n: int = 64,
    bk: int = 32,
    stages: int = 3,
    via: str | None = None,
    ahead: int = 1,
) -> Builder:
    """C = A B^T (B is N x K) by one group of warps, ``ahead`` fills before the loop.

    In each iteration: drain, then fill the slot behind, then multiply.
    """
    b = Builder(target, warps)
    ta, tb = b.tensor("A", "M K", bf16), b.tensor("B", "N K", bf16)
    tc = b.tensor("C", "M N")
    ring = b.ring(stages, a=(bf16, (m, bk)), b=(bf16, (n, bk)))

    def fill(n_: Expr, k: Expr) -> None:
        with b.fill(ring, n_) as slot:
            b.copy(slot["a"], b.view(ta, (m, bk), 0, k), ring=ring, via=via)
            b.copy(slot["b"], b.view(tb, (n, bk), 0, k), ring=ring, via=via)

    for s in range(ahead):
        fill(Const(s), Const(s * bk))
    acc = b.full((m, n))
    k_end = ta.shape[1]
    with b.loop(k_end, bk, tiles=[acc], scalars=[0, ahead]) as loop:
        drain, filled = loop.counters
        slot = b.wait(ring, drain)
        if ahead:
            fill(filled, loop.op.var + ahead * bk)
        else:
            raise ValueError("nothing would be there to drain")
        d = b.dot(slot["a"], slot["b"].transposed, loop.args[0])
        b.release(ring, drain)
        loop.carry(d, scalars=[drain + 1, filled + 1])
    b.store(tc, loop.results[0], 0, 0)
    return b


def operands(m: int, n: int, k: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Small integers for A (m, k), B (n, k) and C (m, n): products are exact."""
    rng = np.random.default_rng(seed)
    return {
        "A": rng.integers(-3, 4, (m, k)).astype(np.float32),
        "B": rng.integers(-3, 4, (n, k)).astype(np.float32),
        "C": np.full((m, n), 99, np.float32),
    }


def reader(by: str, loads: str = "tma", cluster: int = 1) -> Builder:
    """A load role and a role that copies tiles out, by registers or by products."""
    b = Builder("sm_90a", cluster=cluster)
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    ring = b.ring(2, x=(bf16, (64, 64)))
    warps = 1 if loads == "tma" else 2
    with b.role("load", warps), b.loop(x.shape[0], 64, scalars=[0]) as loop:
        (n,) = loop.counters
        with b.fill(ring, n) as slot:
            src = b.view(x, (64, 64), loop.op.var, 0)
            b.copy(slot["x"], src, ring=ring, via=loads)
        loop.carry(scalars=[n + 1])
    with b.role("use", 4), b.loop(x.shape[0], 64, scalars=[0]) as loop:
        (n,) = loop.counters
        slot = b.wait(ring, n)
        if by == "loads":
            t = b.lds(slot["x"])
        elif by == "stores":
            b.copy_out(b.view(y, (64, 64), loop.op.var, 0), slot["x"])
        else:
            eye = b.apply("eq", b.index((64, 64), 0), b.index((64, 64), 1))
            one = b.cast(b.apply("where", eye, b.full((64, 64), 1.0), 0.0), bf16)
            t = b.cast(b.dot(one, slot["x"]), bf16)
        b.release(ring, n)
        if by != "stores":
            b.store(y, t, loop.op.var, 0)
        loop.carry(scalars=[n + 1])
    return b
