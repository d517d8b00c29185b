"""Two math roles that take turns at the tensor cores (`ag.turns`).

Each math role computes its own 64 rows of C = gelu(A B^T). They use the same slots of B
and alternate: while one multiplies, the other may do arithmetic. Named barriers carry
the turn; placing decides their numbers.
"""

import argus as ag
from argus import bf16


@ag.kernel
def gelu_gemm(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    K: int = 64,
    BM: int = 64,
    BN: int = 64,
    STAGES: int = 2,
):
    """C[m, n] = gelu(sum over k of A[m, k] * B[n, k]); a block does 2 * BM rows."""
    M, N = C.shape
    i = ag.block(ag.cdiv(M, 2 * BM))
    rows = ag.ring(1, a=bf16.tile(2 * BM, K))
    ring = ag.ring(STAGES, b=bf16.tile(BN, K))
    turns = ag.turns("tensor cores", 2)

    with ag.role("load", warps=1):
        with rows.fill() as slot:
            slot.a.load(A[i * 2 * BM :, :])
        for n in ag.range(0, N, BN):
            with ring.fill() as slot:
                slot.b.load(B[n:, :])

    for w in ag.static_range(2):
        with ag.role(f"math{w}", warpgroups=1):
            mine = rows.wait()
            for n in ag.range(0, N, BN):
                turns.wait(w)
                with ring.drain() as slot:
                    acc = ag.dot(mine.a[w * BM : (w + 1) * BM, :], slot.b.T)
                turns.next(w)
                C[i * 2 * BM + w * BM :, n:] = ag.gelu(acc).to(bf16)
            mine.release()


@ag.reference
def reference(A, B):
    """The same in numpy."""
    import math

    import numpy as np

    x = A @ B.T
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / 2**0.5))
