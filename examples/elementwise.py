"""Element-wise kernels: gelu through a static inline function, rotary embedding.

Neither has a loop: one block for each tile of BM rows and BN columns.
"""

import argus as ag
from argus import f32


@ag.inline
def squared_relu(x):
    """max(x, 0) ** 2: a function of one's own, to be passed as ACT."""
    y = ag.maximum(x, 0.0)
    return y * y


@ag.kernel
def activation(
    X: ag.float["M N"],
    Y: ag.float["M N"],
    *,
    BM: int = 4,
    BN: int = 256,
    ACT: ag.Inline = ag.gelu,
):
    """Y = ACT(X), computed in f32."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN)).to(f32)
    Y[i * BM :, j * BN :] = ACT(x).to(Y.dtype)


@ag.kernel
def squared(X: ag.float["M N"], Y: ag.float["M N"], *, BM: int = 4, BN: int = 256):
    """Y = max(X, 0) ** 2."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN)).to(f32)
    Y[i * BM :, j * BN :] = squared_relu(x).to(Y.dtype)


@ag.kernel
def rope(
    X: ag.float["T H D"],
    Cos: f32["T F"],
    Sin: f32["T F"],
    Y: ag.float["T H D"],
    *,
    D: int = 128,
    BH: int = 4,
):
    """Rotary position embedding: the halves of a head are the parts of D / 2 numbers.

    Y[t, h, f] = X[t, h, f] cos[t, f] - X[t, h, f + D/2] sin[t, f], and the other half
    with the roles of sine and cosine exchanged.
    """
    F = D // 2
    T, H, _ = X.shape
    ag.require(ag.dim("F") == F, "an angle for each pair of a head")
    t, h = ag.block(T, ag.cdiv(H, BH))
    low = ag.load(X[t, h * BH :, 0:F], (BH, F)).to(f32).rename("H F")
    high = ag.load(X[t, h * BH :, F : 2 * F], (BH, F)).to(f32).rename("H F")
    cos = ag.load(Cos[t, 0:F])
    sin = ag.load(Sin[t, 0:F])
    first = low * cos - high * sin
    second = high * cos + low * sin
    Y[t, h * BH :, 0:F] = first.rename("H D").to(Y.dtype)
    Y[t, h * BH :, F : 2 * F] = second.rename("H D").to(Y.dtype)


@ag.reference
def activation_reference(X):
    """The same in numpy."""
    import math

    import numpy as np

    return 0.5 * X * (1.0 + np.vectorize(math.erf)(X / 2**0.5))


@ag.reference
def squared_reference(X):
    """The same in numpy."""
    import numpy as np

    return np.maximum(X, 0.0) ** 2


@ag.reference
def rope_reference(X, Cos, Sin):
    """The same in numpy."""
    import numpy as np

    half = X.shape[-1] // 2
    low, high = X[..., :half], X[..., half:]
    cos, sin = Cos[:, None, :], Sin[:, None, :]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)
