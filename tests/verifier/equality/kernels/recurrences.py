"""What loops carry on: scans, gates, averages, extremes, offsets."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def mamba_scan(
    U: f32["B T D"],
    Delta: f32["B T D"],
    A: f32["D S"],
    Bm: f32["B T S"],
    Cm: f32["B T S"],
    Y: f32["B T D"],
    *,
    S: int = 16,
    BD: int = 32,
):
    B, T, D = U.shape
    b, d = ag.block(B, ag.cdiv(D, BD))
    a = ag.load(A[d * BD :, :], (BD, S))
    h = ag.zeros((BD, S), f32, dims="D S")
    for t in ag.range(T):
        dt = ag.load(Delta[b, t, d * BD :], (BD,))
        u = ag.load(U[b, t, d * BD :], (BD,))
        bm = ag.load(Bm[b, t, :])
        cm = ag.load(Cm[b, t, :])
        h = h * ag.exp(a * dt) + ag.broadcast(dt * u, h) * bm
        Y[b, t, d * BD :] = ag.sum(h * cm, "S")


@ag.reference
def mamba_scan_reference(U, Delta, A, Bm, Cm):
    B, T, D = U.shape
    h = np.zeros((B, D, A.shape[1]))
    y = np.zeros((B, T, D))
    for t in range(T):
        h = (
            h * np.exp(Delta[:, t, :, None] * A)
            + (Delta[:, t] * U[:, t])[:, :, None] * Bm[:, t, None, :]
        )
        y[:, t] = (h * Cm[:, t, None, :]).sum(-1)
    return y


@ag.kernel
def running_max(X: f32["T D"], Y: f32["T D"], *, BD: int = 64):
    T, D = X.shape
    d = ag.block(ag.cdiv(D, BD))
    h = ag.full((BD,), -ag.inf, f32, dims="D")
    for t in ag.range(T):
        h = ag.maximum(h, ag.load(X[t, d * BD :], (BD,)))
        Y[t, d * BD :] = h


@ag.reference
def running_max_reference(X):
    return np.maximum.accumulate(X, axis=0)


@ag.kernel
def prefix_with_init(X: f32["T D"], H0: f32["D"], Y: f32["T D"], *, BD: int = 64):
    T, D = X.shape
    d = ag.block(ag.cdiv(D, BD))
    h = ag.load(H0[d * BD :], (BD,))
    for t in ag.range(T):
        h = h + ag.load(X[t, d * BD :], (BD,))
        Y[t, d * BD :] = h


@ag.reference
def prefix_with_init_reference(X, H0):
    y = np.zeros_like(X)
    s = H0
    for t in range(X.shape[0]):
        s = s + X[t]
        y[t] = s
    return y


@ag.kernel
def block_prefix_apply(
    X: f32["B N"], Part: f32["B C"], Y: f32["B N"], *, BN: int = 256
):
    """Second pass: sums of earlier chunks and a scan inside."""
    B, N = X.shape
    C = Part.shape[1]
    ag.require(C == (N + 255) // 256, "chunks")
    b, c = ag.block(B, C)
    before = ag.zeros((1,), f32)
    for k in ag.range(0, c):
        before = before + ag.load(Part[b, k : k + 1]).rename("N")
    x = ag.load(X[b, c * BN :], (BN,))
    Y[b, c * BN :] = ag.cumsum(x, "N") + ag.sum(before, "N")


@ag.reference
def block_prefix_apply_reference(X, Part):
    B, N = X.shape
    k = np.arange(N) // 256
    before = np.cumsum(Part, 1) - Part
    y = np.zeros((B, N))
    for n in range(N):
        y[:, n] = X[:, (n // 256) * 256 : n + 1].sum(1)
    return y + before[:, k]


@ag.kernel
def cumsum_rows_long(X: f32["M N"], Y: f32["M N"], *, BM: int = 8, BN: int = 128):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    carry = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        Y[i * BM :, n:] = ag.cumsum(x, "N") + carry
        carry = carry + ag.sum(x, "N")


@ag.reference
def cumsum_rows_long_reference(X):
    return np.cumsum(X, axis=1)


@ag.kernel
def welford_chunk(X: f32["M N"], V: f32["M"], *, BM: int = 8, BN: int = 64):
    """Chan's merge of chunks of columns."""
    M, N = X.shape
    ag.require(N % 64 == 0, "chunks")
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, BM))
    mean = ag.zeros((BM,), f32, dims="M")
    m2 = ag.zeros((BM,), f32, dims="M")
    n = 0
    for k in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, k:], (BM, BN))
        bm = ag.sum(x, "N") / BN
        d = x - bm
        b2 = ag.sum(d * d, "N")
        delta = bm - mean
        total = n + BN
        mean = mean + delta * (BN / total)
        m2 = m2 + b2 + delta * delta * (n * BN / total)
        n = total
    V[i * BM :] = m2 / N


