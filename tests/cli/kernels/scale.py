"""A kernel of a file: Y = a * X, and another one with a mistake next door."""

import argus as ag
from argus import f32


@ag.kernel
def scale(X: ag.float["M N"], Y: ag.float["M N"], a: f32 = 2.0, *, BN: int = 64):
    """One row per block."""
    M, N = X.shape
    ag.launch(warps=1)
    m, n = ag.block(M, ag.cdiv(N, BN))
    Y[m, n * BN :] = (ag.load(X[m, n * BN :], (BN,)).to(f32) * a).to(Y.dtype)
