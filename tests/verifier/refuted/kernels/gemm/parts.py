"""What is done to parts of a sum before they are added up."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def split_scaled(
    A: bf16["M K"],
    B: bf16["N K"],
    SA: f32["M"],
    Bias: f32["N"],
    C: f32["M N"],
    *,
    T: int = 64,
    BK: int = 32,
    SPLIT: int = 4,
):
    """Each part is scaled by row; the first one brings the bias."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn, z = ag.block(ag.cdiv(M, T), ag.cdiv(N, T), SPLIT)
    part = ag.cdiv(K, SPLIT * BK) * BK
    acc = ag.zeros((T, T), f32)
    for k in ag.range(z * part, ag.min((z + 1) * part, K), BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        acc = ag.dot(a, b.T, acc)
        # or AG0308 (function of a part of a sum): acc = ag.relu(ag.dot(a, b.T, acc))
        # or AG0309 (bias in every iteration):
        #   acc = ag.dot(a, b.T, acc) + ag.load(Bias[bn * T :], (T,))
        # or AG0309 (bias in every iteration):
        #   acc = ag.dot(a, b.T, acc + 1.0)
    acc = acc * ag.load(SA[bm * T :], (T,))
    # or AG0303 (scale of the wrong row): acc = acc * ag.load(SA[bn * T :], (T,))
    # or AG0308 (function of a part of a sum): acc = ag.relu(acc)
    # or AG0308 (function of a part of a sum): acc = ag.gelu(acc)
    # or AG0308 (function of a part of a sum): acc = ag.maximum(acc, 0.0) * 2.0
    # or AG0308 (function of a part of a sum): acc = ag.where(acc > 0.0, acc, 0.0)
    if z == 0:
        # or AG0309 (bias of every part): if z >= 0:
        # or AG0309 (bias of two parts): if z <= 1:
        acc = acc + ag.load(Bias[bn * T :], (T,))  # shows AG0303
    ag.atomic_add(C[bm * T :, bn * T :], acc)  # shows AG0308, AG0309
    # or AG0308 (function of a part of a sum):
    #   ag.atomic_add(C[bm * T :, bn * T :], ag.exp(acc))
    # or AG0309 (bias of every part):
    #   ag.atomic_add(C[bm * T :, bn * T :], acc + ag.load(Bias[bn * T :], (T,)))


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
    """A scale for each column and each BK elements of K."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(ag.dim("G") * BK == K, "a group for each step of K")
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32, dims="M N")
    for k in ag.range(0, K, BK):
        # or AG0308 (loop range): for k in ag.range(0, K - BK, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        scale = ag.load(Scale[bn * T :, k // BK], (T,))
        # or AG0308 (scale of the next group):
        #   scale = ag.load(Scale[bn * T :, k // BK + 1], (T,))
        # or AG0308 (group of another size):
        #   scale = ag.load(Scale[bn * T :, k // (2 * BK)], (T,))
        # or AG0303 (scale of the wrong column):
        #   scale = ag.load(Scale[bm * T :, k // BK], (T,))
        acc = acc + ag.dot(a, b.T) * scale  # shows AG0303
        # or AG0301 (transposed operand):
        #   acc = acc + ag.dot(a, ag.load(B[bn * T :, k + 1 :], (T, BK)).T) * scale
    C[bm * T :, bn * T :] = acc.to(bf16)  # shows AG0308


@ag.kernel
def long_groups(
    A: bf16["M K"],
    B: bf16["N K"],
    Scale: f32["M G"],
    C: bf16["M N"],
    *,
    T: int = 64,
    BK: int = 64,
):
    """A scale for each row and each two steps of K."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(ag.dim("G") * 2 * BK == K, "a group for each two steps of K")
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32, dims="M N")
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        scale = ag.load(Scale[bm * T :, k // (2 * BK)], (T,))
        # or AG0308 (group of another size):
        #   scale = ag.load(Scale[bm * T :, k // (4 * BK)], (T,))
        acc = acc + ag.dot(a, b.T) * scale
    C[bm * T :, bn * T :] = acc.to(bf16)  # shows AG0308


@ag.kernel
def by_two(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, T: int = 64, BK: int = 32):
    """Two products in each iteration."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32)
    for k in ag.range(0, K, 2 * BK):
        # or AG0309 (counted twice): for k in ag.range(0, K, BK):
        # or AG0308 (loop range): for k in ag.range(0, K - BK, 2 * BK):
        for h in ag.static_range(2):
            # or AG0308 (one product forgotten): for h in ag.static_range(1):
            # or AG0309 (one product too many): for h in ag.static_range(3):
            at = k + h * BK
            # or AG0309 (the same tile twice): at = k
            a = ag.load(A[bm * T :, at:], (T, BK))
            b = ag.load(B[bn * T :, at:], (T, BK))
            acc = ag.dot(a, b.T, acc)
    C[bm * T :, bn * T :] = acc  # shows AG0308, AG0309


@ag.kernel
def by_scalars(A: f32["M K"], W: f32["K"], S: f32["M"], C: f32["M"], *, BM: int = 64):
    """A matrix and a vector, without tensor cores."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, BM))
    acc = ag.zeros((BM,), f32, dims="M")
    for k in ag.range(0, K):
        # or AG0308 (loop range): for k in ag.range(1, K):
        # or AG0308 (loop range): for k in ag.range(0, K - 1):
        acc = acc + ag.load(A[i * BM :, k], (BM,)) * W[k]  # shows AG0303
        # or AG0303 (stale index): acc = acc + ag.load(A[i * BM :, k], (BM,)) * W[0]
        # or AG0303 (the other way round):
        #   acc = acc + ag.load(A[i * BM :, k], (BM,)) * W[K - 1 - k]
        # or AG0308 (function of a part of a sum):
        #   acc = ag.relu(acc + ag.load(A[i * BM :, k], (BM,)) * W[k])
    C[i * BM :] = acc * ag.load(S[i * BM :], (BM,))  # shows AG0308
    # or AG0303 (scale of the wrong row): C[i * BM :] = acc * S[0]


@ag.kernel
def split_by_scalars(
    A: f32["M K"], W: f32["K"], C: f32["M"], *, BM: int = 64, SPLIT: int = 4
):
    """As `by_scalars`, with K shared by several blocks."""
    M, K = A.shape
    i, z = ag.block(ag.cdiv(M, BM), SPLIT)
    part = ag.cdiv(K, SPLIT)
    acc = ag.zeros((BM,), f32, dims="M")
    for k in ag.range(z * part, ag.min((z + 1) * part, K)):
        # or AG0308 (loop range):
        #   for k in ag.range(z * part + 1, ag.min((z + 1) * part, K)):
        # or AG0309 (overlapping parts): for k in ag.range(z * part, K):
        acc = acc + ag.load(A[i * BM :, k], (BM,)) * W[k]
    ag.atomic_add(C[i * BM :], acc)  # shows AG0308, AG0309
    # or AG0308 (function of a part of a sum): ag.atomic_add(C[i * BM :], ag.relu(acc))


@ag.kernel
def scalars_only(A: f32["M K"], W: f32["K"], C: f32["M"]):
    """One sum for each block, by uniform scalars."""
    M, K = A.shape
    m = ag.block(M)
    total = 0.0
    for k in ag.range(0, K):
        # or AG0308 (loop range): for k in ag.range(1, K):
        # or AG0308 (wrong length): for k in ag.range(0, K - 1):
        total = total + A[m, k] * W[k]
        # or AG0305 (wrong row): total = total + A[M - 1 - m, k] * W[k]
    C[m : m + 1] = ag.full((1,), total, f32, dims="M")  # shows AG0305, AG0308


@ag.kernel
def ends(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, T: int = 64, BK: int = 32):
    """Slices that end where K does."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:K], (T, BK))
        # or AG0308 (end off by one): a = ag.load(A[bm * T :, k : K - 1], (T, BK))
        # or AG0308 (wrong end): a = ag.load(A[bm * T :, k:N], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        # or AG0308 (end off by one): b = ag.load(B[bn * T :, k : K - 1], (T, BK))
        acc = ag.dot(a, b.T, acc)
    C[bm * T :, bn * T :] = acc  # shows AG0308


@ag.kernel
def bias_first(
    A: bf16["M K"],
    B: bf16["N K"],
    Bias: f32["N"],
    C: f32["M N"],
    *,
    T: int = 64,
    BK: int = 32,
):
    """The accumulator begins with the bias."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32, dims="M N") + ag.load(Bias[bn * T :], (T,))
    # or AG0302 (bias of the wrong column):
    #   acc = ag.zeros((T, T), f32, dims="M N") + ag.load(Bias[bm * T :], (T,))
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        acc = ag.dot(a, b.T, acc)  # shows AG0302
    C[bm * T :, bn * T :] = acc


@ag.kernel
def tile_after_tile(
    A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, T: int = 64, BK: int = 32
):
    """One accumulator for each tile of a persistent block."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    for bm, bn in ag.persistent_tiles(ag.cdiv(M, T), ag.cdiv(N, T)):
        acc = ag.zeros((T, T), f32)
        for k in ag.range(0, K, BK):
            a = ag.load(A[bm * T :, k:], (T, BK))
            b = ag.load(B[bn * T :, k:], (T, BK))
            if k + T * BK > 0:
                # or AG0308 (the first step is left out): if k > 0:
                acc = ag.dot(a, b.T, acc)
            # or AG0308 (begun anew): acc = ag.dot(a, b.T)
        C[bm * T :, bn * T :] = acc  # shows AG0308


@ag.kernel
def never_cleared(
    A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, T: int = 64, BK: int = 32
):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    acc = ag.zeros((T, T), f32)
    for bm, bn in ag.persistent_tiles(ag.cdiv(M, T), ag.cdiv(N, T)):
        for k in ag.range(0, K, BK):
            a = ag.load(A[bm * T :, k:], (T, BK))
            b = ag.load(B[bn * T :, k:], (T, BK))
            # The accumulator still holds the tile before.
            acc = ag.dot(a, b.T, acc)  # refuted AG0302 (accumulator of another tile)
        C[bm * T :, bn * T :] = acc


@ag.kernel
def cleared_in_between(
    A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, T: int = 64, BK: int = 32
):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        if k == 2 * BK:
            acc = ag.zeros((T, T), f32, dims="M N")
        acc = ag.dot(a, b.T, acc)
    C[bm * T :, bn * T :] = acc  # refuted AG0308 (accumulator cleared in between)