@ag.reference
def welford_chunk_reference(X):
    return X.var(axis=1)


@ag.kernel
def segment_counter(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    """An offset that is advanced by hand."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 8))
    acc = ag.zeros((8,), f32)
    n = 0
    for _ in ag.range(ag.cdiv(N, BN)):
        acc += ag.sum(ag.load(X[i * 8 :, n:], (8, BN)), "N")
        n += BN
    Y[i * 8 :] = acc


@ag.reference
def segment_counter_reference(X):
    return X.sum(1)


@ag.kernel
def kahan(X: f32["M N"], Y: f32["M"], *, BM: int = 64):
    """Compensated sum along rows, a column at a time."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    s = ag.zeros((BM,), f32, dims="M")
    c = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(N):
        y = ag.load(X[i * BM :, n], (BM,)) - c
        t = s + y
        c = (t - s) - y
        s = t
    Y[i * BM :] = s


@ag.reference
def kahan_reference(X):
    return X.sum(1)


@ag.kernel
def softmax_online_two_pass(
    X: bf16["M N"], Y: bf16["M N"], t: f32 = 1.0, *, BM: int = 4, BN: int = 512
):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    m = ag.full((BM,), -ag.inf, f32, dims="M")
    l = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN), fill=-ag.inf).to(f32) / t
        new = ag.maximum(m, ag.max(x, "N"))
        l = l * ag.exp(m - new) + ag.sum(ag.exp(x - new), "N")
        m = new
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN)).to(f32) / t
        Y[i * BM :, n:] = (ag.exp(x - m) / l).to(bf16)


@ag.reference
def softmax_online_two_pass_reference(X, t):
    z = X / t
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@ag.kernel
def moving_average_first(X: f32["T D"], Y: f32["T D"], a: f32 = 0.1, *, BD: int = 128):
    """y[t] = (1 - a) y[t-1] + a x[t]; y[0] = x[0]."""
    T, D = X.shape
    ag.require(T > 0, "steps")
    j = ag.block(ag.cdiv(D, BD))
    y = ag.load(X[0, j * BD :], (BD,))
    Y[0, j * BD :] = y
    for t in ag.range(1, T):
        y = y * (1.0 - a) + ag.load(X[t, j * BD :], (BD,)) * a
        Y[t, j * BD :] = y


@ag.reference
def moving_average_first_reference(X, a):
    T, D = X.shape
    y = X[0]
    Y = np.zeros((T, D))
    Y[0] = y
    for t in range(1, T):
        y = (1 - a) * y + a * X[t]
        Y[t] = y
    return Y


@ag.kernel
def discounted_returns(R: f32["B T"], Y: f32["B T"], g: f32 = 0.99, *, BB: int = 64):
    """y[t] = r[t] + g y[t + 1], from behind; a column at a time."""
    B, T = R.shape
    i = ag.block(ag.cdiv(B, BB))
    y = ag.zeros((BB,), f32, dims="B")
    for s in ag.range(0, T):
        t = T - 1 - s
        y = ag.load(R[i * BB :, t], (BB,)) + y * g
        Y[i * BB :, t] = y


