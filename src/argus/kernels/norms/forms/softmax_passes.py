"""Softmax as one writes it first: a block per row, three passes over memory.

The first pass finds the maximum of the row, the second the sum of the exponentials,
the third writes. Each takes BN columns at a time. ONLINE does the first two in one
(Milakov and Gimelshein 2018). Rows may be of any length.
"""

import argus as ag
from argus import f32


@ag.kernel
def softmax_passes(
    X: ag.float["M N"],
    Y: ag.float["M N"],
    *,
    BN: int = 256,
    ROWS: int = 1,
    WARPS: int = 4,
    MIN_BLOCKS: int = 1,
    ONLINE: bool = False,
    FOLD: bool = False,
):
    """Y[m, n] = exp(X[m, n] - max) / sum over n of the same.

    FOLD: by powers of two, and a product with the reciprocal of the sum.
    """
    M, N = X.shape
    ag.require(N > 0, "a softmax over no columns is not defined")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    m = ag.block(ag.cdiv(M, ROWS)) * ROWS
    top = ag.full((ROWS,), -3.4028234663852886e38, f32)
    total = ag.zeros((ROWS,), f32)
    if ONLINE:
        for n in ag.range(0, N, BN):
            x = ag.load(X[m:, n:], (ROWS, BN), fill=-ag.inf).to(f32)
            higher = ag.maximum(top, ag.max(x, "N"))
            part = ag.sum(power(x - higher, FOLD), "N")
            total = total * power(top - higher, FOLD) + part
            top = higher
    else:
        for n in ag.range(0, N, BN):
            x = ag.load(X[m:, n:], (ROWS, BN), fill=-ag.inf).to(f32)
            top = ag.maximum(top, ag.max(x, "N"))
        for n in ag.range(0, N, BN):
            x = ag.load(X[m:, n:], (ROWS, BN), fill=-ag.inf).to(f32)
            total = total + ag.sum(power(x - top, FOLD), "N")
    for n in ag.range(0, N, BN):
        x = ag.load(X[m:, n:], (ROWS, BN)).to(f32)
        e = power(x - top, FOLD)
        y = e * ag.rcp(total) if FOLD else e / total
        Y[m:, n:] = y.to(Y.dtype)


@ag.inline
def power(x, FOLD):
    """The exponential function."""
    return ag.exp2(x * 1.4426950408889634) if FOLD else ag.exp(x)
