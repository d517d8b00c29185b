"""Scaled dot-product attention, backward: gradients of Q, K and V of that of O.

With scores S = scale * Q K^T and L, the logarithm of the sum of their exponentials, the
probabilities are P = exp(S - L), and (Dao 2023, "FlashAttention-2", algorithm 2)

    dV = P^T dO      dS = P * (dO V^T - Delta)      dK = scale * dS^T Q
    dQ = scale * dS K      Delta = the sum of dO * O over D

`attention_backward_keys` makes dK and dV, a block for each tile of keys, which walks
over the queries of all heads that share it. Its scores have keys as rows, so that
probabilities are operands in registers. `attention_backward_queries` makes dQ, a block
for each tile of queries. Scores are computed in both, nothing is added between blocks,
and the results are the same in each run.

What is outside of Q, K, V and dO is 0, so that nothing of it counts.
"""

import argus as ag
from argus import f32

LOG2E = 1.4426950408889634


@ag.inline
def weights(s, l, factor):
    """Probabilities of scores, of which l is the logarithm of the sum."""
    return ag.exp2(ag.fma(s, factor, -l * LOG2E))


@ag.kernel
def attention_backward_sums(
    O: ag.half["B H S D"], DO: ag.half["B H S D"], Delta: f32["B H S"], *,
    D: int = 128, BQ: int = 16, WARPS: int = 4,
):  # fmt: skip
    """Delta: the sum of DO * O over D."""
    B, H, S, _ = O.shape
    ag.launch(warps=WARPS)
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    o = ag.load(O[b, h, i * BQ :, :], (BQ, D)).to(f32)
    do = ag.load(DO[b, h, i * BQ :, :], (BQ, D)).to(f32)
    Delta[b, h, i * BQ :] = ag.sum(o * do, "D")


