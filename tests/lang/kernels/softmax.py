"""Row-wise kernels: softmax, RMS norm with an optional weight, a residual."""

import argus as ag
from argus import f32

ROWS = 4


@ag.kernel
def softmax(X: ag.float["M N"], Y: ag.float["M N"], *, BN: int = 1024):
    """Y = softmax over N, one block for some rows."""
    M, N = X.shape
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(M, ROWS))
    x = ag.load(X[i * ROWS :, 0:], (ROWS, BN), fill=-ag.inf).to(f32)
    top = ag.max(x, "N")
    e = ag.exp(x - top)
    Y[i * ROWS :, 0:] = (e / ag.sum(e, "N")).to(Y.dtype)


@ag.kernel
def rms_norm(
    X: ag.float["M N"],
    Y: ag.float["M N"],
    W: ag.float["N"] | None = None,
    eps: f32 = 1e-5,
    *,
    BN: int = 512,
    ACT: ag.Inline = ag.identity,
):
    M, N = X.shape
    row = ag.block(M)
    total = ag.zeros((BN,), f32)
    for n in ag.range(0, N, BN):
        x = ag.load(X[row, n:], BN).to(f32)
        total += x * x
    scale = ag.rsqrt(ag.sum(total, "N") / N + eps)
    for n in ag.range(0, N, BN):
        y = ag.load(X[row, n : n + BN]).to(f32) * scale
        if W is not None:
            y = y * ag.load(W[n:], BN).to(f32)
        Y[row, n:] = ACT(y).to(Y.dtype)
