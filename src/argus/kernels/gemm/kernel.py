"""Matrix products: C[m, n] = epilogue(sum over k of A[m, k] * B[n, k]).

Two forms of one kernel: for Hopper (TMA, wgmma, roles, persistent grid, clusters),
and one without TMA (cp.async, one tile per block), for Ampere and for rows that TMA
cannot address; its product is mma.sync on sm_80, and wgmma on sm_90a. Sizes are
arbitrary. See ``argus.kernels.library`` for choosing between them, and for the
reference.
"""

import argus as ag
from argus import f32


@ag.inline
def plain(acc):
    """No activation."""
    return acc


@ag.inline
def finish(acc, Bias, Residual, m, n, ACTIVATION):
    """Activation(acc + bias[n]) + residual[m, n]; absent tensors are skipped."""
    BM, BN = acc.shape
    if Bias is not None:
        acc = acc + ag.load(Bias[n:], (BN,)).to(f32)
    acc = ACTIVATION(acc)
    if Residual is not None:
        acc = acc + ag.load(Residual[m:, n:], (BM, BN)).to(f32)
    return acc


@ag.kernel
def gemm_sm90(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 256,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 16,
    CLUSTER: int = 2,
    WARPGROUPS: int = 2,
    BC: int = 64,
    TMA_STORE: bool = True,
    AHEAD: bool = True,
    REGISTERS: int = 240,
    ACTIVATION: ag.Inline = plain,
):
    """Persistent, warp-specialised Hopper form; a cluster shares each tile of B.

    AHEAD: a slot is released one product later, so that one is always in flight.
    REGISTERS of a math thread; 0 leaves each thread its equal share.
    """
    M, K = A.shape
    N = B.shape[0]
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
            if AHEAD:
                slot = ring.wait()
                acc = ag.dot(slot.a, slot.b.T)
                for _ in ag.range(BK, K, BK):
                    ahead = ring.wait()
                    acc = ag.dot(ahead.a, ahead.b.T, acc)
                    slot.release()
                    slot = ahead
                slot.release()
            else:
                acc = ag.zeros((BM, BN), f32)
                for _ in ag.range(0, K, BK):
                    with ring.drain() as slot:
                        acc = ag.dot(slot.a, slot.b.T, acc)
            for j in ag.static_range(BN // BC):
                m, n = bm * BM, bn * BN + j * BC
                part = acc[:, j * BC : (j + 1) * BC]
                part = finish(part, Bias, Residual, m, n, ACTIVATION).to(C.dtype)
                if TMA_STORE:
                    out[j % 2].store(part)
                    ag.tma_store(C[m:, n:], out[j % 2])
                else:
                    C[m:, n:] = part


@ag.kernel
def gemm_sm80(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 3,
    GROUP: int = 8,
    WARPS: int = 8,
    VECTORS: bool = True,
    MMA: bool = False,
    ACTIVATION: ag.Inline = plain,
):
    """One tile per block; all warps load and multiply, STAGES - 1 fills ahead.

    VECTORS: rows are aligned to 4 bytes at least, so that cp.async can copy them; else
    the compiler copies elements through registers. MMA: mma.sync also on a target that
    has wgmma.
    """
    VIA = "cp_async" if VECTORS else None
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=WARPS)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.a.load(A[bm * BM :, s * BK :], via=VIA)
            slot.b.load(B[bn * BN :, s * BK :], via=VIA)
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k + (STAGES - 1) * BK :], via=VIA)
                slot.b.load(B[bn * BN :, k + (STAGES - 1) * BK :], via=VIA)
            if MMA:
                acc = ag.mma(full.a, full.b.T, acc)
            else:
                acc = ag.dot(full.a, full.b.T, acc)
    acc = finish(acc, Bias, Residual, bm * BM, bn * BN, ACTIVATION)
    C[bm * BM :, bn * BN :] = acc.to(C.dtype)
