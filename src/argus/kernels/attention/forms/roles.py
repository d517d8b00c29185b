"""Attention with a warp that loads by TMA and warpgroups that multiply with `wgmma`.

One step after the other: scores, softmax, output. The tensor cores wait while the
softmax is computed; more warpgroups fill some of that time with each other's products.
"""

import argus as ag
from argus import f32


@ag.kernel
def attention_roles(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    O: ag.half["B H S D"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 64,
    BT: int = 128,
    STAGES: int = 2,
    WARPGROUPS: int = 1,
    REGISTERS: int = 240,
    FOLD: bool = True,
    CAUSAL: bool = False,
):
    """``scale`` multiplies the scores. CAUSAL: query s sees keys t <= s.

    FOLD: the scale and the base of the exponential in one multiplication.
    """
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(T > 0, "a softmax over no keys is not defined")
    # Neighbouring blocks share a head, so that its keys and values stay in L2.
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    q0 = i * BQ
    steps = ag.cdiv(T, BT)
    if CAUSAL:
        q0 = (ag.cdiv(S, BQ) - 1 - i) * BQ
        steps = ag.min(steps, ag.cdiv(q0 + BQ, BT))
    g = h // (H // G)
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, h, q0:, :])
        for j in ag.range(0, steps):
            with k_ring.fill() as slot:
                slot.k.load(K[b, g, j * BT :, :])
            with v_ring.fill() as slot:
                slot.v.load(V[b, g, j * BT :, :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        factor = scale * 1.4426950408889634
        m = ag.full((BQ,), -1e30, f32)
        l = ag.zeros((BQ,), f32)
        o = ag.zeros((BQ, D), f32)
        query = q_ring.wait()
        for j in ag.range(0, steps):
            with k_ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)
            key = ag.broadcast(j * BT + ag.index(s, "T"), s)
            seen = key < T
            if CAUSAL:
                seen = seen & (key <= q0 + ag.index(s, "S"))
            s = ag.where(seen, s, -1e30)
            higher = ag.maximum(m, ag.max(s, "T"))
            if FOLD:
                shift = higher * factor
                p = ag.exp2(ag.fma(s, factor, -shift))
                alpha = ag.exp2(m * factor - shift)
            else:
                p = ag.exp((s - higher) * scale)
                alpha = ag.exp((m - higher) * scale)
            l = l * alpha + ag.sum(p, "T")
            m = higher
            with v_ring.drain() as slot:
                o = ag.dot(p.to(V.dtype), slot.v, o * alpha)
        query.release()
        O[b, h, q0:, :] = (o * ag.rcp(l)).to(O.dtype)
