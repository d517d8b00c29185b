"""Y = 2 * X, with its reference."""

import argus as ag
from argus import f32


@ag.kernel
def scale(X: ag.float["M N"], Y: ag.float["M N"], *, BM: int = 1, BN: int = 128):
    """Y[m, n] = 2 * X[m, n]."""
    M, N = X.shape
    ag.launch(warps=1)
    m, n = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[m * BM :, n * BN :], (BM, BN)).to(f32)
    Y[m * BM :, n * BN :] = (x * 2.0).to(Y.dtype)


@ag.reference
def scale_reference(X):
    """Twice of each element."""
    return 2.0 * X
