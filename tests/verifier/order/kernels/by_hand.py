"""Kernels whose barriers, waits and fences are written by hand: all are right.

Each test of a refutation changes a line of one of them.
"""

import argus as ag
from argus import bf16, f32


@ag.kernel
def products(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 128,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 3,
):
    """One warp loads; two warpgroups multiply from shared memory."""
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    a = ag.shared(bf16, (BM, BK), stages=STAGES)
    b = ag.shared(bf16, (BN, BK), stages=STAGES)
    full, empty = ag.barriers(STAGES), ag.barriers(STAGES, arrivals=2)
    with ag.role("load", warps=1):
        n = 0
        for k in ag.range(0, K, BK):
            empty[n % STAGES].wait(n // STAGES - 1)
            full[n % STAGES].expect((BM + BN) * BK * 2)
            a[n % STAGES].copy(A[bm * BM :, k:], full[n % STAGES])
            b[n % STAGES].copy(B[bn * BN :, k:], full[n % STAGES])
            n += 1
    with ag.role("math", warpgroups=2):
        acc = ag.zeros((BM, BN), f32)
        n = 0
        for _ in ag.range(0, K, BK):
            full[n % STAGES].wait(n // STAGES)
            acc = ag.dot(a[n % STAGES], b[n % STAGES].T, acc)
            ag.wgmma_wait(0)
            empty[n % STAGES].arrive(per="warpgroup")
            n += 1
        C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.kernel
def persistent(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 3,
):
    """Tile after tile, with a ring of its own for each operand."""
    M, K = A.shape
    N, _ = B.shape
    left = ag.ring(STAGES, a=bf16.tile(BM, BK))
    right = ag.ring(STAGES - 1, b=bf16.tile(BN, BK))
    with ag.role("load", warps=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN)):
            for k in ag.range(0, K, BK):
                with left.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                with right.fill() as slot:
                    slot.b.load(B[bn * BN :, k:])
    with ag.role("math", warpgroups=1):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN)):
            acc = ag.zeros((BM, BN), f32)
            for _ in ag.range(0, K, BK):
                with left.drain() as x:  # noqa: SIM117 - no `with` opens two slots
                    with right.drain() as y:
                        acc = ag.dot(x.a, y.b.T, acc)
            C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.kernel
