"""Warp-specialised matrix products: TMA, wgmma, rings between roles."""

import argus as ag
from argus import bf16, f16, f32


@ag.kernel
def roles(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 128,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 3,
):
    M, K = A.shape
    N = B.shape[0]
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8)
    # or AG0307 (overlapping output tiles):
    #   bm, bn = ag.block_tile(ag.cdiv(M, BM // 2), ag.cdiv(N, BN), group=8)
    #   bm = bm // 2
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            # or AG0414 (fills and drains): for k in ag.range(0, K - BK, BK):
            # or AG0421 (fills and drains): for k in ag.range(0, K + BK, BK):
            # or AG0414 (fills and drains): for k in ag.range(0, K // BK * BK, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                # or AG0301 (off-by-one tile): slot.a.load(A[bm * BM :, k + BK :])
                # or AG0305 (wrong rows): slot.a.load(A[bn * BM :, k:])
                slot.b.load(B[bn * BN :, k:])  # shows AG0421
                # or AG0301 (transposed operand): slot.b.load(B[k:, bn * BN :])
                # or AG0301 (off-by-one element): slot.b.load(B[bn * BN :, k + 8 :])
                # or AG0305 (wrong tile size): slot.b.load(B[bn * BM :, k:])
    with ag.role("math", warpgroups=2):
        acc = ag.zeros((BM, BN), f32)
        for _ in ag.range(0, K, BK):
            # or AG0421 (fills and drains): for _ in ag.range(BK, K, BK):
            with ring.drain() as slot:  # shows AG0403
                acc = ag.dot(slot.a, slot.b.T, acc)  # shows AG0301, AG0414
                # or AG0308 (lost accumulator): acc = ag.dot(slot.a, slot.b.T)
                # or AG0309 (counted twice):
                #   acc = ag.dot(slot.a, slot.b.T, acc)
                #   acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)  # shows AG0305, AG0307, AG0308, AG0309
        # or AG0305 (swapped block indices): C[bn * BM :, bm * BN :] = acc.to(bf16)
        # or AG0306 (conditional store):
        #   if bm * BM + BM <= M:
        #       C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.kernel
