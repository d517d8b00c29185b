"""Matrix products: C[m, n] = epilogue(sum over k of A[m, k] * B[n, k]).

`gemm_sm90` is for Hopper (TMA, wgmma, roles, persistent grid, clusters), `gemm_sm80`
without TMA (cp.async, one tile per block), for Ampere and for rows that TMA cannot
address; its product is mma.sync on sm_80, and wgmma on sm_90a. Sizes are arbitrary.

Where C is small, `gemm_batch` has more blocks: it multiplies S parts of K, seen as a
batch, and `gemm_sum` adds them up. `gemm_thin` is for a few rows of A without TMA, and
`copy_rows` makes rows that TMA can address. `plan.py` chooses.
"""

import argus as ag
from argus import f32


@ag.inline
def plain(acc):
    """No activation."""
    return acc


@ag.inline
def finish(acc, Bias, Residual, m, n, ACTIVATION):
    """Activation(acc + bias[n]) + residual[m, n]; absent tensors are skipped."""
    BM, BN = acc.shape
    if Bias is not None:
        acc = acc + ag.load(Bias[n:], (BN,)).to(f32)
    acc = ACTIVATION(acc)
    if Residual is not None:
        acc = acc + ag.load(Residual[m:, n:], (BM, BN)).to(f32)
    return acc


@ag.kernel
def gemm_sm90(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 256,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 16,
    CLUSTER: int = 2,
    WARPGROUPS: int = 2,
    BC: int = 64,
    TMA_STORE: bool = True,
    STAGED: bool = False,
    AHEAD: bool = True,
    REGISTERS: int = 240,
    ACTIVATION: ag.Inline = plain,
):
    """Persistent, warp-specialised Hopper form; a cluster shares each tile of B.

    STAGED: without TMA, rows of C are written from shared memory, so that neighbours
    write neighbours. AHEAD: a slot is released one product later, so that one is always
    in flight. REGISTERS of a math thread; 0 leaves each thread its equal share.
    """
    M, K = A.shape
    N = B.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.cluster(CLUSTER)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    if TMA_STORE or STAGED:
        out = (ag.shared(C.dtype, (BM, BC)), ag.shared(C.dtype, (BM, BC)))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    slot.b.load(B[bn * BN :, k:], multicast=CLUSTER)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            if AHEAD:
                slot = ring.wait()
                acc = ag.dot(slot.a, slot.b.T)
                for _ in ag.range(BK, K, BK):
                    ahead = ring.wait()
                    acc = ag.dot(ahead.a, ahead.b.T, acc)
                    slot.release()
                    slot = ahead
                slot.release()
            else:
                acc = ag.zeros((BM, BN), f32)
                for _ in ag.range(0, K, BK):
                    with ring.drain() as slot:
                        acc = ag.dot(slot.a, slot.b.T, acc)
            for j in ag.static_range(BN // BC):
                m, n = bm * BM, bn * BN + j * BC
                part = acc[:, j * BC : (j + 1) * BC]
                part = finish(part, Bias, Residual, m, n, ACTIVATION).to(C.dtype)
                if TMA_STORE:
                    out[j % 2].store(part)
                    ag.tma_store(C[m:, n:], out[j % 2])
                elif STAGED:
                    out[j % 2].store(part)
                    C[m:, n:] = out[j % 2].load().rename("M N")
                else:
                    C[m:, n:] = part


@ag.kernel
def gemm_sm80(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 3,
    GROUP: int = 8,
    WARPS: int = 8,
    VECTORS: bool = True,
    MMA: bool = False,
    ACTIVATION: ag.Inline = plain,
):
    """One tile per block; all warps load and multiply, STAGES - 1 fills ahead.

    VECTORS: rows are aligned to 4 bytes at least, so that cp.async can copy them; else
    the compiler copies elements through registers. MMA: mma.sync also on a target that
    has wgmma.
    """
    VIA = "cp_async" if VECTORS else None
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=WARPS)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.a.load(A[bm * BM :, s * BK :], via=VIA)
            slot.b.load(B[bn * BN :, s * BK :], via=VIA)
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k + (STAGES - 1) * BK :], via=VIA)
                slot.b.load(B[bn * BN :, k + (STAGES - 1) * BK :], via=VIA)
            if MMA:
                acc = ag.mma(full.a, full.b.T, acc)
            else:
                acc = ag.dot(full.a, full.b.T, acc)
    acc = finish(acc, Bias, Residual, bm * BM, bn * BN, ACTIVATION)
    C[bm * BM :, bn * BN :] = acc.to(C.dtype)