@ag.reference
def discounted_returns_reference(R, g):
    B, T = R.shape
    y = np.zeros((B,))
    Y = np.zeros((B, T))
    for s in range(T):
        y = R[:, T - 1 - s] + g * y
        Y[:, T - 1 - s] = y
    return Y


@ag.kernel
def welford_rows(X: f32["M N"], Mu: f32["N"], Va: f32["N"], *, BN: int = 128):
    """Welford down the rows, a column in each lane."""
    M, N = X.shape
    ag.require(M > 0, "rows")
    j = ag.block(ag.cdiv(N, BN))
    mu = ag.zeros((BN,), f32, dims="N")
    s2 = ag.zeros((BN,), f32, dims="N")
    for m in ag.range(0, M):
        x = ag.load(X[m, j * BN :], (BN,))
        d = x - mu
        mu = mu + d / (m + 1)
        s2 = s2 + d * (x - mu)
    Mu[j * BN :] = mu
    Va[j * BN :] = s2 / M


@ag.reference
def welford_rows_reference(X):
    return X.mean(0), X.var(0)


@ag.kernel
def horner(C: f32["P N"], X: f32["N"], Y: f32["N"], *, BN: int = 128):
    """Polynomials of P coefficients, the highest first, by Horner."""
    P, N = C.shape
    i = ag.block(ag.cdiv(N, BN))
    x = ag.load(X[i * BN :], (BN,))
    y = ag.zeros((BN,), f32, dims="N")
    for p in ag.range(0, P):
        y = y * x + ag.load(C[p, i * BN :], (BN,))
    Y[i * BN :] = y


@ag.reference
def horner_reference(C, X):
    P, N = C.shape
    y = np.zeros(N)
    for p in range(P):
        y = y * X + C[p]
    return y


@ag.kernel
def ratio_of_decayed(
    K: f32["T D"], V: f32["T D"], W: f32["D"], Y: f32["T D"], *, BD: int = 64
):
    """Sums of exp(k) v and of exp(k), both times exp(-w) in each step: their ratio."""
    T, D = K.shape
    j = ag.block(ag.cdiv(D, BD))
    w = ag.exp(-ag.load(W[j * BD :], (BD,)))
    a = ag.zeros((BD,), f32, dims="D")
    b = ag.zeros((BD,), f32, dims="D")
    for t in ag.range(0, T):
        e = ag.exp(ag.load(K[t, j * BD :], (BD,)))
        a = a * w + e * ag.load(V[t, j * BD :], (BD,))
        b = b * w + e
        Y[t, j * BD :] = a / b


@ag.reference
def ratio_of_decayed_reference(K, V, W):
    T, D = K.shape
    a, b, Y = np.zeros(D), np.zeros(D), np.zeros((T, D))
    for t in range(T):
        a = a * np.exp(-W) + np.exp(K[t]) * V[t]
        b = b * np.exp(-W) + np.exp(K[t])
        Y[t] = a / b
    return Y


@ag.kernel
def growing_mean(X: f32["M N"], Mean: f32["M"], *, BM: int = 8, BN: int = 64):
    """The mean of what was seen, of which the last tile is not full."""
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, BM))
    mean = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        c = ag.min(BN, N - n)
        own = ag.sum(ag.load(X[i * BM :, n:], (BM, BN)), "N") / c
        mean = mean + (own - mean) * (c / (n + c))
    Mean[i * BM :] = mean


@ag.reference
def growing_mean_reference(X):
    return X.mean(1)


