"""Attention of several sequences whose rows lie one after the other.

Sequence b has the queries from ``First[b]`` to before ``Last[b]``, and the keys from
``FirstKey[b]`` to before ``LastKey[b]``. Nobody waits for these tables: there are
blocks for as many tiles of queries as the longest sequence may have, and those that a
shorter one does not have leave at once.

Masks are aligned at the ends: the last query of a sequence stands beside its last key.
With i queries and n keys, query s sees the keys from s + n - i - LEFT to s + n - i +
RIGHT (below 0: no bound), so that RIGHT = 0 is causal. Soft caps and sinks are those of
`argus.kernels.masked_attention`.

A tile is read as a whole. What it has of the next sequence is not stored; its keys are
hidden, and weigh 0 times their values, which have to be finite.
"""

import argus as ag
from argus import f32, i32
from argus.kernels.attention.kernel import LOG2E, soften
from argus.kernels.masked_attention.kernel import LOWEST, bounds, scored


@ag.kernel
def varlen_attention(
    Q: ag.half["S H D"],
    K: ag.half["T G D"],
    V: ag.half["T G D"],
    First: i32["B"],
    Last: i32["B"],
    FirstKey: i32["B"],
    LastKey: i32["B"],
    O: ag.half["S H D"],
    scale: f32,
    longest: i32,
    cap: f32 = 1.0,
    L: f32["H S"] | None = None,
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
):
    """``longest``: no sequence has more queries. L: the logarithm of the sum.

    Of no keys O and L are 0. Rows of no sequence are not written.
    """
    S, H, _ = Q.shape
    T, G = K.shape[0], K.shape[1]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(S < 2**30, "positions of queries have 32 bits")
    ag.require(T < 2**30, "positions of keys have 32 bits")
    ag.require(T > 0, "a softmax over no keys is not defined")
    ag.require(longest > 0, "a sequence has queries")
    ag.assume(lambda f, l: (f >= 0) & (f <= l) & (l <= S), First, Last)
    ag.assume(lambda f, l: l <= f + longest, First, Last)
    ag.assume(lambda f, l: (f >= 0) & (f <= l) & (l <= T), FirstKey, LastKey)
    # No two sequences have a query in common.
    ag.assume(lambda f, l, f2, l2: (l <= f2) | (l2 <= f), First, Last, pairs=True)
    # Neighbouring blocks share a head, so that its keys and values stay in L2.
    b, h, i = ag.block(First.shape[0], H, ag.cdiv(longest, BQ))
    s0, t0, g = First[b], FirstKey[b], h // (H // G)
    rows, n = Last[b] - s0, LastKey[b] - t0
    # The longest first where a mask makes the last ones long.
    q0 = (ag.cdiv(longest, BQ) - 1 - i) * BQ if RIGHT >= 0 and LEFT < 0 else i * BQ
    row0 = q0 + n - rows
    first, steps = bounds(row0, n, BQ, BT, LEFT, RIGHT)
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        if q0 < rows:
            with q_ring.fill() as slot:
                slot.q.load(Q[s0 + q0 :, h, :])
            for j in ag.range(0, steps):
                t = t0 + (first + j) * BT
                with k_ring.fill() as slot:
                    slot.k.load(K[t:, g, :])
                with v_ring.fill() as slot:
                    slot.v.load(V[t:, g, :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        if q0 < rows:
            unit = cap if SOFTCAP else scale
            inner = scale / cap if SOFTCAP else scale
            factor = unit * LOG2E
            m = ag.full((BQ,), LOWEST, f32, dims="S")
            l = ag.zeros((BQ,), f32, dims="S")
            if Sinks is not None:
                m = ag.full((BQ,), Sinks[h] / unit, f32, dims="S")
                l = l + 1.0
            o = ag.zeros((BQ, D), f32, dims="S D")
            query = q_ring.wait()
            if OVERLAP:
                if steps > 0:
                    with k_ring.drain() as slot:
                        s = ag.dot(query.q, slot.k.T)
                    k0 = first * BT
                    s = scored(s, row0, k0, n, BQ, BT, inner, LEFT, RIGHT, SOFTCAP)
                    p, alpha, m, l = soften(s, m, l, factor, True)
                    weights = p.to(V.dtype)
                    for j in ag.range(1, steps):
                        keys = k_ring.wait()
                        s = ag.dot(query.q, keys.k.T)
                        values = v_ring.wait()
                        o = ag.dot(weights, values.v, o)
                        keys.release()
                        k0 = (first + j) * BT
                        s = scored(s, row0, k0, n, BQ, BT, inner, LEFT, RIGHT, SOFTCAP)
                        p, alpha, m, l = soften(s, m, l, factor, True)
                        values.release()
                        o = o * alpha
                        weights = p.to(V.dtype)
                    with v_ring.drain() as slot:
                        o = ag.dot(weights, slot.v, o)
            else:
                for j in ag.range(0, steps):
                    with k_ring.drain() as slot:
                        s = ag.dot(query.q, slot.k.T)
                    k0 = (first + j) * BT
                    s = scored(s, row0, k0, n, BQ, BT, inner, LEFT, RIGHT, SOFTCAP)
                    p, alpha, m, l = soften(s, m, l, factor, True)
                    o = o * alpha
                    with v_ring.drain() as slot:
                        o = ag.dot(p.to(V.dtype), slot.v, o)
            query.release()
            if Sinks is not None:
                o, e = o * ag.rcp(l), m * unit + ag.log(l)
            else:
                some = ag.full((BQ,), n, i32, dims="S") > 0
                if RIGHT >= 0:
                    some = some & (row0 + ag.index(l, "S") >= -RIGHT)
                total = ag.where(some, l, 1.0)
                o = ag.where(ag.broadcast(some, o), o * ag.rcp(total), 0.0)
                e = ag.where(some, m * unit + ag.log(total), 0.0)
            O[s0 + q0 : s0 + rows, h, :] = o.to(O.dtype)
            if L is not None:
                L[h, s0 + q0 : s0 + rows] = e


@ag.reference
def varlen_attention_reference(
    Q, K, V, First, Last, FirstKey, LastKey, O, scale, longest, cap, LEFT, RIGHT,
    SOFTCAP, L=None, Sinks=None,
):  # fmt: skip
    """Each sequence by itself: softmax over the keys that a query of it sees."""
    import numpy as np

    H, G, T = Q.shape[1], K.shape[1], K.shape[0]
    q, k, v = (np.swapaxes(x, 0, 1) for x in (Q, K, V))
    k, v = (np.repeat(x, H // G, axis=0) for x in (k, v))
    out, logs = O.copy(), np.zeros((H, Q.shape[0])) if L is None else L.copy()
    for b in range(len(First)):
        f, e, n = First[b], Last[b], LastKey[b] - FirstKey[b]
        scores = q[:, f:e] @ np.swapaxes(k, 1, 2) * scale
        if SOFTCAP:
            scores = np.tanh(scores / cap) * cap
        row = np.arange(e - f)[:, None] + n - (e - f)
        key = np.arange(T) - FirstKey[b]
        scores = np.where((key >= 0) & (key < n), scores, -np.inf)
        some = np.arange(e - f) * 0 + n > 0
        if LEFT >= 0:
            scores = np.where(key >= row - LEFT, scores, -np.inf)
        if RIGHT >= 0:
            scores = np.where(key <= row + RIGHT, scores, -np.inf)
            some = some & (row[:, 0] + RIGHT >= 0)
        largest = scores.max(-1)
        if Sinks is not None:
            largest = np.maximum(largest, Sinks[:, None])
        weights = np.exp(scores - largest[..., None])
        total = weights.sum(-1)
        if Sinks is not None:
            total = total + np.exp(Sinks[:, None] - largest)
        o = np.swapaxes(weights / total[..., None] @ v, 0, 1)
        l = largest + np.log(total)
        if Sinks is None:
            o, l = np.where(some[:, None, None], o, 0), np.where(some, l, 0)
        out[f:e] = o
        logs[:, f:e] = l
    return {"O": out} if L is None else {"O": out, "L": logs}
