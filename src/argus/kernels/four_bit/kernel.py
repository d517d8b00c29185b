"""Products with weights of four bits: C[m, n] = sum of A[m, k] * B[n, k].

Packed weights become numbers of 16 bits in the registers of which `wgmma` reads them:
its rows are rows of W, and its columns rows of A. Four numbers follow each other in 16
bits, the lowest bits first, so that number j of each lies at the same place of all of
them, and two neighbours are one register of numbers j. Their sum over the columns of W
meets every fourth column of A from j on, which `every_fourth` puts side by side.

Numbers are scaled before they are rounded. Where there are few tiles, K is cut, too,
and `gemm_sum` adds up.
"""

import argus as ag
from argus import f32, i16, i32, u8, u16


@ag.kernel
def every_fourth(
    A: ag.half["M K"],
    Y: ag.half["J M U"],
    *,
    BM: int = 4,
    BK: int = 512,
    WARPS: int = 4,
):
    """Y[j, m, u] = A[m, 4 u + j], j < 4."""
    M, K = A.shape
    ag.require(Y.shape[0] == 4, "four columns make one of each")
    ag.require(Y.shape[2] * 4 == K, "four columns make one of each")
    ag.launch(warps=WARPS)
    bm, bk = ag.block(ag.cdiv(M, BM), ag.cdiv(K, BK))
    m, k = bm * BM, bk * BK
    a = ag.reshape(ag.load(A[m:, k:], (BM, BK)), (BM, BK // 4, 4), dims="M U _")
    even, odd = ag.split(a, 2, 2)
    for j in ag.static_range(4):
        part = ag.split(odd if j // 2 else even, 2, 2)[j % 2]
        Y[j, m:, k // 4 :] = ag.reshape(part, (BM, BK // 4), dims="M U")


@ag.reference
def every_fourth_reference(A):
    """Four matrices."""
    M, K = A.shape
    return A.reshape(M, K // 4, 4).transpose(2, 0, 1)


@ag.inline
def int4_numbers(q, s, zero, SIGNED):
    """The weights that numbers from 0 to 15 and their scales are, of these' type."""
    q = q.to(s.dtype) - 8.0
    if zero is not None:
        q = q - (zero if SIGNED else zero - 8.0)
    return q * s


@ag.inline
def mxfp4_numbers(q, s, zero, SIGNED):
    """The same of e2m1 and halves of powers of two."""
    return ag.twice_e2m1(q.to(i16)).to(s.dtype) * s


@ag.inline
def as_it_is(s, T):
    """Scales."""
    return s


@ag.inline
def halves_of_powers(s, T):
    """Halves of scales of e8m0."""
    return ag.exp2(s.to(f32) - 128.0).to(T)


@ag.inline
def by_group(S, n, u, BN, BU, GROUP):
    """An element of S for rows n and each group of columns u to u + BU of W."""
    return ag.load(S[n:, 4 * u // GROUP :], (BN, max(1, 4 * BU // GROUP)))


@ag.inline
def multiplied(ring, S, Zeros, n, first, steps, how, SCALE, T):
    """The sum of ``steps`` steps of columns of W from ``first`` on."""
    NUMBERS, SIGNED, GROUP, BM, BN, BU = how
    GROUPS = max(1, 4 * BU // GROUP)
    acc = ag.zeros((BN, BM), f32, dims="N M")
    for i in ag.range(0, steps):
        u = (first + i) * BU
        s = SCALE(by_group(S, n, u, BN, BU, GROUP), T)
        zero = None if Zeros is None else by_group(Zeros, n, u, BN, BU, GROUP)
        with ring.drain() as slot:
            w = slot.w.load()
            if SIGNED:
                w = w ^ 0x8888
            for j in ag.static_range(4):
                q = ag.reshape(
                    (w >> 4 * j if j else w) & 15,
                    (BN, GROUPS, BU // GROUPS),
                    dims="N G U",
                )
                b = ag.reshape(NUMBERS(q, s, zero, SIGNED), (BN, BU), dims="N U")
                acc = ag.dot(b, slot.a[j].T, acc)
    return acc


@ag.inline
def load_steps(ring, A, W, m, n, first, steps, BU):
    """Steps of columns of rows m of A and rows n of W, which no other block reads."""
    for i in ag.range(0, steps):
        u = (first + i) * BU
        with ring.fill() as slot:
            slot.a.load(A[0:, m:, u:])
            slot.w.load(W[n:, u:], evict="first")


@ag.inline
def biased(acc, Bias, n):
    """A tile (N, M) and its bias, if any."""
    if Bias is not None:
        acc = acc + ag.load(Bias[n:], (acc.shape[0],)).to(f32)
    return acc


@ag.kernel
def int4_small(
    A: ag.half["J M U"],
    W: u16["N U"],
    S: ag.half["N G"],
    C: ag.half["M N"],
    Zeros: ag.half["N G"] | None = None,
    Bias: ag.float["N"] | None = None,
    *,
    GROUP: int = 128,
    SIGNED: bool = False,
    BM: int = 64,
    BN: int = 64,
    BU: int = 32,
    STAGES: int = 4,
):
    """C = A B^T + Bias, B[n, k] = (q[n, k] - z[n, k // GROUP]) * S[n, k // GROUP].

    Column k of A is A[k % 4, m, k // 4]. q is number k % 4 of W[n, k // 4], from 0 to
    15, and z from Zeros, or 8. SIGNED: q is from -8 to 7 in two's complement, and z is
    0 where there are no Zeros. GROUP: 32, 64 or a multiple of 128.
    """
    _, M, U = A.shape
    N = W.shape[0]
    assert GROUP % (4 * BU) == 0 or 4 * BU % GROUP == 0, "steps are groups, or parts"
    ag.require(A.shape[0] == 4, "a matrix for each of four columns")
    ag.require(ag.dim("G") * (GROUP // 4) == U, "whole groups")
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n, steps = bm * BM, bn * BN, ag.cdiv(U, BU)
    ring = ag.ring(STAGES, a=A.dtype.tile(4, BM, BU), w=u16.tile(BN, BU))
    how = (int4_numbers, SIGNED, GROUP, BM, BN, BU)

    with ag.role("load", warps=1):
        load_steps(ring, A, W, m, n, 0, steps, BU)

    with ag.role("math", warpgroups=BN // 64):
        T = A.dtype
        acc = multiplied(ring, S, Zeros, n, 0, steps, how, as_it_is, T)
        C[m:, n:] = biased(acc, Bias, n).T.to(C.dtype)


@ag.kernel
def int4_parts(
    A: ag.half["J M U"],
    W: u16["N U"],
    S: ag.half["N G"],
    Sums: f32["P M N"],
    steps: i32,
    Zeros: ag.half["N G"] | None = None,
    *,
    GROUP: int = 128,
    SIGNED: bool = False,
    BM: int = 64,
    BN: int = 64,
    BU: int = 32,
    STAGES: int = 4,
):
    """Sums[p, m, n]: the part of ``steps`` steps of K, from step p * steps on.

    Like `int4_small`.
    """
    _, M, U = A.shape
    N = W.shape[0]
    assert GROUP % (4 * BU) == 0 or 4 * BU % GROUP == 0, "steps are groups, or parts"
    ag.require(A.shape[0] == 4, "a matrix for each of four columns")
    ag.require(ag.dim("G") * (GROUP // 4) == U, "whole groups")
    ag.require(steps > 0, "no part is empty")
    p, bn, bm = ag.block(Sums.shape[0], ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n, first = bm * BM, bn * BN, p * steps
    ring = ag.ring(STAGES, a=A.dtype.tile(4, BM, BU), w=u16.tile(BN, BU))
    how = (int4_numbers, SIGNED, GROUP, BM, BN, BU)

    with ag.role("load", warps=1):
        load_steps(ring, A, W, m, n, first, steps, BU)

    with ag.role("math", warpgroups=BN // 64):
        T = A.dtype
        acc = multiplied(ring, S, Zeros, n, first, steps, how, as_it_is, T)
        Sums[p, m:, n:] = acc.T


@ag.kernel
def mxfp4_small(
    A: ag.half["J M U"],
    W: u16["N U"],
    S: u8["N G"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    *,
    BM: int = 64,
    BN: int = 64,
    BU: int = 32,
    STAGES: int = 4,
):
    """C = A B^T + Bias, B[n, k] = q[n, k] * 2**(S[n, k // 32] - 127).

    Column k of A is A[k % 4, m, k // 4], and q number k % 4 of W[n, k // 4], in e2m1.
    """
    _, M, U = A.shape
    N = W.shape[0]
    ag.require(A.shape[0] == 4, "a matrix for each of four columns")
    ag.require(U % 8 == 0, "whole groups")
    ag.require(ag.dim("G") == U // 8, "a scale for each group")
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n, steps = bm * BM, bn * BN, ag.cdiv(U, BU)
    ring = ag.ring(STAGES, a=A.dtype.tile(4, BM, BU), w=u16.tile(BN, BU))
    how = (mxfp4_numbers, False, 32, BM, BN, BU)

    with ag.role("load", warps=1):
        load_steps(ring, A, W, m, n, 0, steps, BU)

    with ag.role("math", warpgroups=BN // 64):
        T = A.dtype
        acc = multiplied(ring, S, None, n, 0, steps, how, halves_of_powers, T)
        C[m:, n:] = biased(acc, Bias, n).T.to(C.dtype)


@ag.kernel
def mxfp4_parts(
    A: ag.half["J M U"],
    W: u16["N U"],
    S: u8["N G"],
    Sums: f32["P M N"],
    steps: i32,
    *,
    BM: int = 64,
    BN: int = 64,
    BU: int = 32,
    STAGES: int = 4,
):
    """Sums[p, m, n]: the part of ``steps`` steps of K, from step p * steps on.

    Like `mxfp4_small`.
    """
    _, M, U = A.shape
    N = W.shape[0]
    ag.require(A.shape[0] == 4, "a matrix for each of four columns")
    ag.require(U % 8 == 0, "whole groups")
    ag.require(ag.dim("G") == U // 8, "a scale for each group")
    ag.require(steps > 0, "no part is empty")
    p, bn, bm = ag.block(Sums.shape[0], ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n, first = bm * BM, bn * BN, p * steps
    ring = ag.ring(STAGES, a=A.dtype.tile(4, BM, BU), w=u16.tile(BN, BU))
    how = (mxfp4_numbers, False, 32, BM, BN, BU)

    with ag.role("load", warps=1):
        load_steps(ring, A, W, m, n, first, steps, BU)

    with ag.role("math", warpgroups=BN // 64):
        T = A.dtype
        acc = multiplied(ring, S, None, n, first, steps, how, halves_of_powers, T)
        Sums[p, m:, n:] = acc.T


@ag.reference
def int4_small_reference(A, W, S, Zeros, Bias, GROUP, SIGNED):
    """The sum over each of four numbers in 16 bits."""
    import numpy as np

    N, M = W.shape[0], A.shape[1]
    w = W.astype(np.int32)
    w = w ^ 0x8888 if SIGNED else w
    scale = np.repeat(S, GROUP // 4, axis=1)
    zero = 0
    if Zeros is not None:
        zero = np.repeat(Zeros, GROUP // 4, axis=1) - (0 if SIGNED else 8)
    out = np.zeros((M, N))
    for j in range(4):
        b = (((w >> (4 * j)) & 15) - 8 - zero) * scale
        out = out + A[j] @ b.T
    return out if Bias is None else out + Bias


@ag.reference
def int4_parts_reference(A, W, S, Zeros, P, steps, GROUP, SIGNED, BU):
    """The same of each part; those past the end of K are 0."""
    import numpy as np

    (N, U), M = W.shape, A.shape[1]
    w = W.astype(np.int32)
    w = w ^ 0x8888 if SIGNED else w
    scale = np.repeat(S, GROUP // 4, axis=1)
    zero = 0
    if Zeros is not None:
        zero = np.repeat(Zeros, GROUP // 4, axis=1) - (0 if SIGNED else 8)
    ends = [(p * steps * BU, min(U, (p + 1) * steps * BU)) for p in range(P)]
    out = np.zeros((P, M, N))
    for j in range(4):
        b = (((w >> (4 * j)) & 15) - 8 - zero) * scale
        out = out + np.stack([A[j, :, i:e] @ b[:, i:e].T for i, e in ends])
    return out


@ag.reference
def mxfp4_small_reference(A, W, S, Bias):
    """The sum over each of four numbers in 16 bits."""
    import ml_dtypes
    import numpy as np

    N, M = W.shape[0], A.shape[1]
    w = W.astype(np.int32)
    scale = np.repeat(np.exp2(S.astype(np.float32) - 127), 8, axis=1)
    out = np.zeros((M, N))
    for j in range(4):
        codes = ((w >> (4 * j)) & 15).astype(np.uint8)
        b = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32) * scale
        out = out + A[j] @ b.T
    return out if Bias is None else out + Bias


@ag.reference
def mxfp4_parts_reference(A, W, S, P, steps, BU):
    """The same of each part; those past the end of K are 0."""
    import ml_dtypes
    import numpy as np

    (N, U), M = W.shape, A.shape[1]
    w = W.astype(np.int32)
    scale = np.repeat(np.exp2(S.astype(np.float32) - 127), 8, axis=1)
    ends = [(p * steps * BU, min(U, (p + 1) * steps * BU)) for p in range(P)]
    out = np.zeros((P, M, N))
    for j in range(4):
        codes = ((w >> (4 * j)) & 15).astype(np.uint8)
        b = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32) * scale
        out = out + np.stack([A[j, :, i:e] @ b[:, i:e].T for i, e in ends])
    return out
