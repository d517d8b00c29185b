"""Grouped matrix product as one writes it first: a block per tile, through registers.

Positions, tiles and tables are those of `grouped_gemm`. Operands are loaded to
registers and multiplied with `mma.sync`; nothing overlaps.
"""

import argus as ag
from argus import f32, i32


@ag.kernel
def grouped_naive(
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
    BN: int = 64,
    BK: int = 32,
    WARPS: int = 4,
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
    ag.launch(warps=WARPS)
    t, bn = ag.block(C, ag.cdiv(N, BN))
    e = Expert[t]
    if e >= 0:
        p, end = Start[t], End[t]
        acc = ag.zeros((BM, BN), f32)
        if Rows is not None:
            rows = ag.load(Rows[p:], (BM,))
        for k in ag.range(0, K, BK):
            if Rows is not None:
                x = ag.load(X[rows, k:], (BM, BK))
            else:
                x = ag.load(X[p:, k:], (BM, BK))
            w = ag.load(W[e, bn * BN :, k:], (BN, BK))
            acc = ag.dot(x, w.T, acc)
        if Out is not None:
            out = ag.load(Out[p:end], (BM,), fill=-1)
            Y[out, bn * BN :] = ag.rename(acc.to(Y.dtype), "J N")
        else:
            Y[p:end, bn * BN :] = ag.rename(acc.to(Y.dtype), "P N")
