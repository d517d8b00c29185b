"""Step 3: an order of blocks in which those that run together share operands in L2.

One line differs from step 2: `ag.block_tile` walks GROUP rows of tiles at a time
instead of one whole row, so that the blocks on the device at one time read a
nearly square part of C's grid, the fewest distinct rows of A and B.
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
    GROUP: int = 8,
):
    """C[m, n] = sum over k of A[m, k] * B[n, k]."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP)
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
