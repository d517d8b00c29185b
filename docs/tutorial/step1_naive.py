"""Step 1: one tile of C per block, operands through registers, `mma.sync`.

The shortest matrix product: a loop that loads a tile of A and a tile of B and
multiplies them. Correct for every size. Nothing overlaps: each iteration waits for
memory, then multiplies.
"""

import argus as ag
from argus import bf16, f32


@ag.kernel
def gemm(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
):
    """C[m, n] = sum over k of A[m, k] * B[n, k]."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        b = ag.load(B[bn * BN :, k:], (BN, BK))
        acc = ag.dot(a, b.T, acc)
    C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.reference
def reference(A, B):
    """The same in numpy or torch."""
    return A @ B.T
