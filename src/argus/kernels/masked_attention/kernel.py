"""Attention as `argus.kernels.attention` has it, with what models do to scores besides.

Query s sees keys from s - LEFT to s + RIGHT (below 0: no bound), so that RIGHT = 0 is
causal. Blocks of keys that no query of a tile sees are not read, and those that all of
them see meet no mask. With SOFTCAP a score x becomes cap * tanh(x / cap) (Gemma Team
2024, "Gemma 2"). A sink is a score of each head that has no value: it takes a part of
the weights (Xiao et al. 2023, "Efficient Streaming Language Models with Attention
Sinks").
"""

import argus as ag
from argus import f32
from argus.kernels.attention.kernel import LOG2E, leave, soften, stream

LOWEST = -9e28
"""A maximum of no scores. Scores that are not seen are so far below that they are 0."""


@ag.inline
def bounds(q0, T, BQ, BT, LEFT, RIGHT):
    """The first block of keys that a tile of queries sees, and how many."""
    first, end = 0, ag.cdiv(T, BT)
    if LEFT >= 0:
        first = ag.max(0, q0 - LEFT) // BT
    if RIGHT >= 0:
        end = ag.min(end, (q0 + BQ - 1 + RIGHT) // BT + 1)
    return first, end - first


@ag.inline
def scored(s, q0, t0, T, BQ, BT, unit, LEFT, RIGHT, SOFTCAP):
    """Scores of a block of keys from t0 on, under the mask where it has one."""
    if SOFTCAP:
        s = ag.tanh_approx(s * unit)
    key = ag.broadcast(t0 + ag.index(s, "T"), s)
    row = q0 + ag.index(s, "S")
    seen = key < T
    partly = t0 + BT > T
    if LEFT >= 0:
        seen = seen & (key >= row - LEFT)
        partly = partly or t0 < q0 + BQ - 1 - LEFT
    if RIGHT >= 0:
        seen = seen & (key <= row + RIGHT)
        partly = partly or t0 + BT - 1 > q0 + RIGHT
    if partly:
        s = ag.where(seen, s, -1e30)
    return s


@ag.kernel
def masked_attention(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    O: ag.half["B H S D"],
    L: f32["B H S"],
    scale: f32,
    cap: f32 = 1.0,
    Sinks: f32["H"] | None = None,
    *,
    D: int = 128,
    BQ: int = 128,
    BT: int = 128,
    STAGES: int = 2,
    WARPGROUPS: int = 2,
    LEFT: int = -1,
    RIGHT: int = -1,
    SOFTCAP: bool = False,
    OVERLAP: bool = True,
    REGISTERS: int = 240,
    TMA_STORE: bool = False,
):
    """``scale`` multiplies the scores. L: the logarithm of the sum of exponentials.

    OVERLAP: the products of a step and its softmax, as in `attention`.
    """
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(T > 0, "a softmax over no keys is not defined")
    if LEFT >= 0:
        ag.require(S <= T + LEFT, "each query sees a key")
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    # The longest first where a mask makes the last ones long.
    q0 = (ag.cdiv(S, BQ) - 1 - i) * BQ if RIGHT >= 0 and LEFT < 0 else i * BQ
    first, steps = bounds(q0, T, BQ, BT, LEFT, RIGHT)
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    out = ag.shared(O.dtype, (BQ, D)) if TMA_STORE else None
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, h, q0:, :])
        stream(k_ring, v_ring, K, V, b, h // (H // G), first, steps, BT)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        unit = cap if SOFTCAP else scale
        inner = scale / cap if SOFTCAP else scale
        factor = unit * LOG2E
        query = q_ring.wait()
        m = ag.full((BQ,), LOWEST, f32)
        l = ag.zeros((BQ,), f32)
        if Sinks is not None:
            m = ag.full((BQ,), Sinks[h] / unit, f32)
            l = l + 1.0
        o = ag.zeros((BQ, D), f32)
        last = (first + steps - 1) * BT
        if OVERLAP:
            with k_ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)
            s = scored(s, q0, last, T, BQ, BT, inner, LEFT, RIGHT, SOFTCAP)
            p, alpha, m, l = soften(s, m, l, factor, True)
            weights = p.to(V.dtype)
            for j in ag.range(1, steps):
                keys = k_ring.wait()
                s = ag.dot(query.q, keys.k.T)
                values = v_ring.wait()
                o = ag.dot(weights, values.v, o)
                keys.release()
                t0 = last - j * BT
                s = scored(s, q0, t0, T, BQ, BT, inner, LEFT, RIGHT, SOFTCAP)
                p, alpha, m, l = soften(s, m, l, factor, True)
                values.release()
                o = o * alpha
                weights = p.to(V.dtype)
            query.release()
            with v_ring.drain() as slot:
                o = ag.dot(weights, slot.v, o)
        else:
            for j in ag.range(0, steps):
                with k_ring.drain() as slot:
                    s = ag.dot(query.q, slot.k.T)
                t0 = last - j * BT
                s = scored(s, q0, t0, T, BQ, BT, inner, LEFT, RIGHT, SOFTCAP)
                p, alpha, m, l = soften(s, m, l, factor, True)
                o = o * alpha
                with v_ring.drain() as slot:
                    o = ag.dot(p.to(V.dtype), slot.v, o)
            query.release()
        L[b, h, q0:] = m * unit + ag.log(l)
        leave(o * ag.rcp(l), O, b, h, q0, out, TMA_STORE)


@ag.reference
def masked_attention_reference(Q, K, V, scale, cap, LEFT, RIGHT, SOFTCAP, Sinks=None):
    """Softmax over the keys that are seen, and the logarithm of its denominator."""
    import numpy as np

    H, S, T = Q.shape[1], Q.shape[2], K.shape[2]
    k, v = (np.repeat(x, H // K.shape[1], axis=1) for x in (K, V))
    scores = np.einsum("bhsd,bhtd->bhst", Q, k) * scale
    if SOFTCAP:
        scores = np.tanh(scores / cap) * cap
    s, t = np.arange(S)[:, None], np.arange(T)
    if LEFT >= 0:
        scores = np.where(t >= s - LEFT, scores, -np.inf)
    if RIGHT >= 0:
        scores = np.where(t <= s + RIGHT, scores, -np.inf)
    largest = scores.max(-1)
    if Sinks is not None:
        largest = np.maximum(largest, Sinks[:, None])
    weights = np.exp(scores - largest[..., None])
    total = weights.sum(-1)
    if Sinks is not None:
        total = total + np.exp(Sinks[:, None] - largest)
    output = np.einsum("bhst,bhtd->bhsd", weights / total[..., None], v)
    return output, largest + np.log(total)
