"""Kernels that the verifier does not judge rightly yet; see ../test_open.py."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def halves(X: bf16["M W"], Y: bf16["M N"], *, BM: int = 4, BN: int = 128):
    """Right: silu of the first half of a row times the second half."""
    M, N = Y.shape
    ag.require(ag.dim("W") == 2 * N, "two halves")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    gate = ag.load(X[i * BM :, j * BN : N], (BM, BN)).to(f32).rename("M _")
    up = ag.load(X[i * BM :, N + j * BN :], (BM, BN)).to(f32).rename("M _")
    Y[i * BM :, j * BN :] = (ag.silu(gate) * up).to(bf16)


@ag.kernel
def groups_of_k(
    A: bf16["M K"],
    B: bf16["N K"],
    Scale: f32["N G"],
    C: bf16["M N"],
    *,
    T: int = 64,
    BK: int = 64,
):
    """Right: one scale for each column and each BK elements of K."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(ag.dim("G") * BK == K, "a group for each step of K")
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32, dims="M N")
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        acc = acc + ag.dot(a, b.T) * ag.load(Scale[bn * T :, k // BK], (T,))
    C[bm * T :, bn * T :] = acc.to(bf16)


@ag.kernel
def largest(X: f32["M N"], Y: f32["M"], *, BN: int = 256):
    """Wrong: the first column is not looked at."""
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    i = ag.block(ag.cdiv(M, 4))
    high = ag.load(X[i * 4 :, 1:], (4, BN), fill=-ag.inf)
    Y[i * 4 :] = ag.max(high, "N")
