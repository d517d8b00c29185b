"""Rows: norms, losses, routers, choices by data."""

import argus as ag
from argus import bf16, f32, i8, i32, u8


@ag.kernel
def layernorm_fwd(
    X: bf16["M N"],
    W: f32["N"],
    B: f32["N"],
    Y: bf16["M N"],
    Mean: f32["M"],
    Rstd: f32["M"],
    eps: f32 = 1e-5,
    *,
    BN: int = 256,
    BM: int = 4,
):
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, BM))
    total = ag.zeros((BM,), f32)
    for n in ag.range(0, N, BN):
        total = total + ag.sum(ag.load(X[i * BM :, n:], (BM, BN)).to(f32), "N")
    mean = total / N
    var = ag.zeros((BM,), f32)
    for n in ag.range(0, N, BN):
        d = ag.load(X[i * BM :, n:], (BM, BN)).to(f32) - mean
        d = ag.where(n + ag.index(d, "N") < N, d, 0.0)
        var = var + ag.sum(d * d, "N")
    rstd = ag.rsqrt(var / N + eps)
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN)).to(f32)
        y = (x - mean) * rstd * ag.load(W[n:], (BN,)) + ag.load(B[n:], (BN,))
        Y[i * BM :, n:] = y.to(bf16)
    Mean[i * BM :] = mean
    Rstd[i * BM :] = rstd


@ag.reference
def layernorm_fwd_reference(X, W, B, eps):
    mean = X.mean(1)
    rstd = 1 / np.sqrt(X.var(1) + eps)
    return {
        "Y": (X - mean[:, None]) * rstd[:, None] * W + B,
        "Mean": mean,
        "Rstd": rstd,
    }


@ag.kernel
def rmsnorm_bwd(
    X: f32["M N"],
    W: f32["N"],
    DY: f32["M N"],
    DX: f32["M N"],
    eps: f32 = 1e-6,
    *,
    N: int = 512,
):
    M = X.shape[0]
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, :], (4, N))
    g = ag.load(DY[i * 4 :, :], (4, N)) * ag.load(W[:])
    r = ag.rsqrt(ag.mean(x * x, "N", N) + eps)
    dot = ag.sum(g * x, "N")
    DX[i * 4 :, :] = g * r - x * (r * r * r * dot / N)


@ag.reference
def rmsnorm_bwd_reference(X, W, DY, eps):
    N = X.shape[1]
    r = 1 / np.sqrt((X * X).mean(1, keepdims=True) + eps)
    g = DY * W
    return g * r - X * r**3 * (g * X).sum(1, keepdims=True) / N


@ag.kernel
def cross_entropy_ignore(Z: bf16["M V"], Y: i32["M"], L: f32["M"], *, BV: int = 256):
    """Loss of each row; rows with label -100 are 0."""
    M, V = Z.shape
    ag.require(V > 0, "classes")
    ag.assume(lambda y: (y >= -100) & (y < V), Y)
    i = ag.block(ag.cdiv(M, 4))
    y = ag.load(Y[i * 4 :], (4,), fill=-100)
    m = ag.full((4,), -1e30, f32, dims="M")
    s = ag.zeros((4,), f32, dims="M")
    picked = ag.zeros((4,), f32, dims="M")
    for v in ag.range(0, V, BV):
        z = ag.load(Z[i * 4 :, v:], (4, BV), fill=-ag.inf).to(f32)
        new = ag.maximum(m, ag.max(z, "V"))
        s = s * ag.exp(m - new) + ag.sum(ag.exp(z - new), "V")
        m = new
        hit = ag.broadcast(v + ag.index(z, "V"), z) == ag.broadcast(y, z)
        picked = picked + ag.sum(ag.where(hit, z, 0.0), "V")
    L[i * 4 :] = ag.where(y == -100, 0.0, m + ag.log(s) - picked)


@ag.reference
def cross_entropy_ignore_reference(Z, Y):
    lse = np.log(np.exp(Z - Z.max(1, keepdims=True)).sum(1)) + Z.max(1)
    safe = np.where(Y == -100, 0, Y)
    picked = np.take_along_axis(Z, safe[:, None], 1)[:, 0]
    return np.where(Y == -100, 0, lse - picked)


