"""Losses and gates: what stands beside a softmax, and what no row has."""

import argus as ag
from argus import bf16, f32, i8, i32


@ag.kernel
def kl_divergence(
    P: f32["M N"], Q: f32["M N"], L: f32["M"], *, BM: int = 4, BN: int = 128
):
    """Rows of KL(softmax P || softmax Q) in one pass over columns, five sums."""
    M, N = P.shape
    ag.require(N > 0, "classes")
    i = ag.block(ag.cdiv(M, BM))
    mp = ag.full((BM,), -1e30, f32, dims="M")
    mq = ag.full((BM,), -1e30, f32, dims="M")
    lp = ag.zeros((BM,), f32, dims="M")
    lq = ag.zeros((BM,), f32, dims="M")
    d = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        p = ag.load(P[i * BM :, n:], (BM, BN), fill=-ag.inf)
        q = ag.load(Q[i * BM :, n:], (BM, BN), fill=-ag.inf)
        ok = ag.broadcast(n + ag.index(p, "N") < N, p)
        np_ = ag.maximum(mp, ag.max(p, "N"))
        nq = ag.maximum(mq, ag.max(q, "N"))
        e = ag.exp(p - np_)
        lp = lp * ag.exp(mp - np_) + ag.sum(e, "N")
        lq = lq * ag.exp(mq - nq) + ag.sum(ag.exp(q - nq), "N")
        d = d * ag.exp(mp - np_) + ag.sum(ag.where(ok, e * (p - q), 0.0), "N")
        mp = np_
        mq = nq
    L[i * BM :] = d / lp - (mp + ag.log(lp)) + (mq + ag.log(lq))


@ag.reference
def kl_divergence_reference(P, Q):
    def lsm(x):
        m = x.max(1, keepdims=True)
        return x - m - np.log(np.exp(x - m).sum(1, keepdims=True))

    p, q = lsm(P), lsm(Q)
    return (np.exp(p) * (p - q)).sum(1)


@ag.kernel
def focal_loss(
    X: f32["M C"],
    T: i32["M"],
    L: f32["M"],
    alpha: f32 = 0.25,
    *,
    BM: int = 8,
    BC: int = 128,
):
    """-alpha (1 - p)^2 log p of the label's softmax probability."""
    M, C = X.shape
    ag.require((C > 0) & (C <= BC), "classes")
    ag.assume(lambda t: (t >= 0) & (t < C), T)
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BC), fill=-ag.inf)
    t = ag.load(T[i * BM :], (BM,))
    m = ag.max(x, "C")
    e = ag.exp(x - m)
    l = ag.sum(e, "C")
    hit = ag.broadcast(ag.index(x, "C"), x) == t
    xt = ag.sum(ag.where(hit, x, 0.0), "C")
    logp = xt - m - ag.log(l)
    p = ag.exp(logp)
    L[i * BM :] = -alpha * (1.0 - p) * (1.0 - p) * logp


@ag.reference
def focal_loss_reference(X, T, alpha):
    m = X.max(1, keepdims=True)
    lp = X - m - np.log(np.exp(X - m).sum(1, keepdims=True))
    lt = lp[np.arange(X.shape[0]), T]
    return -alpha * (1 - np.exp(lt)) ** 2 * lt


@ag.kernel
def top2_gating(
    X: f32["T E"], W: f32["T 2"], I: i32["T 2"], *, BT: int = 16, BE: int = 64
):
    """Softmax over the two largest logits; which experts they are."""
    T, E = X.shape
    ag.require((E >= 2) & (E <= BE), "experts")
    i = ag.block(ag.cdiv(T, BT))
    x = ag.load(X[i * BT :, 0:], (BT, BE), fill=-ag.inf)
    a = ag.argmax(x, "E")
    m = ag.max(x, "E")
    e = ag.broadcast(ag.index(x, "E"), x)
    y = ag.where(e == a, -ag.inf, x)
    b = ag.argmax(y, "E")
    n = ag.max(y, "E")
    w = 1.0 / (1.0 + ag.exp(n - m))
    W[i * BT :, 0] = w
    W[i * BT :, 1] = 1.0 - w
    I[i * BT :, 0] = a
    I[i * BT :, 1] = b


