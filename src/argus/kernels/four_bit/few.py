"""Products of a few rows with weights of four bits: C[m, n] = sum of A[m, k] * B[n, k].

Weights are read once, as they are packed, and become numbers in registers, where the
tensor cores read them: the rows of `mma` are rows of W, and its columns rows of A.

Four numbers follow each other in 16 bits, the lowest bits first, so that number j of
each lies at the same place of all of them, and two neighbours are one register of
numbers j. Their sum over the columns of W meets every fourth column of A from j on.
"""

import argus as ag
from argus import f32, i16, u8, u16


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


@ag.inline
def twice_numbers(w, SIGNED, OUT):
    """Twice the numbers of e2m1, in the order of `numbers`."""
    w = ag.rename(w, "N _")
    low = ag.join(w & 15, (w >> 4) & 15, 1).to(i16)
    high = ag.join((w >> 8) & 15, (w >> 12) & 15, 1).to(i16)
    return ag.twice_e2m1(low).to(OUT), ag.twice_e2m1(high).to(OUT)


@ag.inline
def as_it_is(s):
    """A scale."""
    return s.to(f32)


@ag.inline
def half_of_power(s):
    """Half of a scale of e8m0."""
    return ag.exp2(s.to(f32) - 128.0)


@ag.inline
def load_tiles(ring, A, W, m, n, BK):
    """The steps of K of rows m of A and rows n of W."""
    for k in ag.range(0, A.shape[1], BK):
        with ring.fill() as slot:
            slot.a.load(A[m:, k:])
            slot.w.load(W[n:, k // 4 :], evict="first")


@ag.inline
def sum_of_parts(ring, i, K, S, Zeros, n, how):
    """What warp i has of a tile: the sum over its columns of each step of K.

    ``how`` become NUMBERS of what is packed, and what SCALE is of an element of S.
    """
    NUMBERS, SCALE, GROUP, SIGNED, OUT, BM, BN, WARPS = how
    PART = min(GROUP, 128)
    assert GROUP % PART == 0 and 128 % PART == 0, "groups are whole parts of a step"
    EACH = 256 // PART
    acc = ag.zeros((BN, BM), f32, dims="N M")
    ones = ag.full((BN, 16), 1.0, OUT, dims="N _")
    for t in ag.range(0, ag.cdiv(K, 256 * WARPS)):
        with ring.drain() as slot:
            first = (t * WARPS + i) * EACH
            for p in ag.range(first, first + EACH, unroll=EACH):
                at = i * 256 + (p - first) * PART
                g = p * PART // GROUP
                s = SCALE(ag.load(S[n:, g], (BN,)))
                part = ag.zeros((BN, BM), f32, dims="N M")
                rows = ag.zeros((BN, BM), f32, dims="N M")
                for u in ag.static_range(PART // 32):
                    c = at + 32 * u
                    layout = ag.layouts.blocked((BM, 32), 32, 8)
                    a = pairs(slot.a[:, c : c + 32].load(layout=layout))
                    w = slot.w[:, c // 4 : c // 4 + 8].load()
                    low, high = NUMBERS(w, SIGNED, OUT)
                    part = ag.dot(low, a[0].T, part)
                    part = ag.dot(high, a[1].T, part)
                    if Zeros is not None:
                        rows = ag.dot(ones, a[0].T, rows)
                        rows = ag.dot(ones, a[1].T, rows)
                if Zeros is not None:
                    zero = ag.load(Zeros[n:, g], (BN,)).to(f32)
                    part = part - rows * (zero if SIGNED else zero - 8.0)
                acc = acc + part * s
    return acc


@ag.inline
def store_sum(acc, i, sums, C, Bias, m, n):
    """Warp 0 adds up what all warps have, and stores it."""
    if i > 0:
        with sums[i - 1].fill() as slot:
            slot.sum.store(acc)
    else:
        for part in sums:
            with part.drain() as slot:
                acc = acc + slot.sum.load()
        if Bias is not None:
            acc = acc + ag.load(Bias[n:], (acc.shape[0],)).to(f32)
        C[m:, n:] = acc.T.to(C.dtype)


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
):
    """C = A B^T + Bias, B[n, k] = (q[n, k] - z[n, k // GROUP]) * S[n, k // GROUP].

    q is number k % 4 of W[n, k // 4], from 0 to 15, and z from Zeros, or 8. SIGNED: q
    is from -8 to 7 in two's complement, and z is 0 where there are no Zeros. GROUP: 32,
    64 or a multiple of 128. WARPS (2 or 4) share the columns of a step of K, and what
    they have is added up at the end.
    """
    M, K = A.shape
    N = W.shape[0]
    ag.require(ag.dim("U") * 4 == K, "four numbers in 16 bits")
    ag.require(ag.dim("G") * GROUP == K, "whole groups")
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, 256 * WARPS), w=u16.tile(BN, 64 * WARPS))
    sums1 = ag.ring(1, sum=f32.tile(BN, BM))
    sums = (sums1,)
    if WARPS == 4:
        sums2 = ag.ring(1, sum=f32.tile(BN, BM))
        sums3 = ag.ring(1, sum=f32.tile(BN, BM))
        sums = (sums1, sums2, sums3)

    with ag.role("load", warps=1):
        load_tiles(ring, A, W, m, n, 256 * WARPS)

    for i in ag.static_range(WARPS):
        with ag.role(f"math{i}", warps=1):
            how = (numbers, as_it_is, GROUP, SIGNED, A.dtype, BM, BN, WARPS)
            acc = sum_of_parts(ring, i, K, S, Zeros, n, how)
            store_sum(acc, i, sums, C, Bias, m, n)


@ag.kernel
def mxfp4_few(
    A: ag.half["M K"],
    W: u16["N U"],
    S: u8["N G"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 8,
    BN: int = 16,
    STAGES: int = 4,
    WARPS: int = 4,
):
    """C = A B^T + Bias, B[n, k] = q[n, k] * 2**(S[n, k // 32] - 127).

    q is number k % 4 of W[n, k // 4], in e2m1. The rest is as in `int4_few`.
    """
    M, K = A.shape
    N = W.shape[0]
    ag.require(ag.dim("U") * 4 == K, "four numbers in 16 bits")
    ag.require(ag.dim("G") * 32 == K, "whole groups")
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, 256 * WARPS), w=u16.tile(BN, 64 * WARPS))
    sums1 = ag.ring(1, sum=f32.tile(BN, BM))
    sums = (sums1,)
    if WARPS == 4:
        sums2 = ag.ring(1, sum=f32.tile(BN, BM))
        sums3 = ag.ring(1, sum=f32.tile(BN, BM))
        sums = (sums1, sums2, sums3)

    with ag.role("load", warps=1):
        load_tiles(ring, A, W, m, n, 256 * WARPS)

    for i in ag.static_range(WARPS):
        with ag.role(f"math{i}", warps=1):
            how = (twice_numbers, half_of_power, 32, False, A.dtype, BM, BN, WARPS)
            acc = sum_of_parts(ring, i, K, S, None, n, how)
            store_sum(acc, i, sums, C, Bias, m, n)


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


@ag.reference
def mxfp4_few_reference(A, W, S, Bias):
    """The same of numbers of e2m1."""
    import ml_dtypes
    import numpy as np

    (N, U), M = W.shape, A.shape[0]
    w = W.astype(np.int32)
    a = A.reshape(M, U, 4)
    scale = np.repeat(np.exp2(S.astype(np.float32) - 127), 8, axis=1)
    out = np.zeros((M, N))
    for j in range(4):
        codes = ((w >> (4 * j)) & 15).astype(np.uint8)
        q = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
        out = out + a[:, :, j] @ (q * scale).T
    return out if Bias is None else out + Bias
