"""Warp-specialised attention: a ring for keys, one for values, with mistakes."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def two_rings(
    Q: bf16["B H S D"],
    K: bf16["B G T D"],
    V: bf16["B G T D"],
    O: bf16["B H S D"],
    scale: f32,
    *,
    D: int = 64,
    BQ: int = 64,
    BT: int = 64,
    CAUSAL: bool = False,
):
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(T > 0, "a softmax over no keys is not defined")
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    g = h // (H // G)
    # or AG0310 (GQA head map off): g = h % H
    q_ring = ag.ring(1, q=bf16.tile(BQ, D))
    k_ring = ag.ring(2, k=bf16.tile(BT, D))
    v_ring = ag.ring(2, v=bf16.tile(BT, D))
    with ag.role("load", warps=1):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, h, i * BQ :, :])
            # or AG0305 (wrong rows): slot.q.load(Q[b, h, i * BT + BT :, :])
            # or AG0301 (wrong batch): slot.q.load(Q[b // 2, h, i * BQ :, :])
        for t in ag.range(0, T, BT):
            # or AG0414 (fills and drains): for t in ag.range(BT, T, BT):
            with k_ring.fill() as slot:
                slot.k.load(K[b, g, t:, :])
                # or AG0301 (tile of another step):
                #   slot.k.load(K[b, g, T - BT - t :, :])
            with v_ring.fill() as slot:
                slot.v.load(V[b, g, t:, :])
                # or AG0301 (tile of another step): slot.v.load(V[b, g, t + BT :, :])
                # or AG0301 (loop from another end): slot.v.load(V[b, g, T - t :, :])
                # or AG0301 (wrong head): slot.v.load(V[b, G - 1 - g, t:, :])
    with ag.role("math", warpgroups=1):
        query = q_ring.wait()
        m = ag.full((BQ,), -1e30, f32)
        l = ag.zeros((BQ,), f32)
        o = ag.zeros((BQ, D), f32)
        for t in ag.range(0, T, BT):
            with k_ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)  # shows AG0301, AG0414
            s = ag.where(t + ag.index(s, "T") < T, s, -1e30)
            # or AG0310 (missing tail mask): s = s * 1.0
            # or AG0310 (mask off by one):
            #   s = ag.where(t + ag.index(s, "T") <= T, s, -1e30)
            # or AG0310 (mask of the wrong tile):
            #   s = ag.where(t - BT + ag.index(s, "T") < T, s, -1e30)
            # or AG0310 (mask with the wrong value):
            #   s = ag.where(t + ag.index(s, "T") < T, s, 0.0)
            m_new = ag.maximum(m, ag.max(s, "T"))  # shows AG0310
            p = ag.exp2((s - m_new) * scale)
            alpha = ag.exp2((m - m_new) * scale)
            l = l * alpha + ag.sum(p, "T")  # shows AG0310
            o = o * alpha
            with v_ring.drain() as slot:
                o = ag.dot(p.to(bf16), slot.v, o)  # shows AG0301, AG0310
            m = m_new
        query.release()
        O[b, h, i * BQ :, :] = (o / l).to(bf16)  # shows AG0305, AG0310
        # or AG0305 (wrong head): O[b, (h + 1) % H, i * BQ :, :] = (o / l).to(bf16)
        # or AG0306 (conditional store):
        #   if i * BQ + BQ <= S:
        #       O[b, h, i * BQ :, :] = (o / l).to(bf16)


@ag.kernel
def one_ring(
    Q: bf16["H S D"],
    K: bf16["H T D"],
    V: bf16["H T D"],
    O: bf16["H S D"],
    *,
    D: int = 64,
    BQ: int = 64,
    BT: int = 64,
):
    """Keys and values in one slot; no softmax (linear attention)."""
    H, S, _ = Q.shape
    T = K.shape[1]
    h, i = ag.block(H, ag.cdiv(S, BQ))
    ring = ag.ring(3, k=bf16.tile(BT, D), v=bf16.tile(BT, D))
    first = ag.ring(1, q=bf16.tile(BQ, D))
    with ag.role("load", warps=1):
        with first.fill() as slot:
            slot.q.load(Q[h, i * BQ :, :])
        for t in ag.range(0, T, BT):
            with ring.fill() as slot:
                slot.k.load(K[h, t:, :])
                slot.v.load(V[h, t:, :])
                # or AG0301 (tile of another step): slot.v.load(V[h, t - BT :, :])
                # or AG0301 (wrong head): slot.v.load(V[0, t:, :])
    with ag.role("math", warpgroups=1):
        query = first.wait()
        o = ag.zeros((BQ, D), f32)
        for _ in ag.range(0, T, BT):
            with ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)
                o = ag.dot(s.to(bf16), slot.v, o)  # shows AG0301, AG0305
                # or AG0308 (lost accumulator): o = ag.dot(s.to(bf16), slot.v)
        query.release()
        O[h, i * BQ :, :] = o.to(bf16)  # shows AG0308
