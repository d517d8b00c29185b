"""Functions by the signs of data: pieces, absolute values, stable forms."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def sign_of(X: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.where(x > 0.0, 1.0, ag.where(x == 0.0, 0.0, -1.0))


@ag.reference
def sign_of_reference(X):
    return np.where(X < 0, -1.0, np.where(X > 0, 1.0, 0.0))


@ag.kernel
def scaled_comparison(X: f32["N"], Z: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    z = ag.load(Z[i * B :], (B,))
    Y[i * B :] = ag.where(0.5 * x >= z, x, 2.0 * z)


@ag.reference
def scaled_comparison_reference(X, Z):
    return np.where(X - 2 * Z >= 0, X, 2 * Z)


@ag.kernel
def soft_threshold(X: f32["N"], Y: f32["N"], d: f32, *, B: int = 256):
    """Soft threshold of positive width; one form by signs, one by maximum."""
    N = X.shape[0]
    ag.require(d >= 0.0, "width")
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.where(x > d, x - d, ag.where(x < -d, x + d, 0.0))


@ag.reference
def soft_threshold_reference(X, d):
    return np.where(X < -d, X + d, np.where(X > d, X - d, 0.0))


@ag.kernel
def hard_swish(X: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.where(x > 3.0, x, ag.where(x < -3.0, 0.0, x * (x + 3.0) / 6.0))


@ag.reference
def hard_swish_reference(X):
    return np.where(X < -3, 0.0, np.where(X > 3, X, X * (X + 3) / 6))


@ag.kernel
def hard_sigmoid(X: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.where(x > 3.0, 1.0, ag.where(x < -3.0, 0.0, x / 6.0 + 0.5))


@ag.reference
def hard_sigmoid_reference(X):
    return np.clip(X / 6 + 0.5, 0, 1)


@ag.kernel
def softplus(X: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.maximum(x, 0.0) + ag.log1p(ag.exp(-ag.abs(x)))


@ag.reference
def softplus_reference(X):
    return np.logaddexp(0, X)


@ag.kernel
def sigmoid_of_both_signs(X: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    e = ag.exp(-ag.abs(x))
    Y[i * B :] = ag.where(x >= 0.0, 1.0 / (1.0 + e), e / (1.0 + e))


@ag.reference
def sigmoid_of_both_signs_reference(X):
    return 1 / (1 + np.exp(-X))


@ag.kernel
def binary_cross_entropy(X: f32["N"], T: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    t = ag.load(T[i * B :], (B,))
    Y[i * B :] = ag.maximum(x, 0.0) - x * t + ag.log1p(ag.exp(-ag.abs(x)))


@ag.reference
def binary_cross_entropy_reference(X, T):
    p = 1 / (1 + np.exp(-X))
    return -(T * np.log(p) + (1 - T) * np.log(1 - p))


@ag.kernel
def gelu_backward(X: bf16["N"], G: bf16["N"], Y: bf16["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,)).to(f32)
    g = ag.load(G[i * B :], (B,)).to(f32)
    c = 0.5 * (1.0 + ag.erf(x * 0.7071067811865476))
    d = 0.3989422804014327 * ag.exp(-0.5 * x * x)
    Y[i * B :] = (g * (c + x * d)).to(bf16)


@ag.reference
def gelu_backward_reference(X, G):
    c = np.exp(-X * X / 2) / np.sqrt(2 * np.pi)
    from math import erf

    p = 0.5 * (1 + np.vectorize(erf)(X / np.sqrt(2)))
    return G * (p + X * c)


@ag.kernel
def tanh_of_exponentials(X: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = 2.0 / (1.0 + ag.exp(-2.0 * x)) - 1.0


@ag.reference
def tanh_of_exponentials_reference(X):
    return np.tanh(X)


@ag.kernel
def huber(
    X: f32["M N"], T: f32["M N"], L: f32["M"], delta: f32 = 1.0, *, BN: int = 128
):
    """Huber loss of each row, the mean."""
    M, N = X.shape
    ag.require((delta > 0.0) & (N > 0), "delta")
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        d = ag.abs(ag.load(X[i * 4 :, n:], (4, BN)) - ag.load(T[i * 4 :, n:], (4, BN)))
        v = ag.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))
        acc = acc + ag.sum(v, "N")
    L[i * 4 :] = acc / N


@ag.reference
def huber_reference(X, T, delta):
    d = np.abs(X - T)
    return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)).mean(1)


@ag.kernel
def mish(X: bf16["M N"], Y: bf16["M N"], *, BM: int = 8, BN: int = 64):
    """Mish: x * tanh(softplus(x)), stable softplus."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN)).to(f32)
    sp = ag.maximum(x, 0.0) + ag.log1p(ag.exp(-ag.abs(x)))
    Y[i * BM :, j * BN :] = (x * ag.tanh(sp)).to(bf16)


