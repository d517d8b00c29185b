"""Grouped GEMM of a mixture of experts: gathered rows, a persistent grid, no roles."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def grouped(
    X: bf16["M K"],
    W: bf16["E N K"],
    Perm: i32["P"],
    Expert: i32["TILES"],
    Y: bf16["P N"],
    *,
    BM: int = 64,
    BN: int = 128,
    BK: int = 64,
    ACT: ag.Inline = ag.silu,
):
    """Y[p, n] = act(sum over k of X[Perm[p], k] * W[Expert[p // BM], n, k])."""
    P, K = Y.shape[0], ag.dim("K")
    N = ag.dim("N")
    for pm, pn in ag.persistent_tiles(ag.cdiv(P, BM), ag.cdiv(N, BN)):
        rows = ag.load(Perm[pm * BM :], BM)
        expert = Expert[pm]
        acc = ag.zeros((BM, BN), f32)
        for k in ag.range(0, K, BK):
            a = ag.load(X[rows, k:], (BM, BK))
            w = ag.load(W[expert, pn * BN :, k:], (BN, BK))
            acc += a @ w.T
        Y[pm * BM :, pn * BN :] = ACT(acc).to(bf16)


@ag.kernel
def scatter_add(X: f32["P N"], Perm: i32["P"], Y: f32["M N"], *, BP: int = 32):
    """Y[Perm[p], n] += X[p, n]."""
    P, N = X.shape
    ip, jn = ag.block(ag.cdiv(P, BP), ag.cdiv(N, 64))
    rows = ag.load(Perm[ip * BP :], BP, fill=-1)
    x = ag.load(X[ip * BP :, jn * 64 :], (BP, 64))
    ag.atomic_add(Y[rows, jn * 64 :], x)
