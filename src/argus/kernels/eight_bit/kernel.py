"""Products with weights of eight bits: C[m, n] = S[n] * sum of A[m, k] * W[n, k].

For few rows weights are read once, and become numbers of 16 bits, which they are
exactly, in the registers of which `mma` reads them: its rows are rows of W, and its
columns rows of A. For many rows `int8_weights` makes numbers of all of them first, and
`gemm` multiplies.
"""

import argus as ag
from argus import f32, i8


@ag.inline
def part_of_sum(ring, i, steps, BM, BN, WARPS, OUT):
    """What warp i has of a tile: the sum over its columns of each step of K."""
    acc = ag.zeros((BN, BM), f32, dims="N M")
    for _ in ag.range(0, steps):
        with ring.drain() as slot:
            for u in ag.static_range(8):
                c = 256 * i + 32 * u
                a = slot.a[:, c : c + 32].load()
                w = slot.w[:, c : c + 32].load().to(OUT)
                acc = ag.dot(w, a.T, acc)
    return acc


@ag.kernel
def int8_few(
    A: ag.half["M K"],
    W: i8["N K"],
    S: ag.float["N"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 8,
    BN: int = 16,
    STAGES: int = 3,
    WARPS: int = 4,
):
    """C[m, n] = S[n] * sum over k of A[m, k] * W[n, k], and Bias[n].

    WARPS (2 or 4) share the columns of a step of K, and what they have is added up at
    the end.
    """
    M, K = A.shape
    N = W.shape[0]
    STEP = 256 * WARPS
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, STEP), w=i8.tile(BN, STEP))
    sums1 = ag.ring(1, sum=f32.tile(BN, BM))
    sums = (sums1,)
    if WARPS == 4:
        sums2 = ag.ring(1, sum=f32.tile(BN, BM))
        sums3 = ag.ring(1, sum=f32.tile(BN, BM))
        sums = (sums1, sums2, sums3)

    with ag.role("load", warps=1):
        for k in ag.range(0, K, STEP):
            with ring.fill() as slot:
                slot.a.load(A[m:, k:])
                slot.w.load(W[n:, k:], evict="first")

    for i in ag.static_range(WARPS):
        with ag.role(f"math{i}", warps=1):
            acc = part_of_sum(ring, i, ag.cdiv(K, STEP), BM, BN, WARPS, A.dtype)
            if i > 0:
                with sums[i - 1].fill() as slot:
                    slot.sum.store(acc)
            else:
                for part in sums:
                    with part.drain() as slot:
                        acc = acc + slot.sum.load()
                acc = acc * ag.load(S[n:], (BN,)).to(f32)
                if Bias is not None:
                    acc = acc + ag.load(Bias[n:], (BN,)).to(f32)
                C[m:, n:] = acc.T.to(C.dtype)


@ag.reference
def int8_few_reference(A, W, S, Bias):
    """The product, scaled by columns."""
    out = A @ W.T * S
    return out if Bias is None else out + Bias


@ag.kernel
def int8_weights(
    W: i8["N K"],
    S: ag.float["N"],
    Y: ag.half["N K"],
    *,
    BN: int = 16,
    BK: int = 256,
    WARPS: int = 4,
):
    """Y[n, k] = W[n, k] * S[n]."""
    N, K = W.shape
    ag.launch(warps=WARPS)
    bn, bk = ag.block(ag.cdiv(N, BN), ag.cdiv(K, BK))
    n, k = bn * BN, bk * BK
    s = ag.load(S[n:], (BN,)).to(f32)
    Y[n:, k:] = (ag.load(W[n:, k:], (BN, BK)).to(f32) * s).to(Y.dtype)


@ag.reference
def int8_weights_reference(W, S):
    """The numbers that the weights are."""
    return W * S[:, None]
