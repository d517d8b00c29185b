"""Sums over K that several blocks, loops or scales share."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def split_k(
    A: bf16["M K"],
    B: bf16["N K"],
    C: f32["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
    SPLIT: int = 4,
):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn, z = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN), SPLIT)
    # or AG0308 (split-K):
    #   bm, bn, z = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN), SPLIT - 1)
    part = ag.cdiv(K, SPLIT * BK) * BK
    # or AG0308 (split-K): part = K // (SPLIT * BK) * BK
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(z * part, ag.min((z + 1) * part, K), BK):
        # or AG0309 (double-counted K in split-K): for k in ag.range(0, K, BK):
        # or AG0309 (double-counted K in split-K):
        #   for k in ag.range(z * part, ag.min((z + 1) * part + BK, K), BK):
        # or AG0309 (double-counted K in split-K): for k in ag.range(z * part, K, BK):
        # or AG0308 (split-K):
        #   for k in ag.range(z * part + BK, ag.min((z + 1) * part, K), BK):
        # or AG0308 (split-K):
        #   for k in ag.range(z * part, ag.min((z + 1) * part - BK, K), BK):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        # or AG0301 (split-K): a = ag.load(A[bm * BM :, k - z * part :], (BM, BK))
        b = ag.load(B[bn * BN :, k:], (BN, BK))
        acc = ag.dot(a, b.T, acc)  # shows AG0301
    ag.atomic_add(C[bm * BM :, bn * BN :], acc)  # shows AG0308, AG0309
    # or AG0308 (split-K): C[bm * BM :, bn * BN :] = acc


@ag.kernel
def scaled(
    A: bf16["M K"],
    B: bf16["N K"],
    SA: f32["M"],
    SB: f32["N"],
    C: bf16["M N"],
    *,
    T: int = 64,
    BK: int = 64,
):
    """A scale for each row and each column, as after quantising."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        acc = ag.dot(a, b.T, acc)
    sa = ag.load(SA[bm * T :], (T,))
    # or AG0303 (scale of the wrong row): sa = ag.load(SA[bn * T :], (T,))
    # or AG0303 (scale of the wrong row): sa = ag.load(SA[bm * T + 1 :], (T,))
    # or AG0303 (scale of the wrong row): sa = ag.load(SA[0:], (T,))
    sb = ag.load(SB[bn * T :], (T,))
    # or AG0303 (scale of the wrong column): sb = ag.load(SB[bm * T :], (T,))
    # or AG0303 (scale of the wrong row): sb = ag.load(SA[bm * T :], (T,)).rename("N")
    acc = acc * sa * sb  # shows AG0303
    C[bm * T :, bn * T :] = acc.to(bf16)


@ag.kernel
def epilogue(
    A: bf16["M K"],
    B: bf16["N K"],
    Bias: f32["N"],
    Residual: bf16["M N"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
):
    """relu(A B^T + bias) + residual."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        b = ag.load(B[bn * BN :, k:], (BN, BK))
        acc = ag.dot(a, b.T, acc)
    acc = acc + ag.load(Bias[bn * BN :], (BN,))
    # or AG0303 (bias of the wrong column): acc = acc + ag.load(Bias[bm * BN :], (BN,))
    # or AG0303 (bias of the wrong column): acc = acc + ag.load(Bias[0:], (BN,))
    # or AG0303 (bias of the wrong column):
    #   acc = acc + ag.load(Bias[bn * BN + 8 :], (BN,))
    # or AG0303 (bias along the wrong dimension):
    #   acc = acc + ag.load(Bias[bn * BN :], (BN,)).rename("M")
    acc = ag.relu(acc)
    acc = acc + ag.load(Residual[bm * BM :, bn * BN :], (BM, BN)).to(f32)
    # or AG0303 (residual of another tile):
    #   acc = acc + ag.load(Residual[bn * BM :, bm * BN :], (BM, BN)).to(f32)
    # or AG0303 (residual of another tile):
    #   acc = acc + ag.load(Residual[bm * BM :, (bn - 1) * BN :], (BM, BN)).to(f32)
    # or AG0315 (transposed residual):
    #   other = ag.load(Residual[bn * BN :, bm * BM :], (BN, BM)).to(f32)
    #   acc = acc + other.T.rename("M N")
    C[bm * BM :, bn * BN :] = acc.to(bf16)