@ag.kernel
def attention_backward_keys(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    DO: ag.half["B H S D"],
    L: f32["B H S"],
    Delta: f32["B H S"],
    DK: ag.half["B G T D"],
    DV: ag.half["B G T D"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 64,
    BT: int = 128,
    STAGES: int = 3,
    WARPGROUPS: int = 2,
    REGISTERS: int = 240,
    CAUSAL: bool = False,
):
    """``scale`` multiplies the scores. CAUSAL: query s sees keys t <= s."""
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    b, g, j = ag.block(B, G, ag.cdiv(T, BT))
    t0 = j * BT
    first = t0 // BQ if CAUSAL else 0
    keys = ag.ring(1, k=K.dtype.tile(BT, D), v=V.dtype.tile(BT, D))
    ring = ag.ring(STAGES, q=Q.dtype.tile(BQ, D), o=DO.dtype.tile(BQ, D))
    sums = ag.ring(STAGES, l=f32.tile(BQ), d=f32.tile(BQ))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with keys.fill() as slot:
            slot.k.load(K[b, g, t0:, :])
            slot.v.load(V[b, g, t0:, :])
        for r in ag.range(0, H // G):
            for i in ag.range(first, ag.cdiv(S, BQ)):
                with ring.fill() as slot:
                    slot.q.load(Q[b, g * (H // G) + r, i * BQ :, :])
                    slot.o.load(DO[b, g * (H // G) + r, i * BQ :, :])
                with sums.fill() as slot:
                    slot.l.load(L[b, g * (H // G) + r, i * BQ :], via="cp_async")
                    slot.d.load(Delta[b, g * (H // G) + r, i * BQ :], via="cp_async")

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        factor = scale * LOG2E
        dk = ag.zeros((BT, D), f32)
        dv = ag.zeros((BT, D), f32)
        own = keys.wait()
        for r in ag.range(0, H // G):
            for i in ag.range(first, ag.cdiv(S, BQ)):
                with ring.drain() as slot:
                    s = ag.dot(own.k, slot.q.T)
                    dp = ag.dot(own.v, slot.o.T)
                    with sums.drain() as row:
                        l = row.l.load()
                        delta = row.d.load()
                    p = weights(s, l, factor)
                    if CAUSAL:
                        key = ag.broadcast(t0 + ag.index(s, "T"), s)
                        p = ag.where(key <= i * BQ + ag.index(s, "S"), p, 0.0)
                    dv = ag.dot(p.to(DO.dtype), slot.o, dv)
                    ds = p * (dp - delta)
                    dk = ag.dot(ds.to(Q.dtype), slot.q, dk)
        own.release()
        DV[b, g, t0:, :] = dv.to(DV.dtype)
        DK[b, g, t0:, :] = (dk * scale).to(DK.dtype)


@ag.kernel
def attention_backward_queries(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    DO: ag.half["B H S D"],
    L: f32["B H S"],
    Delta: f32["B H S"],
    DQ: ag.half["B H S D"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 128,
    BT: int = 64,
    STAGES: int = 2,
    WARPGROUPS: int = 2,
    REGISTERS: int = 240,
    CAUSAL: bool = False,
):
    """``scale`` multiplies the scores. CAUSAL: query s sees keys t <= s."""
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    q0, steps = i * BQ, ag.cdiv(T, BT)
    if CAUSAL:
        # The longest first: the last wave has the short ones.
        q0 = (ag.cdiv(S, BQ) - 1 - i) * BQ
        steps = ag.min(steps, ag.cdiv(q0 + BQ, BT))
    g = h // (H // G)
    queries = ag.ring(1, q=Q.dtype.tile(BQ, D), o=DO.dtype.tile(BQ, D))
    ring = ag.ring(STAGES, k=K.dtype.tile(BT, D), v=V.dtype.tile(BT, D))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with queries.fill() as slot:
            slot.q.load(Q[b, h, q0:, :])
            slot.o.load(DO[b, h, q0:, :])
        for j in ag.range(0, steps):
            with ring.fill() as slot:
                slot.k.load(K[b, g, j * BT :, :])
                slot.v.load(V[b, g, j * BT :, :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        factor = scale * LOG2E
        l = ag.load(L[b, h, q0:], (BQ,))
        delta = ag.load(Delta[b, h, q0:], (BQ,))
        dq = ag.zeros((BQ, D), f32)
        own = queries.wait()
        for j in ag.range(0, steps):
            with ring.drain() as slot:
                s = ag.dot(own.q, slot.k.T)
                dp = ag.dot(own.o, slot.v.T)
                p = weights(s, l, factor)
                if CAUSAL:
                    key = ag.broadcast(j * BT + ag.index(s, "T"), s)
                    p = ag.where(key <= q0 + ag.index(s, "S"), p, 0.0)
                ds = p * (dp - delta)
                dq = ag.dot(ds.to(K.dtype), slot.k, dq)
        own.release()
        DQ[b, h, q0:, :] = (dq * scale).to(DQ.dtype)


@ag.reference
def attention_backward_sums_reference(O, DO):
    """A product of rows."""
    return (O * DO).sum(-1)


@ag.reference
def attention_backward_keys_reference(Q, K, V, DO, L, Delta, scale, CAUSAL):
    """DK and dV: query heads that share a key head are added."""
    import numpy as np

    B, H, S, D = Q.shape
    G, T = K.shape[1], K.shape[2]
    q, do = (x.reshape(B, G, H // G, S, D) for x in (Q, DO))
    l, delta = (x.reshape(B, G, H // G, S, 1) for x in (L, Delta))
    p = np.exp(np.einsum("bgrsd,bgtd->bgrst", q, K) * scale - l)
    if CAUSAL:
        p = np.where(np.arange(T) <= np.arange(S)[:, None], p, 0.0)
    ds = p * (np.einsum("bgrsd,bgtd->bgrst", do, V) - delta)
    dk = np.einsum("bgrst,bgrsd->bgtd", ds, q) * scale
    return dk, np.einsum("bgrst,bgrsd->bgtd", p, do)


@ag.reference
def attention_backward_queries_reference(Q, K, V, DO, L, Delta, scale, CAUSAL):
    """DQ."""
    import numpy as np

    H, S = Q.shape[1], Q.shape[2]
    G, T = K.shape[1], K.shape[2]
    k, v = (np.repeat(x, H // G, axis=1) for x in (K, V))
    p = np.exp(np.einsum("bhsd,bhtd->bhst", Q, k) * scale - L[..., None])
    if CAUSAL:
        p = np.where(np.arange(T) <= np.arange(S)[:, None], p, 0.0)
    ds = p * (np.einsum("bhsd,bhtd->bhst", DO, v) - Delta[..., None])
    return np.einsum("bhst,bhtd->bhsd", ds, k) * scale
