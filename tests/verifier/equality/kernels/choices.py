"""Choices: by a table, a scalar, a mask; numbers that are cut; windows that add up."""

import argus as ag
from argus import bf16, f32, i8, i32


@ag.kernel
def windows_back(C: f32["B T W"], Y: f32["B L"], *, W: int = 4, BL: int = 64):
    """Sum of overlapping windows by gathering: y[t] = sum_w C[t - w, w]."""
    B, T, _ = C.shape
    L = Y.shape[1]
    ag.require(L == T + W - 1, "length")
    b, i = ag.block(B, ag.cdiv(L, BL))
    v = C.view("B L W", shape=(B, L, W), at=lambda b, l, w: (b, l - w, w))
    Y[b, i * BL :] = ag.sum(ag.load(v[b, i * BL :, :], (BL, W)), "W")


@ag.reference
def windows_back_reference(C):
    B, T, W = C.shape
    y = np.zeros((B, T + W - 1))
    for w in range(W):
        y[:, w : w + T] += C[:, :, w]
    return y


@ag.kernel
def packed_documents(
    Q: bf16["S D"],
    K: bf16["S D"],
    V: bf16["S D"],
    Doc: i32["S"],
    O: f32["S D"],
    *,
    D: int = 64,
    B: int = 64,
):
    """Document mask: a query sees keys of its own document only (table of ids)."""
    S, _ = Q.shape
    i = ag.block(ag.cdiv(S, B))
    q = ag.load(Q[i * B :, :], (B, D)).rename("Q D")
    dq = ag.load(Doc[i * B :], (B,), fill=-1).rename("Q")
    m = ag.full((B,), -1e30, f32)
    l = ag.zeros((B,), f32)
    o = ag.zeros((B, D), f32)
    for t in ag.range(0, ag.min(S, (i + 1) * B), B):
        kk = ag.load(K[t:, :], (B, D)).rename("T D")
        s = ag.dot(q, kk.T) * 0.125
        dk = ag.load(Doc[t:], (B,), fill=-2).rename("T")
        row = ag.broadcast(ag.index(s, "Q") + i * B, s)
        col = ag.broadcast(ag.index(s, "T") + t, s)
        seen = (col <= row) & (ag.broadcast(dq, s) == ag.broadcast(dk, s)) & (col < S)
        s = ag.where(seen, s, -1e30)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.where(seen, ag.exp(s - new), 0.0)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), ag.load(V[t:, :], (B, D)).rename("T D"), o * a)
        m = new
    O[i * B :, :] = (o / l).rename("S D")


@ag.reference
def packed_documents_reference(Q, K, V, Doc):
    S = Q.shape[0]
    r = np.arange(S)
    s = Q @ K.T * 0.125
    s = np.where(
        (r[None, :] <= r[:, None]) & (Doc[None, :] == Doc[:, None]), s, -np.inf
    )
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ V


@ag.kernel
def either_way(X: f32["N M"], Y: f32["N M"], mode: i32, alpha: f32, *, B: int = 32):
    """A scalar chooses: read as it is, or transposed."""
    N, M = X.shape
    ag.require(N == M, "square")
    i, j = ag.block(ag.cdiv(N, B), ag.cdiv(N, B))
    y = ag.zeros((B, B), f32)
    if mode == 0:
        y = ag.load(X[i * B :, j * B :], (B, B)).rename("_ _")
    else:
        y = ag.load(X[j * B :, i * B :], (B, B)).rename("_ _").T
    Y[i * B :, j * B :] = (y * alpha).rename("N M")


@ag.reference
def either_way_reference(X, mode, alpha):
    return alpha * (X if mode == 0 else X.T)


@ag.kernel
def ignored_labels(X: f32["M V"], T: i32["M"], Loss: f32["M"], *, BV: int = 128):
    """Cross entropy with label smoothing 0 and ignored labels -100, loss 0 there."""
    M, V = X.shape
    ag.require(V > 0, "classes")
    ag.assume(lambda t: (t == -100) | ((t >= 0) & (t < V)), T)
    m = ag.block(M)
    mx = ag.full((1,), -ag.inf, f32)
    l = ag.zeros((1,), f32)
    for v in ag.range(0, V, BV):
        x = ag.load(X[m : m + 1, v:], (1, BV), fill=-ag.inf)
        new = ag.maximum(mx, ag.max(x, "V"))
        l = l * ag.exp(mx - new) + ag.sum(ag.exp(x - new), "V")
        mx = new
    t = T[m]
    y = mx + ag.log(l) - X[m, ag.max(t, 0)]
    Loss[m : m + 1] = ag.where(ag.full((1,), t, i32) == -100, 0.0, y)


@ag.reference
def ignored_labels_reference(X, T):
    m = X.max(1)
    lse = m + np.log(np.exp(X - m[:, None]).sum(1))
    pick = X[np.arange(X.shape[0]), np.maximum(T, 0)]
    return np.where(T == -100, 0.0, lse - pick)


@ag.kernel
def hashed(X: i32["N"], Y: i32["N"], seed: i32):
    """Integer hash by shifts and xors in i32 (wraps)."""
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, 256))
    x = ag.load(X[i * 256 :], (256,)) + seed
    x = x ^ (x >> 16)
    x = (x & 65535) * 31421 + 6927
    Y[i * 256 :] = x & 1023


