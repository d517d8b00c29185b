"""Attention with keys and values in rings in shared memory, filled by `cp.async`.

All warps load and multiply: on Hopper with `wgmma`, else with `mma.sync`. The copies of
the blocks STAGES - 1 steps ahead are in flight during each step. Causal queries stop
at the diagonal instead of walking over keys that they do not see.
"""

import argus as ag
from argus import f32


@ag.kernel
def attention_ring(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    O: ag.half["B H S D"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 64,
    BT: int = 64,
    STAGES: int = 2,
    WARPS: int = 4,
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
    ag.launch(warps=WARPS)
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    g = h // (H // G)
    q0 = i * BQ
    steps = ag.cdiv(T, BT)
    if CAUSAL:
        steps = ag.min(steps, ag.cdiv(q0 + BQ, BT))
    query = ag.shared(Q.dtype, (BQ, D), dims="S D")
    query.store(ag.load(Q[b, h, q0:, :], (BQ, D)))
    ring = ag.ring(STAGES, k=K.dtype.tile(BT, D), v=V.dtype.tile(BT, D))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.k.load(K[b, g, s * BT :, :], via="cp_async")
            slot.v.load(V[b, g, s * BT :, :], via="cp_async")
    m = ag.full((BQ,), -1e30, f32)
    l = ag.zeros((BQ,), f32)
    o = ag.zeros((BQ, D), f32)
    factor = scale * 1.4426950408889634
    for j in ag.range(0, steps):
        ahead = (j + STAGES - 1) * BT
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.k.load(K[b, g, ahead:, :], via="cp_async")
                slot.v.load(V[b, g, ahead:, :], via="cp_async")
            s = ag.dot(query, full.k.T)
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
            o = ag.dot(p.to(V.dtype), full.v, o * alpha)
            m = higher
    O[b, h, q0:, :] = (o * ag.rcp(l)).to(O.dtype)
