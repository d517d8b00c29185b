"""Root-mean-square and layer norm with a residual, in eight bits, and their gradients.

`norm_forward` holds whole rows, as `kernels/norms` does. What is normalised is the sum
that is stored, rounded to its type, so that the gradient sees the same numbers.

With x' = (H - mean) * rstd and g = DY * W the gradient of a row is
rstd * (g - x' * (mean of g * x') - (mean of g)), without the means of the centred norm
where rows are not centred. `norm_backward` makes it for LENGTH rows of a block, one
after the other, and what these rows add to the gradients of the weights;
`norm_weights` adds up the blocks. Sums have an order of their own: the numbers are the
same in each run.
"""

import argus as ag
from argus import e4m3, f32

LARGEST = 448.0
"""The largest number of e4m3."""
LEAST = 1e-12
"""Rows are scaled as if their largest element were no less."""


@ag.kernel
def norm_forward(
    X: ag.float["M N"],
    W: ag.float["N"],
    Y: ag.float["M N"] | None = None,
    B: ag.float["N"] | None = None,
    R: ag.float["M N"] | None = None,
    H: ag.float["M N"] | None = None,
    Mean: f32["M"] | None = None,
    Rstd: f32["M"] | None = None,
    Q: e4m3["M N"] | None = None,
    Scale: f32["M"] | None = None,
    eps: f32 = 1e-6,
    *,
    BN: int = 8192,
    ROWS: int = 1,
    WARPS: int = 8,
    MIN_BLOCKS: int = 1,
    CENTRED: bool = False,
):
    """Y, or Q * Scale: H = X + R, normalised, times W, plus B.

    Rstd: 1 over the root of the variance plus eps; CENTRED: about the mean of the row.
    """
    M, N = X.shape
    ag.require(N > 0, "a mean over no columns is not defined")
    ag.require(N <= BN, "a row is held in registers")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    m = ag.block(ag.cdiv(M, ROWS)) * ROWS
    x = ag.load(X[m:, 0:], (ROWS, BN)).to(f32)
    if R is not None:
        x = x + ag.load(R[m:, 0:], (ROWS, BN)).to(f32)
    if H is not None:
        x = x.to(H.dtype)
        H[m:, 0:] = x
        x = x.to(f32)
    if CENTRED:
        mean = ag.mean(x, "N", N)
        x = ag.where(ag.index(x, "N") < N, x - mean, 0.0)
        if Mean is not None:
            Mean[m:] = mean
    scale = ag.rsqrt(ag.mean(x * x, "N", N) + eps)
    if Rstd is not None:
        Rstd[m:] = scale
    y = x * scale * ag.load(W[0:], (BN,)).to(f32)
    if B is not None:
        y = y + ag.load(B[0:], (BN,)).to(f32)
    if Q is not None:
        top = ag.maximum(ag.max(ag.abs(y), "N"), LEAST)
        Scale[m:] = top / LARGEST
        Q[m:, 0:] = (y * (LARGEST / top)).to(e4m3)
    if Y is not None:
        Y[m:, 0:] = y.to(Y.dtype)


@ag.reference
def norm_forward_reference(
    X, W, eps, CENTRED, Y=None, B=None, R=None, H=None, Mean=None, Rstd=None, Q=None
):
    """A largest number of a row is the largest of e4m3."""
    import numpy as np

    N = X.shape[1]
    h = X if R is None else X + R
    mean = h.sum(1) / N
    x = h - mean[:, None] if CENTRED else h
    rstd = 1 / np.sqrt((x * x).sum(1) / N + eps)
    y = x * rstd[:, None] * W
    y = y if B is None else y + B
    found = {}
    if H is not None:
        found["H"] = h
    if Mean is not None and CENTRED:
        found["Mean"] = mean
    if Rstd is not None:
        found["Rstd"] = rstd
    if Q is not None:
        found["Scale"] = np.maximum(np.abs(y).max(1), LEAST) / LARGEST
        found["Q"] = y / found["Scale"][:, None]
    if Y is not None:
        found["Y"] = y
    return found


