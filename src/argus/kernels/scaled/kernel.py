"""Products of eight bits: C[m, n] = sa[m] * sb[n] * sum over k of A[m, k] * B[n, k].

Floats of eight bits are summed in f32, i8 and u8 in i32. A scale is one number, one for
each row (of A, and of B, which is a column of C), or left out. Two forms: for Hopper
(TMA, wgmma, roles, persistent grid, clusters), and one without TMA, one tile per block,
for Ampere and for rows that TMA cannot address.
"""

import argus as ag
from argus import f32, i8, i32, u8
from argus.kernels.gemm.kernel import copied, kept, multiplied_tile, thin_tile, total


@ag.inline
def require_scales(ScaleA, ScaleB, M, N, ROWS):
    """As many scales as there are rows, or one."""
    if ScaleA is not None:
        ag.require(ScaleA.shape[0] == (M if ROWS else 1), "a scale for each row of A")
    if ScaleB is not None:
        ag.require(ScaleB.shape[0] == (N if ROWS else 1), "a scale for each row of B")


@ag.inline
def require_sums(A, B, BK):
    """So few products of whole numbers that their sum fits 32 bits, in steps of BK."""
    if A.dtype == i8 or A.dtype == u8:
        WIDE = 1 if A.dtype == u8 else 0
        WIDE = WIDE + (1 if B.dtype == u8 else 0)
        ag.require(A.shape[1] + BK < 2 ** (17 - WIDE), "sums of products fit 32 bits")


@ag.inline
def scaled(acc, ScaleA, ScaleB, Bias, m, n, ROWS, OUT):
    """Sums as elements of the result: scaled, with a bias per column."""
    BM, BN = acc.shape
    if i32 == OUT:
        assert ScaleA is None and ScaleB is None and Bias is None, "i32 has no scales"
        return acc
    acc = acc.to(f32)
    if ScaleA is not None:
        acc = acc * (ag.load(ScaleA[m:], (BM,), dims="M") if ROWS else ScaleA[0])
    if ScaleB is not None:
        acc = acc * (ag.load(ScaleB[n:], (BN,), dims="N") if ROWS else ScaleB[0])
    if Bias is not None:
        acc = acc + ag.load(Bias[n:], (BN,)).to(f32)
    return acc.to(OUT)


@ag.kernel
def scaled_sm90(
    A: ag.eight["M K"],
    B: ag.eight["N K"],
    C: ag.any["M N"],
    ScaleA: f32["SA"] | None = None,
    ScaleB: f32["SB"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 256,
    BK: int = 128,
    STAGES: int = 4,
    GROUP: int = 16,
    CLUSTER: int = 2,
    WARPGROUPS: int = 2,
    BC: int = 32,
    TMA_STORE: bool = True,
    REGISTERS: int = 240,
    ROWS: bool = False,
    APART: bool = False,
):
    """Persistent, warp-specialised Hopper form; a cluster shares each tile of B.

    ROWS: scales are one for each row; else one number. APART: the sum of each step of K
    is added up outside the tensor cores, in whole f32.
    """
    M, K = A.shape
    N = B.shape[0]
    require_scales(ScaleA, ScaleB, M, N, ROWS)
    require_sums(A, B, BK)
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.cluster(CLUSTER)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    if TMA_STORE:
        out = (ag.shared(C.dtype, (BM, BC)), ag.shared(C.dtype, (BM, BC)))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    slot.b.load(B[bn * BN :, k:], multicast=CLUSTER)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            if APART:
                with ring.drain() as slot:
                    acc = ag.dot(slot.a, slot.b.T)
                for _ in ag.range(BK, K, BK):
                    with ring.drain() as slot:
                        acc = acc + ag.dot(slot.a, slot.b.T)
            else:
                slot = ring.wait()
                acc = ag.dot(slot.a, slot.b.T)
                for _ in ag.range(BK, K, BK):
                    ahead = ring.wait()
                    acc = ag.dot(ahead.a, ahead.b.T, acc)
                    slot.release()
                    slot = ahead
                slot.release()
            for j in ag.static_range(BN // BC):
                m, n = bm * BM, bn * BN + j * BC
                part = acc[:, j * BC : (j + 1) * BC]
                part = scaled(part, ScaleA, ScaleB, Bias, m, n, ROWS, C.dtype)
                if TMA_STORE:
                    out[j % 2].store(part)
                    ag.tma_store(C[m:, n:], out[j % 2])
                else:
                    C[m:, n:] = part


@ag.kernel
def scaled_small(
    A: ag.eight["M K"],
    B: ag.eight["N K"],
    C: ag.any["M N"],
    ScaleA: f32["SA"] | None = None,
    ScaleB: f32["SB"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 128,
    STAGES: int = 4,
    WARPGROUPS: int = 1,
    SWAP: bool = False,
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    STEPWISE: bool = False,
    ROWS: bool = False,
):
    """One small tile per block, so that several blocks share a multiprocessor.

    SWAP, STREAM_A, STREAM_B: as in `gemm_small`. STEPWISE: the sum of each step of K is
    added up outside the tensor cores.
    """
    M, K = A.shape
    N = B.shape[0]
    require_scales(ScaleA, ScaleB, M, N, ROWS)
    require_sums(A, B, BK)
    ag.require(K > 0, "the first step of K is taken before the loop")
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))

    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:], evict=kept(STREAM_A))
                slot.b.load(B[bn * BN :, k:], evict=kept(STREAM_B))

    with ag.role("math", warpgroups=WARPGROUPS):
        acc = multiplied_tile(ring, ag.cdiv(K, BK), SWAP, STEPWISE)
        m, n = bm * BM, bn * BN
        C[m:, n:] = scaled(acc, ScaleA, ScaleB, Bias, m, n, ROWS, C.dtype)


