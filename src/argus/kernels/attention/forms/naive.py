"""Attention as one writes it first: a block of queries, a loop over keys.

Queries, keys and values come through registers and are multiplied with `mma.sync`;
nothing overlaps. The scores of all keys do not fit on the chip, so the softmax is
online from the start: running maximum m, sum l and output o.
"""

import argus as ag
from argus import f32


@ag.kernel
def attention_naive(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    O: ag.half["B H S D"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 64,
    BT: int = 32,
    WARPS: int = 4,
    CAUSAL: bool = False,
):
    """``scale`` multiplies the scores. CAUSAL: query s sees keys t <= s."""
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(T > 0, "a softmax over no keys is not defined")
    ag.launch(warps=WARPS)
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    g = h // (H // G)
    q0 = i * BQ
    q = ag.load(Q[b, h, q0:, :], (BQ, D))
    m = ag.full((BQ,), -1e30, f32)
    l = ag.zeros((BQ,), f32)
    o = ag.zeros((BQ, D), f32)
    for t in ag.range(0, T, BT):
        k = ag.load(K[b, g, t:, :], (BT, D))
        s = ag.dot(q, k.T) * scale
        key = ag.broadcast(t + ag.index(s, "T"), s)
        seen = key < T
        if CAUSAL:
            seen = seen & (key <= q0 + ag.index(s, "S"))
        s = ag.where(seen, s, -1e30)
        higher = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - higher)
        alpha = ag.exp(m - higher)
        l = l * alpha + ag.sum(p, "T")
        v = ag.load(V[b, g, t:, :], (BT, D))
        o = ag.dot(p.to(V.dtype), v, o * alpha)
        m = higher
    O[b, h, q0:, :] = (o / l).to(O.dtype)
