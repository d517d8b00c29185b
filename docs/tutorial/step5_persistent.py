"""Step 5: as many blocks as the device holds, each doing tile after tile.

The load role runs ahead into the next tile while the math role still stores the last
one. And a slot is handed back one product later, so that one `wgmma` group is always in
flight instead of the tensor cores running dry at every wait.
"""

import argus as ag
from argus import bf16


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
    ag.require(K > 0, "the first product is outside the loop")
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))

    with ag.role("load", warps=1, registers=40):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    slot.b.load(B[bn * BN :, k:])

    with ag.role("math", warpgroups=2, registers=232):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            slot = ring.wait()
            acc = ag.dot(slot.a, slot.b.T)
            for _ in ag.range(BK, K, BK):
                ahead = ring.wait()
                acc = ag.dot(ahead.a, ahead.b.T, acc)
                slot.release()
                slot = ahead
            slot.release()
            C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.reference
def reference(A, B):
    """The same in numpy or torch."""
    return A @ B.T