@ag.kernel
def gemm_batch(
    A: ag.half["S M K"],
    B: ag.half["S N K"],
    C: ag.float["S M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["S M N"] | None = None,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 4,
    WARPGROUPS: int = 1,
    SWAP: bool = False,
    ACTIVATION: ag.Inline = plain,
):
    """C[s, m, n] = epilogue(sum over k of A[s, m, k] * B[s, n, k]), a tile per block.

    Small tiles, of which several blocks share a multiprocessor. SWAP: the tile is
    computed transposed, so that the columns of `wgmma` are rows of A: 8 are enough.
    """
    S, M, K = A.shape
    N = B.shape[1]
    ag.require(K > 0, "the first step of K is taken before the loop")
    s, bm, bn = ag.block(S, ag.cdiv(M, BM), ag.cdiv(N, BN))
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))

    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[s, bm * BM :, k:])
                slot.b.load(B[s, bn * BN :, k:])

    with ag.role("math", warpgroups=WARPGROUPS):
        slot = ring.wait()
        if SWAP:
            acc = ag.dot(slot.b, slot.a.T)
            for _ in ag.range(BK, K, BK):
                ahead = ring.wait()
                acc = ag.dot(ahead.b, ahead.a.T, acc)
                slot.release()
                slot = ahead
            slot.release()
            tile = acc.T
        else:
            acc = ag.dot(slot.a, slot.b.T)
            for _ in ag.range(BK, K, BK):
                ahead = ring.wait()
                acc = ag.dot(ahead.a, ahead.b.T, acc)
                slot.release()
                slot = ahead
            slot.release()
            tile = acc
        m, n = bm * BM, bn * BN
        if Bias is not None:
            tile = tile + ag.load(Bias[n:], (BN,)).to(f32)
        tile = ACTIVATION(tile)
        if Residual is not None:
            tile = tile + ag.load(Residual[s, m:, n:], (BM, BN)).to(f32)
        C[s, m:, n:] = tile.to(C.dtype)


@ag.kernel
def gemm_sum(
    W: f32["S M N"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 1,
    BN: int = 1024,
    WARPS: int = 4,
    ACTIVATION: ag.Inline = plain,
):
    """C[m, n] = epilogue(sum over s of W[s, m, n]): what parts of K came to."""
    S, M, N = W.shape
    ag.launch(warps=WARPS)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    m, n = bm * BM, bn * BN
    acc = ag.zeros((BM, BN), f32)
    for s in ag.range(0, S, unroll=4):
        acc = acc + ag.load(W[s, m:, n:], (BM, BN))
    C[m:, n:] = finish(acc, Bias, Residual, m, n, ACTIVATION).to(C.dtype)


@ag.kernel
def gemm_thin(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 1,
    BN: int = 4,
    BK: int = 1024,
    WARPS: int = 4,
    ACTIVATION: ag.Inline = plain,
):
    """C = epilogue(A B^T) for a few rows of A, without tensor cores.

    Each thread multiplies its own parts of the rows of B, of any alignment, and they
    are added up at the end.
    """
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=WARPS)
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    acc = ag.zeros((BM, BN, BK), f32, dims="M N K")
    for k in ag.range(0, K, BK):
        a = ag.load(A[m:, k:], (BM, BK)).to(f32)
        b = ag.load(B[n:, k:], (BN, BK)).to(f32)
        acc = acc + ag.broadcast(b, acc) * ag.broadcast(a, acc)
    tile = ag.sum(acc, "K")
    C[m:, n:] = finish(tile, Bias, Residual, m, n, ACTIVATION).to(C.dtype)


@ag.kernel
def copy_rows(
    X: ag.half["M K"], Y: ag.half["M K"], *, BM: int = 4, BK: int = 512, WARPS: int = 4
):
    """Y = X: to rows of another step, which TMA can address."""
    M, K = X.shape
    ag.launch(warps=WARPS)
    bm, bk = ag.block(ag.cdiv(M, BM), ag.cdiv(K, BK))
    Y[bm * BM :, bk * BK :] = ag.load(X[bm * BM :, bk * BK :], (BM, BK))
