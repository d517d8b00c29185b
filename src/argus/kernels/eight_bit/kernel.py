"""Products with weights of eight bits: C[m, n] = S[n] * sum of A[m, k] * W[n, k].

Weights become numbers of 16 bits, which they are exactly, in the registers of which
`wgmma` reads them: its rows are rows of W, and its columns rows of A. Where there are
few tiles `int8_parts` cuts K, too, and `gemm_sum` adds up. For many rows `int8_weights`
makes numbers of all weights first, and `gemm` multiplies.
"""

import argus as ag
from argus import f32, i8, i32


@ag.inline
def multiplied(ring, steps, T):
    """The sum of so many products (one at least), of which one is always in flight."""
    slot = ring.wait()
    acc = ag.dot(slot.w.load().to(T), slot.a.T)
    for _ in ag.range(1, steps):
        ahead = ring.wait()
        acc = ag.dot(ahead.w.load().to(T), ahead.a.T, acc)
        slot.release()
        slot = ahead
    slot.release()
    return acc


@ag.inline
def load_steps(ring, A, W, m, n, first, steps, BK):
    """Steps of K of rows m of A and rows n of W, which no other block reads."""
    for i in ag.range(0, steps):
        k = (first + i) * BK
        with ring.fill() as slot:
            slot.a.load(A[m:, k:])
            slot.w.load(W[n:, k:], evict="first")


@ag.kernel
def int8_small(
    A: ag.half["M K"],
    W: i8["N K"],
    S: ag.float["N"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 128,
    STAGES: int = 4,
):
    """C[m, n] = S[n] * sum over k of A[m, k] * W[n, k], and Bias[n].

    A warpgroup for each 64 rows of W.
    """
    M, K = A.shape
    N = W.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), w=i8.tile(BN, BK))

    with ag.role("load", warps=1):
        load_steps(ring, A, W, m, n, 0, ag.cdiv(K, BK), BK)

    with ag.role("math", warpgroups=BN // 64):
        acc = multiplied(ring, ag.cdiv(K, BK), A.dtype)
        acc = acc * ag.load(S[n:], (BN,)).to(f32)
        if Bias is not None:
            acc = acc + ag.load(Bias[n:], (BN,)).to(f32)
        C[m:, n:] = acc.T.to(C.dtype)


@ag.reference
def int8_small_reference(A, W, S, Bias):
    """The product, scaled by columns."""
    out = A @ W.T * S
    return out if Bias is None else out + Bias


@ag.kernel
def int8_parts(
    A: ag.half["M K"],
    W: i8["N K"],
    S: ag.float["N"],
    Sums: f32["P M N"],
    steps: i32,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 128,
    STAGES: int = 4,
):
    """Sums[p, m, n]: the part of ``steps`` steps of K, from step p * steps on.

    Like `int8_small`; where there are few tiles, P times as many blocks read W.
    """
    M, N = A.shape[0], W.shape[0]
    ag.require(steps > 0, "the first step of a part is taken before the loop")
    p, bn, bm = ag.block(Sums.shape[0], ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), w=i8.tile(BN, BK))

    with ag.role("load", warps=1):
        load_steps(ring, A, W, m, n, p * steps, steps, BK)

    with ag.role("math", warpgroups=BN // 64):
        acc = multiplied(ring, steps, A.dtype)
        Sums[p, m:, n:] = (acc * ag.load(S[n:], (BN,)).to(f32)).T


@ag.reference
def int8_parts_reference(A, W, S, P, steps, BK):
    """Each part by itself; those past the end of K are 0."""
    import numpy as np

    K = A.shape[1]
    part = steps * BK
    ends = [(p * part, min(K, (p + 1) * part)) for p in range(P)]
    return np.stack([A[:, begin:end] @ W[:, begin:end].T * S for begin, end in ends])


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
