"""Scaled dot-product attention, forward: O = softmax(Q K^T * scale) V.

Query heads share key heads in groups (H a multiple of G). One block does BQ queries of
one head at a time; one warp streams keys and values through rings, the math warpgroups
keep the running maximum m, sum l and output o of their rows in registers (online
softmax, Dao et al. 2022) and feed the probabilities to the second product without
leaving them.

Blocks of keys are taken from the last to the first, so that only the first one taken
meets a mask (the end of T, or the diagonal). The two products of a step overlap with
its softmax, as in FlashAttention-3 (Shah et al. 2024): the scores of the next block and
the output of this one are issued together, and the softmax of the next block runs while
the output is still being computed.

`attention` has a block of its own for each tile of queries. `attention_persistent` has
as many blocks as fit, which go from tile to tile, so that the next tile is loaded while
the last one is finished. Tiles under a mask are not equally long: see `attention_form`.

Where there are few tiles of queries, as in decoding, `attention_parts` has blocks for
parts of the keys, too, and `attention_merge` weighs what they come to (Dao et al. 2023,
"Flash-Decoding"). `plan.py` chooses.
"""

import argus as ag
from argus import f32, i32

LOG2E = 1.4426950408889634


@ag.inline
def soften(s, m, l, factor, FOLD):
    """Online softmax of scores s: probabilities, rescaling of o, new m and l.

    FOLD: one instruction for each score. What was summed before is relative to a row's
    maximum times the factor, as that was rounded: so alpha is of such products, which
    no compiler fuses (`argus.codegen.fusing`), and is 1 where the maximum stays.
    """
    m_new = ag.maximum(m, ag.max(s, "T"))
    if FOLD:
        shift = m_new * factor
        p = ag.exp2(ag.fma(s, factor, -shift))
        alpha = ag.exp2(m * factor - shift)
    else:
        p = ag.exp((s - m_new) * factor)
        alpha = ag.exp((m - m_new) * factor)
    return p, alpha, m_new, l * alpha + ag.sum(p, "T")


@ag.inline
def soften_masked(s, m, l):
    """Online softmax of scores s that may be as far below others as f32 reaches."""
    m_new = ag.maximum(m, ag.max(s, "T"))
    p = ag.exp2((s - m_new) * LOG2E)
    alpha = ag.exp2((m - m_new) * LOG2E)
    return p, alpha, m_new, l * alpha + ag.sum(p, "T")


@ag.inline
def reach(i, S, T, BQ, BT, CAUSAL):
    """Where tile i of queries begins, and how many blocks of keys it sees."""
    q0, steps = i * BQ, ag.cdiv(T, BT)
    if CAUSAL:
        # The longest first: the last wave has the short ones.
        q0 = (ag.cdiv(S, BQ) - 1 - i) * BQ
        steps = ag.min(steps, q0 // BT + 1)
    return q0, steps


@ag.inline
def stream(k_ring, v_ring, K, V, b, g, first, steps, BT):
    """Fill the rings with blocks of keys and values of a head, last to first.

    ``steps`` blocks, from block ``first`` of them on.
    """
    for j in ag.range(0, steps):
        t = (first + steps - 1 - j) * BT
        with k_ring.fill() as slot:
            slot.k.load(K[b, g, t:, :])
        with v_ring.fill() as slot:
            slot.v.load(V[b, g, t:, :])


@ag.inline
def attend(q_ring, k_ring, v_ring, V, q0, first, steps, scale, BQ, BT, D, CAUSAL, FOLD):
    """One tile of queries, from its slot and what is streamed.

    Output times the sum of the exponentials, their maximum, their sum.
    """
    factor = scale * LOG2E if FOLD else scale
    T = V.shape[2]
    query = q_ring.wait()
    with k_ring.drain() as slot:
        s = ag.dot(query.q, slot.k.T)
    key = ag.broadcast((first + steps - 1) * BT + ag.index(s, "T"), s)
    seen = key < T
    if CAUSAL:
        seen = seen & (key <= q0 + ag.index(s, "S"))
    m = ag.full((BQ,), -1e30, f32)
    l = ag.zeros((BQ,), f32)
    p, alpha, m, l = soften(ag.where(seen, s, -1e30), m, l, factor, FOLD)
    weights = p.to(V.dtype)
    o = ag.zeros((BQ, D), f32)
    for _ in ag.range(1, steps):
        keys = k_ring.wait()
        s = ag.dot(query.q, keys.k.T)
        values = v_ring.wait()
        o = ag.dot(weights, values.v, o)
        keys.release()
        p, alpha, m, l = soften(s, m, l, factor, FOLD)
        values.release()
        o = o * alpha
        weights = p.to(V.dtype)
    query.release()
    with v_ring.drain() as slot:
        o = ag.dot(weights, slot.v, o)
    return o, m, l


@ag.inline
def leave(o, O, b, h, q0, out, TMA_STORE):
    """Store a tile of the output, through shared memory if TMA does it."""
    o = o.to(O.dtype)
    if TMA_STORE:
        out.store(o)
        ag.tma_store(O[b, h, q0:, :], out)
    else:
        O[b, h, q0:, :] = o


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
    REGISTERS: int = 240,
    FOLD: bool = True,
    TMA_STORE: bool = False,
):
    """``scale`` multiplies the scores. CAUSAL: query s sees keys t <= s.

    REGISTERS of a math thread; 0 leaves each thread its equal share. FOLD: the scale
    and the base of the exponential in one multiplication. TMA_STORE: the output leaves
    through shared memory.
    """
    assert not CAUSAL or BQ == BT, "only the first block taken meets the diagonal"
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(T > 0, "a softmax over no keys is not defined")
    # Neighbouring blocks share a head, so that its keys and values stay in L2.
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    q0, steps = reach(i, S, T, BQ, BT, CAUSAL)
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    out = ag.shared(O.dtype, (BQ, D)) if TMA_STORE else None
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, h, q0:, :])
        stream(k_ring, v_ring, K, V, b, h // (H // G), 0, steps, BT)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        o, _, l = attend(
            q_ring, k_ring, v_ring, V, q0, 0, steps, scale, BQ, BT, D, CAUSAL, FOLD
        )
        leave(o * ag.rcp(l), O, b, h, q0, out, TMA_STORE)