@ag.kernel
def norm_backward(
    H: ag.float["M N"],
    W: ag.float["N"],
    DY: ag.float["M N"],
    Rstd: f32["M"],
    DX: ag.float["M N"],
    PW: f32["P N"],
    Mean: f32["M"] | None = None,
    PB: f32["P N"] | None = None,
    DH: ag.float["M N"] | None = None,
    *,
    BN: int = 1024,
    ROWS: int = 1,
    LENGTH: int = 16,
    WARPS: int = 4,
):
    """DX: the gradient of H, plus DH. PW, PB: what LENGTH rows give W and B.

    With Mean the rows were centred.
    """
    M, N = H.shape
    ag.require(N > 0, "a mean over no columns is not defined")
    ag.require(N <= BN, "a row is held in registers")
    ag.require(PW.shape[0] == ag.cdiv(M, LENGTH), "every row is of one part")
    ag.launch(warps=WARPS)
    p = ag.block(PW.shape[0])
    w = ag.load(W[0:], (BN,)).to(f32)
    weights = ag.zeros((ROWS, BN), f32, dims="M N")
    biases = ag.zeros((ROWS, BN), f32, dims="M N")
    for i in ag.range(0, LENGTH, ROWS):
        m = p * LENGTH + i
        x = ag.load(H[m:, 0:], (ROWS, BN)).to(f32)
        dy = ag.load(DY[m:, 0:], (ROWS, BN)).to(f32)
        rstd = ag.load(Rstd[m:], (ROWS,))
        if Mean is not None:
            x = ag.where(ag.index(x, "N") < N, x - ag.load(Mean[m:], (ROWS,)), 0.0)
        x = x * rstd
        g = dy * w
        dx = g - x * ag.mean(g * x, "N", N)
        if Mean is not None:
            dx = dx - ag.mean(g, "N", N)
        dx = dx * rstd
        if DH is not None:
            dx = dx + ag.load(DH[m:, 0:], (ROWS, BN)).to(f32)
        DX[m:, 0:] = dx.to(DX.dtype)
        weights = weights + dy * x
        biases = biases + dy
    PW[p, 0:] = ag.sum(weights, "M")
    if PB is not None:
        PB[p, 0:] = ag.sum(biases, "M")


@ag.reference
def norm_backward_reference(H, W, DY, Rstd, P, LENGTH, Mean=None, PB=None, DH=None):
    """Each part by itself."""
    import numpy as np

    M, N = H.shape
    x = H if Mean is None else H - Mean[:, None]
    x = x * Rstd[:, None]
    g = DY * W
    dx = g - x * (g * x).sum(1)[:, None] / N
    if Mean is not None:
        dx = dx - g.sum(1)[:, None] / N
    dx = dx * Rstd[:, None]
    dx = dx if DH is None else dx + DH
    ends = [(p * LENGTH, min(M, (p + 1) * LENGTH)) for p in range(P)]
    found = {"DX": dx, "PW": np.stack([(DY * x)[a:b].sum(0) for a, b in ends])}
    if PB is not None:
        found["PB"] = np.stack([DY[a:b].sum(0) for a, b in ends])
    return found


@ag.kernel
def norm_weights(
    PW: f32["P N"],
    DW: ag.float["N"],
    PB: f32["P N"] | None = None,
    DB: ag.float["N"] | None = None,
    *,
    BP: int = 32,
    BN: int = 64,
    WARPS: int = 4,
):
    """DW and DB: the sums of all parts."""
    P, N = PW.shape
    ag.launch(warps=WARPS)
    n = ag.block(ag.cdiv(N, BN)) * BN
    weights = ag.zeros((BP, BN), f32, dims="P N")
    for p in ag.range(0, P, BP):
        weights = weights + ag.load(PW[p:, n:], (BP, BN))
    DW[n:] = ag.sum(weights, "P").to(DW.dtype)
    if PB is not None:
        biases = ag.zeros((BP, BN), f32, dims="P N")
        for p in ag.range(0, P, BP):
            biases = biases + ag.load(PB[p:, n:], (BP, BN))
        DB[n:] = ag.sum(biases, "P").to(DB.dtype)


@ag.reference
def norm_weights_reference(PW, PB=None, DB=None):
    """Sums over parts."""
    found = {"DW": PW.sum(0)}
    if PB is not None:
        found["DB"] = PB.sum(0)
    return found