@ag.kernel
def moe_router_top1(
    Logits: f32["T E"], Expert: i32["T"], Gate: f32["T"], *, E: int = 64, BT: int = 16
):
    T = Logits.shape[0]
    i = ag.block(ag.cdiv(T, BT))
    x = ag.load(Logits[i * BT :, :], (BT, E))
    m = ag.max(x, "E")
    e = ag.argmax(x, "E")
    Expert[i * BT :] = e
    Gate[i * BT :] = 1.0 / ag.sum(ag.exp(x - m), "E")


@ag.reference
def moe_router_top1_reference(Logits):
    p = np.exp(Logits - Logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return {"Expert": Logits.argmax(1), "Gate": p.max(1)}


@ag.kernel
def router_softmax_argmax(
    Logits: f32["T E"], Expert: i32["T"], Gate: f32["T"], *, E: int = 64, BT: int = 16
):
    T = Logits.shape[0]
    i = ag.block(ag.cdiv(T, BT))
    x = ag.load(Logits[i * BT :, :], (BT, E))
    e = ag.exp(x - ag.max(x, "E"))
    p = e / ag.sum(e, "E")
    Expert[i * BT :] = ag.argmax(p, "E")
    Gate[i * BT :] = ag.max(p, "E")


@ag.reference
def router_softmax_argmax_reference(Logits):
    e = np.exp(Logits)
    return {"Expert": Logits.argmax(1), "Gate": (e / e.sum(1, keepdims=True)).max(1)}


@ag.kernel
def infonce(
    A: bf16["B D"], P: bf16["B D"], L: f32["B"], tau: f32 = 0.07, *, D: int = 128
):
    """-log softmax of the diagonal of A P^T / tau."""
    B = A.shape[0]
    i = ag.block(ag.cdiv(B, 64))
    a = ag.load(A[i * 64 :, :], (64, D))
    m = ag.full((64,), -1e30, f32)
    l = ag.zeros((64,), f32)
    for j in ag.range(0, B, 64):
        p = ag.load(P[j:, :], (64, D)).rename("C D")
        s = ag.dot(a, p.T) / tau
        s = ag.where(ag.broadcast(j + ag.index(s, "C") < B, s), s, -1e30)
        new = ag.maximum(m, ag.max(s, "C"))
        l = l * ag.exp(m - new) + ag.sum(ag.exp(s - new), "C")
        m = new
    own = ag.load(P[i * 64 :, :], (64, D)).to(f32)
    d = ag.sum(a.to(f32) * own, "D") / tau
    L[i * 64 :] = m + ag.log(l) - d


@ag.reference
def infonce_reference(A, P, tau):
    s = A @ P.T / tau
    lse = np.log(np.exp(s - s.max(1, keepdims=True)).sum(1)) + s.max(1)
    return lse - np.diagonal(s)


@ag.kernel
def cosine(
    X: f32["M D"], Y: f32["M D"], Z: f32["M"], eps: f32 = 1e-8, *, BD: int = 256
):
    M, D = X.shape
    i = ag.block(ag.cdiv(M, 4))
    xy = ag.zeros((4,), f32)
    xx = ag.zeros((4,), f32)
    yy = ag.zeros((4,), f32)
    for d in ag.range(0, D, BD):
        x = ag.load(X[i * 4 :, d:], (4, BD))
        y = ag.load(Y[i * 4 :, d:], (4, BD))
        xy, xx, yy = (
            xy + ag.sum(x * y, "D"),
            xx + ag.sum(x * x, "D"),
            yy + ag.sum(y * y, "D"),
        )
    Z[i * 4 :] = xy / ag.maximum(ag.sqrt(xx) * ag.sqrt(yy), eps)


@ag.reference
def cosine_reference(X, Y, eps):
    n = np.linalg.norm(X, axis=1) * np.linalg.norm(Y, axis=1)
    return (X * Y).sum(1) / np.maximum(n, eps)


@ag.kernel
def atomic_scalar(
    X: f32["N"], T: f32["N"], L: f32["1"], Count: i32["B"], delta: f32 = 1.0
):
    N = X.shape[0]
    ag.require(N > 0, "elements")
    ag.require(ag.dim("B") == ag.cdiv(N, 1024), "one count per block")
    i = ag.block(ag.cdiv(N, 1024))
    d = ag.load(X[i * 1024 :], (1024,)) - ag.load(T[i * 1024 :], (1024,))
    a = ag.abs(d)
    l = ag.where(a < delta, 0.5 * d * d, delta * (a - 0.5 * delta))
    l = ag.where(i * 1024 + ag.index(l, "N") < N, l, 0.0)
    ag.atomic_add(L[0], ag.sum(l, "N") / N)
    ag.atomic_add(Count[i], 1)


@ag.reference
def atomic_scalar_reference(X, T, Count, delta):
    d = np.abs(X - T)
    return {
        "L": np.where(d < delta, 0.5 * d**2, delta * (d - 0.5 * delta)).mean()[None],
        "Count": Count + 1,
    }


@ag.kernel
def one_hot(I: i32["P"], Y: f32["P C"]):
    P, C = Y.shape
    i, j = ag.block(ag.cdiv(P, 32), ag.cdiv(C, 64))
    ids = ag.load(I[i * 32 :], (32,))
    y = ag.zeros((32, 64), f32, dims="P C")
    col = ag.broadcast(j * 64 + ag.index(y, "C"), y)
    Y[i * 32 :, j * 64 :] = ag.where(col == ag.broadcast(ids, y), 1.0, 0.0)


@ag.reference
def one_hot_reference(I, Y):
    return (I[:, None] == np.arange(Y.shape[1])).astype(float)


@ag.kernel
def gather_axis1(X: f32["M N"], I: i32["M K"], Y: f32["M K"], *, BN: int = 128):
    """np.take_along_axis(X, I, 1) by comparing."""
    M, N = X.shape
    K = I.shape[1]
    ag.assume(lambda i: (i >= 0) & (i < N), I)
    m, k = ag.block(M, K)
    at = I[m, k]
    Y[m, k] = X[m, at]


@ag.reference
def gather_axis1_reference(X, I):
    return np.take_along_axis(X, I, axis=1)


@ag.kernel
def embedding_padding(
    Ids: i32["B S"],
    E: bf16["V D"],
    Y: bf16["B S D"],
    pad: i32 = 0,
    *,
    BS: int = 16,
    BD: int = 128,
):
    """Rows of E; the padding index gives zeros."""
    B, S = Ids.shape
    V, D = E.shape
    ag.assume(lambda i: (i >= 0) & (i < V), Ids)
    b, s, d = ag.block(B, ag.cdiv(S, BS), ag.cdiv(D, BD))
    ids = ag.load(Ids[b, s * BS :], (BS,), fill=-1)
    rows = ag.load(E[ids, d * BD :], (BS, BD)).rename("S D")
    keep = ag.broadcast(ids != pad, rows)
    Y[b, s * BS :, d * BD :] = ag.where(keep, rows, 0.0)


@ag.reference
def embedding_padding_reference(Ids, E, pad):
    return np.where((Ids == pad)[:, :, None], 0.0, E[Ids])


@ag.kernel
def moe_scatter(X: bf16["P D"], Token: i32["P"], Gate: f32["P"], Y: f32["T D"]):
    P, D = X.shape
    T = Y.shape[0]
    ag.assume(lambda t: (t >= 0) & (t < T), Token)
    p, d = ag.block(ag.cdiv(P, 32), ag.cdiv(D, 64))
    t = ag.load(Token[p * 32 :], (32,), fill=-1)
    x = ag.load(X[p * 32 :, d * 64 :], (32, 64)).to(f32)
    ag.atomic_add(Y[t, d * 64 :], x * ag.load(Gate[p * 32 :], (32,)))


@ag.reference
def moe_scatter_reference(X, Token, Gate, Y):
    out = Y.copy()
    np.add.at(out, Token, X * Gate[:, None])
    return out


@ag.kernel
def and_mask(X: u8["N"], L: i32["N"], H: i32["N"]):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, 256))
    x = ag.load(X[i * 256 :], (256,)).to(i32)
    L[i * 256 :] = x & 15
    H[i * 256 :] = (x >> 4) & 15


