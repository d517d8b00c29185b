"""Axes of register tiles: rotary embedding of pairs, four-bit numbers, pixel shuffle.

Tiles are taken apart, turned and put together where they are; no element moves between
threads as long as a layout of its own says the same.
"""

import argus as ag
from argus import f32, i32, u8


@ag.kernel
def rotated_pairs(
    X: ag.float["S D"],
    Cos: f32["S F"],
    Sin: f32["S F"],
    Y: ag.float["S D"],
    *,
    D: int = 128,
    BS: int = 16,
):
    """Columns 2f and 2f + 1 of X are turned by the angle of f, as one number."""
    S, _ = X.shape
    ag.require(ag.dim("F") == D // 2, "an angle for each pair")
    i = ag.block(ag.cdiv(S, BS))
    x = ag.load(X[i * BS :, :], (BS, D)).to(f32)
    cos = ag.load(Cos[i * BS :, 0 : D // 2], (BS, D // 2))
    sin = ag.load(Sin[i * BS :, 0 : D // 2], (BS, D // 2))
    pairs = ag.reshape(x, (BS, D // 2, 2), dims="S F _")
    even, odd = ag.split(pairs, 2, 2)
    even = ag.reshape(even, (BS, D // 2), dims="S F")
    odd = ag.reshape(odd, (BS, D // 2), dims="S F")
    y = ag.interleave(even * cos - odd * sin, odd * cos + even * sin, "F")
    Y[i * BS :, :] = y.rename("S D").to(Y.dtype)


@ag.kernel
def from_four_bits(X: u8["M K"], Scale: f32["M"], Y: f32["M N"], *, BM: int = 32):
    """A byte holds two numbers from -8 to 7, the lower half the first of them."""
    M, K = X.shape
    ag.require(ag.dim("N") == 2 * K, "two numbers in a byte")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(K, 64))
    x = ag.load(X[i * BM :, j * 64 :], (BM, 64)).to(i32)
    y = ag.interleave(x & 15, x >> 4, "K").to(f32) - 8.0
    Y[i * BM :, j * 128 :] = y.rename("M N") * ag.load(Scale[i * BM :], (BM,))


@ag.kernel
def pixel_shuffle(
    X: f32["N C H W"],
    Y: f32["N P V U"],
    *,
    C: int = 64,
    W: int = 32,
    P: int = 16,
    U: int = 64,
):
    """Y[n, p, 2h + i, 2w + j] = X[n, 4p + 2i + j, h, w]."""
    N, _, H, _ = X.shape
    ag.require(ag.dim("V") == 2 * H, "each row becomes two")
    n, h = ag.block(N, H)
    x = ag.reshape(ag.load(X[n, :, h, :]), (P, 2, 2, W), dims="P _ _ W")
    x = ag.permute(x, (0, 1, 3, 2))
    Y[n, :, 2 * h : 2 * h + 2, :] = ag.reshape(x, (P, 2, U), dims="P _ U")


@ag.reference
def rotated_pairs_reference(X, Cos, Sin):
    """The same in numpy."""
    import numpy as np

    S, D = X.shape
    pairs = X.reshape(S, D // 2, 2)
    even, odd = pairs[..., 0], pairs[..., 1]
    turned = [even * Cos - odd * Sin, odd * Cos + even * Sin]
    return np.stack(turned, axis=2).reshape(S, D)


@ag.reference
def from_four_bits_reference(X, Scale):
    """The same in numpy."""
    import numpy as np

    M, K = X.shape
    x = X.astype(np.int32)
    y = np.stack([x & 15, x >> 4], axis=2).reshape(M, 2 * K)
    return (y.astype(np.float32) - 8.0) * Scale[:, None]


@ag.reference
def pixel_shuffle_reference(X):
    """The same in numpy."""
    N, C, H, W = X.shape
    x = X.reshape(N, C // 4, 2, 2, H, W).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(N, C // 4, 2 * H, 2 * W)
