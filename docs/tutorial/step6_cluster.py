"""Step 6: clusters that share a tile of B, and an epilogue that TMA stores.

Two blocks of a cluster do tiles one above the other: both need the same tile of B, and
each loads half of it for both (multicast). The result goes to memory in slices of BC
columns through shared memory: while TMA stores one slice, the next is being written.
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
    GROUP: int = 16,
    CLUSTER: int = 2,
    BC: int = 64,
):
    """C[m, n] = sum over k of A[m, k] * B[n, k]."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(K > 0, "the first product is outside the loop")
    ag.cluster(CLUSTER)
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    out = (ag.shared(bf16, (BM, BC)), ag.shared(bf16, (BM, BC)))

    with ag.role("load", warps=1, registers=40):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    slot.b.load(B[bn * BN :, k:], multicast=CLUSTER)

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
            for j in ag.static_range(BN // BC):
                part = out[j % 2]
                part.store(acc[:, j * BC : (j + 1) * BC].to(bf16))
                ag.tma_store(C[bm * BM :, bn * BN + j * BC :], part)


@ag.reference
def reference(A, B):
    """The same in numpy or torch."""
    return A @ B.T
