"""Attention forward: two rings, online softmax, two math roles that take turns."""

import argus as ag
from argus import bf16, f32

LOG2E = 1.4426950408889634


@ag.inline
def masked(s, t, T):
    return ag.where(t + ag.index(s, "T") < T, s, -ag.inf)


@ag.kernel
def attention(
    Q: bf16["B H S D"],
    K: bf16["B G T D"],
    V: bf16["B G T D"],
    O: bf16["B H S D"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 64,
    BT: int = 128,
    STAGES: int = 2,
    CAUSAL: bool = False,
):
    B, H, S, _ = Q.shape
    G, T = K.shape[1], ag.dim("T")
    ag.require(T % 8 == 0, "rows of K are read in vectors")
    bq, h, b = ag.block(ag.cdiv(S, 2 * BQ), H, B)
    g = h // (H // G)
    q_tile = ag.shared(bf16, (2 * BQ, D))
    q_ready = ag.barriers(1)
    k_ring = ag.ring(STAGES, k=bf16.tile(BT, D))
    v_ring = ag.ring(STAGES, v=bf16.tile(BT, D))
    turns = ag.turns("softmax", 2)
    t_end = ag.min(T, (bq + 1) * 2 * BQ) if CAUSAL else T

    with ag.role("load", warps=1, registers=24):
        q_ready[0].expect(2 * BQ * D * 2)
        q_tile.copy(Q[b, h, bq * 2 * BQ :, :], q_ready[0])
        for t in ag.range(0, t_end, BT):
            with k_ring.fill() as slot:
                slot.k.load(K[b, g, t:, :])
            with v_ring.fill() as slot:
                slot.v.load(V[b, g, t:, :])

    for w in ag.static_range(2):
        with ag.role(f"math{w}", warpgroups=1, registers=240):
            q_ready[0].wait(0)
            q = q_tile[w * BQ : (w + 1) * BQ, :]
            m = ag.full((BQ,), -ag.inf, f32)
            l, o = ag.zeros((BQ,), f32), ag.zeros((BQ, D), f32)
            for t in ag.range(0, t_end, BT):
                turns.wait(w)
                with k_ring.drain() as slot:
                    s = ag.dot(q, slot.k.T)
                turns.next(w)
                s = masked(s, t, T)
                if CAUSAL:
                    rows = bq * 2 * BQ + w * BQ + ag.index(s, "S")
                    cols = t + ag.index(s, "T")
                    s = ag.where(
                        ag.broadcast(rows, s) >= ag.broadcast(cols, s), s, -ag.inf
                    )
                m_new = ag.maximum(m, ag.max(s, "T"))
                p = ag.exp2((s - m_new) * (scale * LOG2E))
                alpha = ag.exp2((m - m_new) * (scale * LOG2E))
                l, o, m = l * alpha + ag.sum(p, "T"), o * alpha, m_new
                with v_ring.drain() as slot:
                    o = ag.dot(p.to(bf16), slot.v, o)
            O[b, h, bq * 2 * BQ + w * BQ :, :] = (o / l).to(bf16)
