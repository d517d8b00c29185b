"""Kernels with roles, TMA and wgmma: what is compiled here, and run on a GPU."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def gemm(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 128,
    BN: int = 256,
    BK: int = 64,
    STAGES: int = 4,
):
    """One load warp, two math warpgroups."""
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8)
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1, registers=40):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])
    with ag.role("math", warpgroups=2, registers=232):
        acc = ag.zeros((BM, BN), f32)
        for _ in ag.range(0, K, BK):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.kernel
def attention(
    Q: bf16["H S D"],
    K: bf16["H T D"],
    V: bf16["H T D"],
    Out: bf16["H S D"],
    *,
    D: int = 64,
    BQ: int = 128,
    BT: int = 128,
):
    """Probabilities stay in registers between the two products."""
    H, S, _ = Q.shape
    T = K.shape[1]
    i, h = ag.block(ag.cdiv(S, BQ), H)
    q_ring = ag.ring(1, q=bf16.tile(BQ, D))
    ring = ag.ring(2, k=bf16.tile(BT, D), v=bf16.tile(BT, D))
    with ag.role("load", warps=1, registers=24):
        with q_ring.fill() as slot:
            slot.q.load(Q[h, i * BQ :, :])
        for t in ag.range(0, T, BT):
            with ring.fill() as slot:
                slot.k.load(K[h, t:, :])
                slot.v.load(V[h, t:, :])
    with ag.role("math", warpgroups=2, registers=240):
        m = ag.full((BQ,), -1e30, f32)
        total = ag.zeros((BQ,), f32)
        o = ag.zeros((BQ, D), f32)
        query = q_ring.wait()
        for t in ag.range(0, T, BT):
            with ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)
                s = ag.where(t + ag.index(s, "T") < T, s, -1e30)
                m_new = ag.maximum(m, ag.max(s, "T"))
                p = ag.exp2(s - m_new)
                alpha = ag.exp2(m - m_new)
                total = total * alpha + ag.sum(p, "T")
                o = ag.dot(p.to(bf16), slot.v, o * alpha)
                m = m_new
        query.release()
        Out[h, i * BQ :, :] = (o / total).to(bf16)
