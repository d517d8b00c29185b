"""Layer normalisation over rows, with weight and bias; one pass over memory.

A block holds one row of at most BN elements in registers. Columns past the end are
loaded as 0 and taken out of the sum of squares by hand: 0 - mean is not 0.
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
    BN: int = 4096,
    WARPS: int = 4,
):
    """Y[m, n] = (X[m, n] - mean) * rsqrt(variance + eps) * W[n] + B[n]."""
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    ag.launch(warps=WARPS)
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,)).to(f32)
    mean = ag.sum(x, "N") / N
    centred = ag.where(ag.index(x, "N") < N, x - mean, 0.0)
    scale = ag.rsqrt(ag.sum(centred * centred, "N") / N + eps)
    w = ag.load(W[0:], (BN,)).to(f32)
    b = ag.load(B[0:], (BN,)).to(f32)
    Y[m, 0:] = (centred * scale * w + b).to(Y.dtype)


@ag.reference
def reference(X, W, B, eps=1e-5):
    """The same in numpy."""
    centred = X - X.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / (variance + eps) ** 0.5 * W + B


@ag.baseline
def in_torch(X, W, B, eps=1e-5):
    """What `argus bench` times beside the kernel."""
    import torch

    return torch.nn.functional.layer_norm(X, W.shape, W, B, eps)
