"""Products of a few rows with weights of four bits: C[m, n] = sum of A[m, k] * B[n, k].

Weights are read once, as they are packed, and become numbers in registers, where the
tensor cores read them: the rows of `mma` are rows of W, and its columns rows of A.

Four numbers follow each other in 16 bits, the lowest bits first, so that number j of
each lies at the same place of all of them, and two neighbours are one register of
numbers j. Their sum over the columns of W meets every fourth column of A from j on.
"""

import argus as ag
from argus import f32, u16


@ag.inline
def pairs(a):
    """Columns 0, 4, ... of A, then 1, 5, ...; and columns 2, 6, ..., then 3, 7, ..."""
    ROWS, K = a.shape
    apart = ag.reshape(a, (ROWS, K // 4, 4), dims="M _ _")
    low, high = ag.split(apart, 2, 2)
    return one_after_the_other(low), one_after_the_other(high)


@ag.inline
def one_after_the_other(a):
    """The first of each two columns, then the second."""
    ROWS, K, _ = a.shape
    first, second = ag.split(a, 2, 2)
    first = ag.reshape(first, (ROWS, K), dims="M _")
    return ag.join(first, ag.reshape(second, (ROWS, K), dims="M _"), 1)


@ag.inline
def numbers(w, SIGNED, OUT):
    """Numbers 0 of each 16 bits, then 1; and numbers 2, then 3; from -8 to 7."""
    w = ag.rename(w, "N _")
    if SIGNED:
        w = w ^ 0x8888
    low = ag.join(w & 15, (w >> 4) & 15, 1).to(OUT) - 8.0
    high = ag.join((w >> 8) & 15, (w >> 12) & 15, 1).to(OUT) - 8.0
    return low, high


@ag.kernel
def int4_few(
    A: ag.half["M K"],
    W: u16["N U"],
    S: ag.half["N G"],
    C: ag.half["M N"],
    Zeros: ag.half["N G"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    GROUP: int = 128,
    SIGNED: bool = False,
    BM: int = 8,
    BN: int = 16,
    STAGES: int = 4,
    WARPS: int = 4,
    CLUSTER: int = 1,
):
    """C = A B^T + Bias, B[n, k] = (q[n, k] - z[n, k // GROUP]) * S[n, k // GROUP].

    q is number k % 4 of W[n, k // 4], from 0 to 15, and z from Zeros, or 8. SIGNED: q
    is from -8 to 7 in two's complement, and z is 0 where there are no Zeros. GROUP: 32,
    64 or a multiple of 128. WARPS (2 or 4) share the columns of a step of K, and what
    they have is added up at the end. CLUSTER: blocks that share tiles of A.
    """
    M, K = A.shape
    N = W.shape[0]
    PART = min(GROUP, 128)
    assert GROUP % PART == 0 and 128 % PART == 0, "groups are whole parts of a step"
    EACH = 256 // PART
    BK = PART * EACH * WARPS
    ag.require(ag.dim("U") * 4 == K, "four numbers in 16 bits")
    ag.require(ag.dim("G") * GROUP == K, "whole groups")
    ag.cluster(CLUSTER)
    bn, bm = ag.block_tile(ag.cdiv(N, BN), ag.cdiv(M, BM), group=CLUSTER)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), w=u16.tile(BN, BK // 4))
    sums1 = ag.ring(1, sum=f32.tile(BN, BM))
    sums = (sums1,)
    if WARPS == 4:
        sums2 = ag.ring(1, sum=f32.tile(BN, BM))
        sums3 = ag.ring(1, sum=f32.tile(BN, BM))
        sums = (sums1, sums2, sums3)

    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:], multicast=CLUSTER)
                slot.w.load(W[bn * BN :, k // 4 :], evict="first")

    for i in ag.static_range(WARPS):
        with ag.role(f"math{i}", warps=1):
            acc = ag.zeros((BN, BM), f32, dims="N M")
            ones = ag.full((BN, 16), 1.0, A.dtype, dims="N _")
            for t in ag.range(0, ag.cdiv(K, BK)):
                with ring.drain() as slot:
                    first = (t * WARPS + i) * EACH
                    for p in ag.range(first, first + EACH, unroll=1):
                        at = (p - t * WARPS * EACH) * PART
                        g = p * PART // GROUP
                        s = ag.load(S[bn * BN :, g], (BN,)).to(f32)
                        part = ag.zeros((BN, BM), f32, dims="N M")
                        rows = ag.zeros((BN, BM), f32, dims="N M")
                        for u in ag.static_range(PART // 32):
                            c = at + 32 * u
                            layout = ag.layouts.blocked((BM, 32), 32, 8)
                            a = pairs(slot.a[:, c : c + 32].load(layout=layout))
                            w = slot.w[:, c // 4 : c // 4 + 8].load()
                            low, high = numbers(w, SIGNED, A.dtype)
                            part = ag.dot(low, a[0].T, part)
                            part = ag.dot(high, a[1].T, part)
                            if Zeros is not None:
                                rows = ag.dot(ones, a[0].T, rows)
                                rows = ag.dot(ones, a[1].T, rows)
                        if Zeros is not None:
                            zero = ag.load(Zeros[bn * BN :, g], (BN,)).to(f32)
                            part = part - rows * (zero if SIGNED else zero - 8.0)
                        acc = acc + part * s
            if i > 0:
                with sums[i - 1].fill() as slot:
                    slot.sum.store(acc)
            else:
                for j in ag.static_range(WARPS - 1):
                    with sums[j].drain() as slot:
                        acc = acc + slot.sum.load()
                if Bias is not None:
                    acc = acc + ag.load(Bias[bn * BN :], (BN,)).to(f32)
                C[bm * BM :, bn * BN :] = acc.T.to(C.dtype)


@ag.reference
def int4_few_reference(A, W, S, Zeros, Bias, GROUP, SIGNED):
    """The sum over each of four numbers in 16 bits."""
    import numpy as np

    (N, U), M = W.shape, A.shape[0]
    w = W.astype(np.int32)
    w = w ^ 0x8888 if SIGNED else w
    a = A.reshape(M, U, 4)
    scale = np.repeat(S, GROUP // 4, axis=1)
    zero = 0
    if Zeros is not None:
        zero = np.repeat(Zeros, GROUP // 4, axis=1) - (0 if SIGNED else 8)
    out = np.zeros((M, N))
    for j in range(4):
        out = out + a[:, :, j] @ ((((w >> (4 * j)) & 15) - 8 - zero) * scale).T
    return out if Bias is None else out + Bias
