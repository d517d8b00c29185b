"""The GEMM of the language sketch: two roles and a ring."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def gemm(
    A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, BM=128, BN=256, BK=64, STAGES=4
):
    """C[m, n] = sum over k of A[m, k] * B[n, k]."""
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8)
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))

    with ag.role("load", warps=1, registers=40):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])

    with ag.role("math", warpgroups=2, registers=232):
        acc = ag.zeros((BM, BN), f32)
        for k in ag.range(0, K, BK):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)