def relay(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """Threads of one role write a tile; one thread of another stores it by TMA."""
    M, K = A.shape
    bm = ag.block(ag.cdiv(M, BM))
    out = ag.shared(bf16, (BM, BK), swizzle=128)
    ready, free = ag.barriers(1, arrivals=128), ag.barriers(1)
    with ag.role("compute", warpgroups=1):
        n = 0
        for k in ag.range(0, K, BK):
            x = ag.load(A[bm * BM :, k:], (BM, BK))
            free.wait(n - 1)
            out.store(x)
            ag.fence_async()
            ready.arrive(per="thread")
            n += 1
    with ag.role("store", warps=1):
        n = 0
        for k in ag.range(0, K, BK):
            ready.wait(n)
            ag.tma_store(C[bm * BM :, k:], out)
            ag.tma_store_wait(0)
            free.arrive()
            n += 1


@ag.kernel
def alternate(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """Two roles use one tile in turn, with named barriers."""
    M, K = A.shape
    bm = ag.block(ag.cdiv(M, BM))
    tile = ag.shared(bf16, (BM, BK), dims="M K")
    with ag.role("write", warpgroups=1):
        for k in ag.range(0, K, BK):
            ag.sync("free", threads=256)
            tile.store(ag.load(A[bm * BM :, k:], (BM, BK)))
            ag.arrive("full", threads=256)
    with ag.role("read", warpgroups=1):
        for k in ag.range(0, K, BK):
            ag.arrive("free", threads=256)
            ag.sync("full", threads=256)
            C[bm * BM :, k:] = tile.load()


@ag.kernel
def copies(
    A: bf16["M K"],
    B: bf16["N K"],
    C: f32["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
):
    """No roles: groups of `cp.async`, one tile ahead."""
    M, K = A.shape
    N, _ = B.shape
    ag.launch(warps=4)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    a = ag.shared(bf16, (BM, BK), stages=2)
    b = ag.shared(bf16, (BN, BK), stages=2)
    a[0].copy(A[bm * BM :, 0:], via="cp_async")
    b[0].copy(B[bn * BN :, 0:], via="cp_async")
    ag.cp_async_commit()
    acc = ag.zeros((BM, BN), f32)
    stage = 0
    for k in ag.range(0, K, BK, unroll=1):
        ag.cp_async_wait(0)
        ag.sync()
        ahead = 1 - stage
        a[ahead].copy(A[bm * BM :, k + BK :], via="cp_async")
        b[ahead].copy(B[bn * BN :, k + BK :], via="cp_async")
        ag.cp_async_commit()
        acc = ag.dot(a[stage], b[stage].T, acc)
        stage = ahead
    ag.cp_async_wait(0)
    C[bm * BM :, bn * BN :] = acc


@ag.kernel
def together(
    A: bf16["M K"],
    B: bf16["N K"],
    C: f32["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 2,
):
    """Two blocks of a cluster: each loads half of every tile of B for both."""
    M, K = A.shape
    N, _ = B.shape
    ag.cluster(2)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    a = ag.shared(bf16, (BM, BK), stages=STAGES)
    b = ag.shared(bf16, (BN, BK), stages=STAGES)
    full, empty = ag.barriers(STAGES), ag.barriers(STAGES, arrivals=8)
    with ag.role("load", warps=1):
        n = 0
        for k in ag.range(0, K, BK):
            empty[n % STAGES].wait(n // STAGES - 1)
            full[n % STAGES].expect((BM + BN) * BK * 2)
            a[n % STAGES].copy(A[bm * BM :, k:], full[n % STAGES])
            b[n % STAGES].copy(B[bn * BN :, k:], full[n % STAGES], multicast=2)
            n += 1
        ag.cluster_sync()
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((BM, BN), f32)
        n = 0
        for _ in ag.range(0, K, BK):
            full[n % STAGES].wait(n // STAGES)
            acc = ag.dot(a[n % STAGES], b[n % STAGES].T, acc)
            ag.wgmma_wait(0)
            empty[n % STAGES].arrive(per="warp", cluster=True)
            n += 1
        ag.cluster_sync()
        C[bm * BM :, bn * BN :] = acc


@ag.kernel
def tiles(
    A: bf16["M K"],
    C: bf16["M K"],
    *,
    BM: int = 64,
    BK: int = 64,
    STAGES: int = 3,
):
    """Tile after tile through one buffer, whose slots are counted through all tiles."""
    M, K = A.shape
    buffer = ag.shared(bf16, (BM, BK), stages=STAGES, dims="M K")
    full, empty = ag.barriers(STAGES), ag.barriers(STAGES, arrivals=4)
    with ag.role("load", warps=1):
        n = 0
        for bm, _ in ag.persistent_tiles(ag.cdiv(M, BM), 1):
            for k in ag.range(0, K, BK):
                empty[n % STAGES].wait(n // STAGES - 1)
                full[n % STAGES].expect(BM * BK * 2)
                buffer[n % STAGES].copy(A[bm * BM :, k:], full[n % STAGES])
                n += 1
    with ag.role("use", warpgroups=1):
        n = 0
        for bm, _ in ag.persistent_tiles(ag.cdiv(M, BM), 1):
            for k in ag.range(0, K, BK):
                full[n % STAGES].wait(n // STAGES)
                x = buffer[n % STAGES].load()
                ag.fence_async()
                empty[n % STAGES].arrive(per="warp")
                C[bm * BM :, k:] = x
                n += 1


@ag.kernel
def ahead(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
):
    """A slot is held until the product after it has begun."""
    M, K = A.shape
    N, _ = B.shape
    ag.require(K > 0, "the first product is outside the loop")
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    ring = ag.ring(2, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])
    with ag.role("math", warpgroups=1):
        slot = ring.wait()
        acc = ag.dot(slot.a, slot.b.T)
        for _ in ag.range(BK, K, BK):
            after = ring.wait()
            acc = ag.dot(after.a, after.b.T, acc)
            ag.wgmma_wait(1)
            slot.release()
            slot = after
        ag.wgmma_wait(0)
        slot.release()
        C[bm * BM :, bn * BN :] = acc.to(bf16)


@ag.kernel
def early(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """No roles: two tiles are copied ahead, into three stages."""
    M, K = A.shape
    ag.launch(warps=4)
    bm = ag.block(ag.cdiv(M, BM))
    tile = ag.shared(bf16, (BM, BK), stages=3, dims="M K")
    tile[0].copy(A[bm * BM :, 0:], via="cp_async")
    tile[1].copy(A[bm * BM :, BK:], via="cp_async")
    ag.cp_async_commit()
    n = 0
    for k in ag.range(0, K, BK):
        tile[(n + 2) % 3].copy(A[bm * BM :, k + 2 * BK :], via="cp_async")
        ag.cp_async_commit()
        ag.cp_async_wait(0)
        ag.sync()
        C[bm * BM :, k:] = tile[n % 3].load()
        ag.sync()
        n += 1
    ag.cp_async_wait(0)


@ag.kernel
def rotating(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """One tile is copied ahead; the stage is a scalar that goes round."""
    M, K = A.shape
    ag.launch(warps=4)
    bm = ag.block(ag.cdiv(M, BM))
    tile = ag.shared(bf16, (BM, BK), stages=2, dims="M K")
    tile[0].store(ag.load(A[bm * BM :, 0:], (BM, BK)))
    stage = 0
    for k in ag.range(0, K, BK):
        tile[1 - stage].store(ag.load(A[bm * BM :, k + BK :], (BM, BK)))
        ag.sync()
        C[bm * BM :, k:] = tile[stage].load()
        ag.sync()
        stage = 1 - stage


@ag.kernel
def handed(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """Threads of one role start `cp.async` copies, which arrive when they are done."""
    M, K = A.shape
    bm = ag.block(ag.cdiv(M, BM))
    s = ag.shared(bf16, (BM, BK), stages=2, dims="M K")
    full, empty = ag.barriers(2, arrivals=128), ag.barriers(2, arrivals=4)
    with ag.role("load", warpgroups=1):
        n = 0
        for k in ag.range(0, K, BK):
            empty[n % 2].wait(n // 2 - 1)
            s[n % 2].copy(A[bm * BM :, k:], via="cp_async")
            ag.cp_async_arrive(full[n % 2])
            n += 1
        ag.cp_async_wait(0)
    with ag.role("use", warpgroups=1):
        n = 0
        for k in ag.range(0, K, BK):
            full[n % 2].wait(n // 2)
            C[bm * BM :, k:] = s[n % 2].load()
            empty[n % 2].arrive(per="warp")
            n += 1


@ag.kernel
def crossed(A: bf16["M K"], B: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """Two rings, filled and drained in the same order."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    left, right = ag.ring(2, a=bf16.tile(64, BK)), ag.ring(2, b=bf16.tile(64, BK))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with left.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
            with right.fill() as slot:
                slot.b.load(B[i * 64 :, k:])
    with ag.role("use", warpgroups=1):
        for k in ag.range(0, K, BK):
            with left.drain() as slot:
                x = slot.a.load()
            with right.drain() as slot:
                C[i * 64 :, k:] = x + slot.b.load()


@ag.kernel
def by_turns(A: bf16["M K"], C: bf16["M K"], *, BK: int = 64):
    """Two roles use one tile in turn; the second has an iteration less where K is
    odd."""
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    tile = ag.shared(bf16, (64, BK), dims="M K")
    turn = ag.turns("tile", 2)
    with ag.role("even", warpgroups=1):
        for k in ag.range(0, K, 2 * BK):
            turn.wait(0)
            tile.store(ag.load(A[i * 64 :, k:], (64, BK)))
            ag.sync()
            C[i * 64 :, k:] = tile.load()
            turn.next(0)
    with ag.role("odd", warpgroups=1):
        for k in ag.range(BK, K, 2 * BK):
            turn.wait(1)
            tile.store(ag.load(A[i * 64 :, k:], (64, BK)))
            ag.sync()
            C[i * 64 :, k:] = tile.load()
            turn.next(1)