@ag.kernel
def welford_tail(X: f32["M N"], Y: f32["M N"], *, BM: int = 8, BN: int = 64):
    """Chan's merge of tiles of columns, the last of which is not full."""
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, BM))
    mean = ag.zeros((BM,), f32, dims="M")
    m2 = ag.zeros((BM,), f32, dims="M")
    count = 0
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        c = ag.min(BN, N - n)
        own = ag.sum(x, "N") / c
        real = ag.broadcast(n + ag.index(x, "N") < N, x)
        d = ag.where(real, x - own, 0.0)
        delta = own - mean
        total = count + c
        m2 = m2 + ag.sum(d * d, "N") + delta * delta * (count * c / total)
        mean = mean + delta * (c / total)
        count = total
    r = ag.rsqrt(m2 / count + 1e-5)
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        Y[i * BM :, n:] = (x - mean) * r


@ag.reference
def welford_tail_reference(X):
    d = X - X.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)


@ag.kernel
def welford_tiles(X: f32["M N"], Y: f32["M N"], *, BM: int = 8, BN: int = 64):
    """The same of whole tiles, of which the number is counted."""
    M, N = X.shape
    ag.require(N > 0, "columns")
    ag.require(N % BN == 0, "whole tiles")
    i = ag.block(ag.cdiv(M, BM))
    mean = ag.zeros((BM,), f32, dims="M")
    m2 = ag.zeros((BM,), f32, dims="M")
    for t in ag.range(0, N // BN):
        x = ag.load(X[i * BM :, t * BN :], (BM, BN))
        own = ag.sum(x, "N") / BN
        d = x - own
        delta = own - mean
        m2 = m2 + ag.sum(d * d, "N") + delta * delta * (BN * t / (t + 1))
        mean = mean + delta / (t + 1)
    r = ag.rsqrt(m2 / N + 1e-5)
    for t in ag.range(0, N // BN):
        x = ag.load(X[i * BM :, t * BN :], (BM, BN))
        Y[i * BM :, t * BN :] = (x - mean) * r


@ag.reference
def welford_tiles_reference(X):
    d = X - X.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)


@ag.kernel
def first_is_another(X: f32["M N"], Most: f32["M"], S: f32["M"], *, BN: int = 64):
    """The first tile begins what the others go on with."""
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, 8))
    most = ag.zeros((8,), f32, dims="M")
    s = ag.full((8,), 5.0, f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 8 :, n:], (8, BN), fill=-ag.inf)
        if n == 0:
            most = ag.max(x, "N")
            s = ag.sum(ag.exp(x), "N") + 1.0
        else:
            most = ag.maximum(most, ag.max(x, "N"))
            s = s + ag.sum(ag.exp(x), "N")
    Most[i * 8 :] = most
    S[i * 8 :] = s


@ag.reference
def first_is_another_reference(X):
    return {"Most": X.max(1), "S": np.exp(X).sum(1) + 1}


@ag.kernel
def place_from_a_tile(X: f32["M N"], I: i32["M"], *, BM: int = 8, BN: int = 64):
    """Where the largest is, beginning with that of the first tile."""
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BN), fill=-ag.inf)
    best = ag.max(x, "N")
    at = ag.argmax(x, "N")
    for n in ag.range(BN, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN), fill=-ag.inf)
        m = ag.max(x, "N")
        at = ag.where(m > best, ag.argmax(x, "N") + n, at)
        best = ag.maximum(best, m)
    I[i * BM :] = at


@ag.reference
def place_from_a_tile_reference(X):
    return X.argmax(1)


@ag.kernel
def place_from_a_row(X: f32["N M"], I: i32["M"], *, BM: int = 64):
    """Where the smallest of a column is, beginning with the first row."""
    N, M = X.shape
    ag.require(N > 0, "rows")
    i = ag.block(ag.cdiv(M, BM))
    best = ag.load(X[0, i * BM :], (BM,))
    at = ag.full((BM,), 0, i32, dims="M")
    for n in ag.range(1, N):
        x = ag.load(X[n, i * BM :], (BM,))
        at = ag.where(x < best, n, at)
        best = ag.minimum(best, x)
    I[i * BM :] = at


@ag.reference
def place_from_a_row_reference(X):
    return X.argmin(0)
