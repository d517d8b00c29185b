"""Matrix product in Hopper's own instructions, one tile per block.

One warp loads by TMA, the math warpgroups multiply with `wgmma`; they meet in a ring.
Everything that the persistent form can do is here, too, but for walking over tiles: a
block ends with its tile, so nothing is loaded while it stores.
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
def gemm_roles(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 1,
    CLUSTER: int = 1,
    WARPGROUPS: int = 2,
    BC: int = 64,
    TMA_STORE: bool = False,
    AHEAD: bool = False,
    REGISTERS: int = 240,
    ACTIVATION: ag.Inline = plain,
):
    """C[m, n] = activation(sum over k of A[m, k] * B[n, k] + bias) + residual."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.cluster(CLUSTER)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    if TMA_STORE:
        out = (ag.shared(C.dtype, (BM, BC)), ag.shared(C.dtype, (BM, BC)))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:], multicast=CLUSTER)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
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