@ag.reference
def hashed_reference(X, seed):
    x = X + seed
    x = x ^ (x >> 16)
    x = (x & 65535) * 31421 + 6927
    return x & 1023


@ag.kernel
def quantised_rows(X: f32["M N"], Q: i8["M N"], S: f32["M"], *, BN: int = 128):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    a = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        a = ag.maximum(a, ag.max(ag.abs(ag.load(X[i * 4 :, n:], (4, BN))), "N"))
    s = ag.maximum(a, 1e-10) / 127.0
    S[i * 4 :] = s
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN))
        Q[i * 4 :, n:] = ag.maximum(ag.minimum(ag.round(x / s), 127.0), -127.0).to(i8)


@ag.reference
def quantised_rows_reference(X):
    s = np.maximum(np.abs(X).max(1, initial=0.0), 1e-10) / 127.0
    return np.clip(np.rint(X / s[:, None]), -127, 127), s


@ag.kernel
def optional_parts(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    Bias: f32["N"] | None = None,
    Res: bf16["M N"] | None = None,
    beta: f32 = 1.0,
    *,
    ACT: str = "relu",
):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k:], (64, 64)).T,
            acc,
        )
    if Bias is not None:
        acc = acc + ag.load(Bias[j * 64 :], (64,))
    if ACT == "relu":
        acc = ag.relu(acc)
    if Res is not None:
        acc = acc + beta * ag.load(Res[i * 64 :, j * 64 :], (64, 64)).to(f32)
    C[i * 64 :, j * 64 :] = acc.to(bf16)


@ag.reference
def optional_parts_reference(A, B, Bias, Res, beta):
    y = A @ B.T
    if Bias is not None:
        y = y + Bias
    y = np.maximum(y, 0)
    if Res is not None:
        y = y + beta * Res
    return y


@ag.kernel
def quantised_unclipped(
    X: f32["M N"], Q: i8["M N"], S: f32["M"], *, BM: int = 4, N: int = 512
):
    """Rows divided by their largest: they are within 8 bits without a clip."""
    M = X.shape[0]
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:N], (BM, N))
    s = ag.maximum(ag.max(ag.abs(x), "N"), 1e-8) / 127.0
    S[i * BM :] = s
    Q[i * BM :, 0:N] = ag.round(x / s).to(i8)


@ag.reference
def quantised_unclipped_reference(X):
    s = np.maximum(np.abs(X).max(1), 1e-8) / 127
    return {"S": s, "Q": np.round(X / s[:, None])}


@ag.kernel
def sparse_rows(
    Val: f32["M W"], Col: i32["M W"], X: f32["N"], Y: f32["M"], *, BM: int = 64
):
    """ELL sparse matrix times vector: rows of W entries, column -1 where none."""
    M, W = Val.shape
    N = X.shape[0]
    ag.assume(lambda c: (c >= -1) & (c < N), Col)
    i = ag.block(ag.cdiv(M, BM))
    acc = ag.zeros((BM,), f32, dims="M")
    for w in ag.range(0, W):
        c = ag.load(Col[i * BM :, w], (BM,), fill=-1)
        v = ag.load(Val[i * BM :, w], (BM,))
        acc = acc + v * ag.load(X[c], (BM,)).rename("M")
    Y[i * BM :] = acc


@ag.reference
def sparse_rows_reference(Val, Col, X):
    x = np.where(Col >= 0, X[np.maximum(Col, 0)], 0.0)
    return (Val * x).sum(1)


@ag.kernel
def first_of_runs(I: i32["N"], F: i32["N"], *, B: int = 128):
    """1 where an entry differs from the one before it, and for the first."""
    N = I.shape[0]
    i = ag.block(ag.cdiv(N, B))
    a = ag.load(I[i * B :], (B,))
    b = ag.load(I[i * B - 1 :], (B,))
    n = ag.index(a, "N") + i * B
    F[i * B :] = ag.where((n == 0) | (a != b), 1, 0)


@ag.reference
def first_of_runs_reference(I):
    n = np.arange(I.shape[0])
    before = I[np.maximum(n - 1, 0)]
    return np.where((n == 0) | (I != before), 1, 0)


@ag.kernel
def kept_elements(
    X: f32["N"], P: i32["N"], Keep: i32["N"], Y: f32["N"], *, BN: int = 128
):
    """Kept elements at places of their own; those at -1 are nowhere."""
    (N,) = X.shape
    i = ag.block(ag.cdiv(N, BN)) * BN
    x, pos = ag.load(X[i:], (BN,)), ag.load(P[i:], (BN,))
    keep = ag.load(Keep[i:], (BN,))
    ag.assume(lambda p: (p >= 0) & (p < N), P)
    ag.assume(lambda a, b: a != b, P, pairs=True)
    Y[ag.where(keep > 0, pos, -1)] = x


@ag.reference
def kept_elements_reference(X, P, Keep, Y, N):
    hit = (P[None] == np.arange(N)[:, None]) & (Keep > 0)[None]
    return np.where(hit.any(1), (hit * X[None]).sum(1), Y)
