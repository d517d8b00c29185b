"""Layer normalisation over rows, with weight and bias, one pass over memory.

A block holds ROWS whole rows of at most BN columns in registers. Columns past the end
are loaded as 0 and taken out of the squares by hand, since 0 - mean is not 0. The
variance is the mean of squared distances, not a difference of means, which cancels.
"""

import argus as ag
from argus import f32


@ag.kernel
def layernorm(
    X: ag.float["M N"],
    W: ag.float["N"],
    B: ag.float["N"],
    Y: ag.float["M N"],
    eps: f32 = 1e-5,
    *,
    BN: int = 8192,
    ROWS: int = 1,
    WARPS: int = 8,
    MIN_BLOCKS: int = 1,
):
    """Y[m, n] = (X[m, n] - mean) * rsqrt(variance + eps) * W[n] + B[n]."""
    M, N = X.shape
    ag.require(N > 0, "a mean over no columns is not defined")
    ag.require(N <= BN, "a row is held in registers")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    b = ag.block(ag.cdiv(M, ROWS))
    x = ag.load(X[b * ROWS :, 0:], (ROWS, BN)).to(f32)
    centred = ag.where(ag.index(x, "N") < N, x - ag.mean(x, "N", N), 0.0)
    scale = ag.rsqrt(ag.mean(centred * centred, "N", N) + eps)
    w = ag.load(W[0:], (BN,)).to(f32)
    bias = ag.load(B[0:], (BN,)).to(f32)
    Y[b * ROWS :, 0:] = (centred * scale * w + bias).to(Y.dtype)