@ag.reference
def and_mask_reference(X):
    return {"L": X % 16, "H": X // 16}


@ag.kernel
def counted_entries(X: f32["M N"], W: i32["M N"], Y: f32["M"], S: i32["M"]):
    """A mean over what a table keeps, counted by a scalar; a sum of its entries."""
    M, N = X.shape
    ag.require(N < 2**20, "sums fit")
    ag.assume(lambda w: (w >= 0) & (w < 100), W)
    m = ag.block(M)
    n, total, s = 0, 0, 0.0
    for j in ag.range(0, N):
        if W[m, j] > 0:
            n = n + 1
            s = s + X[m, j]
        total = total + W[m, j]
    Y[m] = s / ag.max(n, 1)
    S[m] = total


@ag.reference
def counted_entries_reference(X, W):
    n = (W > 0).sum(1)
    return np.where(W > 0, X, 0).sum(1) / np.maximum(n, 1), W.sum(1)


@ag.kernel
def places_of_kept(T: i32["M N"], Y: i32["M N"], C: i32["M"]):
    """Where each kept entry goes: how many are kept before it."""
    M, N = T.shape
    m = ag.block(M)
    n = 0
    for j in ag.range(0, N):
        Y[m, j] = n
        if T[m, j] > 0:
            n = n + 1
    C[m] = n


@ag.reference
def places_of_kept_reference(T):
    kept = (T > 0).astype(np.int64)
    return np.cumsum(kept, 1) - kept, kept.sum(1)


@ag.kernel
def group_norm_planes(
    X: f32["B G C P"], Y: f32["B G C P"], eps: f32 = 1e-5, *, BP: int = 64
):
    """The planes of a group, by lanes: which of two sums is the outer one."""
    B, G, C, P = X.shape
    ag.require((C > 0) & (P > 0), "elements")
    b, g = ag.block(B, G)
    s = ag.zeros((BP,), f32)
    q = ag.zeros((BP,), f32)
    for c in ag.range(C):
        for p in ag.range(0, P, BP):
            x = ag.load(X[b, g, c, p:], (BP,))
            s = s + x
            q = q + x * x
    mean = ag.sum(s, "P") / (C * P)
    var = ag.sum(q, "P") / (C * P) - mean * mean
    r = ag.rsqrt(var + eps)
    for c in ag.range(C):
        for p in ag.range(0, P, BP):
            Y[b, g, c, p:] = (ag.load(X[b, g, c, p:], (BP,)) - mean) * r


@ag.reference
def group_norm_planes_reference(X, eps):
    mean = X.mean((2, 3), keepdims=True)
    return (X - mean) / np.sqrt(X.var((2, 3), keepdims=True) + eps)


@ag.kernel
def quantised_by_largest(
    X: bf16["M N"], Q: i8["M N"], S: f32["M"], *, BM: int = 4, BN: int = 512
):
    """What lies beside a row is 0, and no absolute value is less."""
    M, N = X.shape
    ag.require((N > 0) & (N <= BN), "a row")
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BN)).to(f32)
    s = ag.maximum(ag.max(ag.abs(x), "N") / 127.0, 1e-8)
    S[i * BM :] = ag.max(ag.abs(x), "N")
    q = ag.maximum(ag.minimum(ag.round(x / s), 127.0), -127.0)
    Q[i * BM :, 0:] = q.to(i8)


@ag.reference
def quantised_by_largest_reference(X):
    s = np.abs(X).max(1)
    t = np.maximum(s / 127, 1e-8)[:, None]
    return {"Q": np.clip(np.round(X / t), -127, 127).astype(np.int8), "S": s}
