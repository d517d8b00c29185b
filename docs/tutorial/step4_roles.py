"""Step 4: Hopper's own instructions. One warp loads by TMA, two warpgroups multiply.

The roles run at the same time and meet only in the ring. The load role fills slots as
they become free; the math role drains them with `wgmma`, which reads both operands from
shared memory. K and N must be multiples of 8 elements for TMA and for vector stores;
the launch checks what TMA needs.
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
    BN: int = 256,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 8,
):
    """C[m, n] = sum over k of A[m, k] * B[n, k]."""
    M, K = A.shape
    N = B.shape[0]
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP)
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))

    with ag.role("load", warps=1, registers=40):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])

    with ag.role("math", warpgroups=2, registers=232):
        acc = ag.zeros((BM, BN), f32)
        for _ in ag.range(0, K, BK):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.reference
def reference(A, B):
    """The same in numpy or torch."""
    return A @ B.T
