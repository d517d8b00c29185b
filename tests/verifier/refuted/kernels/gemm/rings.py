"""Matrix products through rings of cp.async copies, with mistakes."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def ring(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
    STAGES: int = 3,
):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=4)
    # or AG0306 (grid too small):
    #   bm, bn = ag.block_tile(M // BM, ag.cdiv(N, BN), group=4)
    # or AG0307 (overlapping output tiles):
    #   bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=4)
    #   bn = bn // 2
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.a.load(A[bm * BM :, s * BK :], via="cp_async")
            # or AG0301 (prologue):
            #   slot.a.load(A[bm * BM :, (s + 1) * BK :], via="cp_async")
            # or AG0301 (prologue): slot.a.load(A[bm * BM :, 0:], via="cp_async")
            slot.b.load(B[bn * BN :, s * BK :], via="cp_async")
            # or AG0305 (wrong columns):
            #   slot.b.load(B[bm * BN :, s * BK :], via="cp_async")
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        # or AG0308 (off-by-one tile): for k in ag.range(BK, K, BK):
        # or AG0308 (loop range): for k in ag.range(0, K - (STAGES - 1) * BK, BK):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k + (STAGES - 1) * BK :], via="cp_async")
                # or AG0301 (too few tiles ahead):
                #   slot.a.load(A[bm * BM :, k + (STAGES - 2) * BK :], via="cp_async")
                # or AG0301 (too many tiles ahead):
                #   slot.a.load(A[bm * BM :, k + STAGES * BK :], via="cp_async")
                slot.b.load(B[bn * BN :, k + (STAGES - 1) * BK :], via="cp_async")
                # or AG0301 (stale index): slot.b.load(B[bn * BN :, k:], via="cp_async")
            acc = ag.dot(full.a, full.b.T, acc)  # shows AG0301
    # shows AG0305, AG0306, AG0307, AG0308, AG0309
    C[bm * BM :, bn * BN :] = acc.to(bf16)
    # or AG0305 (off-by-one tile): C[bm * BM + BM :, bn * BN :] = acc.to(bf16)


@ag.kernel
def both_ahead(
    A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, T: int = 64, STAGES: int = 2
):
    """All copies of an iteration are wrong in the same way."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block_tile(ag.cdiv(M, T), ag.cdiv(N, T))
    ring = ag.ring(STAGES, a=bf16.tile(T, T), b=bf16.tile(T, T))
    first = 0
    # or AG0308 (prologue): first = T
    with ring.fill() as slot:
        slot.a.load(A[bm * T :, first:], via="cp_async")
        slot.b.load(B[bn * T :, first:], via="cp_async")
    acc = ag.zeros((T, T), f32)
    for k in ag.range(0, K, T):
        ahead = k + T
        # or AG0309 (stale index): ahead = k
        # or AG0308 (too many tiles ahead): ahead = k + 2 * T
        # or AG0309 (stale index): ahead = 0 * k
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[bm * T :, ahead:], via="cp_async")
                slot.b.load(B[bn * T :, ahead:], via="cp_async")
            acc = ag.dot(full.a, full.b.T, acc)
    C[bm * T :, bn * T :] = acc.to(bf16)  # shows AG0308, AG0309


@ag.kernel
def double_buffer(
    A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, T: int = 64, BK: int = 32
):
    """Two buffers by hand, one tile ahead."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    bm, bn = ag.block_tile(ag.cdiv(M, T), ag.cdiv(N, T))
    a = ag.shared(bf16, (T, BK), stages=2)
    b = ag.shared(bf16, (T, BK), stages=2)
    a[0].copy(A[bm * T :, 0:], via="cp_async")
    b[0].copy(B[bn * T :, 0:], via="cp_async")
    ag.cp_async_commit()
    acc = ag.zeros((T, T), f32)
    stage = 0
    # or AG0311 (read before written): stage = 1
    for k in ag.range(0, K, BK, unroll=1):
        ag.cp_async_wait(0)
        ag.sync()
        ahead = 1 - stage
        a[ahead].copy(A[bm * T :, k + BK :], via="cp_async")
        # or AG0401 (swapped stage index):
        #   a[stage].copy(A[bm * T :, k + BK :], via="cp_async")
        # or AG0301 (stale index): a[ahead].copy(A[bm * T :, k:], via="cp_async")
        b[ahead].copy(B[bn * T :, k + BK :], via="cp_async")
        ag.cp_async_commit()
        acc = ag.dot(a[stage], b[stage].T, acc)  # shows AG0301, AG0311, AG0401
        # or AG0301 (swapped stage index): acc = ag.dot(a[stage], b[ahead].T, acc)
        # or AG0301 (swapped stage index): acc = ag.dot(a[0], b[stage].T, acc)
        stage = ahead
        # or AG0309 (stale stage index): stage = stage
    ag.cp_async_wait(0)
    C[bm * T :, bn * T :] = acc  # shows AG0308, AG0309
