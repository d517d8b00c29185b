"""Matrix product as one writes it first: one tile per block, nothing overlaps.

Each iteration loads a tile of A and a tile of B to registers, waits for them, and
multiplies with `mma.sync`. Every warp loads its operands for itself. Correct for every
size. The rest of the family starts from here.
"""

import argus as ag
from argus import f32


@ag.inline
def plain(acc):
    """No activation."""
    return acc


@ag.kernel
def gemm_naive(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
    WARPS: int = 4,
    ACTIVATION: ag.Inline = plain,
):
    """C[m, n] = activation(sum over k of A[m, k] * B[n, k] + bias) + residual."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=WARPS)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        b = ag.load(B[bn * BN :, k:], (BN, BK))
        acc = ag.dot(a, b.T, acc)
    if Bias is not None:
        acc = acc + ag.load(Bias[bn * BN :], (BN,)).to(f32)
    acc = ACTIVATION(acc)
    if Residual is not None:
        acc = acc + ag.load(Residual[bm * BM :, bn * BN :], (BM, BN)).to(f32)
    C[bm * BM :, bn * BN :] = acc.to(C.dtype)