@ag.kernel
def attention_persistent(
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
    REGISTERS: int = 240,
    FOLD: bool = True,
    TMA_STORE: bool = False,
    QUERIES: int = 1,
):
    """As `attention`, with blocks that stay, and QUERIES tiles of them in flight."""
    assert not CAUSAL or BQ == BT, "only the first block taken meets the diagonal"
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(T > 0, "a softmax over no keys is not defined")
    q_ring = ag.ring(QUERIES, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    out = ag.shared(O.dtype, (BQ, D)) if TMA_STORE else None
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        for b, h, i in ag.persistent(B, H, ag.cdiv(S, BQ)):
            q0, steps = reach(i, S, T, BQ, BT, CAUSAL)
            with q_ring.fill() as slot:
                slot.q.load(Q[b, h, q0:, :])
            stream(k_ring, v_ring, K, V, b, h // (H // G), 0, steps, BT)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        for b, h, i in ag.persistent(B, H, ag.cdiv(S, BQ)):
            q0, steps = reach(i, S, T, BQ, BT, CAUSAL)
            o, _, l = attend(
                q_ring, k_ring, v_ring, V, q0, 0, steps, scale, BQ, BT, D, CAUSAL, FOLD
            )
            leave(o * ag.rcp(l), O, b, h, q0, out, TMA_STORE)


@ag.kernel
def attention_parts(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    W: f32["P B H S D"],
    E: f32["P B H S"],
    scale: f32,
    steps: i32,
    *,
    D: int = 128,
    BQ: int = 64,
    BT: int = 128,
    STAGES: int = 2,
    WARPGROUPS: int = 1,
    REGISTERS: int = 240,
):
    """Attention to parts of the keys, of ``steps`` blocks of BT each; the last: fewer.

    W: the output of each part. E: the logarithm, to the base 2, of the sum of the
    exponentials that it was divided by.
    """
    P, B, H, S, _ = W.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(steps > 0, "a softmax over no keys is not defined")
    ag.require((P - 1) * steps * BT < T, "no part is empty")
    p, b, h, i = ag.block(P, B, H, ag.cdiv(S, BQ))
    q0, first = i * BQ, p * steps
    count = ag.max(1, ag.min(steps, ag.cdiv(T, BT) - first))
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, h, q0:, :])
        stream(k_ring, v_ring, K, V, b, h // (H // G), first, count, BT)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        o, m, l = attend(
            q_ring, k_ring, v_ring, V, q0, first, count, scale, BQ, BT, D, False, True
        )
        W[p, b, h, q0:, :] = o * ag.rcp(l)
        E[p, b, h, q0:] = m * (scale * LOG2E) + ag.log2(l)


