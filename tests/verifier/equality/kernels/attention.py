"""Attention in the forms that inference and training use."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def paged_attention(
    Q: bf16["B H D"],
    KC: bf16["P T D"],
    VC: bf16["P T D"],
    Table: i32["B W"],
    Len: i32["B"],
    O: f32["B H D"],
    scale: f32 = 0.125,
    *,
    D: int = 64,
    T: int = 32,
):
    """Decode: a query per sequence and head; a table names pages of 32 keys."""
    B, H, _ = Q.shape
    P = KC.shape[0]
    W = Table.shape[1]
    ag.require(H <= 16, "heads in one tile")
    ag.assume(lambda p: (p >= 0) & (p < P), Table)
    ag.assume(lambda n: (n > 0) & (n <= W * 32), Len)
    b = ag.block(B)
    q = ag.load(Q[b, 0:16, :])
    n = Len[b]
    m = ag.full((16,), -1e30, f32, dims="H")
    l = ag.zeros((16,), f32, dims="H")
    o = ag.zeros((16, D), f32)
    for w in ag.range(0, ag.cdiv(n, T)):
        page = Table[b, w]
        k = ag.load(KC[page, :, :])
        v = ag.load(VC[page, :, :])
        s = ag.dot(q, k.T) * scale
        live = ag.broadcast(w * T + ag.index(s, "T") < n, s)
        s = ag.where(live, s, -1e30)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - new)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), v, o * a)
        m = new
    O[b, 0:16, :] = o / l


@ag.reference
def paged_attention_reference(Q, KC, VC, Table, Len, scale):
    B, H, D = Q.shape
    P, T, _ = KC.shape
    W = Table.shape[1]
    K = KC[Table].reshape(B, W * T, D)
    V = VC[Table].reshape(B, W * T, D)
    s = np.einsum("bhd,btd->bht", Q, K) * scale
    s = np.where(np.arange(W * T)[None, None, :] < Len[:, None, None], s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    return np.einsum("bht,btd->bhd", p, V)


@ag.kernel
def sliding_softmax(
    Q: bf16["B S D"],
    K: bf16["B S D"],
    V: bf16["B S D"],
    O: bf16["B S D"],
    scale: f32 = 0.125,
    *,
    D: int = 64,
    W: int = 100,
):
    """Causal softmax attention over the last W keys; loop bounds skip tiles outside."""
    B, S, _ = Q.shape
    b, i = ag.block(B, ag.cdiv(S, 64))
    q = ag.load(Q[b, i * 64 :, :], (64, D))
    m = ag.full((64,), -1e30, f32)
    l = ag.zeros((64,), f32)
    o = ag.zeros((64, D), f32)
    first = ag.max(i * 64 - W + 1, 0) // 64
    for t in ag.range(first, i + 1):
        k = ag.load(K[b, t * 64 :, :], (64, D))
        v = ag.load(V[b, t * 64 :, :], (64, D))
        s = ag.dot(q, k.rename("T D").T) * scale
        qi = ag.broadcast(i * 64 + ag.index(s, "S"), s)
        ki = ag.broadcast(t * 64 + ag.index(s, "T"), s)
        s = ag.where((ki <= qi) & (ki > qi - W), s, -ag.inf)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - new)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), v.rename("T D"), o * a)
        m = new
    O[b, i * 64 :, :] = (o / l).to(bf16)


@ag.reference
def sliding_softmax_reference(Q, K, V, scale, W):
    s = np.einsum("bsd,btd->bst", Q, K) * scale
    n = s.shape[1]
    d = np.arange(n)[:, None] - np.arange(n)[None, :]
    s = np.where((d >= 0) & (d < W), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("bst,btd->bsd", p / p.sum(-1, keepdims=True), V)


@ag.kernel
def windowed_low(
    Q: bf16["S D"],
    K: bf16["T D"],
    V: bf16["T D"],
    O: bf16["S D"],
    *,
    D: int = 64,
    W: int = 100,
):
    """Window, stand-in on both sides."""
    S = Q.shape[0]
    ag.require(S == K.shape[0], "self")
    i = ag.block(ag.cdiv(S, 64))
    q = ag.load(Q[i * 64 :, :], (64, D))
    m = ag.full((64,), -1e30, f32)
    l = ag.zeros((64,), f32)
    o = ag.zeros((64, D), f32)
    for t in ag.range(ag.max(i * 64 - W + 1, 0) // 64, i + 1):
        k = ag.load(K[t * 64 :, :], (64, D))
        v = ag.load(V[t * 64 :, :], (64, D))
        s = ag.dot(q, k.T) * 0.125
        qi = ag.broadcast(i * 64 + ag.index(s, "S"), s)
        ki = ag.broadcast(t * 64 + ag.index(s, "T"), s)
        s = ag.where((ki <= qi) & (ki > qi - W), s, -1e30)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - new)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), v, o * a)
        m = new
    O[i * 64 :, :] = (o / l).to(bf16)


@ag.reference
def windowed_low_reference(Q, K, V, W):
    s = Q @ K.T / 8
    n = s.shape[0]
    d = np.arange(n)[:, None] - np.arange(n)[None, :]
    s = np.where((d >= 0) & (d < W), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ V


@ag.kernel
def softcap_roles(
    Q: bf16["B S D"],
    K: bf16["B T D"],
    V: bf16["B T D"],
    O: bf16["B S D"],
    scale: f32 = 0.125,
    cap: f32 = 30.0,
    *,
    D: int = 128,
):
    """Gemma soft-cap: cap * tanh(s / cap), no mask, exp2 domain."""
    B, S, _ = Q.shape
    T = K.shape[1]
    ag.require(T > 0, "keys")
    b, i = ag.block(B, ag.cdiv(S, 128))
    qs = ag.shared(bf16, (128, D))
    bar = ag.barriers(1)
    ring = ag.ring(2, k=bf16.tile(64, D), v=bf16.tile(64, D))
    with ag.role("load", warps=1, registers=24):
        bar.expect(128 * D * 2)
        qs.copy(Q[b, i * 128 :, 0:], bar)
        for t in ag.range(0, T, 64):
            with ring.fill() as slot:
                slot.k.load(K[b, t:, :])
                slot.v.load(V[b, t:, :])
    with ag.role("math", warpgroups=2, registers=240):
        bar.wait(0)
        m = ag.full((128,), -1e30, f32)
        l = ag.zeros((128,), f32)
        o = ag.zeros((128, D), f32)
        for t in ag.range(0, T, 64):
            with ring.drain() as slot:
                s = ag.dot(qs, slot.k.T)
                s = ag.tanh(s * (scale / cap)) * (cap * 1.4426950408889634)
                s = ag.where(ag.broadcast(t + ag.index(s, "T") < T, s), s, -ag.inf)
                new = ag.maximum(m, ag.max(s, "T"))
                p = ag.exp2(s - new)
                a = ag.exp2(m - new)
                l = l * a + ag.sum(p, "T")
                o = ag.dot(p.to(bf16), slot.v, o * a)
                m = new
        O[b, i * 128 :, :] = (o / l).to(bf16)


@ag.reference
def softcap_roles_reference(Q, K, V, scale, cap):
    s = Q @ K.transpose(0, 2, 1) * scale
    s = cap * np.tanh(s / cap)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ V


@ag.kernel
def sinks(
    Q: bf16["H S D"],
    K: bf16["H T D"],
    V: bf16["H T D"],
    Sink: f32["H"],
    O: f32["H S D"],
    Lse: f32["H S"],
    *,
    D: int = 64,
    BM: int = 64,
    BN: int = 64,
):
    """Attention with a learned sink logit per head, log-sum-exp out."""
    H, S, _ = Q.shape
    T = K.shape[1]
    h, i = ag.block(H, ag.cdiv(S, BM))
    q = ag.load(Q[h, i * BM :, :], (BM, D))
    m = ag.full((BM,), Sink[h], f32, dims="S")
    l = ag.full((BM,), 1.0, f32, dims="S")
    o = ag.zeros((BM, D), f32)
    for t in ag.range(0, T, BN):
        k = ag.load(K[h, t:, :], (BN, D))
        v = ag.load(V[h, t:, :], (BN, D))
        s = ag.dot(q, k.T)
        s = ag.where(ag.broadcast(t + ag.index(s, "T") < T, s), s, -ag.inf)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - new)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), v, o * a)
        m = new
    O[h, i * BM :, :] = o / l
    Lse[h, i * BM :] = m + ag.log(l)


@ag.reference
def sinks_reference(Q, K, V, Sink):
    s = np.einsum("hsd,htd->hst", Q, K)
    total = np.exp(s).sum(-1) + np.exp(Sink)[:, None]
    return {
        "O": np.einsum("hst,htd->hsd", np.exp(s), V) / total[..., None],
        "Lse": np.log(total),
    }


@ag.kernel
def gqa_causal(
    Q: bf16["B S H D"],
    K: bf16["B S G D"],
    V: bf16["B S G D"],
    O: bf16["B S H D"],
    scale: f32 = 0.08838834764,
    *,
    D: int = 128,
    R: int = 4,
):
    """Grouped queries, causal: head h uses key head h // R. Tensors (B, S, H, D)."""
    B, S, H, _ = Q.shape
    G = K.shape[2]
    ag.require(H == G * R, "query heads per key head")
    b, h, i = ag.block(B, H, ag.cdiv(S, 64))
    g = h // R
    q = ag.load(Q[b, i * 64 :, h, :], (64, D))
    m = ag.full((64,), -ag.inf, f32, dims="S")
    l = ag.zeros((64,), f32, dims="S")
    o = ag.zeros((64, D), f32)
    for j in ag.range(0, i + 1):
        k = ag.load(K[b, j * 64 :, g, :], (64, D)).rename("T D")
        v = ag.load(V[b, j * 64 :, g, :], (64, D)).rename("T D")
        s = ag.dot(q, k.T) * scale
        if j == i:
            seen = ag.broadcast(ag.index(s, "S"), s) >= ag.broadcast(
                ag.index(s, "T"), s
            )
            s = ag.where(seen, s, -ag.inf)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - new)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), v, o * a)
        m = new
    O[b, i * 64 :, h, :] = (o / l).to(bf16)


