"""Gathers, scatters and grouped products, with mistakes."""

# facts 16

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def embedding(
    Table: bf16["V D"], Index: i32["P"], Y: bf16["P D"], *, BP: int = 16, BD: int = 64
):
    P, D = Y.shape
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(Index[i * BP :], (BP,), fill=-1)
    # or AG0305 (gather index of the wrong tile):
    #   rows = ag.load(Index[(i + 1) * BP :], (BP,), fill=-1)
    # or AG0305 (gather index of the wrong tile):
    #   rows = ag.load(Index[0:], (BP,), fill=-1)
    # or AG0305 (gather index of the wrong tile):
    #   rows = ag.load(Index[j * BP :], (BP,), fill=-1)
    x = ag.load(Table[rows, j * BD :], (BP, BD))
    # or AG0305 (wrong columns): x = ag.load(Table[rows, i * BD :], (BP, BD))
    # or AG0305 (off-by-one element): x = ag.load(Table[rows, j * BD + 8 :], (BP, BD))
    Y[i * BP :, j * BD :] = x  # shows AG0305, AG0306
    # or AG0305 (off-by-one tile): Y[(i + 1) * BP :, j * BD :] = x


@ag.kernel
def with_positions(
    Table: bf16["V D"],
    Position: bf16["P D"],
    Index: i32["P"],
    Y: bf16["P D"],
    *,
    BP: int = 16,
    BD: int = 64,
):
    """Rows of a table plus a row for each position."""
    P, D = Y.shape
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(Index[i * BP :], (BP,), fill=-1)
    # or AG0303 (gather index of the wrong tile):
    #   rows = ag.load(Index[(i + 1) * BP :], (BP,), fill=-1)
    x = ag.load(Table[rows, j * BD :], (BP, BD))
    p = ag.load(Position[i * BP :, j * BD :], (BP, BD))
    # or AG0303 (wrong rows): p = ag.load(Position[j * BP :, j * BD :], (BP, BD))
    # or AG0303 (wrong columns): p = ag.load(Position[i * BP :, 0:], (BP, BD))
    y = x + p  # shows AG0303
    Y[i * BP :, j * BD :] = y


@ag.kernel
def scatter(
    X: bf16["P D"], Index: i32["P"], Y: bf16["R D"], *, BP: int = 32, BD: int = 64
):
    """Y[Index[p]] = X[p]."""
    P, D = X.shape
    ag.assume(lambda a, b: a != b, Index, pairs=True)
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(Index[i * BP :], (BP,), fill=-1)
    # or AG0310 (missing tail mask): rows = ag.load(Index[i * BP :], (BP,))
    # or AG0315 (gather index of the wrong tile):
    #   rows = ag.load(Index[(i + 1) * BP :], (BP,), fill=-1)
    x = ag.load(X[i * BP :, j * BD :], (BP, BD))
    # or AG0315 (wrong rows): x = ag.load(X[j * BP :, j * BD :], (BP, BD))
    # or AG0305 (wrong columns): x = ag.load(X[i * BP :, i * BD :], (BP, BD))
    Y[rows, j * BD :] = x  # shows AG0305, AG0310, AG0315


@ag.kernel
def combine(
    X: bf16["P D"],
    Weight: f32["P"],
    Index: i32["P"],
    Y: f32["R D"],
    *,
    BP: int = 16,
    BD: int = 64,
):
    """Weighted rows added where a table says."""
    P, D = X.shape
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(Index[i * BP :], (BP,), fill=-1)
    # or AG0315 (gather index of the wrong tile):
    #   rows = ag.load(Index[j * BP :], (BP,), fill=-1)
    x = ag.load(X[i * BP :, j * BD :], (BP, BD)).to(f32)
    w = ag.load(Weight[i * BP :], (BP,))
    # or AG0303 (scale of the wrong row): w = ag.load(Weight[i * BP + 1 :], (BP,))
    # or AG0303 (scale of the wrong row): w = ag.load(Weight[j * BP :], (BP,))
    y = x * w  # shows AG0303
    ag.atomic_add(Y[rows, j * BD :], y)  # shows AG0305, AG0315