def persistent(
    A: f16["M K"],
    B: f16["N K"],
    C: f16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 4,
):
    """A slot is released one product later."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(K > 0, "the first product is outside the loop")
    ring = ag.ring(STAGES, a=f16.tile(BM, BK), b=f16.tile(BN, BK))
    with ag.role("load", warps=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=4):
            # or AG0305 (roles enumerate differently):
            #   gm, gn = ag.cdiv(M, BM), ag.cdiv(N, BN)
            #   for bn, bm in ag.persistent_tiles(gm, gn, group=4):
            # or AG0305 (roles enumerate differently):
            #   gm, gn = ag.cdiv(M, BM), ag.cdiv(N, BN)
            #   for bm, bn in ag.persistent_tiles(gm, gn, group=8):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    slot.b.load(B[bn * BN :, k:])
                    # or AG0301 (stale index): slot.b.load(B[bn * BN :, 0:])
    with ag.role("math", warpgroups=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=4):
            slot = ring.wait()
            acc = ag.dot(slot.a, slot.b.T)  # shows AG0414
            for _ in ag.range(BK, K, BK):
                # or AG0414 (fills and drains): for _ in ag.range(0, K, BK):
                ahead = ring.wait()
                acc = ag.dot(ahead.a, ahead.b.T, acc)  # shows AG0301, AG0414
                # or AG0309 (stale slot): acc = ag.dot(slot.a, slot.b.T, acc)
                # or AG0301 (stale slot): acc = ag.dot(slot.a, ahead.b.T, acc)
                # or AG0301 (stale slot): acc = ag.dot(ahead.a, slot.b.T, acc)
                slot.release()
                slot = ahead
            slot.release()
            C[bm * BM :, bn * BN :] = acc.to(f16)  # shows AG0305, AG0308, AG0309
            # or AG0305 (off-by-one tile): C[bm * BM :, (bn + 1) * BN :] = acc.to(f16)


@ag.kernel
def cluster(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    BC: int = 32,
):
    """Two blocks share each tile of B; the epilogue goes through shared memory."""
    M, K = A.shape
    N = B.shape[0]
    ag.cluster(2)
    ring = ag.ring(3, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    out = (ag.shared(bf16, (BM, BC)), ag.shared(bf16, (BM, BC)))
    with ag.role("load", warps=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    # or AG0305 (multicast of own rows):
                    #   slot.a.load(A[bm * BM :, k:], multicast=2)
                    # or AG0305 (rank forgotten):
                    #   slot.a.load(A[(bm - ag.cluster_rank()) * BM :, k:])
                    slot.b.load(B[bn * BN :, k:], multicast=2)
                    # or AG0305 (multicast of own rows):
                    #   slot.b.load(B[(bn + ag.cluster_rank()) * BN :, k:], multicast=2)
    with ag.role("math", warpgroups=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8):
            acc = ag.zeros((BM, BN), f32)
            for _ in ag.range(0, K, BK):
                with ring.drain() as slot:
                    acc = ag.dot(slot.a, slot.b.T, acc)
            for j in ag.static_range(BN // BC):
                # or AG0306 (missing slice): for j in ag.static_range(BN // BC - 1):
                part = out[j % 2]
                part.store(acc[:, j * BC : (j + 1) * BC].to(bf16))
                # or AG0305 (wrong slice): part.store(acc[:, 0:BC].to(bf16))
                # or AG0305 (wrong slice):
                #   part.store(acc[:, (1 - j) * BC : (2 - j) * BC].to(bf16))
                # shows AG0305, AG0306
                ag.tma_store(C[bm * BM :, bn * BN + j * BC :], part)
                # or AG0305 (wrong slice): ag.tma_store(C[bm * BM :, bn * BN :], part)
                # or AG0305 (wrong buffer):
                #   ag.tma_store(C[bm * BM :, bn * BN + j * BC :], out[(j + 1) % 2])
                # or AG0305 (swapped block indices):
                #   ag.tma_store(C[bn * BM :, bm * BN + j * BC :], part)


@ag.kernel
def halves(
    A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, BM: int = 64, BN: int = 64
):
    """Two math roles, each with 64 rows of one tile of A."""
    M, K = A.shape
    N = B.shape[0]
    bm, bn = ag.block(ag.cdiv(M, 2 * BM), ag.cdiv(N, BN))
    ring = ag.ring(2, a=bf16.tile(2 * BM, 64), b=bf16.tile(BN, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[bm * 2 * BM :, k:])
                # or AG0305 (wrong tile size): slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])
    for w in ag.static_range(2):
        with ag.role(f"math{w}", warpgroups=1):
            acc = ag.zeros((BM, BN), f32)
            for _ in ag.range(0, K, 64):
                with ring.drain() as slot:
                    acc = ag.dot(slot.a[w * BM : (w + 1) * BM, :], slot.b.T, acc)
                    # or AG0305 (wrong part):
                    #   acc = ag.dot(slot.a[0:BM, :], slot.b.T, acc)
                    # or AG0305 (wrong part):
                    #   other = slot.a[(1 - w) * BM : (2 - w) * BM, :]
                    #   acc = ag.dot(other, slot.b.T, acc)
            C[bm * 2 * BM + w * BM :, bn * BN :] = acc.to(bf16)  # shows AG0305
            # or AG0305 (wrong part): C[bm * 2 * BM :, bn * BN :] = acc.to(bf16)
            # or AG0305 (wrong tile size):
            #   C[bm * BM + w * BM :, bn * BN :] = acc.to(bf16)
            # or AG0305 (wrong part):
            #   C[bm * 2 * BM + (1 - w) * BM :, bn * BN :] = acc.to(bf16)