@ag.reference
def gqa_causal_reference(Q, K, V, scale, R):
    k = np.repeat(K, R, axis=2)
    v = np.repeat(V, R, axis=2)
    s = np.einsum("bshd,bthd->bhst", Q, k) * scale
    s = np.where(np.tri(s.shape[-1], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("bhst,bthd->bshd", p / p.sum(-1, keepdims=True), v)


@ag.kernel
def splitkv_merge(
    Po: f32["C H D"],
    Pm: f32["C H"],
    Pl: f32["C H"],
    O: bf16["H D"],
    *,
    BD: int = 64,
    BH: int = 8,
):
    """Second kernel: combine chunks."""
    C, H, D = Po.shape
    ag.require(C > 0, "chunks")
    h, d = ag.block(ag.cdiv(H, BH), ag.cdiv(D, BD))
    m = ag.full((BH,), -1e30, f32)
    for c in ag.range(C):
        m = ag.maximum(m, ag.load(Pm[c, h * BH :], (BH,)))
    l = ag.zeros((BH,), f32)
    o = ag.zeros((BH, BD), f32)
    for c in ag.range(C):
        w = ag.exp(ag.load(Pm[c, h * BH :], (BH,)) - m)
        l = l + w * ag.load(Pl[c, h * BH :], (BH,))
        o = o + ag.load(Po[c, h * BH :, d * BD :], (BH, BD)) * w
    O[h * BH :, d * BD :] = (o / l).to(bf16)


@ag.reference
def splitkv_merge_reference(Po, Pm, Pl):
    w = np.exp(Pm - Pm.max(0))
    return (Po * w[:, :, None]).sum(0) / (Pl * w).sum(0)[:, None]


@ag.kernel
def relative_bias(
    Q: bf16["H S D"],
    K: bf16["H S D"],
    V: bf16["H S D"],
    Rel: f32["H R"],
    O: f32["H S D"],
    *,
    D: int = 64,
):
    """T5-like: bias Rel[h, s - t + S - 1]."""
    H, S, _ = Q.shape
    ag.require(ag.dim("R") == 2 * S - 1, "one bias per distance")
    h, i = ag.block(H, ag.cdiv(S, 32))
    bias = Rel.view("H S T", shape=(H, S, S), at=lambda h, s, t: (h, s - t + S - 1))
    q = ag.load(Q[h, i * 32 :, :], (32, D))
    m = ag.full((32,), -1e30, f32)
    l = ag.zeros((32,), f32)
    o = ag.zeros((32, D), f32)
    for t in ag.range(0, S, 32):
        k = ag.load(K[h, t:, :], (32, D)).rename("T D")
        v = ag.load(V[h, t:, :], (32, D)).rename("T D")
        s = ag.dot(q, k.T) + ag.load(bias[h, i * 32 :, t:], (32, 32))
        s = ag.where(ag.broadcast(t + ag.index(s, "T") < S, s), s, -1e30)
        new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - new)
        a = ag.exp(m - new)
        l = l * a + ag.sum(p, "T")
        o = ag.dot(p.to(bf16), v, o * a)
        m = new
    O[h, i * 32 :, :] = o / l


@ag.reference
def relative_bias_reference(Q, K, V, Rel):
    S = Q.shape[1]
    at = np.arange(S)[:, None] - np.arange(S)[None, :] + S - 1
    s = np.einsum("hsd,htd->hst", Q, K) + Rel[:, at]
    e = np.exp(s - s.max(2, keepdims=True))
    return np.einsum("hst,htd->hsd", e / e.sum(2, keepdims=True), V)


@ag.kernel
def rope_halves_inplace(
    X: bf16["B S H D"], Cos: f32["S F"], Sin: f32["S F"], *, D: int = 128, BS: int = 16
):
    B, S, H, _ = X.shape
    ag.require(ag.dim("F") == 64, "half of the head")
    b, h, i = ag.block(B, H, ag.cdiv(S, BS))
    x1 = ag.load(X[b, i * BS :, h, 0:64], (BS, 64)).to(f32)
    x2 = ag.load(X[b, i * BS :, h, 64:128], (BS, 64)).to(f32)
    c = ag.load(Cos[i * BS :, 0:64], (BS, 64)).rename("S D")
    s = ag.load(Sin[i * BS :, 0:64], (BS, 64)).rename("S D")
    X[b, i * BS :, h, 0:64] = (x1 * c - x2 * s).to(bf16)
    X[b, i * BS :, h, 64:128] = (x2 * c + x1 * s).to(bf16)


@ag.reference
def rope_halves_inplace_reference(X, Cos, Sin):
    x1, x2 = X[..., :64], X[..., 64:]
    c, s = Cos[None, :, None, :], Sin[None, :, None, :]
    return np.concatenate([x1 * c - x2 * s, x2 * c + x1 * s], axis=-1)


@ag.kernel
def linear_attention_causal(
    Q: f32["T D"],
    K: f32["T D"],
    V: f32["T E"],
    O: f32["T E"],
    *,
    D: int = 16,
    BE: int = 32,
):
    """Recurrent form: S += k v^T; o = q S."""
    T, E = V.shape
    e = ag.block(ag.cdiv(E, BE))
    s = ag.zeros((D, BE), f32, dims="D E")
    for t in ag.range(T):
        k = ag.load(K[t, :])
        v = ag.load(V[t, e * BE :], (BE,))
        s = s + ag.broadcast(k, s) * v
        q = ag.load(Q[t, :])
        O[t, e * BE :] = ag.sum(s * q, "D")


@ag.reference
def linear_attention_causal_reference(Q, K, V):
    a = np.tril(Q @ K.T)
    return a @ V


@ag.kernel
def retention(
    Q: f32["T D"],
    K: f32["T D"],
    V: f32["T E"],
    O: f32["T E"],
    g: f32 = 0.9,
    *,
    D: int = 16,
    BE: int = 32,
):
    T, E = V.shape
    e = ag.block(ag.cdiv(E, BE))
    s = ag.zeros((D, BE), f32, dims="D E")
    for t in ag.range(T):
        k = ag.load(K[t, :])
        v = ag.load(V[t, e * BE :], (BE,))
        s = s * g + ag.broadcast(k, s) * v
        q = ag.load(Q[t, :])
        O[t, e * BE :] = ag.sum(s * q, "D")


@ag.reference
def retention_reference(Q, K, V, g):
    s = np.zeros((Q.shape[1], V.shape[1]))
    o = np.zeros(V.shape)
    for t in range(Q.shape[0]):
        s = g * s + np.outer(K[t], V[t])
        o[t] = Q[t] @ s
    return o
