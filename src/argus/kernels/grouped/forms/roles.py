"""Grouped matrix product in Hopper's own instructions, one tile per block.

Positions, tiles and tables are those of `grouped_gemm`. A role loads by TMA
(gathered rows by `cp.async`), warpgroups multiply with `wgmma`; a block ends with its
tile.
"""

import argus as ag
from argus import f32, i32


@ag.kernel
def grouped_roles(
    X: ag.half["R K"],
    W: ag.half["E N K"],
    Y: ag.half["P N"],
    Expert: i32["C"],
    Start: i32["C"],
    End: i32["C"],
    Rows: i32["I"] | None = None,
    Out: i32["J"] | None = None,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 8,
    WARPGROUPS: int = 2,
):
    """Y[out(p), n] = sum over k of X[row(p), k] * W[expert(p), n, k]."""
    R, K = X.shape
    E, N = W.shape[0], W.shape[1]
    P, C = Y.shape[0], Expert.shape[0]
    if Rows is None:
        ag.require(R == P, "there are as many rows as positions")
    else:
        ag.require(Rows.shape[0] == P, "there is a row for each position")
    if Out is not None:
        ag.require(Out.shape[0] == P, "there is a place for each position")
    ag.assume(lambda expert: expert < E, Expert)
    ag.assume(lambda start: start >= 0, Start)
    # No two tiles have a position in common.
    ag.assume(
        lambda s, e, s2, e2: (s + BM <= s2) | (e <= s2) | (s2 + BM <= s) | (e2 <= s),
        Start,
        End,
        pairs=True,
    )
    if Rows is not None:
        ag.assume(lambda end: end <= Rows.shape[0], End)
        ag.assume(lambda row: row < R, Rows)
        ag.assume(lambda row: row >= 0, Rows)
    else:
        ag.assume(lambda end: end <= R, End)
    if Out is not None:
        ag.assume(lambda a, b: a != b, Out, pairs=True)
    t, bn = ag.block_tile(C, ag.cdiv(N, BN), group=GROUP)
    # An unused tile is computed like any other, and not stored.
    e, p, end = ag.max(Expert[t], 0), Start[t], End[t]
    ring = ag.ring(STAGES, a=X.dtype.tile(BM, BK), b=W.dtype.tile(BN, BK))

    with ag.role("load", warps=1 if Rows is None else 4, registers=56):
        if Rows is not None:
            rows = ag.load(Rows[p:], (BM,))
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                if Rows is not None:
                    slot.a.load(X[rows, k:])
                else:
                    slot.a.load(X[p:, k:])
                slot.b.load(W[e, bn * BN :, k:])

    with ag.role("math", warpgroups=WARPGROUPS, registers=224):
        acc = ag.zeros((BM, BN), f32)
        for _ in ag.range(0, K, BK):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        if Expert[t] >= 0:
            if Out is not None:
                out = ag.load(Out[p:end], (BM,), fill=-1)
                Y[out, bn * BN :] = ag.rename(acc.to(Y.dtype), "J N")
            else:
                Y[p:end, bn * BN :] = ag.rename(acc.to(Y.dtype), "P N")
