"""Step 2: a ring in shared memory, filled by `cp.async` while the warps multiply.

The copies of the tile that is needed STAGES - 1 iterations later are in flight during
each product. The tiles of operands are shared by the warps of the block, and larger.
"""

import argus as ag
from argus import bf16, f32


@ag.kernel
def gemm(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 32,
    STAGES: int = 4,
):
    """C[m, n] = sum over k of A[m, k] * B[n, k]."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.a.load(A[bm * BM :, s * BK :], via="cp_async")
            slot.b.load(B[bn * BN :, s * BK :], via="cp_async")
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k + (STAGES - 1) * BK :], via="cp_async")
                slot.b.load(B[bn * BN :, k + (STAGES - 1) * BK :], via="cp_async")
            acc = ag.dot(full.a, full.b.T, acc)
    C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.reference
def reference(A, B):
    """The same in numpy or torch."""
    return A @ B.T
