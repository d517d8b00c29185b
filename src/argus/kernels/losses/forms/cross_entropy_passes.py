"""Cross-entropy as one writes it first: a block per row, two passes over memory.

The first pass finds the maximum of the row, the second the sum of the exponentials.
ONLINE does both in one (Milakov and Gimelshein 2018), with what all threads have of a
tile brought together after each. Rows may be of any length.
"""

import argus as ag
from argus import f32, i64


@ag.kernel
def cross_entropy_passes(
    X: ag.float["M N"],
    T: i64["M"],
    L: f32["M"],
    S: f32["M"],
    K: f32["M"],
    ignore: i64 = -100,
    smoothing: f32 = 0.0,
    z: f32 = 0.0,
    *,
    BN: int = 256,
    WARPS: int = 4,
    MIN_BLOCKS: int = 1,
    ONLINE: bool = False,
    FOLD: bool = False,
    SMOOTH: bool = False,
):
    """As the library's: loss, logarithm of the sum, 1 for rows that count."""
    M, N = X.shape
    ag.require(N > 0, "a softmax over no columns is not defined")
    ag.launch(warps=WARPS, min_blocks=MIN_BLOCKS)
    m = ag.block(M)
    top = ag.full((), -3.4028234663852886e38, f32)
    total = ag.zeros((), f32)
    sums = ag.zeros((), f32)
    if ONLINE:
        for n in ag.range(0, N, BN):
            x = ag.load(X[m, n:], (BN,), fill=-ag.inf).to(f32)
            higher = ag.maximum(top, ag.max(x, "N"))
            part = ag.sum(power(x - higher, FOLD), "N")
            total = total * power(top - higher, FOLD) + part
            top = higher
    else:
        for n in ag.range(0, N, BN):
            x = ag.load(X[m, n:], (BN,), fill=-ag.inf).to(f32)
            top = ag.maximum(top, ag.max(x, "N"))
        for n in ag.range(0, N, BN):
            x = ag.load(X[m, n:], (BN,), fill=-ag.inf).to(f32)
            total = total + ag.sum(power(x - top, FOLD), "N")
    if SMOOTH:
        for n in ag.range(0, N, BN):
            sums = sums + ag.sum(ag.load(X[m, n:], (BN,)).to(f32), "N")
    log = ag.log(total)
    s = top + log
    t = ag.load(T[m:], (1,))
    target = ag.load(X[m, t]).to(f32)
    if SMOOTH:
        target = target + smoothing * (sums / N - target)
    loss = ag.where(t != ignore, (top - target) + log + z * s * s, 0.0)
    inside = (t == ignore) | ((t >= 0) & (t < N))
    L[m:] = ag.where(inside, loss, ag.inf)
    S[m] = s
    K[m:] = ag.where(t != ignore, 1.0, 0.0)


@ag.inline
def power(x, FOLD):
    """The exponential function."""
    return ag.exp2(x * 1.4426950408889634) if FOLD else ag.exp(x)