@ag.reference
def attention_parts_reference(Q, K, V, P, scale, steps, BT):
    """Each part by itself."""
    import numpy as np

    H, G, T = Q.shape[1], K.shape[1], K.shape[2]
    part = steps * BT
    outputs, logarithms = [], []
    for begin, end in [(p * part, min(T, (p + 1) * part)) for p in range(P)]:
        k = np.repeat(K[:, :, begin:end], H // G, axis=1)
        v = np.repeat(V[:, :, begin:end], H // G, axis=1)
        scores = np.einsum("bhsd,bhtd->bhst", Q, k) * scale
        largest = scores.max(-1, keepdims=True)
        weights = np.exp(scores - largest)
        total = weights.sum(-1, keepdims=True)
        outputs.append(np.einsum("bhst,bhtd->bhsd", weights / total, v))
        logarithms.append(((largest + np.log(total)) / np.log(2.0))[..., 0])
    return np.stack(outputs), np.stack(logarithms)


@ag.inline
def logarithms(E, p, b, h, s, BP):
    """Those of BP parts from p on; of parts that there are not, the least."""
    e = ag.load(E[p:, b, h, s], (BP,))
    return ag.where(p + ag.index(e, "P") < E.shape[0], e, -1e30)


@ag.kernel
def attention_merge(
    W: f32["P B H S D"],
    E: f32["P B H S"],
    O: ag.half["B H S D"],
    *,
    BP: int = 32,
    D: int = 128,
    WARPS: int = 4,
):
    """O: outputs W of parts, each in proportion to 2 to the power of its E."""
    P, B, H, S, _ = W.shape
    ag.require(P > 0, "there is something to merge")
    ag.launch(warps=WARPS)
    b, h, s = ag.block(B, H, S)
    m = ag.full((), -1e30, f32)
    for p in ag.range(0, P, BP):
        m = ag.maximum(m, ag.max(logarithms(E, p, b, h, s, BP), "P"))
    weights = ag.zeros((BP,), f32)
    acc = ag.zeros((BP, D), f32, dims="P D")
    for p in ag.range(0, P, BP):
        weight = ag.exp2(logarithms(E, p, b, h, s, BP) - m)
        weights = weights + weight
        acc = acc + ag.load(W[p:, b, h, s, :], (BP, D)) * weight
    O[b, h, s, :] = (ag.sum(acc, "P") / ag.sum(weights, "P")).to(O.dtype)


@ag.reference
def attention_merge_reference(W, E):
    """A mean with the weights of a softmax over the parts."""
    import numpy as np

    weights = np.exp2(E - E.max(0))
    return np.einsum("pbhsd,pbhs->bhsd", W, weights / weights.sum(0))


@ag.kernel
def attention_training(
    Q: ag.half["B H S D"],
    K: ag.half["B G T D"],
    V: ag.half["B G T D"],
    O: ag.half["B H S D"],
    L: f32["B H S"],
    scale: f32,
    *,
    D: int = 128,
    BQ: int = 128,
    BT: int = 128,
    STAGES: int = 2,
    WARPGROUPS: int = 2,
    CAUSAL: bool = False,
    REGISTERS: int = 240,
):
    """As `attention`; and L, the logarithm of the sum of the exponentials of scores.

    `argus.kernels.attention_backward` computes probabilities from it.
    """
    assert not CAUSAL or BQ == BT, "only the first block taken meets the diagonal"
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.require(T > 0, "a softmax over no keys is not defined")
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    q0, steps = reach(i, S, T, BQ, BT, CAUSAL)
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        with q_ring.fill() as slot:
            slot.q.load(Q[b, h, q0:, :])
        stream(k_ring, v_ring, K, V, b, h // (H // G), 0, steps, BT)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        o, m, l = attend(
            q_ring, k_ring, v_ring, V, q0, 0, steps, scale, BQ, BT, D, CAUSAL, True
        )
        O[b, h, q0:, :] = (o * ag.rcp(l)).to(O.dtype)
        L[b, h, q0:] = m * scale + ag.log(l)


@ag.reference
def attention_training_reference(Q, K, V, scale, CAUSAL):
    """Softmax over keys, and the logarithm of its denominator."""
    import numpy as np

    S, T = Q.shape[2], K.shape[2]
    k, v = (np.repeat(x, Q.shape[1] // K.shape[1], axis=1) for x in (K, V))
    scores = np.einsum("bhsd,bhtd->bhst", Q, k) * scale
    if CAUSAL:
        scores = np.where(np.arange(T) <= np.arange(S)[:, None], scores, -1e30)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    output = np.einsum("bhst,bhtd->bhsd", weights / total, v)
    return output, (largest + np.log(total))[..., 0]
