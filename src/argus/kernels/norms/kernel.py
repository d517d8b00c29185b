"""Row-wise normalisations: softmax and root-mean-square norm, one pass over memory.

A block holds ROWS whole rows of at most BN columns in registers; missing columns are
filled with the neutral element. Rows are read and written once. MIN_BLOCKS blocks share
a multiprocessor: one loads while another reduces. Rows of more than 16384 columns
spill a few registers.

Few long rows are cut into parts of BN columns, which blocks share: `NAME_parts` keeps
of each part what its row needs, and in `NAME_apply` every block merges what there is of
its row, and writes a part. `choice.py` chooses.

The gradient of a softmax Y of rows is Y * (DY - the sum of DY * Y).
"""

import argus as ag
from argus import f32

LOG2E = 1.4426950408889634
LEAST = -3.4028234663852886e38
"""Of f32. A maximum is no less: a difference with it is a number, or infinite."""


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
        e = ag.exp2((x - ag.max(x, "N")) * LOG2E)
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


@ag.kernel
def softmax_backward(
    Y: ag.float["M N"],
    DY: ag.float["M N"],
    DX: ag.float["M N"],
    *,
    BN: int = 4096,
    ROWS: int = 1,
    WARPS: int = 8,
    HELD: bool = True,
):
    """DX[m, n] = Y[m, n] * (DY[m, n] - the sum over n of DY * Y).

    HELD: a row is held in registers; else it is read twice.
    """
    M, N = Y.shape
    if HELD:
        ag.require(N <= BN, "a row is held in registers")
    ag.launch(warps=WARPS)
    m = ag.block(ag.cdiv(M, ROWS)) * ROWS
    if HELD:
        y = ag.load(Y[m:, 0:], (ROWS, BN)).to(f32)
        dy = ag.load(DY[m:, 0:], (ROWS, BN)).to(f32)
        DX[m:, 0:] = (y * (dy - ag.sum(dy * y, "N"))).to(DX.dtype)
    else:
        total = ag.zeros((ROWS,), f32, dims="M")
        for n in ag.range(0, N, BN):
            y = ag.load(Y[m:, n:], (ROWS, BN)).to(f32)
            dy = ag.load(DY[m:, n:], (ROWS, BN)).to(f32)
            total = total + ag.sum(dy * y, "N")
        for n in ag.range(0, N, BN):
            y = ag.load(Y[m:, n:], (ROWS, BN)).to(f32)
            dy = ag.load(DY[m:, n:], (ROWS, BN)).to(f32)
            DX[m:, n:] = (y * (dy - total)).to(DX.dtype)


@ag.reference
def softmax_backward_reference(Y, DY):
    """Without the part of a gradient that moves all scores of a row alike."""
    return Y * (DY - (DY * Y).sum(1)[:, None])


@ag.kernel
def softmax_parts(
    X: ag.float["M N"],
    T: f32["P M"],
    S: f32["P M"],
    *,
    BN: int = 2048,
    WARPS: int = 8,
):
    """T[p, m]: the maximum of part p of row m. S[p, m]: the sum of exp(X - T) in it.

    T is finite, so that a part of nothing but -inf has the sum 0.
    """
    M, N = X.shape
    P = T.shape[0]
    ag.require(T.shape[0] == ag.cdiv(N, BN), "every column is in one part")
    ag.launch(warps=WARPS)
    m, p = ag.block(M, P)
    x = ag.load(X[m, p * BN :], (BN,), fill=-ag.inf).to(f32)
    top = ag.maximum(ag.max(x, "N"), LEAST)
    T[p, m] = top
    S[p, m] = ag.sum(ag.exp2((x - top) * LOG2E), "N")


