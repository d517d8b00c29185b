"""Rotary embedding (Su et al. 2021, "RoFormer"): pairs of elements turned by angles.

A pair of head dimension D is (f, f + D / 2), or with PAIRS (2 f, 2 f + 1). Position s
turns pair f by the angle of which Cos[s, f] and Sin[s, f] are. INVERSE turns back,
which is the gradient. A block reads its angles once for HEADS heads.
"""

import argus as ag
from argus import f32


@ag.kernel
def rotary(
    X: ag.float["B S H D"],
    Cos: ag.float["S F"],
    Sin: ag.float["S F"],
    Y: ag.float["B S H D"],
    *,
    D: int = 128,
    BS: int = 4,
    HEADS: int = 4,
    WARPS: int = 4,
    PAIRS: bool = False,
    INVERSE: bool = False,
):
    """Y: X turned."""
    B, S, H, _ = X.shape
    F = D // 2
    ag.require(ag.dim("F") == F, "an angle for each pair")
    ag.launch(warps=WARPS)
    b, i, j = ag.block(B, ag.cdiv(S, BS), ag.cdiv(H, HEADS))
    s, h = i * BS, j * HEADS
    cos = ag.load(Cos[s:, 0:F], (BS, F)).to(f32)
    sin = ag.load(Sin[s:, 0:F], (BS, F)).to(f32)
    if INVERSE:
        sin = -sin
    if PAIRS:
        x = ag.load(X[b, s:, h:, 0:D], (BS, HEADS, D)).to(f32)
        x = ag.reshape(x, (BS, HEADS, F, 2), dims="S H F _")
        first, second = ag.split(x, 3, 2)
        first = ag.reshape(first, (BS, HEADS, F), dims="S H F")
        second = ag.reshape(second, (BS, HEADS, F), dims="S H F")
        u, v = first * cos - second * sin, second * cos + first * sin
        y = ag.interleave(u, v, "F").rename("S H D")
        Y[b, s:, h:, 0:D] = y.to(Y.dtype)
    else:
        first = ag.load(X[b, s:, h:, 0:F], (BS, HEADS, F)).to(f32).rename("S H F")
        second = ag.load(X[b, s:, h:, F:D], (BS, HEADS, F)).to(f32).rename("S H F")
        u, v = first * cos - second * sin, second * cos + first * sin
        Y[b, s:, h:, 0:F] = u.rename("S H D").to(Y.dtype)
        Y[b, s:, h:, F:D] = v.rename("S H D").to(Y.dtype)


@ag.reference
def rotary_reference(X, Cos, Sin, D, PAIRS, INVERSE):
    """Both elements of each pair."""
    import numpy as np

    F = D // 2
    cos, sin = Cos[None, :, None, :], Sin[None, :, None, :]
    sin = -sin if INVERSE else sin
    if PAIRS:
        a, b = X[:, :, :, 0::2], X[:, :, :, 1::2]
    else:
        a, b = X[:, :, :, :F], X[:, :, :, F:]
    u, v = a * cos - b * sin, b * cos + a * sin
    if PAIRS:
        return np.stack([u, v], axis=-1).reshape(X.shape)
    return np.concatenate([u, v], axis=-1)
