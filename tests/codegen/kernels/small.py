"""Small kernels without TMA or wgmma: what the CPU emulation can run."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def row_softmax(X: bf16["M N"], Y: bf16["M N"], *, BN: int = 512, WARPS: int = 4):
    """Rows longer than a warp holds: reductions go through shared memory."""
    M, _ = X.shape
    ag.launch(warps=WARPS)
    m = ag.block(M)
    x = ag.load(X[m : m + 1, 0:], (1, BN), fill=-ag.inf).to(f32)
    p = ag.exp2((x - ag.max(x, "N")) * 1.4426950408889634)
    Y[m : m + 1, 0:] = (p / ag.sum(p, "N")).to(bf16)


@ag.kernel
def layer_norm(X: f32["M N"], G: f32["N"], Y: f32["M N"], eps: f32, *, BN: int = 256):
    """Four rows a block, masked tails, a broadcast scale."""
    M, N = X.shape
    m = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[m * 4 :, 0:], (4, BN))
    inside = ag.index(x, "N") < N
    mean = ag.sum(x, "N") / N
    d = ag.where(inside, x - mean, 0.0)
    scale = ag.rsqrt(ag.sum(d * d, "N") / N + eps)
    g = ag.load(G[0:], (BN,))
    Y[m * 4 :, 0:] = d * scale * g


@ag.kernel
def matmul(
    A: bf16["M K"],
    B: bf16["K N"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
    STAGES: int = 3,
):
    """A ring of cp.async copies, ldmatrix, mma.sync, in one role."""
    M, K = A.shape
    N = B.shape[1]
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=2)
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BK, BN))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.a.load(A[bm * BM :, s * BK :], via="cp_async")
            slot.b.load(B[s * BK :, bn * BN :], via="cp_async")
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k + (STAGES - 1) * BK :], via="cp_async")
                slot.b.load(B[k + (STAGES - 1) * BK :, bn * BN :], via="cp_async")
            acc = ag.dot(full.a, full.b, acc)
    C[bm * BM :, bn * BN :] = acc.to(bf16)