@ag.kernel
def scaled_parts(
    A: ag.eight["M K"],
    B: ag.eight["N K"],
    W: ag.any["S M N"],
    steps: i32,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 128,
    STAGES: int = 4,
    WARPGROUPS: int = 1,
    SWAP: bool = False,
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    STEPWISE: bool = False,
):
    """W[s, m, n]: the part of C[m, n] of ``steps`` steps of K; like `gemm_parts`.

    In the type of the sums: f32, and i32 of whole numbers.
    """
    M = A.shape[0]
    S, _, N = W.shape
    require_sums(A, B, BK)
    ag.require(steps > 0, "the first step of a part is taken before the loop")
    s, bm, bn = ag.block(S, ag.cdiv(M, BM), ag.cdiv(N, BN))
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))

    with ag.role("load", warps=1):
        for i in ag.range(0, steps):
            k = (s * steps + i) * BK
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:], evict=kept(STREAM_A))
                slot.b.load(B[bn * BN :, k:], evict=kept(STREAM_B))

    with ag.role("math", warpgroups=WARPGROUPS):
        acc = multiplied_tile(ring, steps, SWAP, STEPWISE)
        W[s, bm * BM :, bn * BN :] = acc.to(W.dtype)


@ag.reference
def scaled_parts_reference(A, B, S, steps, BK):
    """Each part by itself; those past the end of K are 0."""
    import numpy as np

    K = A.shape[1]
    part = steps * BK
    ends = [(s * part, min(K, (s + 1) * part)) for s in range(S)]
    return np.stack([A[:, begin:end] @ B[:, begin:end].T for begin, end in ends])


@ag.kernel
def scaled_sum(
    W: ag.any["S M N"],
    C: ag.any["M N"],
    ScaleA: f32["SA"] | None = None,
    ScaleB: f32["SB"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    BS: int = 16,
    BM: int = 1,
    BN: int = 128,
    WARPS: int = 4,
    ROWS: bool = False,
):
    """C[m, n]: the sum over s of W[s, m, n], scaled; BS parts are read at a time."""
    _, M, N = W.shape
    require_scales(ScaleA, ScaleB, M, N, ROWS)
    ag.launch(warps=WARPS)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    m, n = bm * BM, bn * BN
    tile = total(W, m, n, BS, BM, BN, i32 if W.dtype == i32 else f32)
    C[m:, n:] = scaled(tile, ScaleA, ScaleB, Bias, m, n, ROWS, C.dtype)


@ag.kernel
def scaled_thin(
    A: ag.eight["M K"],
    B: ag.eight["N K"],
    C: ag.any["M N"],
    ScaleA: f32["SA"] | None = None,
    ScaleB: f32["SB"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 1,
    BN: int = 4,
    BK: int = 1024,
    WARPS: int = 4,
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    ROWS: bool = False,
):
    """The same for a few rows of A, without tensor cores."""
    M, N = C.shape
    require_scales(ScaleA, ScaleB, M, N, ROWS)
    require_sums(A, B, BK)
    SUM = i32 if A.dtype == i8 or A.dtype == u8 else f32
    ag.launch(warps=WARPS)
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    tile = thin_tile(A, B, m, n, BM, BN, BK, STREAM_A, STREAM_B, SUM)
    C[m:, n:] = scaled(tile, ScaleA, ScaleB, Bias, m, n, ROWS, C.dtype)


@ag.kernel
def copy_eights(
    X: ag.eight["M K"],
    Y: ag.eight["M K"],
    U: ag.eight["N K"] | None = None,
    V: ag.eight["N K"] | None = None,
    *,
    BM: int = 4,
    BK: int = 512,
    WARPS: int = 4,
):
    """Y = X, and V = U: to rows of another step, which TMA can address."""
    ag.launch(warps=WARPS)
    copied(X, Y, U, V, BM, BK)


@ag.reference
def copy_eights_reference(X, U=None):
    """The same rows."""
    return {"Y": X} if U is None else {"Y": X, "V": U}


@ag.kernel
def scaled_sm80(
    A: ag.eight["M K"],
    B: ag.eight["N K"],
    C: ag.any["M N"],
    ScaleA: f32["SA"] | None = None,
    ScaleB: f32["SB"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 128,
    STAGES: int = 3,
    GROUP: int = 8,
    WARPS: int = 8,
    VECTORS: bool = True,
    ROWS: bool = False,
):
    """One tile per block; all warps load and multiply, STAGES - 1 fills ahead.

    VECTORS: rows are aligned to 4 bytes at least, so that cp.async can copy them; else
    the compiler copies elements through registers.
    """
    VIA = "cp_async" if VECTORS else None
    M, K = A.shape
    N = B.shape[0]
    require_scales(ScaleA, ScaleB, M, N, ROWS)
    require_sums(A, B, BK)
    SUM = i32 if A.dtype == i8 or A.dtype == u8 else f32
    ag.launch(warps=WARPS)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.a.load(A[bm * BM :, s * BK :], via=VIA)
            slot.b.load(B[bn * BN :, s * BK :], via=VIA)
    acc = ag.zeros((BM, BN), SUM)
    for k in ag.range(0, K, BK):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k + (STAGES - 1) * BK :], via=VIA)
                slot.b.load(B[bn * BN :, k + (STAGES - 1) * BK :], via=VIA)
            acc = ag.dot(full.a, full.b.T, acc)
    acc = scaled(acc, ScaleA, ScaleB, Bias, bm * BM, bn * BN, ROWS, C.dtype)
    C[bm * BM :, bn * BN :] = acc