@ag.reference
def softmax_parts_reference(X, P, BN):
    """Each part by itself."""
    import numpy as np

    N = X.shape[1]
    parts = [X[:, p * BN : min(N, (p + 1) * BN)] for p in range(P)]
    tops = [np.maximum(x.max(-1), LEAST) for x in parts]
    pairs = zip(parts, tops, strict=True)
    sums = [np.exp(x - top[:, None]).sum(-1) for x, top in pairs]
    return np.stack(tops), np.stack(sums)


@ag.kernel
def softmax_apply(
    X: ag.float["M N"],
    T: f32["P M"],
    S: f32["P M"],
    Y: ag.float["M N"],
    *,
    BN: int = 2048,
    BP: int = 256,
    WARPS: int = 8,
):
    """Y[m, n] = exp(X[m, n] - max) / sum, of which T and S are those of parts."""
    M, N = X.shape
    P = T.shape[0]
    ag.require(P > 0, "there is something to merge")
    ag.launch(warps=WARPS)
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,)).to(f32)
    tops = ag.full((BP,), LEAST, f32)
    for p in ag.range(0, P, BP):
        tops = ag.maximum(tops, ag.load(T[p:, m], (BP,), fill=-ag.inf))
    top = ag.max(tops, "P")
    sums = ag.zeros((BP,), f32)
    for p in ag.range(0, P, BP):
        t = ag.load(T[p:, m], (BP,), fill=-ag.inf)
        sums = sums + ag.load(S[p:, m], (BP,)) * ag.exp2((t - top) * LOG2E)
    scale = ag.rcp(ag.sum(sums, "P"))
    Y[m, j * BN :] = (ag.exp2((x - top) * LOG2E) * scale).to(Y.dtype)


@ag.reference
def softmax_apply_reference(X, T, S):
    """The sums of parts are those of exponentials less than the maximum of each."""
    import numpy as np

    top = T.max(0)
    total = (S * np.exp(T - top)).sum(0)
    return np.exp(X - top[:, None]) / total[:, None]


@ag.kernel
def rmsnorm_parts(
    X: ag.float["M N"],
    S: f32["P M"],
    *,
    BN: int = 2048,
    WARPS: int = 8,
):
    """S[p, m]: the sum of squares of part p of row m."""
    M, N = X.shape
    P = S.shape[0]
    ag.require(S.shape[0] == ag.cdiv(N, BN), "every column is in one part")
    ag.launch(warps=WARPS)
    m, p = ag.block(M, P)
    x = ag.load(X[m, p * BN :], (BN,)).to(f32)
    S[p, m] = ag.sum(x * x, "N")


@ag.reference
def rmsnorm_parts_reference(X, P, BN):
    """Each part by itself."""
    import numpy as np

    N = X.shape[1]
    parts = [X[:, p * BN : min(N, (p + 1) * BN)] for p in range(P)]
    return np.stack([(x * x).sum(-1) for x in parts])


@ag.kernel
def rmsnorm_apply(
    X: ag.float["M N"],
    S: f32["P M"],
    W: ag.float["N"],
    Y: ag.float["M N"],
    eps: f32 = 1e-6,
    *,
    BN: int = 2048,
    BP: int = 256,
    WARPS: int = 8,
):
    """Y[m, n] = X[m, n] * rsqrt(sum over p of S[p, m] / N + eps) * W[n]."""
    M, N = X.shape
    P = S.shape[0]
    ag.launch(warps=WARPS)
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,)).to(f32)
    w = ag.load(W[j * BN :], (BN,)).to(f32)
    sums = ag.zeros((BP,), f32)
    for p in ag.range(0, P, BP):
        sums = sums + ag.load(S[p:, m], (BP,))
    scale = ag.rsqrt(ag.sum(sums, "P") / N + eps)
    Y[m, j * BN :] = (x * scale * w).to(Y.dtype)


@ag.reference
def rmsnorm_apply_reference(X, S, W, eps):
    """The mean of squares is that of the sums of parts."""
    import numpy as np

    mean = S.sum(0) / X.shape[1]
    return X / np.sqrt(mean + eps)[:, None] * W
