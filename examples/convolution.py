"""Convolution as a matrix product over a view: no copy of the image is made.

`X.view` gives the image a second shape, "M K": m counts output pixels, k counts filter
taps and channels. Its `at` says which element of X each (m, k) is; one outside the
image reads as 0, which is the padding.
"""

import argus as ag
from argus import bf16, f32


@ag.kernel
def conv2d(
    X: bf16["B H W C"],
    Filter: bf16["N K"],
    Y: bf16["M N"],
    *,
    C: int = 32,
    R: int = 3,
    PAD: int = 1,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
):
    """Y[b, h, w, n] = sum over r, s, c of X[b, h+r-PAD, w+s-PAD, c] Filter[n, r, s, c].

    Stride 1, output as large as the image: 2 * PAD = R - 1. K is (r, s, c), M is
    (b, h, w), both flattened by the caller.
    """
    B, H, W, _ = X.shape
    M, N = Y.shape
    K = R * R * C
    ag.require(M == B * H * W, "an output pixel for each input pixel")
    ag.require(ag.dim("K") == K, "the filter has R * R * C taps")
    ag.launch(warps=4)
    pixels = X.view(
        "M K",
        shape=(M, K),
        at=lambda m, k: (
            m // (H * W),
            m // W % H + k // (R * C) - PAD,
            m % W + k // C % R - PAD,
            k % C,
        ),
    )
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        x = ag.load(pixels[i * BM :, k:], (BM, BK))
        f = ag.load(Filter[j * BN :, k:], (BN, BK))
        acc = ag.dot(x, f.T, acc)
    Y[i * BM :, j * BN :] = acc.to(bf16)


@ag.reference
def reference(X, Filter, R=3, PAD=1):
    """The same in numpy: X (B, H, W, C), Filter (N, R * R * C), result (B*H*W, N)."""
    import numpy as np

    b, h, w, c = X.shape
    padded = np.pad(X, ((0, 0), (PAD, PAD), (PAD, PAD), (0, 0)))
    taps = [padded[:, r : r + h, s : s + w, :] for r in range(R) for s in range(R)]
    return np.concatenate(taps, axis=-1).reshape(b * h * w, R * R * c) @ Filter.T
