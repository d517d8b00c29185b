"""Weights of four bits as numbers of 16, for products of so many rows that it pays.

The numbers are those of `int4_small` and `mxfp4_small`, but that a difference to a zero
is not rounded before it is scaled.
"""

import argus as ag
from argus import f32, i16, u8, u16


@ag.inline
def in_order(w):
    """The four numbers of each 16 bits one after the other along K."""
    even = ag.interleave(w & 15, (w >> 8) & 15, "U")
    odd = ag.interleave((w >> 4) & 15, (w >> 12) & 15, "U")
    return ag.interleave(even, odd, "U").rename("N K")


@ag.inline
def by_group(S, n, g, BN, GROUPS):
    """An element of S for each group of columns g, g + 1, ... of rows n."""
    return ag.load(S[n:, g:], (BN, GROUPS))


@ag.inline
def int4_numbers(w, s, Zeros, n, g, SIGNED):
    """The weights of packed ones and their scales, in the type of these.

    Of rows n and groups g on.
    """
    (BN, BU), GROUPS = w.shape, s.shape[1]
    BK = 4 * BU
    if SIGNED:
        w = w ^ 0x8888
    q = in_order(w).to(s.dtype) - 8.0
    q = ag.reshape(q, (BN, GROUPS, BK // GROUPS), dims="N G _")
    if Zeros is not None:
        zero = by_group(Zeros, n, g, BN, GROUPS).to(f32)
        zero = zero if SIGNED else zero - 8.0
        b = ((q.to(f32) - zero) * s.to(f32)).to(s.dtype)
    else:
        b = q * s
    return ag.reshape(b, (BN, BK), dims="N K")


@ag.inline
def half_powers(S, n, k, BN, BK, T):
    """The scales of rows n and columns k on, halved, in type T."""
    s = by_group(S, n, k // 32, BN, BK // 32).to(f32)
    return ag.exp2(s - 128.0).to(T)


@ag.inline
def mxfp4_numbers(w, s):
    """The weights of packed ones of e2m1 and halves of their scales."""
    BN, BU = w.shape
    q = ag.twice_e2m1(in_order(w).to(i16)).to(s.dtype)
    b = ag.reshape(q, (BN, BU // 8, 32), dims="N G _") * s
    return ag.reshape(b, (BN, 4 * BU), dims="N K")


@ag.kernel
def int4_weights(
    W: u16["N U"],
    S: ag.half["N G"],
    Y: ag.half["N K"],
    Zeros: ag.half["N G"] | None = None,
    *,
    GROUP: int = 128,
    SIGNED: bool = False,
    BN: int = 32,
    BK: int = 128,
    WARPS: int = 4,
):
    """Y[n, k] = (q[n, k] - z[n, k // GROUP]) * S[n, k // GROUP]; see `int4_small`."""
    N, K = Y.shape
    assert GROUP % BK == 0 or BK % GROUP == 0, "groups are tiles of K, or parts of them"
    ag.require(ag.dim("U") * 4 == K, "four numbers in 16 bits")
    ag.require(ag.dim("G") * GROUP == K, "whole groups")
    ag.launch(warps=WARPS)
    bn, bk = ag.block(ag.cdiv(N, BN), ag.cdiv(K, BK))
    n, k = bn * BN, bk * BK
    w = ag.load(W[n:, k // 4 :], (BN, BK // 4))
    s = by_group(S, n, k // GROUP, BN, max(1, BK // GROUP))
    Y[n:, k:] = int4_numbers(w, s, Zeros, n, k // GROUP, SIGNED)


@ag.kernel
def mxfp4_weights(
    W: u16["N U"],
    S: u8["N G"],
    Y: ag.half["N K"],
    *,
    BN: int = 32,
    BK: int = 128,
    WARPS: int = 4,
):
    """Y[n, k] = q[n, k] * 2**(S[n, k // 32] - 127); see `mxfp4_small`."""
    N, K = Y.shape
    ag.require(ag.dim("U") * 4 == K, "four numbers in 16 bits")
    ag.require(ag.dim("G") * 32 == K, "whole groups")
    ag.launch(warps=WARPS)
    bn, bk = ag.block(ag.cdiv(N, BN), ag.cdiv(K, BK))
    n, k = bn * BN, bk * BK
    w = ag.load(W[n:, k // 4 :], (BN, BK // 4))
    Y[n:, k:] = mxfp4_numbers(w, half_powers(S, n, k, BN, BK, Y.dtype))


@ag.reference
def int4_weights_reference(W, S, Zeros, GROUP, SIGNED):
    """The numbers that the weights are."""
    import numpy as np

    N, K = W.shape[0], 4 * W.shape[1]
    w = W.astype(np.int32)
    w = w ^ 0x8888 if SIGNED else w
    q = np.stack([(w >> 4 * j) & 15 for j in range(4)], axis=2).reshape(N, K) - 8
    zero = 0
    if Zeros is not None:
        zero = np.repeat(Zeros, GROUP, axis=1) - (0 if SIGNED else 8)
    return (q - zero) * np.repeat(S, GROUP, axis=1)


@ag.reference
def mxfp4_weights_reference(W, S):
    """The same of numbers of e2m1."""
    import ml_dtypes
    import numpy as np

    N, K = W.shape[0], 4 * W.shape[1]
    w = W.astype(np.int32)
    codes = np.stack([(w >> 4 * j) & 15 for j in range(4)], axis=2).reshape(N, K)
    q = codes.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    return q * np.repeat(np.exp2(S.astype(np.float32) - 127), 32, axis=1)
