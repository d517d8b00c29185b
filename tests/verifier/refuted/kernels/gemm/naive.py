"""Matrix products with operands in registers, and what goes wrong in them."""

import argus as ag
from argus import bf16, f16, f32


@ag.kernel
def naive(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 32,
    BK: int = 32,
):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    # or AG0306 (grid too small): bm, bn = ag.block(M // BM, ag.cdiv(N, BN))
    # or AG0306 (grid too small): bm, bn = ag.block(ag.cdiv(M, 2 * BM), ag.cdiv(N, BN))
    # or AG0307 (overlapping output tiles):
    #   bm, bn, _ = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN), 2)
    # or AG0306 (swapped block indices):
    #   bn, bm = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        # or AG0308 (off-by-one tile): for k in ag.range(BK, K, BK):
        # or AG0308 (off-by-one tile): for k in ag.range(0, K - BK, BK):
        # or AG0308 (loop range): for k in ag.range(0, K // BK, 1):
        # or AG0308 (loop range): for k in ag.range(0, K, 2 * BK):
        # or AG0308 (loop range): for k in ag.range(0, K // BK * BK, BK):
        # or AG0309 (counted twice): for k in ag.range(0, K, BK // 2):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        # or AG0305 (wrong rows): a = ag.load(A[bm * BN :, k:], (BM, BK))
        # or AG0301 (off-by-one element): a = ag.load(A[bm * BM :, k + 1 :], (BM, BK))
        # or AG0305 (off-by-one tile): a = ag.load(A[(bm + 1) * BM :, k:], (BM, BK))
        b = ag.load(B[bn * BN :, k:], (BN, BK))
        # or AG0301 (off-by-one tile): b = ag.load(B[bn * BN :, k + BK :], (BN, BK))
        # or AG0301 (stale index): b = ag.load(B[bn * BN :, 0:], (BN, BK))
        # or AG0305 (wrong columns): b = ag.load(B[bm * BN :, k:], (BN, BK))
        # or AG0310 (padding in a sum):
        #   a = ag.load(A[bm * BM :, k:], (BM, BK), fill=1.0)
        #   b = ag.load(B[bn * BN :, k:], (BN, BK), fill=1.0)
        acc = ag.dot(a, b.T, acc)  # shows AG0301, AG0310
        # or AG0308 (lost accumulator): acc = ag.dot(a, b.T)
        # or AG0309 (counted twice):
        #   acc = ag.dot(a, b.T, acc)
        #   acc = ag.dot(a, b.T, acc)
    # shows AG0305, AG0306, AG0307, AG0308, AG0309
    C[bm * BM :, bn * BN :] = acc.to(bf16)
    # or AG0305 (swapped block indices): C[bn * BM :, bm * BN :] = acc.to(bf16)
    # or AG0305 (off-by-one tile): C[bm * BM :, (bn + 1) * BN :] = acc.to(bf16)
    # or AG0305 (wrong tile size): C[bm * BN :, bn * BN :] = acc.to(bf16)
    # or AG0306 (conditional store):
    #   if bm > 0:
    #       C[bm * BM :, bn * BN :] = acc.to(bf16)
    # or AG0305 (off-by-one element): C[bm * BM :, bn * BN + 1 :] = acc.to(bf16)


@ag.kernel
def batched(
    A: f16["Z M K"],
    B: f16["Z N K"],
    C: f16["Z M N"],
    *,
    BM: int = 32,
    BN: int = 64,
    BK: int = 32,
):
    """One product for each z."""
    Z, M, K = A.shape
    N = B.shape[1]
    ag.launch(warps=4)
    z, bm, bn = ag.block(Z, ag.cdiv(M, BM), ag.cdiv(N, BN))
    # or AG0306 (grid too small):
    #   z, bm, bn = ag.block(Z // 2, ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[z, bm * BM :, k:], (BM, BK))
        # or AG0301 (wrong batch): a = ag.load(A[0, bm * BM :, k:], (BM, BK))
        # or AG0301 (wrong batch): a = ag.load(A[Z - 1 - z, bm * BM :, k:], (BM, BK))
        b = ag.load(B[z, bn * BN :, k:], (BN, BK))
        # or AG0301 (wrong batch): b = ag.load(B[z // 2, bn * BN :, k:], (BN, BK))
        # or AG0301 (wrong batch): b = ag.load(B[bm, bn * BN :, k:], (BN, BK))
        acc = ag.dot(a, b.T, acc)  # shows AG0301
    C[z, bm * BM :, bn * BN :] = acc.to(f16)  # shows AG0305, AG0306
    # or AG0305 (wrong batch): C[z // 2, bm * BM :, bn * BN :] = acc.to(f16)
    # or AG0305 (wrong batch): C[(z + 1) % Z, bm * BM :, bn * BN :] = acc.to(f16)


@ag.kernel
def square(
    A: bf16["K M"], B: bf16["K N"], C: f32["M N"], *, BM: int = 64, BN: int = 64
):
    """Both operands have K outside, as in the gradient of a weight."""
    K, M = A.shape
    N = B.shape[1]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, 32):
        a = ag.load(A[k:, bm * BM :], (32, BM))
        # or AG0301 (transposed operand): a = ag.load(A[bm * BM :, k:], (32, BM))
        # or AG0305 (wrong rows): a = ag.load(A[k:, bn * BM :], (32, BM))
        b = ag.load(B[k:, bn * BN :], (32, BN))
        # or AG0301 (stale index): b = ag.load(B[k - k % 64 :, bn * BN :], (32, BN))
        # or AG0301 (reversed loop): b = ag.load(B[K - 32 - k :, bn * BN :], (32, BN))
        acc = ag.dot(a.T, b, acc)  # shows AG0301
    C[bm * BM :, bn * BN :] = acc  # shows AG0305
    # or AG0305 (transposed operand): C[bm * BM :, bn * BN :] = acc.T.rename("M N")


@ag.kernel
def symmetric(A: bf16["M K"], C: f32["M M2"], *, BM: int = 64, BK: int = 32):
    """A A^T: the second coordinate of C counts rows of A, too."""
    M, K = A.shape
    ag.require(ag.dim("M2") == M, "one column for each row")
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(M, BM))
    acc = ag.zeros((BM, BM), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        b = ag.load(A[bn * BM :, k:], (BM, BK)).rename("M2 K")
        # or AG0301 (off-by-one tile):
        #   b = ag.load(A[bn * BM :, k + BK:], (BM, BK)).rename("M2 K")
        acc = ag.dot(a, b.T, acc)  # shows AG0301
    C[bm * BM :, bn * BM :] = acc  # shows AG0306
    # or AG0306 (half of the grid):
    #   if bm <= bn:
    #       C[bm * BM :, bn * BM :] = acc


@ag.kernel
def guarded(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, T: int = 32):
    """The tail of K by itself, after whole tiles."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32)
    whole = K // T * T
    for k in ag.range(0, whole, T):
        a = ag.load(A[bm * T :, k:], (T, T))
        b = ag.load(B[bn * T :, k:], (T, T))
        acc = ag.dot(a, b.T, acc)
    a = ag.load(A[bm * T :, whole:], (T, T))
    # or AG0301 (off-by-one tile): a = ag.load(A[bm * T :, whole - T :], (T, T))
    b = ag.load(B[bn * T :, whole:], (T, T))
    # or AG0301 (off-by-one tile): b = ag.load(B[bn * T :, whole - T :], (T, T))
    acc = ag.dot(a, b.T, acc)  # shows AG0301
    # or AG0308 (missing tail): acc = acc + 0.0
    C[bm * T :, bn * T :] = acc.to(bf16)  # shows AG0308
