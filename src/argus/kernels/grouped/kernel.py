"""Grouped matrix product for mixture of experts, with gather and scatter.

Positions 0..P-1 are (token, expert) pairs sorted by expert. A tile of BM positions
belongs to one expert: ``Expert[t]`` (negative: the tile is unused), begins at position
``Start[t]``, and its expert's positions end at ``End[t]``. Position p reads row
``Rows[p]`` of X (p itself without Rows) and writes row ``Out[p]`` of Y (p itself
without Out).
"""

import argus as ag
from argus import i32


@ag.kernel
def grouped_gemm(
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
    BN: int = 256,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 16,
    WARPGROUPS: int = 2,
):
    """Y[out(p), n] = sum over k of X[row(p), k] * W[expert(p), n, k]."""
    R, K = X.shape
    E, N = W.shape[0], W.shape[1]
    P, C = Y.shape[0], Expert.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
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
    ring = ag.ring(STAGES, a=X.dtype.tile(BM, BK), b=W.dtype.tile(BN, BK))

    with ag.role("load", warps=1 if Rows is None else 4, registers=56):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, BN), group=GROUP):
            e = Expert[t]
            if e >= 0:
                p = Start[t]
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
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, BN), group=GROUP):
            e = Expert[t]
            if e >= 0:
                slot = ring.wait()
                acc = ag.dot(slot.a, slot.b.T)
                for _ in ag.range(BK, K, BK):
                    ahead = ring.wait()
                    acc = ag.dot(ahead.a, ahead.b.T, acc)
                    slot.release()
                    slot = ahead
                slot.release()
                p, end = Start[t], End[t]
                if Out is not None:
                    rows = ag.load(Out[p:end], (BM,), fill=-1)
                    Y[rows, bn * BN :] = ag.rename(acc.to(Y.dtype), "J N")
                else:
                    Y[p:end, bn * BN :] = ag.rename(acc.to(Y.dtype), "P N")


@ag.reference
def grouped_gemm_reference(X, W, Y, Expert, Start, End, BM, Rows=None, Out=None):
    """Each position by the tile that it lies in; what lies in none stays as it is."""
    import numpy as np

    p = np.arange(Y.shape[0])
    first = Start[:, None]
    inside = (p >= first) & (p < End[:, None]) & (p < first + BM)
    own = inside & (Expert >= 0)[:, None]
    x = X if Rows is None else X[Rows]
    y = np.einsum("cp,pk,cnk->pn", own, x, W[np.maximum(Expert, 0)])
    written = own.sum(0)
    if Out is not None:
        to = p[:, None] == Out
        y, written = to @ y, to @ written
    return np.where(written[:, None] > 0, y, Y)


@ag.kernel
def tile_table(
    Ends: i32["E"],
    Expert: i32["C"],
    Start: i32["C"],
    End: i32["C"],
    *,
    BM: int = 128,
    TILES: int = 128,
):
    """Expert, first and end position of each of C tiles of BM positions.

    Expert e has the positions from Ends[e - 1] (or 0) up to Ends[e]. Tiles that no
    expert needs have expert -1, and no positions.
    """
    E, C = Ends.shape[0], Expert.shape[0]
    ag.launch(warps=1)
    b = ag.block(ag.cdiv(C, TILES))
    expert = ag.full((TILES,), -1, i32, dims="C")
    start = ag.zeros((TILES,), i32, dims="C")
    end = ag.zeros((TILES,), i32, dims="C")
    tile = b * TILES + ag.index(expert, "C")
    first, begin = 0, 0
    for e in ag.range(0, E):
        stop = Ends[e]
        last = first + ag.cdiv(stop - begin, BM)
        own = (tile >= first) & (tile < last)
        expert = ag.where(own, e, expert)
        start = ag.where(own, begin + (tile - first) * BM, start)
        end = ag.where(own, stop, end)
        first, begin = last, stop
    Expert[b * TILES :] = expert
    Start[b * TILES :] = start
    End[b * TILES :] = end
