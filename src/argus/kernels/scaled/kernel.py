"""Products of eight bits: C[m, n] = sa[m] * sb[n] * sum over k of A[m, k] * B[n, k].

Floats of eight bits are summed in f32, i8 and u8 in i32. A scale is one number, one for
each row (of A, and of B, which is a column of C), or left out. Two forms: for Hopper
(TMA, wgmma, roles, persistent grid, clusters), and one without TMA, one tile per block,
for Ampere and for rows that TMA cannot address.
"""

import argus as ag
from argus import f32, i8, i32, u8


@ag.inline
def require_scales(ScaleA, ScaleB, M, N, ROWS):
    """As many scales as there are rows, or one."""
    if ScaleA is not None:
        ag.require(ScaleA.shape[0] == (M if ROWS else 1), "a scale for each row of A")
    if ScaleB is not None:
        ag.require(ScaleB.shape[0] == (N if ROWS else 1), "a scale for each row of B")


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
