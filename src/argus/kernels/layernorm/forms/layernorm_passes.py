"""Layer norm as one writes it first: a block per row, three passes over memory.

The first pass adds up the row, the second the squares of distances from its mean, the
third writes. Each takes BN columns at a time. Columns past the end are loaded as 0 and
taken out of the squares, since 0 - mean is not 0. Rows may be of any length.
"""

import argus as ag
from argus import f32


@ag.kernel
def layernorm_passes(
    X: ag.float["M N"],
    W: ag.float["N"],
    B: ag.float["N"],
    Y: ag.float["M N"],
    eps: f32 = 1e-5,
    *,
    BN: int = 256,
    ROWS: int = 1,
    WARPS: int = 4,
    MIN_BLOCKS: int = 1,
):
    """Y[m, n] = (X[m, n] - mean) * rsqrt(variance + eps) * W[n] + B[n]."""
    M, N = X.shape
    ag.require(N > 0, "a mean over no columns is not defined")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    m = ag.block(ag.cdiv(M, ROWS)) * ROWS
    total = ag.zeros((ROWS,), f32)
    for n in ag.range(0, N, BN):
        total = total + ag.sum(ag.load(X[m:, n:], (ROWS, BN)).to(f32), "N")
    mean = total / N
    squares = ag.zeros((ROWS,), f32)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m:, n:], (ROWS, BN)).to(f32)
        centred = ag.where(n + ag.index(x, "N") < N, x - mean, 0.0)
        squares = squares + ag.sum(centred * centred, "N")
    scale = ag.rsqrt(squares / N + eps)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m:, n:], (ROWS, BN)).to(f32)
        w = ag.load(W[n:], (BN,)).to(f32)
        bias = ag.load(B[n:], (BN,)).to(f32)
        Y[m:, n:] = ((x - mean) * scale * w + bias).to(Y.dtype)
