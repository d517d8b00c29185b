"""Attention of few queries to many keys, in pages or not, as many as a sequence has.

A sequence has its keys and values in pages: ``Table[b, i]`` is the page of its
positions from i * PAGE on (Kwon et al. 2023, "PagedAttention"). The query heads that
share a key head are rows of one tile, so that keys are read once. A block takes a part
of the keys, ``steps`` blocks of BT, and `paged_merge` weighs what the parts come to
(Dao et al. 2023, "Flash-Decoding"). How many parts there are follows from the largest
length that there may be, so that nobody waits for lengths: a block whose part begins
after the end of its sequence reads no keys and stores nothing.

Row r of a tile is query r % QUERIES of a head. The last query sees all keys of its
sequence, the one before all but the last one, and so on.

`paged_parts` reads pages of whole blocks by TMA, `gathered_parts` rows of any pages by
`cp.async`, and `length_parts` keys that are not in pages.
"""

import argus as ag
from argus import f32, i32, i64

LOG2E = 1.4426950408889634


@ag.inline
def soften_seen(s, m, l, seen, factor):
    """Online softmax of the scores that are seen: weights, rescaling, new m and l."""
    m_new = ag.maximum(m, ag.max(ag.where(seen, s, -1e30), "T"))
    shift = m_new * factor
    w = ag.where(seen, ag.exp2(ag.fma(s, factor, -shift)), 0.0)
    alpha = ag.exp2(m * factor - shift)
    return w, alpha, m_new, l * alpha + ag.sum(w, "T")


