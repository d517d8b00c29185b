"""Rows of which data says what is in them, and what their spread is."""

import argus as ag
from argus import bf16, boolean, f32, i8, i32


@ag.kernel
def instance_norm(
    X: f32["B C L"], W: f32["C"], Bi: f32["C"], Y: f32["B C L"], *, BL: int = 128
):
    """Instance norm in two passes with shifted sums."""
    B, C, L = X.shape
    ag.require(L > 0, "elements")
    b, c = ag.block(B, C)
    s = ag.zeros((1,), f32, dims="C")
    q = ag.zeros((1,), f32, dims="C")
    for l in ag.range(0, L, BL):
        x = ag.load(X[b, c : c + 1, l:], (1, BL))
        s = s + ag.sum(x, "L")
        q = q + ag.sum(x * x, "L")
    mu = s / L
    r = ag.rsqrt(ag.maximum(q / L - mu * mu, 0.0) + 1e-5)
    for l in ag.range(0, L, BL):
        x = ag.load(X[b, c : c + 1, l:], (1, BL))
        Y[b, c : c + 1, l:] = (x - mu) * r * W[c] + Bi[c]


@ag.reference
def instance_norm_reference(X, W, Bi):
    mu = X.mean(2, keepdims=True)
    v = ((X - mu) ** 2).mean(2, keepdims=True)
    return (X - mu) / np.sqrt(v + 1e-5) * W[:, None] + Bi[:, None]


@ag.kernel
def tree_softmax(
    S: f32["B T T2"], M: boolean["T T2"], Y: f32["B T T2"], *, BT: int = 4
):
    """Softmax under a tree mask that is given; the diagonal is always visible."""
    B, T, _ = S.shape
    ag.require((T <= 128) & (ag.dim("T2") == T), "a row is a tile")
    b, i = ag.block(B, ag.cdiv(T, BT))
    s = ag.load(S[b, i * BT :, 0:], (BT, 128), fill=-ag.inf)
    m = ag.load(M[i * BT :, 0:], (BT, 128))
    own = ag.broadcast(ag.index(s, "T2"), s) == ag.broadcast(
        i * BT + ag.index(s, "T"), s
    )
    x = ag.where(m | own, s, -ag.inf)
    e = ag.exp(x - ag.max(x, "T2"))
    Y[b, i * BT :, 0:] = e / ag.sum(e, "T2")


@ag.reference
def tree_softmax_reference(S, M):
    T = S.shape[1]
    ok = M | (np.arange(T)[:, None] == np.arange(T)[None])
    x = np.where(ok, S, -np.inf)
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@ag.kernel
def quantised_append(
    X: bf16["T H D"], Slot: i32["T"], C: i8["S H D"], Sc: f32["S H"], *, D: int = 64
):
    """New keys as int8 with a scale per token and head, written to slots."""
    T, H, _ = X.shape
    S = C.shape[0]
    ag.assume(lambda s: (s >= 0) & (s < S), Slot)
    ag.assume(lambda a, b: a != b, Slot, pairs=True)
    t, h = ag.block(T, H)
    x = ag.load(X[t, h, :], (D,)).to(f32)
    s = ag.maximum(ag.max(ag.abs(x), "D"), 1e-6) / 127.0
    n = Slot[t]
    C[n, h, :] = ag.round(x / s).to(i8)
    Sc[n, h] = s


@ag.reference
def quantised_append_reference(X, Slot, C, Sc):
    s = np.maximum(np.abs(X).max(-1), 1e-6) / 127.0
    c, sc = np.array(C), np.array(Sc)
    c[Slot] = np.round(X / s[..., None])
    sc[Slot] = s
    return c, sc


@ag.kernel
def padded_batch(
    X: f32["T D"],
    Off: i32["B1"],
    Y: f32["B L D"],
    pad: f32 = 0.0,
    *,
    BL: int = 16,
    BD: int = 64,
):
    """Packed rows to a padded batch."""
    T, D = X.shape
    B, L, _ = Y.shape
    ag.require(ag.dim("B1") == B + 1, "an offset more")
    ag.assume(lambda o: (o >= 0) & (o <= T), Off)
    b, i, j = ag.block(B, ag.cdiv(L, BL), ag.cdiv(D, BD))
    first, last = Off[b], Off[b + 1]
    l = i * BL
    x = ag.load(X[first + l : last, j * BD :], (BL, BD))
    live = ag.broadcast(first + l + ag.index(x, "T") < last, x)
    Y[b, l:, j * BD :] = ag.where(live, x, pad).rename("L D")


@ag.reference
def padded_batch_reference(X, Off, Y, pad):
    B, L, D = Y.shape
    at = Off[:-1][:, None] + np.arange(L)
    ok = at < Off[1:][:, None]
    return np.where(ok[..., None], X[np.where(ok, at, 0)], pad)


@ag.kernel
def ell_rows(
    Val: f32["M L"], Col: i32["M L"], X: f32["N D"], Y: f32["M D"], *, BD: int = 64
):
    """ELLPACK times dense: Y[m] = sum of Val[m, l] * X[Col[m, l]]; below 0: none."""
    M, L = Val.shape
    N, D = X.shape
    m, j = ag.block(M, ag.cdiv(D, BD))
    acc = ag.zeros((BD,), f32, dims="D")
    for l in ag.range(0, L, 16):
        c = ag.load(Col[m, l:], (16,), fill=-1)
        v = ag.load(Val[m, l:], (16,))
        x = ag.load(X[c, j * BD :], (16, BD))
        acc = acc + ag.sum(x * v, "L")
    Y[m, j * BD :] = acc


@ag.reference
def ell_rows_reference(Val, Col, X):
    ok = (Col >= 0) & (Col < X.shape[0])
    x = np.where(ok[:, :, None], X[np.where(ok, Col, 0)], 0)
    return (Val[:, :, None] * x).sum(1)
