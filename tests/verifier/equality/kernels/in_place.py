"""Arrays that are changed in place, by tiles that move with a loop."""

import argus as ag
from argus import f32, i32


@ag.kernel
def exchanged(X: f32["M N"], Z: f32["M N"], *, BN: int = 128):
    """Exchange two arrays, tile by tile."""
    M, N = X.shape
    m = ag.block(M)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m, n:], (BN,))
        z = ag.load(Z[m, n:], (BN,))
        X[m, n:] = z
        Z[m, n:] = x


@ag.reference
def exchanged_reference(X, Z):
    return {"X": Z, "Z": X}


@ag.kernel
def doubled_rows(I: i32["T"], X: f32["M N"], *, BT: int = 16, BN: int = 32):
    """Rows of a table are doubled in place, tile by tile of columns."""
    M, N = X.shape
    T = I.shape[0]
    ag.assume(lambda i: (i >= 0) & (i < M), I)
    ag.assume(lambda a, b: a != b, I, pairs=True)
    p = ag.block(ag.cdiv(T, BT))
    r = ag.load(I[p * BT :], (BT,), fill=-1)
    for n in ag.range(0, N, BN):
        x = ag.load(X[r, n:], (BT, BN))
        X[r, n:] = x * 2.0


@ag.reference
def doubled_rows_reference(I, X):
    y = np.array(X)
    y[I] = 2 * X[I]
    return y


@ag.kernel
def nesterov(
    W: f32["M N"], G: f32["M N"], V: f32["M N"], mu: f32, lr: f32, *, BN: int = 128
):
    """Nesterov's step of rows in a persistent loop."""
    M, N = W.shape
    for m in ag.persistent(M):
        for n in ag.range(0, N, BN):
            g = ag.load(G[m, n:], (BN,))
            v = mu * ag.load(V[m, n:], (BN,)) + g
            W[m, n:] = ag.load(W[m, n:], (BN,)) - lr * (g + mu * v)
            V[m, n:] = v


@ag.reference
def nesterov_reference(W, G, V, mu, lr):
    v = mu * V + G
    return {"W": W - lr * (G + mu * v), "V": v}


@ag.kernel
def running_rows(X: f32["M N"], *, BN: int = 128):
    """Running sums over rows in place: what the row before has been left at."""
    M, N = X.shape
    j = ag.block(ag.cdiv(N, BN))
    c = ag.zeros((BN,), f32, dims="N")
    for m in ag.range(M):
        c = c + ag.load(X[m, j * BN :], (BN,))
        X[m, j * BN :] = c


@ag.reference
def running_rows_reference(X):
    return np.cumsum(X, 0)


@ag.kernel
def fused_add_norm(X: f32["M N"], R: f32["M N"], Y: f32["M N"], *, BN: int = 512):
    """The residual is added up in place by one loop, and read again by the next."""
    M, N = X.shape
    ag.require(N > 0, "a row has elements")
    m = ag.block(M)
    q = ag.zeros((1,), f32, dims="M")
    for n in ag.range(0, N, BN):
        r = ag.load(R[m : m + 1, n:], (1, BN)) + ag.load(X[m : m + 1, n:], (1, BN))
        R[m : m + 1, n:] = r
        q = q + ag.sum(r * r, "N")
    scale = ag.rsqrt(q / N + 1e-5)
    for n in ag.range(0, N, BN):
        r = ag.load(R[m : m + 1, n:], (1, BN))
        Y[m : m + 1, n:] = r * scale


@ag.reference
def fused_add_norm_reference(X, R):
    z = X + R
    return {"R": z, "Y": z / np.sqrt((z * z).mean(1, keepdims=True) + 1e-5)}