@ag.reference
def mish_reference(X):
    return X * np.tanh(np.log1p(np.exp(X)))


@ag.kernel
def huber_below(
    X: f32["M N"], T: f32["M N"], L: f32["M"], delta: f32 = 1.0, *, BN: int = 128
):
    M, N = X.shape
    ag.require((delta > 0.0) & (N > 0), "delta")
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        d = ag.abs(ag.load(X[i * 4 :, n:], (4, BN)) - ag.load(T[i * 4 :, n:], (4, BN)))
        v = ag.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta))
        acc = acc + ag.sum(v, "N")
    L[i * 4 :] = acc / N


@ag.reference
def huber_below_reference(X, T, delta):
    d = np.abs(X - T)
    return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)).mean(1)


@ag.kernel
def huber_by_minimum(
    X: f32["M N"], L: f32["M"], delta: f32 = 1.0, *, BM: int = 4, BN: int = 64
):
    M, N = X.shape
    ag.require(delta > 0.0, "delta")
    i = ag.block(ag.cdiv(M, BM))
    acc = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        a = ag.abs(ag.load(X[i * BM :, n:], (BM, BN)))
        q = ag.minimum(a, delta)
        acc = acc + ag.sum(0.5 * q * q + delta * (a - q), "N")
    L[i * BM :] = acc


@ag.reference
def huber_by_minimum_reference(X, delta):
    d = np.abs(X)
    return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)).sum(1)


@ag.kernel
def smooth_l1(X: f32["N"], T: f32["N"], L: f32["N"], b: f32 = 1.0, *, B: int = 128):
    N = X.shape[0]
    ag.require(b > 0.0, "beta")
    i = ag.block(ag.cdiv(N, B))
    d = ag.abs(ag.load(X[i * B :], (B,)) - ag.load(T[i * B :], (B,)))
    L[i * B :] = ag.where(d <= b, 0.5 * d * d / b, d - 0.5 * b)


@ag.reference
def smooth_l1_reference(X, T, b):
    d = np.abs(X - T)
    return np.where(d < b, 0.5 * d * d / b, d - 0.5 * b)


@ag.kernel
def elu_pieces(X: f32["N"], Y: f32["N"], *, B: int = 128):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.where(x >= 0.0, x, ag.exp(x) - 1.0)


@ag.reference
def elu_pieces_reference(X):
    return np.where(X > 0, X, np.exp(X) - 1)


@ag.kernel
def shrunk_rows(X: f32["M N"], Y: f32["M"], lam: f32 = 0.5, *, BN: int = 128):
    M, N = X.shape
    ag.require(lam > 0.0, "width")
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN))
        acc = acc + ag.sum(
            ag.where(x >= lam, x - lam, ag.where(x <= -lam, x + lam, 0.0)), "N"
        )
    Y[i * 4 :] = acc


@ag.reference
def shrunk_rows_reference(X, lam):
    return (np.sign(X) * np.maximum(np.abs(X) - lam, 0)).sum(1)


@ag.kernel
def clipped_gradient(
    G: f32["N"], Sq: f32["1"], Y: bf16["N"], c: f32 = 1.0, *, B: int = 512
):
    """Gradient times min(1, c / (norm + 1e-6))."""
    N = G.shape[0]
    i = ag.block(ag.cdiv(N, B))
    n = ag.sqrt(ag.load(Sq[0:1], (1,)))
    f = ag.minimum(c / (n + 1e-6), 1.0)
    g = ag.load(G[i * B :], (B,))
    Y[i * B :] = (g * ag.sum(f, 0)).to(bf16)


