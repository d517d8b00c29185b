"""Weights of four bits as numbers of 16, for products of so many rows that it pays.

The numbers are those that `int4_many` and `mxfp4_many` make of each tile of weights for
each tile of rows.
"""

import argus as ag
from argus import u8, u16
from argus.kernels.four_bit.many import (
    by_group,
    half_powers,
    int4_numbers,
    mxfp4_numbers,
)


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
    """Y[n, k] = (q[n, k] - z[n, k // GROUP]) * S[n, k // GROUP]; see `int4_few`."""
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
    """Y[n, k] = q[n, k] * 2**(S[n, k // 32] - 127); see `mxfp4_few`."""
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