@ag.inline
def attend_part(
    q_ring, k_ring, v_ring, Sinks, g, r0, first, count, length, scale, dtype, KEYS,
    BQ, BT, D, QUERIES,
):  # fmt: skip
    """One tile of queries: output, 0 of rows that see no key, and logarithm of the sum.

    A sink is a score of no key: of the first maximum.
    """
    query = q_ring.wait()
    o = ag.zeros((BQ, D), f32, dims="R D")
    l = ag.zeros((BQ,), f32, dims="R")
    m = ag.full((BQ,), -1e30, f32, dims="R")
    if Sinks is not None:
        sink = ag.load(Sinks[g, (r0 + ag.index(m, "R")) // QUERIES])
        m, l = ag.rename(sink, "R") / scale, l + 1.0
    limit = length - (QUERIES - 1) + (r0 + ag.index(m, "R")) % QUERIES
    for j in ag.range(0, count):
        with k_ring.drain() as slot:
            s = ag.rename(ag.dot(query.q, slot.k.T), "R T")
        key = ag.broadcast((first + j) * BT + ag.index(s, "T"), s)
        seen = key < length if QUERIES == 1 else key < limit
        w, alpha, m, l = soften_seen(s, m, l, seen, scale * LOG2E)
        o = o * alpha
        with v_ring.drain() as slot:
            o = ag.dot(ag.rename(w.to(dtype), KEYS), slot.v, o)
    query.release()
    if Sinks is not None:
        return o * ag.rcp(l), m * scale + ag.log(l)
    some = limit > first * BT
    total = ag.where(some, l, 1.0)
    o = ag.where(ag.broadcast(some, o), o * ag.rcp(total), 0.0)
    return o, ag.where(some, m * scale + ag.log(total), 0.0)


@ag.inline
def leave_part(o, e, W, E, p, b, g, r0, count, WHOLE):
    """Store a part; one that a sequence does not have is stored if WHOLE."""
    if WHOLE or count > 0:
        W[p, b, g, r0:, :] = o.to(W.dtype)
        E[p, b, g, r0:] = e


@ag.kernel
def paged_parts(
    Q: ag.half["B G R D"],
    K: ag.half["C PAGE G D"],
    V: ag.half["C PAGE G D"],
    Table: i32["B M"],
    Lengths: i32["B"],
    W: ag.float["P B G R D"],
    E: f32["P B G R"],
    scale: f32,
    steps: i32,
    Sinks: f32["G N"] | None = None,
    *,
    D: int = 128,
    PAGE: int = 64,
    QUERIES: int = 1,
    WHOLE: bool = False,
    BQ: int = 64,
    BT: int = 64,
    STAGES: int = 2,
    WARPGROUPS: int = 1,
    RESIDENT: int = 2,
):
    """Attention to parts of the keys, of ``steps`` blocks of BT each.

    W: the output of each part. E: the logarithm of the sum of exponentials that it was
    divided by; both of no keys are 0. Sinks: of each part. WHOLE: every part is stored.
    RESIDENT: thread blocks of a multiprocessor, 1 or 2.
    """
    assert PAGE % BT == 0, "a block of keys lies in one page"
    P, B, G, R, _ = W.shape
    M = Table.shape[1]
    ag.require(M > 0, "a softmax over no keys is not defined")
    ag.require(M * PAGE < 2**30, "positions of keys have 32 bits")
    ag.require(steps > 0, "a part has keys")
    ag.require(P * steps * BT >= M * PAGE, "the parts have all keys")
    if Sinks is not None:
        ag.require(Sinks.shape[1] * QUERIES >= R, "a sink for each head")
        ag.require(scale != 0.0, "a sink is divided by the scale")
    ag.launch(min_blocks=RESIDENT)
    p, b, g, i = ag.block(P, B, G, ag.cdiv(R, BQ))
    r0, first = i * BQ, p * steps
    length = ag.max(0, ag.min(Lengths[b], M * PAGE))
    count = ag.max(0, ag.min(steps, ag.cdiv(length, BT) - first))
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    LOAD, MATH = (56, 200) if RESIDENT > 1 else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, g, r0:, :])
        for j in ag.range(0, count):
            t = (first + j) * BT
            page = Table[b, t // PAGE]
            with k_ring.fill() as slot:
                slot.k.load(K[page, t % PAGE :, g, :])
            with v_ring.fill() as slot:
                slot.v.load(V[page, t % PAGE :, g, :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        o, e = attend_part(
            q_ring, k_ring, v_ring, Sinks, g, r0, first, count, length, scale,
            V.dtype, "R PAGE", BQ, BT, D, QUERIES,
        )  # fmt: skip
        leave_part(o, e, W, E, p, b, g, r0, count, WHOLE)


@ag.reference
def paged_parts_reference(
    Q, K, V, Table, Lengths, W, E, P, scale, steps, BT, QUERIES, WHOLE, Sinks=None
):
    """Each part by itself."""
    import numpy as np

    R, M, PAGE = Q.shape[2], Table.shape[1], K.shape[1]
    lengths, part = np.clip(Lengths, 0, M * PAGE), steps * BT
    limits = lengths[:, None] - (QUERIES - 1) + np.arange(R) % QUERIES
    t = np.arange(M)[:, None] * PAGE + np.arange(PAGE)
    scores = np.einsum("bgrd,bmngd->bgrmn", Q, K[Table]) * scale
    values = V[Table]
    outputs, logarithms = [], []
    for p in range(P):
        first, end = p * part, np.minimum(limits, (p + 1) * part)
        seen = (t >= first) & (t < end[..., None, None])
        s = np.where(seen[:, None], scores, -np.inf)
        some = (limits > first)[:, None]
        largest = s.max((-2, -1))
        if Sinks is not None:
            sinks = Sinks[:, np.arange(R) // QUERIES]
            largest = np.maximum(largest, sinks)
        weights = np.exp(s - largest[..., None, None])
        total = weights.sum((-2, -1))
        if Sinks is not None:
            total = total + np.exp(sinks - largest)
        o = np.einsum("bgrmn,bmngd->bgrd", weights / total[..., None, None], values)
        e = largest + np.log(total)
        if Sinks is None:
            o, e = np.where(some[..., None], o, 0), np.where(some, e, 0)
        if not WHOLE:
            stored = (lengths > first)[:, None, None]
            o = np.where(stored[..., None], o, W[p])
            e = np.where(stored, e, E[p])
        outputs.append(o)
        logarithms.append(e)
    return np.stack(outputs), np.stack(logarithms)


@ag.kernel
def gathered_parts(
    Q: ag.half["B G R D"],
    K: ag.half["C G D"],
    V: ag.half["C G D"],
    Table: i32["B M"],
    Lengths: i32["B"],
    W: ag.float["P B G R D"],
    E: f32["P B G R"],
    scale: f32,
    steps: i32,
    Sinks: f32["G N"] | None = None,
    *,
    D: int = 128,
    PAGE: int = 16,
    QUERIES: int = 1,
    WHOLE: bool = False,
    BQ: int = 64,
    BT: int = 64,
    STAGES: int = 2,
    WARPGROUPS: int = 1,
    RESIDENT: int = 2,
):
    """As `paged_parts`, of pages of any size. C: their rows, page after page."""
    P, B, G, R, _ = W.shape
    M = Table.shape[1]
    ag.require(M > 0, "a softmax over no keys is not defined")
    ag.require(M * PAGE < 2**30, "positions of keys have 32 bits")
    ag.require(steps > 0, "a part has keys")
    ag.require(P * steps * BT >= M * PAGE, "the parts have all keys")
    if Sinks is not None:
        ag.require(Sinks.shape[1] * QUERIES >= R, "a sink for each head")
        ag.require(scale != 0.0, "a sink is divided by the scale")
    ag.launch(min_blocks=RESIDENT)
    p, b, g, i = ag.block(P, B, G, ag.cdiv(R, BQ))
    r0, first = i * BQ, p * steps
    length = ag.max(0, ag.min(Lengths[b], M * PAGE))
    count = ag.max(0, ag.min(steps, ag.cdiv(length, BT) - first))
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    LOAD, MATH = (56, 200) if RESIDENT > 1 else (None, None)

    with ag.role("load", warps=4, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, g, r0:, :])
        for j in ag.range(0, count):
            at = ag.full((BT,), (first + j) * BT, i32, dims="C")
            at = at + ag.index(at, "C")
            page = ag.load(Table[b, ag.minimum(at // PAGE, M - 1)])
            rows = ag.where(at < length, page.to(i64) * PAGE + at % PAGE, -1)
            with k_ring.fill() as slot:
                slot.k.load(K[rows, g, :])
            with v_ring.fill() as slot:
                slot.v.load(V[rows, g, :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        o, e = attend_part(
            q_ring, k_ring, v_ring, Sinks, g, r0, first, count, length, scale,
            V.dtype, "R C", BQ, BT, D, QUERIES,
        )  # fmt: skip
        leave_part(o, e, W, E, p, b, g, r0, count, WHOLE)


@ag.reference
def gathered_parts_reference(
    Q, K, V, Table, Lengths, W, E, P, scale, steps, BT, PAGE, QUERIES, WHOLE, Sinks=None
):
    """Each part by itself."""
    import numpy as np

    R, M = Q.shape[2], Table.shape[1]
    lengths, part = np.clip(Lengths, 0, M * PAGE), steps * BT
    limits = lengths[:, None] - (QUERIES - 1) + np.arange(R) % QUERIES
    outputs, logarithms = [], []
    for p in range(P):
        first, end = p * part, np.minimum(limits, (p + 1) * part)
        t = first + np.arange(steps)[:, None] * BT + np.arange(BT)
        rows = Table[:, np.minimum(t // PAGE, M - 1)] * PAGE + t % PAGE
        scores = np.einsum("bgrd,bmngd->bgrmn", Q, K[rows]) * scale
        values = V[rows]
        seen = (t >= first) & (t < end[..., None, None])
        s = np.where(seen[:, None], scores, -np.inf)
        some = (limits > first)[:, None]
        largest = s.max((-2, -1))
        if Sinks is not None:
            sinks = Sinks[:, np.arange(R) // QUERIES]
            largest = np.maximum(largest, sinks)
        weights = np.exp(s - largest[..., None, None])
        total = weights.sum((-2, -1))
        if Sinks is not None:
            total = total + np.exp(sinks - largest)
        o = np.einsum("bgrmn,bmngd->bgrd", weights / total[..., None, None], values)
        e = largest + np.log(total)
        if Sinks is None:
            o, e = np.where(some[..., None], o, 0), np.where(some, e, 0)
        if not WHOLE:
            stored = (lengths > first)[:, None, None]
            o = np.where(stored[..., None], o, W[p])
            e = np.where(stored, e, E[p])
        outputs.append(o)
        logarithms.append(e)
    return np.stack(outputs), np.stack(logarithms)


@ag.kernel
def length_parts(
    Q: ag.half["B G R D"],
    K: ag.half["B T G D"],
    V: ag.half["B T G D"],
    Lengths: i32["B"],
    W: ag.float["P B G R D"],
    E: f32["P B G R"],
    scale: f32,
    steps: i32,
    Sinks: f32["G N"] | None = None,
    *,
    D: int = 128,
    QUERIES: int = 1,
    WHOLE: bool = False,
    BQ: int = 64,
    BT: int = 64,
    STAGES: int = 2,
    WARPGROUPS: int = 1,
    RESIDENT: int = 2,
):
    """As `paged_parts`, of keys without pages."""
    P, B, G, R, _ = W.shape
    T = K.shape[1]
    ag.require(T > 0, "a softmax over no keys is not defined")
    ag.require(T < 2**30, "positions of keys have 32 bits")
    ag.require(steps > 0, "a part has keys")
    ag.require(P * steps * BT >= T, "the parts have all keys")
    if Sinks is not None:
        ag.require(Sinks.shape[1] * QUERIES >= R, "a sink for each head")
        ag.require(scale != 0.0, "a sink is divided by the scale")
    ag.launch(min_blocks=RESIDENT)
    p, b, g, i = ag.block(P, B, G, ag.cdiv(R, BQ))
    r0, first = i * BQ, p * steps
    length = ag.max(0, ag.min(Lengths[b], T))
    count = ag.max(0, ag.min(steps, ag.cdiv(length, BT) - first))
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    LOAD, MATH = (56, 200) if RESIDENT > 1 else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, g, r0:, :])
        for j in ag.range(0, count):
            t = (first + j) * BT
            with k_ring.fill() as slot:
                slot.k.load(K[b, t:, g, :])
            with v_ring.fill() as slot:
                slot.v.load(V[b, t:, g, :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        o, e = attend_part(
            q_ring, k_ring, v_ring, Sinks, g, r0, first, count, length, scale,
            V.dtype, "R T", BQ, BT, D, QUERIES,
        )  # fmt: skip
        leave_part(o, e, W, E, p, b, g, r0, count, WHOLE)


@ag.reference
def length_parts_reference(
    Q, K, V, Lengths, W, E, P, scale, steps, BT, QUERIES, WHOLE, Sinks=None
):
    """Each part by itself."""
    import numpy as np

    R, T = Q.shape[2], K.shape[1]
    lengths, part = np.clip(Lengths, 0, T), steps * BT
    limits = lengths[:, None] - (QUERIES - 1) + np.arange(R) % QUERIES
    t = np.arange(T)
    scores = np.einsum("bgrd,btgd->bgrt", Q, K) * scale
    outputs, logarithms = [], []
    for p in range(P):
        first, end = p * part, np.minimum(limits, (p + 1) * part)
        seen = (t >= first) & (t < end[..., None])
        s = np.where(seen[:, None], scores, -np.inf)
        some = (limits > first)[:, None]
        largest = s.max(-1)
        if Sinks is not None:
            sinks = Sinks[:, np.arange(R) // QUERIES]
            largest = np.maximum(largest, sinks)
        weights = np.exp(s - largest[..., None])
        total = weights.sum(-1)
        if Sinks is not None:
            total = total + np.exp(sinks - largest)
        o = np.einsum("bgrt,btgd->bgrd", weights / total[..., None], V)
        e = largest + np.log(total)
        if Sinks is None:
            o, e = np.where(some[..., None], o, 0), np.where(some, e, 0)
        if not WHOLE:
            stored = (lengths > first)[:, None, None]
            o = np.where(stored[..., None], o, W[p])
            e = np.where(stored, e, E[p])
        outputs.append(o)
        logarithms.append(e)
    return np.stack(outputs), np.stack(logarithms)


@ag.kernel
def paged_merge(
    W: f32["P B G R D"],
    E: f32["P B G R"],
    Lengths: i32["B"],
    O: ag.half["B G R D"],
    L: f32["B G R"],
    part: i32,
    Sinks: f32["G N"] | None = None,
    *,
    D: int = 128,
    QUERIES: int = 1,
    BP: int = 16,
    WARPS: int = 4,
):
    """O: outputs W of parts of ``part`` keys, weighed by exp(E). L: of all the keys.

    Parts that a row has no keys in are not read.
    """
    P, B, G, R, _ = W.shape
    ag.require(part > 0, "a part has keys")
    ag.require(P > 0, "there are parts")
    ag.require(P < 2**30, "their numbers have 32 bits")
    if Sinks is not None:
        ag.require(Sinks.shape[1] * QUERIES >= R, "a sink for each head")
    ag.launch(warps=WARPS)
    b, g, r = ag.block(B, G, R)
    limit = ag.max(0, Lengths[b] - (QUERIES - 1) + r % QUERIES)
    parts = ag.min(P, ag.cdiv(limit, part))
    m = ag.full((), -1e30, f32)
    if Sinks is not None:
        m = ag.full((), Sinks[g, r // QUERIES], f32)
    for p in ag.range(0, parts, BP):
        e = ag.load(E[p:parts, b, g, r], (BP,), fill=-1e30)
        m = ag.maximum(m, ag.max(e, "P"))
    weights = ag.zeros((BP,), f32, dims="P")
    acc = ag.zeros((BP, D), f32, dims="P D")
    for p in ag.range(0, parts, BP):
        e = ag.load(E[p:parts, b, g, r], (BP,), fill=-1e30)
        weight = ag.where(p + ag.index(e, "P") < parts, ag.exp(e - m), 0.0)
        weights = weights + weight
        acc = acc + ag.load(W[p:parts, b, g, r, :], (BP, D)) * weight
    total = ag.sum(weights, "P")
    o = ag.sum(acc, "P")
    if Sinks is not None:
        total = total + ag.exp(ag.full((), Sinks[g, r // QUERIES], f32) - m)
        O[b, g, r, :] = (o / total).to(O.dtype)
        L[b, g, r] = m + ag.log(total)
    else:
        total = ag.where(parts > 0, total, 1.0)
        O[b, g, r, :] = ag.where(parts > 0, o / total, 0.0).to(O.dtype)
        L[b, g, r] = ag.where(parts > 0, m + ag.log(total), 0.0)


@ag.reference
def paged_merge_reference(W, E, Lengths, part, QUERIES, Sinks=None):
    """A mean with the weights of a softmax over the parts that a row has."""
    import numpy as np

    P, R = W.shape[0], W.shape[3]
    limits = np.maximum(0, Lengths[:, None] - (QUERIES - 1) + np.arange(R) % QUERIES)
    has = (np.arange(P)[:, None, None] < (limits + part - 1) // part)[:, :, None]
    e = np.where(has, E, -np.inf)
    largest = e.max(0)
    if Sinks is not None:
        sinks = Sinks[:, np.arange(R) // QUERIES]
        largest = np.maximum(largest, sinks)
    weights = np.exp(e - largest)
    total = weights.sum(0)
    if Sinks is not None:
        total = total + np.exp(sinks - largest)
    o = np.einsum("pbgrd,pbgr->bgrd", W, weights / total)
    if Sinks is not None:
        return o, largest + np.log(total)
    some = limits[:, None] > 0
    return np.where(some[..., None], o, 0), np.where(some, largest + np.log(total), 0)