@ag.reference
def clipped_gradient_reference(G, Sq, c):
    n = np.sqrt(Sq[0])
    return G * np.where(n + 1e-6 > c, c / (n + 1e-6), 1.0)


@ag.kernel
def within_bounds(X: f32["N"], G: f32["N"], Y: f32["N"], *, B: int = 256):
    """The gradient of a number that is cut at -1 and 1, then of its sigmoid."""
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    g = ag.load(G[i * B :], (B,))
    s = ag.sigmoid(x)
    Y[i * B :] = ag.where((x > -1.0) & (x < 1.0), g * s * (1.0 - s), 0.0)


@ag.reference
def within_bounds_reference(X, G):
    e = np.exp(-X)
    return G * e / (1 + e) ** 2 * (np.abs(X) < 1)


@ag.kernel
def where_relu_passes(X: f32["N"], G: f32["N"], Y: f32["N"], *, B: int = 256):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    r = ag.maximum(ag.load(X[i * B :], (B,)), 0.0)
    Y[i * B :] = ag.where(r > 0.0, ag.load(G[i * B :], (B,)), 0.0)


@ag.reference
def where_relu_passes_reference(X, G):
    return G * (X > 0)


@ag.kernel
def gelu_by_sigmoid(X: f32["N"], Y: f32["N"], *, B: int = 256):
    """The approximation by tanh, as a product with a sigmoid."""
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    inner = x * (1.5957691216057308 + 0.07135481627260025 * x * x)
    Y[i * B :] = x * ag.sigmoid(inner)


@ag.reference
def gelu_by_sigmoid_reference(X):
    return X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))


@ag.kernel
def turned_back(X: f32["N"], Z: f32["N"], A: f32["N"], Y: f32["N"], *, B: int = 256):
    """By the opposite angle: sines are odd, and cosines even."""
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x, z = ag.load(X[i * B :], (B,)), ag.load(Z[i * B :], (B,))
    a = ag.load(A[i * B :], (B,))
    Y[i * B :] = x * ag.cos(a) + z * ag.sin(a)


@ag.reference
def turned_back_reference(X, Z, A):
    return X * np.cos(-A) - Z * np.sin(-A)


@ag.kernel
def cut_where_any(X: bf16["M N"], Y: bf16["M N"], *, BM: int = 16, BN: int = 64):
    """A tile of which no element is too large has none that would be cut."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    if ag.any(ag.abs(x) > 448.0):
        x = ag.maximum(ag.minimum(x, 448.0), -448.0)
    Y[i * BM :, j * BN :] = x


@ag.reference
def cut_where_any_reference(X):
    return np.clip(X, -448, 448)


@ag.kernel
def sizes_of_products(X: f32["N"], Z: f32["N"], Y: f32["N"], *, B: int = 256):
    """The absolute value of a product is the product of theirs."""
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x, z = ag.load(X[i * B :], (B,)), ag.load(Z[i * B :], (B,))
    Y[i * B :] = ag.abs(x) * ag.abs(z) * 3.0 + ag.abs(x * x * x / (1.0 + z * z))


@ag.reference
def sizes_of_products_reference(X, Z):
    return np.abs(-3 * X * Z) + np.abs(X) ** 3 / (1 + Z**2)


@ag.kernel
def clamped(
    X: f32["N"], Y: f32["N"], Z: f32["N"], low: f32, high: f32, *, B: int = 256
):
    """Between scalars, the upper one first; between a scalar and its negative."""
    N = X.shape[0]
    ag.require(low <= high, "an interval")
    ag.require(high >= 0.0, "limits")
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.maximum(ag.minimum(x, high), low)
    Z[i * B :] = ag.maximum(ag.minimum(x, high), -high) + 1.0


@ag.reference
def clamped_reference(X, low, high):
    return np.clip(X, low, high), np.clip(X, -high, high) + 1
