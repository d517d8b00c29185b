"""Products of many rows with weights of four bits: C[m, n] = sum of A[m, k] * B[n, k].

A role makes numbers of 16 bits of each tile of weights that is loaded, and writes them
to shared memory, where the tensor cores read them beside tiles of A. Tiles have as many
columns as have one scale, or fewer, so that a number is scaled before it is rounded.
"""

import argus as ag
from argus import f32, i16, u8, u16


@ag.inline
def in_order(w):
    """The four numbers of each 16 bits one after the other along K."""
    even = ag.interleave(w & 15, (w >> 8) & 15, "U")
    odd = ag.interleave((w >> 4) & 15, (w >> 12) & 15, "U")
    return ag.interleave(even, odd, "U").rename("N K")


@ag.inline
def by_group(S, n, g, BN, GROUPS):
    """An element of S for each group of columns g, g + 1, ... of rows n."""
    return ag.load(S[n:, g:], (BN, GROUPS))


@ag.inline
def int4_numbers(w, s, Zeros, n, g, SIGNED):
    """The weights of packed ones and their scales, in the type of these.

    Of rows n and groups g on.
    """
    (BN, BU), GROUPS = w.shape, s.shape[1]
    BK = 4 * BU
    if SIGNED:
        w = w ^ 0x8888
    q = in_order(w).to(s.dtype) - 8.0
    q = ag.reshape(q, (BN, GROUPS, BK // GROUPS), dims="N G _")
    if Zeros is not None:
        zero = by_group(Zeros, n, g, BN, GROUPS).to(f32)
        zero = zero if SIGNED else zero - 8.0
        b = ((q.to(f32) - zero) * s.to(f32)).to(s.dtype)
    else:
        b = q * s
    return ag.reshape(b, (BN, BK), dims="N K")


@ag.inline
def half_powers(S, n, k, BN, BK, T):
    """The scales of rows n and columns k on, halved, in type T."""
    s = by_group(S, n, k // 32, BN, BK // 32).to(f32)
    return ag.exp2(s - 128.0).to(T)


@ag.inline
def mxfp4_numbers(w, s):
    """The weights of packed ones of e2m1 and halves of their scales."""
    BN, BU = w.shape
    q = ag.twice_e2m1(in_order(w).to(i16)).to(s.dtype)
    b = ag.reshape(q, (BN, BU // 8, 32), dims="N G _") * s
    return ag.reshape(b, (BN, 4 * BU), dims="N K")


@ag.inline
def load_packed(left, raw, A, W, m, n, BK):
    """The steps of K of rows m of A and rows n of W."""
    for k in ag.range(0, A.shape[1], BK):
        with raw.fill() as slot:
            slot.w.load(W[n:, k // 4 :])
        with left.fill() as slot:
            slot.a.load(A[m:, k:])


@ag.inline
def multiplied(left, right, BM, BN, BK, K):
    """The sum of the products of all steps."""
    acc = ag.zeros((BM, BN), f32)
    for _ in ag.range(0, K, BK):
        with left.drain() as a:
            with right.drain() as b:
                acc = ag.dot(a.a, b.b.T, acc)
    return acc


@ag.inline
def store_tile(acc, C, Bias, m, n, out, BC):
    """The tile with a bias, BC columns at a time; through shared memory, if any."""
    for j in ag.static_range(acc.shape[1] // BC):
        part = acc[:, j * BC : (j + 1) * BC]
        if Bias is not None:
            part = part + ag.load(Bias[n + j * BC :], (BC,)).to(f32)
        if out is not None:
            out[j % 2].store(part.to(C.dtype))
            ag.tma_store(C[m:, n + j * BC :], out[j % 2])
        else:
            C[m:, n + j * BC :] = part.to(C.dtype)


@ag.kernel
def int4_many(
    A: ag.half["M K"],
    W: u16["N U"],
    S: ag.half["N G"],
    C: ag.half["M N"],
    Zeros: ag.half["N G"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    GROUP: int = 128,
    SIGNED: bool = False,
    BM: int = 128,
    BN: int = 192,
    BK: int = 64,
    STAGES: int = 4,
    AHEAD: int = 3,
    TILES: int = 16,
    WARPGROUPS: int = 2,
    BC: int = 32,
    TMA_STORE: bool = True,
):
    """C = A B^T + Bias, B[n, k] = (q[n, k] - z[n, k // GROUP]) * S[n, k // GROUP].

    Of the arguments of `int4_few`. AHEAD: tiles of B that are made ahead. TILES of rows
    that run together share L2. A block has 12 warps, so that a thread may have 168
    registers.
    """
    M, K = A.shape
    N = W.shape[0]
    assert GROUP % BK == 0 or BK % GROUP == 0, "groups are steps of K, or parts of them"
    ag.require(ag.dim("U") * 4 == K, "four numbers in 16 bits")
    ag.require(ag.dim("G") * GROUP == K, "whole groups")
    left = ag.ring(STAGES, a=A.dtype.tile(BM, BK))
    raw = ag.ring(STAGES, w=u16.tile(BN, BK // 4))
    right = ag.ring(AHEAD, b=A.dtype.tile(BN, BK))
    out = None
    if TMA_STORE:
        out = (ag.shared(C.dtype, (BM, BC)), ag.shared(C.dtype, (BM, BC)))

    with ag.role("make", warps=3):
        for _, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=TILES):
            for k in ag.range(0, K, BK):
                g = k // GROUP
                s = by_group(S, bn * BN, g, BN, max(1, BK // GROUP))
                with raw.drain() as slot:
                    w = slot.w.load(layout=ag.layouts.blocked((BN, BK // 4), 96, 4))
                b = int4_numbers(w, s, Zeros, bn * BN, g, SIGNED)
                with right.fill() as slot:
                    slot.b.store(b)

    with ag.role("load", warps=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=TILES):
            load_packed(left, raw, A, W, bm * BM, bn * BN, BK)

    with ag.role("math", warpgroups=WARPGROUPS):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=TILES):
            acc = multiplied(left, right, BM, BN, BK, K)
            store_tile(acc, C, Bias, bm * BM, bn * BN, out, BC)


@ag.kernel
def mxfp4_many(
    A: ag.half["M K"],
    W: u16["N U"],
    S: u8["N G"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 192,
    BK: int = 64,
    STAGES: int = 4,
    AHEAD: int = 3,
    TILES: int = 16,
    WARPGROUPS: int = 2,
    BC: int = 32,
    TMA_STORE: bool = True,
):
    """C = A B^T + Bias, B[n, k] = q[n, k] * 2**(S[n, k // 32] - 127).

    q is number k % 4 of W[n, k // 4], in e2m1. The rest is as in `int4_many`.
    """
    M, K = A.shape
    N = W.shape[0]
    ag.require(ag.dim("U") * 4 == K, "four numbers in 16 bits")
    ag.require(ag.dim("G") * 32 == K, "whole groups")
    left = ag.ring(STAGES, a=A.dtype.tile(BM, BK))
    raw = ag.ring(STAGES, w=u16.tile(BN, BK // 4))
    right = ag.ring(AHEAD, b=A.dtype.tile(BN, BK))
    out = None
    if TMA_STORE:
        out = (ag.shared(C.dtype, (BM, BC)), ag.shared(C.dtype, (BM, BC)))

    with ag.role("make", warps=3):
        for _, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=TILES):
            for k in ag.range(0, K, BK):
                s = half_powers(S, bn * BN, k, BN, BK, A.dtype)
                with raw.drain() as slot:
                    w = slot.w.load(layout=ag.layouts.blocked((BN, BK // 4), 96, 4))
                b = mxfp4_numbers(w, s)
                with right.fill() as slot:
                    slot.b.store(b)

    with ag.role("load", warps=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=TILES):
            load_packed(left, raw, A, W, bm * BM, bn * BN, BK)

    with ag.role("math", warpgroups=WARPGROUPS):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=TILES):
            acc = multiplied(left, right, BM, BN, BK, K)
            store_tile(acc, C, Bias, bm * BM, bn * BN, out, BC)


@ag.reference
def int4_many_reference(A, W, S, Zeros, Bias, GROUP, SIGNED):
    """The product with the numbers that the weights are."""
    import numpy as np

    N, K = W.shape[0], A.shape[1]
    w = W.astype(np.int32)
    w = w ^ 0x8888 if SIGNED else w
    q = np.stack([(w >> 4 * j) & 15 for j in range(4)], axis=2).reshape(N, K) - 8
    zero = 0
    if Zeros is not None:
        zero = np.repeat(Zeros, GROUP, axis=1) - (0 if SIGNED else 8)
    out = A @ ((q - zero) * np.repeat(S, GROUP, axis=1)).T
    return out if Bias is None else out + Bias


@ag.reference
def mxfp4_many_reference(A, W, S, Bias):
    """The same of numbers of e2m1."""
    import ml_dtypes
    import numpy as np

    N, K = W.shape[0], A.shape[1]
    w = W.astype(np.int32)
    codes = np.stack([(w >> 4 * j) & 15 for j in range(4)], axis=2).reshape(N, K)
    q = codes.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    scale = np.exp2(S.astype(np.float32) - 127)
    out = A @ (q * np.repeat(scale, 32, axis=1)).T
    return out if Bias is None else out + Bias
