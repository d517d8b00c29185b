"""Kernels that the verifier does not judge rightly yet; see ../test_open.py."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def real_part(
    A: bf16["M K"],
    AI: bf16["M K"],
    B: bf16["N K"],
    BI: bf16["N K"],
    C: f32["M N"],
    *,
    T: int = 64,
    BK: int = 32,
):
    """Right: two products over one dimension, in one accumulator."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        ai = ag.load(AI[bm * T :, k:], (T, BK))
        bi = ag.load(BI[bn * T :, k:], (T, BK))
        acc = acc + ag.dot(a, b.T) - ag.dot(ai, bi.T)
    C[bm * T :, bn * T :] = acc


@ag.kernel
def the_same_again(A: f32["M K"], W: f32["K"], C: f32["M"], *, BM: int = 64):
    """Wrong: one element is added in every iteration, and none of the others."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, BM))
    acc = ag.zeros((BM,), f32, dims="M")
    for _ in ag.range(0, K):
        acc = acc + ag.load(A[i * BM :, 0], (BM,)) * W[0]
    C[i * BM :] = acc
