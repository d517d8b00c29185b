"""Root-mean-square norm as one writes it first: a block per row, two passes.

The first pass adds the squares of the row, the second writes. Each takes BN columns at
a time. Rows may be of any length.
"""

import argus as ag
from argus import f32


@ag.kernel
def rmsnorm_passes(
    X: ag.float["M N"],
    W: ag.float["N"],
    Y: ag.float["M N"],
    eps: f32 = 1e-6,
    *,
    BN: int = 256,
    ROWS: int = 1,
    WARPS: int = 4,
    MIN_BLOCKS: int = 1,
):
    """Y[m, n] = X[m, n] / sqrt(mean over n of X**2 + eps) * W[n]."""
    M, N = X.shape
    ag.require(N > 0, "a mean over no columns is not defined")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    m = ag.block(ag.cdiv(M, ROWS)) * ROWS
    total = ag.zeros((ROWS,), f32)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m:, n:], (ROWS, BN)).to(f32)
        total = total + ag.sum(x * x, "N")
    root = ag.sqrt(total / N + eps)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m:, n:], (ROWS, BN)).to(f32)
        w = ag.load(W[n:], (BN,)).to(f32)
        Y[m:, n:] = (x / root * w).to(Y.dtype)
