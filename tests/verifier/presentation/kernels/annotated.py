"""Kernels with every kind of annotation at every kind of place."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def matmul(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    Perm: i32["P"],
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
):
    """C = A B^T, warp-specialised."""
    M, K = A.shape
    N, _ = B.shape
    ag.tag(A, lambda m, k: {"parity": k % 2, "half": k // 8})
    ag.tag(B, lambda n, k: {"parity": k % 2})
    ag.expect(bank_conflicts=0)
    ag.assume(K > 0)
    ag.assume(lambda p: (p >= 0) & (p < M), Perm)
    ag.assume(lambda a, b: a != b, Perm, pairs=True)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=4)
    ring = ag.ring(3, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1, registers=40):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                ag.tag(slot.a, lambda m, i: {"step": k // BK})
                slot.b.load(B[bn * BN :, k:])
    ag.expect(occupancy=1)
    with ag.role("math", warpgroups=2, registers=232):
        ag.trust("nothing is unknown here", whole=True)
        acc = ag.zeros((BM, BN), f32)
        for k in ag.range(0, K, BK):
            with ring.drain() as slot:
                ag.check(lambda a, b: a.parity == b.parity, slot.a, slot.b)
                ag.check(lambda a, b: (a.K == b.K) & (a.K < K), slot.a, slot.b.T)
                ag.trust("the dot is right")
                acc = ag.dot(slot.a, slot.b.T, acc)
                ag.check(lambda c: c.M >= bm * BM, acc)
        ag.check(lambda c: c.M >= 0, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.kernel
def rows(X: f32["M N"], Y: f32["M N"], *, BN: int = 256):
    """Y = softmax of the rows of X, in one role."""
    M, N = X.shape
    ag.tag(X, lambda m, n: {"even": n % 2})
    (m,) = ag.block(M)
    best, total = ag.full((1,), -ag.inf, f32), ag.zeros((1,), f32)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m : m + 1, n:], (1, BN), fill=-ag.inf)
        ag.check(lambda x: x.even < 2, x)
        top = ag.maximum(best, ag.rename(ag.max(x, "N"), "_"))
        best = top
        ag.tag(top, lambda i: {"row": m})
        total = total + 1.0
    if N > 4:
        ag.assume(N < 1 << 20)
        y = ag.load(X[m : m + 1, 0:], (1, BN))
        ag.check(lambda y: y.M == m, y)
        Y[m : m + 1, 0:] = y * 2.0