@ag.reference
def top2_gating_reference(X):
    T, E = X.shape
    a = X.argmax(1)
    y = np.where(np.arange(E)[None] == a[:, None], -np.inf, X)
    b = y.argmax(1)
    m, n = X.max(1), y.max(1)
    w = np.exp(m - m) / (np.exp(m - m) + np.exp(n - m))
    return {"W": np.stack([w, 1 - w], 1), "I": np.stack([a, b], 1)}


@ag.kernel
def masked_mean(
    X: f32["M N"], K: i8["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 128
):
    """Mean of what a mask keeps; nothing is said where it keeps nothing."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    s = ag.zeros((BM,), f32, dims="M")
    c = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        k = ag.load(K[i * BM :, n:], (BM, BN)).to(f32)
        s = s + ag.sum(x * k, "N")
        c = c + ag.sum(k, "N")
    Y[i * BM :] = s / c


@ag.reference
def masked_mean_reference(X, K):
    return (X * K).sum(1) / K.sum(1)


@ag.kernel
def masked_scores(X: f32["S T"], Y: f32["S T"], *, BS: int = 16, BT: int = 64):
    """Scores above the diagonal become -inf."""
    S, T = X.shape
    i, j = ag.block(ag.cdiv(S, BS), ag.cdiv(T, BT))
    x = ag.load(X[i * BS :, j * BT :], (BS, BT))
    row = ag.broadcast(i * BS + ag.index(x, "S"), x)
    col = ag.broadcast(j * BT + ag.index(x, "T"), x)
    Y[i * BS :, j * BT :] = ag.where(col <= row, x, -ag.inf)


@ag.reference
def masked_scores_reference(X):
    S, T = X.shape
    return np.where(np.arange(T)[None] <= np.arange(S)[:, None], X, -np.inf)


@ag.kernel
def segment_max(
    X: f32["P D"], Off: i32["B1"], Y: f32["B D"], *, BP: int = 32, BD: int = 64
):
    """Largest element of each segment [Off[b], Off[b + 1]): -inf of an empty one."""
    P, D = X.shape
    B = Y.shape[0]
    ag.require(Off.shape[0] == B + 1, "offsets")
    ag.assume(lambda o: (o >= 0) & (o <= P), Off)
    b, j = ag.block(B, ag.cdiv(D, BD))
    f, l = Off[b], Off[b + 1]
    m = ag.full((BD,), -ag.inf, f32, dims="D")
    for p in ag.range(f, l, BP):
        m = ag.maximum(
            m, ag.max(ag.load(X[p:l, j * BD :], (BP, BD), fill=-ag.inf), "P")
        )
    Y[b, j * BD :] = m


@ag.reference
def segment_max_reference(X, Off):
    B = Off.shape[0] - 1
    return np.stack([X[Off[b] : Off[b + 1]].max(0, initial=-np.inf) for b in range(B)])


@ag.kernel
def block_sparse(
    Q: bf16["H S D"],
    K: bf16["H T D"],
    V: bf16["H T D"],
    Col: i32["R L"],
    Cnt: i32["R"],
    O: f32["H S D"],
    *,
    D: int = 64,
):
    """Each row of 64 queries sees the key blocks that a table lists."""
    H, S, _ = Q.shape
    T = K.shape[1]
    R, L = Col.shape
    ag.require(S <= 64 * R, "rows")
    ag.assume(lambda c: (c >= 0) & (c * 64 + 64 <= T), Col)
    ag.assume(lambda c: (c >= 1) & (c <= L), Cnt)
    h, i = ag.block(H, ag.cdiv(S, 64))
    q = ag.load(Q[h, i * 64 :, :], (64, D))
    m = ag.full((64,), -1e30, f32, dims="S")
    l = ag.zeros((64,), f32, dims="S")
    o = ag.zeros((64, D), f32)
    for w in ag.range(0, Cnt[i]):
        c = Col[i, w]
        s = ag.dot(q, ag.load(K[h, c * 64 :, :], (64, D)).T)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - new)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), ag.load(V[h, c * 64 :, :], (64, D)), o * a)
        m = new
    O[h, i * 64 :, :] = o / l


@ag.reference
def block_sparse_reference(Q, K, V, Col, Cnt):
    s = np.arange(Q.shape[1])
    L = Col.shape[1]
    key = Col[s // 64][:, :, None] * 64 + np.arange(64)
    ok = (np.arange(L)[None, :] < Cnt[s // 64][:, None])[:, :, None]
    x = np.einsum("hsd,hslkd->hslk", Q, K[:, key])
    x = np.where(ok, x, -np.inf)
    p = np.exp(x - x.max((2, 3), keepdims=True))
    return np.einsum("hslk,hslkd->hsd", p / p.sum((2, 3), keepdims=True), V[:, key])


@ag.kernel
def quantised_groups(X: f32["M K"], Q: i8["M K"], S: f32["M G"], *, BM: int = 8):
    """Symmetric int8 by groups of 64 columns; scale max|x| / 127."""
    M, K = X.shape
    G = S.shape[1]
    ag.require(K == 64 * G, "groups")
    i, g = ag.block(ag.cdiv(M, BM), G)
    x = ag.load(X[i * BM :, g * 64 :], (BM, 64))
    a = ag.maximum(ag.max(ag.abs(x), "K"), 1e-8)
    s = a / 127.0
    q = ag.minimum(ag.maximum(ag.round(x / s), -127.0), 127.0)
    Q[i * BM :, g * 64 :] = q.to(i32).to(i8)
    S[i * BM :, g] = s


@ag.reference
def quantised_groups_reference(X):
    M, K = X.shape
    x = X.reshape(M, K // 64, 64)
    s = np.maximum(np.abs(x).max(2), 1e-8) / 127
    q = np.clip(np.round(x / s[:, :, None]), -127, 127)
    return {"Q": q.reshape(M, K), "S": s}


@ag.kernel
def nearest(P: f32["N 3"], Q: f32["M 3"], Y: f32["N"], At: i32["N"], *, BN: int = 64):
    """Chamfer: squared distance to the nearest of other points, and which it is."""
    M = Q.shape[0]
    ag.require(M > 0, "points")
    i = ag.block(ag.cdiv(P.shape[0], BN))
    best = ag.full((BN,), ag.inf, f32, dims="N")
    at = ag.zeros((BN,), i32, dims="N")
    x = ag.load(P[i * BN :, 0], (BN,))
    y = ag.load(P[i * BN :, 1], (BN,))
    z = ag.load(P[i * BN :, 2], (BN,))
    for m in ag.range(0, M):
        dx = x - Q[m, 0]
        dy = y - Q[m, 1]
        dz = z - Q[m, 2]
        d = dx * dx + dy * dy + dz * dz
        at = ag.where(d < best, m, at)
        best = ag.minimum(best, d)
    Y[i * BN :] = best
    At[i * BN :] = at


@ag.reference
def nearest_reference(P, Q):
    d = ((P[:, None, :] - Q[None, :, :]) ** 2).sum(2)
    return d.min(1), d.argmin(1)


@ag.kernel
def kept_mean(X: f32["M N"], K: i32["M N"], Y: f32["M"], *, N: int = 128, BM: int = 4):
    """Mean of what a mask keeps, and 0 where it keeps nothing."""
    M = X.shape[0]
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, :], (BM, N))
    kept = ag.load(K[i * BM :, :], (BM, N)) > 0
    n = ag.sum(kept.to(f32), "N")
    Y[i * BM :] = ag.sum(ag.where(kept, x, 0.0), "N") / ag.maximum(n, 1.0)


@ag.reference
def kept_mean_reference(X, K):
    kept = K > 0
    n = kept.sum(1)
    return np.where(n > 0, np.where(kept, X, 0).sum(1) / np.where(n > 0, n, 1), 0.0)