@ag.kernel
def grouped(
    X: bf16["P K"],
    W: bf16["E N K"],
    Y: bf16["P N"],
    Expert: i32["C"],
    Start: i32["C"],
    End: i32["C"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
):
    """Tiles of positions that belong to one expert each."""
    P, K = X.shape
    E, N = W.shape[0], W.shape[1]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.assume(lambda expert: (expert >= 0) & (expert < E), Expert)
    # or AG0310 (expert outside): ag.assume(lambda expert: expert <= E, Expert)
    ag.assume(lambda start: start >= 0, Start)
    ag.assume(lambda end: end <= P, End)
    # or AG0318 (contradicting assumptions): ag.assume(lambda start: start < 0, Start)
    ag.assume(
        lambda s, e, s2, e2: (s + BM <= s2) | (e <= s2) | (s2 + BM <= s) | (e2 <= s),
        Start,
        End,
        pairs=True,
    )
    ring = ag.ring(3, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1):
        for t, bn in ag.persistent_tiles(Expert.shape[0], ag.cdiv(N, BN)):
            e, p = Expert[t], Start[t]
            # or AG0305 (table index): e, p = Expert[t], Start[0]
            # or AG0312 (table index): e, p = Expert[t + 1], Start[t]
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(X[p:, k:])
                    # or AG0305 (table not used): slot.a.load(X[t * BM :, k:])
                    # or AG0301 (off-by-one tile): slot.a.load(X[p:, k + BK :])
                    slot.b.load(W[e, bn * BN :, k:])
                    # or AG0301 (stale index): slot.b.load(W[e, bn * BN :, 0:])
                    # or AG0305 (wrong columns): slot.b.load(W[e, 0:, k:])
    with ag.role("math", warpgroups=1):
        for t, bn in ag.persistent_tiles(Expert.shape[0], ag.cdiv(N, BN)):
            acc = ag.zeros((BM, BN), f32)
            for _ in ag.range(0, K, BK):
                with ring.drain() as slot:
                    acc = ag.dot(slot.a, slot.b.T, acc)  # shows AG0301, AG0310
            p, end = Start[t], End[t]
            # or AG0305 (table index): p, end = Start[t] + 1, End[t]
            Y[p:end, bn * BN :] = acc.to(bf16)  # shows AG0305, AG0310
            # or AG0305 (off-by-one tile): Y[p:end, (bn + 1) * BN :] = acc.to(bf16)


@ag.kernel
def convolution(
    X: bf16["B H W C"],
    Filter: bf16["N K"],
    Y: bf16["M N"],
    *,
    C: int = 32,
    R: int = 3,
    BM: int = 64,
    BN: int = 64,
):
    """A 3 x 3 convolution as a product over a view."""
    B, H, W, _ = X.shape
    M, N = Y.shape
    K = R * R * C
    ag.require(M == B * H * W, "an output pixel for each input pixel")
    ag.require(ag.dim("K") == K, "the filter has R * R * C taps")
    ag.launch(warps=4)
    pixels = X.view(
        "M K",
        shape=(M, K),
        at=lambda m, k: (
            m // (H * W),
            m // W % H + k // (R * C) - 1,
            m % W + k // C % R - 1,
            k % C,
        ),
    )
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, 32):
        # or AG0308 (loop range): for k in ag.range(0, K - 32, 32):
        # or AG0308 (loop range): for k in ag.range(0, R * C, 32):
        x = ag.load(pixels[i * BM :, k:], (BM, 32))
        # or AG0305 (wrong rows): x = ag.load(pixels[j * BM :, k:], (BM, 32))
        f = ag.load(Filter[j * BN :, k:], (BN, 32))
        # or AG0301 (off-by-one element):
        #   f = ag.load(Filter[j * BN :, k + 1 :], (BN, 32))
        # or AG0301 (stale index): f = ag.load(Filter[j * BN :, 0:], (BN, 32))
        acc = ag.dot(x, f.T, acc)  # shows AG0301
    Y[i * BM :, j * BN :] = acc.to(bf16)  # shows AG0305, AG0308
