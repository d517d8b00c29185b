"""Attention without roles: operands in registers, online softmax, with mistakes."""

import argus as ag
from argus import bf16, f32

NONE = -1e30


@ag.kernel
def attention(
    Q: bf16["B H S D"],
    K: bf16["B G T D"],
    V: bf16["B G T D"],
    O: bf16["B H S D"],
    scale: f32,
    *,
    D: int = 64,
    BQ: int = 64,
    BT: int = 32,
):
    B, H, S, _ = Q.shape
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    ag.launch(warps=4)
    b, h, i = ag.block(B, H, ag.cdiv(S, BQ))
    # or AG0306 (grid too small): b, h, i = ag.block(B, G, ag.cdiv(S, BQ))
    # or AG0306 (grid too small): b, h, i = ag.block(B, H, S // BQ)
    g = h // (H // G)
    # or AG0310 (GQA head map off): g = h
    # or AG0310 (GQA head map off): g = h // G
    q = ag.load(Q[b, h, i * BQ :, :], (BQ, D))
    # or AG0305 (wrong head): q = ag.load(Q[b, g, i * BQ :, :], (BQ, D))
    # or AG0305 (off-by-one tile): q = ag.load(Q[b, h, (i + 1) * BQ :, :], (BQ, D))
    m = ag.full((BQ,), NONE, f32)
    l = ag.zeros((BQ,), f32)
    o = ag.zeros((BQ, D), f32)
    for t in ag.range(0, T, BT):
        # or AG0308 (loop range): for t in ag.range(0, T - BT, BT):
        # or AG0308 (loop range): for t in ag.range(BT, T, BT):
        # or AG0308 (wrong length): for t in ag.range(0, S, BT):
        k = ag.load(K[b, g, t:, :], (BT, D))
        # or AG0301 (wrong batch): k = ag.load(K[0, g, t:, :], (BT, D))
        # or AG0301 (tile of another step): k = ag.load(K[b, g, t + BT :, :], (BT, D))
        # or AG0301 (wrong batch): k = ag.load(K[B - 1 - b, g, t:, :], (BT, D))
        s = ag.dot(q, k.T)  # shows AG0301
        seen = t + ag.index(s, "T") < T
        # or AG0310 (mask off by one): seen = t + ag.index(s, "T") <= T
        # or AG0310 (mask of the wrong tile): seen = ag.index(s, "T") < T
        # or AG0310 (mask by the wrong length): seen = t + ag.index(s, "T") < S
        s = ag.where(seen, s, NONE)
        # or AG0310 (missing tail mask): s = s * 1.0
        m_new = ag.maximum(m, ag.max(s, "T"))  # shows AG0310
        p = ag.exp2((s - m_new) * scale)
        alpha = ag.exp2((m - m_new) * scale)
        l = l * alpha + ag.sum(p, "T")  # shows AG0310
        v = ag.load(V[b, g, t:, :], (BT, D))
        # or AG0301 (tile of another step): v = ag.load(V[b, g, t + BT :, :], (BT, D))
        # or AG0301 (off-by-one element): v = ag.load(V[b, g, t + 1 :, :], (BT, D))
        # or AG0301 (wrong head): v = ag.load(V[b, 0, t:, :], (BT, D))
        # or AG0301 (stale index): v = ag.load(V[b, g, 0:, :], (BT, D))
        o = ag.dot(p.to(bf16), v, o * alpha)  # shows AG0301
        # or AG0308 (lost accumulator): o = ag.dot(p.to(bf16), v)
        m = m_new
    O[b, h, i * BQ :, :] = (o / l).to(bf16)  # shows AG0305, AG0306, AG0308, AG0310
    # or AG0305 (wrong head): O[b, g, i * BQ :, :] = (o / l).to(bf16)
    # or AG0305 (wrong batch): O[0, h, i * BQ :, :] = (o / l).to(bf16)
    # or AG0305 (off-by-one element): O[b, h, i * BQ + 1 :, :] = (o / l).to(bf16)


@ag.kernel
def scores(
    Q: bf16["H S D"],
    K: bf16["H T D"],
    Bias: f32["S T"],
    P: bf16["H S T"],
    *,
    D: int = 64,
    BQ: int = 32,
    BT: int = 32,
):
    """Scores with a bias for each pair of positions, before the softmax."""
    H, S, _ = Q.shape
    T = K.shape[1]
    ag.launch(warps=4)
    h, i, j = ag.block(H, ag.cdiv(S, BQ), ag.cdiv(T, BT))
    q = ag.load(Q[h, i * BQ :, :], (BQ, D))
    k = ag.load(K[h, j * BT :, :], (BT, D))
    # or AG0301 (wrong head): k = ag.load(K[0, j * BT :, :], (BT, D))
    # or AG0303 (tile of another step): k = ag.load(K[h, i * BT :, :], (BT, D))
    s = ag.dot(q, k.T)  # shows AG0301
    # or AG0301 (transposed operand):
    #   s = ag.dot(q, ag.load(K[h, j * BT :, 1 : D + 1], (BT, D)).T)
    bias = ag.load(Bias[i * BQ :, j * BT :], (BQ, BT))
    # or AG0303 (bias of another tile):
    #   bias = ag.load(Bias[j * BQ :, i * BT :], (BQ, BT))
    # or AG0303 (bias of another tile): bias = ag.load(Bias[i * BQ :, 0:], (BQ, BT))
    # or AG0315 (transposed bias):
    #   bias = ag.load(Bias[j * BT :, i * BQ :], (BT, BQ)).T.rename("S T")
    s = s + bias  # shows AG0303
    P[h, i * BQ :, j * BT :] = s.to(bf16)  # shows AG0305


@ag.kernel
def decode(
    Q: bf16["B H D"],
    K: bf16["B T H D"],
    V: bf16["B T H D"],
    O: f32["B H D"],
    *,
    D: int = 64,
    BT: int = 256,
):
    """One query for each head, without tensor cores; all keys at once."""
    B, T, H, _ = K.shape
    ag.require(T > 0, "a softmax over no keys is not defined")
    ag.require(T <= BT, "all keys are held in registers")
    b, h = ag.block(B, H)
    # or AG0306 (grid too small): b, h = ag.block(B, H // 2)
    # or AG0306 (swapped block indices): h, b = ag.block(B, H)
    q = ag.load(Q[b, h, :]).to(f32)
    # or AG0303 (wrong head): q = ag.load(Q[b, 0, :]).to(f32)
    k = ag.load(K[b, 0:, h, :], (BT, D)).to(f32)
    # or AG0303 (wrong batch): k = ag.load(K[0, 0:, h, :], (BT, D)).to(f32)
    s = ag.sum(k * q, "D")  # shows AG0303
    s = ag.where(ag.index(s, "T") < T, s, NONE)
    # or AG0310 (missing tail mask): s = s + 0.0
    p = ag.exp(s - ag.max(s, "T"))  # shows AG0310
    v = ag.load(V[b, 0:, h, :], (BT, D)).to(f32)
    # or AG0303 (off-by-one element): v = ag.load(V[b, 1:, h, :], (BT, D)).to(f32)
    o = ag.sum(v * p, "T")  # shows AG0303
    O[b, h, :] = o / ag.sum(p, "T")  # shows AG0305, AG0306
    # or AG0305 (wrong head): O[b, H - 1 - h, :] = o / ag.sum(p, "T")
