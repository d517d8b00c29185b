"""Row-wise normalisations: softmax and root-mean-square norm, one pass over memory.

A block holds ROWS whole rows of at most BN columns in registers; missing columns are
filled with the neutral element. Rows are read and written once. MIN_BLOCKS blocks share
a multiprocessor: one loads while another reduces. Rows of more than 16384 columns
spill a few registers.
"""

import argus as ag
from argus import f32


@ag.kernel
def softmax(
    X: ag.float["M N"],
    Y: ag.float["M N"],
    *,
    BN: int = 8192,
    ROWS: int = 1,
    WARPS: int = 8,
    MIN_BLOCKS: int = 1,
    FOLD: bool = True,
):
    """Y[m, n] = exp(X[m, n] - max) / sum over n of the same.

    FOLD: by powers of two, and a product with the reciprocal of the sum.
    """
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    b = ag.block(ag.cdiv(M, ROWS))
    x = ag.load(X[b * ROWS :, 0:], (ROWS, BN), fill=-ag.inf).to(f32)
    if FOLD:
        e = ag.exp2((x - ag.max(x, "N")) * 1.4426950408889634)
        Y[b * ROWS :, 0:] = (e * ag.rcp(ag.sum(e, "N"))).to(Y.dtype)
    else:
        e = ag.exp(x - ag.max(x, "N"))
        Y[b * ROWS :, 0:] = (e / ag.sum(e, "N")).to(Y.dtype)


@ag.kernel
def rmsnorm(
    X: ag.float["M N"],
    W: ag.float["N"],
    Y: ag.float["M N"],
    eps: f32 = 1e-6,
    *,
    BN: int = 8192,
    ROWS: int = 1,
    WARPS: int = 8,
    MIN_BLOCKS: int = 1,
):
    """Y[m, n] = X[m, n] * rsqrt(mean over n of X**2 + eps) * W[n]."""
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    b = ag.block(ag.cdiv(M, ROWS))
    x = ag.load(X[b * ROWS :, 0:], (ROWS, BN)).to(f32)
    w = ag.load(W[0:], (BN,)).to(f32)
    scale = ag.rsqrt(ag.mean(x * x, "N", N) + eps)
    Y[b * ROWS :, 0:] = (x * scale * w).to(Y.dtype)
