"""Scaled dot-product attention, forward: O = softmax(Q K^T * scale) V.

Query heads share key heads in groups (H a multiple of G). One block does BQ queries of
one head; one warp streams keys and values through rings, the math warpgroups keep the
running maximum m, sum l and output o of their rows in registers (online softmax, Dao et
al. 2022) and feed the probabilities to the second product without leaving them.
"""

import argus as ag
from argus import f32


@ag.inline
def attend(s, o, m, l, v, scale):
    """One step of the online softmax: scores s against values v."""
    m_new = ag.maximum(m, ag.max(s, "T"))
    p = ag.exp2(s * scale - m_new * scale)
    alpha = ag.exp2((m - m_new) * scale)
    l = l * alpha + ag.sum(p, "T")
    o = ag.dot(p.to(v.dtype), v, o * alpha)
    return o, m_new, l


@ag.kernel
def attention(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    O: ag.half["B H S D"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 128,
    BT: int = 128,
    STAGES: int = 2,
    WARPGROUPS: int = 2,
    CAUSAL: bool = False,
):
    """``scale`` multiplies the scores. CAUSAL: query s sees keys t <= s."""
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    i, b, h = ag.block(ag.cdiv(S, BQ), B, H)
    if CAUSAL:
        q0 = (ag.cdiv(S, BQ) - 1 - i) * BQ
        t_end = ag.min(T, q0 + BQ)
        t_plain = ag.min(q0, t_end) // BT * BT
    else:
        q0 = i * BQ
        t_end = T
        t_plain = T // BT * BT
    g = h // (H // G)
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))

    with ag.role("load", warps=1, registers=24):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, h, q0:, :])
        for t in ag.range(0, t_end, BT):
            with ring.fill() as slot:
                slot.k.load(K[b, g, t:, :])
            with v_ring.fill() as slot:
                slot.v.load(V[b, g, t:, :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=240):
        factor = scale * 1.4426950408889634
        m = ag.full((BQ,), -1e30, f32)
        l = ag.zeros((BQ,), f32)
        o = ag.zeros((BQ, D), f32)
        query = q_ring.wait()
        for t in ag.range(0, t_plain, BT):
            with ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)
            with v_ring.drain() as slot:
                o, m, l = attend(s, o, m, l, slot.v, factor)
        for t in ag.range(t_plain, t_end, BT):
            with ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)
            seen = t + ag.index(s, "T") < T
            if CAUSAL:
                key = ag.broadcast(t + ag.index(s, "T"), s)
                seen = seen & (key <= q0 + ag.index(s, "S"))
            with v_ring.drain() as slot:
                o, m, l = attend(ag.where(seen, s, -1e30), o, m, l, slot.v, factor)
        query.release()
        O[b, h, q0:, :] = (o * ag.rcp(l)).to(O.dtype)
