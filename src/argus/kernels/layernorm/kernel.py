"""Layer normalisation over rows, with weight and bias, one pass over memory.

A block holds ROWS whole rows of at most BN columns in registers. Columns past the end
are loaded as 0 and taken out of the squares by hand, since 0 - mean is not 0. The
variance is the mean of squared distances, not a difference of means, which cancels.

Few long rows are cut into parts of BN columns, which blocks share. `layernorm_parts`
keeps of each part how many columns it has, their mean, and the squares of distances
from it; in `layernorm_apply` every block merges those of its row, and writes a part.
Squares about the mean of a row are those about the means of its parts, and those of the
distances between these means (Chan, Golub and LeVeque 1979): nothing cancels.
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


@ag.kernel
def layernorm_parts(
    X: ag.float["M N"],
    C: f32["P M"],
    A: f32["P M"],
    S: f32["P M"],
    *,
    BN: int = 2048,
    WARPS: int = 8,
):
    """Of part p of row m: its columns, their mean, the sum of (X - mean)**2."""
    M, N = X.shape
    P = A.shape[0]
    ag.require(A.shape[0] == ag.cdiv(N, BN), "every column is in one part")
    ag.launch(warps=WARPS)
    m, p = ag.block(M, P)
    count = ag.min(BN, N - p * BN)
    x = ag.load(X[m, p * BN :], (BN,)).to(f32)
    mean = ag.sum(x, "N") / count
    centred = ag.where(ag.index(x, "N") < count, x - mean, 0.0)
    C[p, m] = ag.full((), count, f32)
    A[p, m] = mean
    S[p, m] = ag.sum(centred * centred, "N")


@ag.reference
def layernorm_parts_reference(X, P, BN):
    """Each part by itself."""
    import numpy as np

    M, N = X.shape
    counts = [min(BN, N - p * BN) for p in range(P)]
    parts = [X[:, p * BN : p * BN + n] for p, n in enumerate(counts)]
    means = [x.sum(-1) / n for x, n in zip(parts, counts, strict=True)]
    pairs = zip(parts, means, strict=True)
    squares = [((x - mean[:, None]) ** 2).sum(-1) for x, mean in pairs]
    columns = np.stack([np.full(M, n) for n in counts])
    return columns, np.stack(means), np.stack(squares)


@ag.kernel
def layernorm_apply(
    X: ag.float["M N"],
    C: f32["P M"],
    A: f32["P M"],
    S: f32["P M"],
    W: ag.float["N"],
    B: ag.float["N"],
    Y: ag.float["M N"],
    eps: f32 = 1e-5,
    *,
    BN: int = 2048,
    BP: int = 256,
    WARPS: int = 8,
):
    """Y[m, n] = (X[m, n] - mean) * rsqrt(variance + eps) * W[n] + B[n].

    C, A and S are columns, means and squares of parts of row m.
    """
    M, N = X.shape
    P = A.shape[0]
    ag.require(N > 0, "a mean over no columns is not defined")
    ag.launch(warps=WARPS)
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,)).to(f32)
    w = ag.load(W[j * BN :], (BN,)).to(f32)
    bias = ag.load(B[j * BN :], (BN,)).to(f32)
    sums = ag.zeros((BP,), f32)
    for p in ag.range(0, P, BP):
        sums = sums + ag.load(C[p:, m], (BP,)) * ag.load(A[p:, m], (BP,))
    mean = ag.sum(sums, "P") / N
    squares = ag.zeros((BP,), f32)
    for p in ag.range(0, P, BP):
        off = ag.load(A[p:, m], (BP,)) - mean
        between = ag.load(C[p:, m], (BP,)) * (off * off)
        squares = squares + (ag.load(S[p:, m], (BP,)) + between)
    scale = ag.rsqrt(ag.sum(squares, "P") / N + eps)
    Y[m, j * BN :] = ((x - mean) * scale * w + bias).to(Y.dtype)


@ag.reference
def layernorm_apply_reference(X, C, A, S, W, B, eps):
    """The mean and the variance are those of the row that the parts are of."""
    import numpy as np

    N = X.shape[1]
    mean = (C * A).sum(0) / N
    squares = S + C * (A - mean) ** 2
    scale = 1 / np.sqrt(squares.sum(0) / N + eps)
    return (X - mean[:, None]) * scale[:, None] * W + B
