"""Matrix products: C[m, n] = epilogue(sum over k of A[m, k] * B[n, k]).

`gemm_sm90` is for Hopper (TMA, wgmma, roles, persistent grid, clusters), `gemm_sm80`
without TMA (cp.async, one tile per block), for Ampere and for rows that TMA cannot
address; its product is mma.sync on sm_80, and wgmma on sm_90a. Sizes are arbitrary.

Where C is small, `gemm_small` has small tiles, and `gemm_parts` cuts K, too, into sums
in f32 that `gemm_sum` adds up, in the order of K. `gemm_thin` is for a few rows of A or
B without TMA, and `copy_rows` makes rows that TMA can address. `plan.py` chooses. The
same for f32 and for eight bits stand in `kernels/single` and `kernels/scaled`, made of
the inline functions of this file.
"""

import argus as ag
from argus import f32, i32


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
    ACROSS: bool = False,
    WARPGROUPS: int = 2,
    BC: int = 64,
    TMA_STORE: bool = True,
    STAGED: bool = False,
    AHEAD: bool = True,
    REGISTERS: int = 240,
    ACTIVATION: ag.Inline = plain,
):
    """Persistent, warp-specialised Hopper form; a cluster shares each tile of B.

    ACROSS: the blocks of a cluster are neighbours along N, and share each tile of A.
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
    DOWN, ALONG = ag.cdiv(M, BM), ag.cdiv(N, BN)
    if ACROSS:
        DOWN, ALONG = ALONG, DOWN

    with ag.role("load", warps=1, registers=LOAD):
        for i, j in ag.persistent_tiles(DOWN, ALONG, group=GROUP):
            bm, bn = (j, i) if ACROSS else (i, j)
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:], multicast=CLUSTER if ACROSS else 1)
                    slot.b.load(B[bn * BN :, k:], multicast=1 if ACROSS else CLUSTER)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        for i, j in ag.persistent_tiles(DOWN, ALONG, group=GROUP):
            bm, bn = (j, i) if ACROSS else (i, j)
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
            for c in ag.static_range(BN // BC):
                m, n = bm * BM, bn * BN + c * BC
                part = acc[:, c * BC : (c + 1) * BC]
                part = finish(part, Bias, Residual, m, n, ACTIVATION).to(C.dtype)
                if TMA_STORE:
                    out[c % 2].store(part)
                    ag.tma_store(C[m:, n:], out[c % 2])
                elif STAGED:
                    out[c % 2].store(part)
                    C[m:, n:] = out[c % 2].load().rename("M N")
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
    STAGED: bool = False,
    ACTIVATION: ag.Inline = plain,
):
    """One tile per block; all warps load and multiply, STAGES - 1 fills ahead.

    VECTORS: rows are aligned to 4 bytes at least, so that cp.async can copy them; else
    the compiler copies elements through registers. MMA: mma.sync also on a target that
    has wgmma. STAGED: as in `gemm_sm90`.
    """
    VIA = "cp_async" if VECTORS else None
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=WARPS)
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    if STAGED:
        out = ag.shared(C.dtype, (BM, BN))
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
    if STAGED:
        out.store(acc.to(C.dtype))
        C[bm * BM :, bn * BN :] = out.load().rename("M N")
    else:
        C[bm * BM :, bn * BN :] = acc.to(C.dtype)


@ag.inline
def kept(STREAM):
    """How L2 is to keep an operand."""
    return "first" if STREAM else None


@ag.inline
def product(a, b, acc=None):
    """Of f32 the bits that the tensor cores take, and of other types all."""
    if a.dtype == f32:
        return ag.dot(a, b, acc, precision="tf32")
    return ag.dot(a, b, acc)


@ag.inline
def straight(slot, acc):
    """The product of a slot, whose tiles have K along the rows."""
    return product(slot.a, slot.b.T, acc)


@ag.inline
def swapped(slot, acc):
    """The same transposed, so that the columns of `wgmma` are rows of A."""
    return product(slot.b, slot.a.T, acc)


@ag.inline
def multiplied(ring, steps, PRODUCT):
    """The sum of so many products (one at least), of which one is always in flight."""
    slot = ring.wait()
    acc = PRODUCT(slot, None)
    for _ in ag.range(1, steps):
        ahead = ring.wait()
        acc = PRODUCT(ahead, acc)
        slot.release()
        slot = ahead
    slot.release()
    return acc


@ag.inline
def summed(ring, steps, PRODUCT):
    """The sum of so many products (one at least), added up in f32 one by one."""
    with ring.drain() as slot:
        acc = PRODUCT(slot, None)
    for _ in ag.range(1, steps):
        with ring.drain() as slot:
            acc = acc + PRODUCT(slot, None)
    return acc


@ag.inline
def multiplied_tile(ring, steps, SWAP, STEPWISE):
    """A tile of C. SWAP: computed transposed. STEPWISE: steps are added up in f32."""
    if STEPWISE:
        acc = summed(ring, steps, swapped if SWAP else straight)
    else:
        acc = multiplied(ring, steps, swapped if SWAP else straight)
    return acc.T if SWAP else acc


@ag.kernel
def gemm_small(
    A: ag.half["M K"],
    B: ag.half["N K"],
    C: ag.half["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 4,
    WARPGROUPS: int = 1,
    SWAP: bool = False,
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    ACTIVATION: ag.Inline = plain,
):
    """One small tile per block, so that several blocks share a multiprocessor.

    SWAP: tiles may have as few as 8 rows. STREAM_A, STREAM_B: an operand that one row
    or column of tiles reads is not kept in L2.
    """
    M, K = A.shape
    N = B.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))

    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:], evict=kept(STREAM_A))
                slot.b.load(B[bn * BN :, k:], evict=kept(STREAM_B))

    with ag.role("math", warpgroups=WARPGROUPS):
        acc = multiplied_tile(ring, ag.cdiv(K, BK), SWAP, False)
        m, n = bm * BM, bn * BN
        acc = finish(acc, Bias, Residual, m, n, ACTIVATION)
        C[m:, n:] = acc.to(C.dtype)


@ag.kernel
def gemm_parts(
    A: ag.float["M K"],
    B: ag.float["N K"],
    W: f32["S M N"],
    steps: i32,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 4,
    WARPGROUPS: int = 1,
    SWAP: bool = False,
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    STEPWISE: bool = False,
):
    """W[s, m, n]: the part of C[m, n] of ``steps`` steps of K, from step s * steps on.

    Like `gemm_small`; where C has few tiles, there are S times as many blocks. f32 is
    multiplied as tf32. STEPWISE: the sum of each step of K is added up in f32, and not
    by tensor cores.
    """
    M = A.shape[0]
    S, _, N = W.shape
    ag.require(steps > 0, "the first step of a part is taken before the loop")
    s, bm, bn = ag.block(S, ag.cdiv(M, BM), ag.cdiv(N, BN))
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))

    with ag.role("load", warps=1):
        for i in ag.range(0, steps):
            k = (s * steps + i) * BK
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:], evict=kept(STREAM_A))
                slot.b.load(B[bn * BN :, k:], evict=kept(STREAM_B))

    with ag.role("math", warpgroups=WARPGROUPS):
        W[s, bm * BM :, bn * BN :] = multiplied_tile(ring, steps, SWAP, STEPWISE)


@ag.reference
def gemm_parts_reference(A, B, S, steps, BK):
    """Each part by itself; those past the end of K are 0."""
    import numpy as np

    K = A.shape[1]
    part = steps * BK
    ends = [(s * part, min(K, (s + 1) * part)) for s in range(S)]
    return np.stack([A[:, begin:end] @ B[:, begin:end].T for begin, end in ends])


@ag.inline
def total(W, m, n, BS, BM, BN, SUM):
    """The sum of the parts of a tile in type SUM, BS of them at a time."""
    acc = ag.zeros((BS, BM, BN), SUM, dims="S M N")
    for s in ag.range(0, W.shape[0], BS):
        acc = acc + ag.load(W[s:, m:, n:], (BS, BM, BN)).to(SUM)
    return ag.sum(acc, "S")


@ag.kernel
def gemm_sum(
    W: f32["S M N"],
    C: ag.float["M N"],
    Bias: ag.float["N"] | None = None,
    Residual: ag.float["M N"] | None = None,
    *,
    BS: int = 16,
    BM: int = 1,
    BN: int = 128,
    WARPS: int = 4,
    ACTIVATION: ag.Inline = plain,
):
    """C[m, n] = epilogue(sum over s of W[s, m, n]): what parts of K came to.

    BS parts are read at a time.
    """
    _, M, N = W.shape
    ag.launch(warps=WARPS)
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    m, n = bm * BM, bn * BN
    tile = total(W, m, n, BS, BM, BN, f32)
    C[m:, n:] = finish(tile, Bias, Residual, m, n, ACTIVATION).to(C.dtype)


@ag.inline
def thin_tile(A, B, m, n, BM, BN, BK, STREAM_A, STREAM_B, SUM):
    """A tile of C without tensor cores, in type SUM.

    Each thread multiplies its own parts of the rows of B, of any alignment, and they
    are added up at the end.
    """
    acc = ag.zeros((BM, BN, BK), SUM, dims="M N K")
    for k in ag.range(0, A.shape[1], BK):
        a = ag.load(A[m:, k:], (BM, BK), evict=kept(STREAM_A)).to(SUM)
        b = ag.load(B[n:, k:], (BN, BK), evict=kept(STREAM_B)).to(SUM)
        acc = acc + ag.broadcast(b, acc) * ag.broadcast(a, acc)
    return ag.sum(acc, "K")


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
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    ACTIVATION: ag.Inline = plain,
):
    """C = epilogue(A B^T) for a few rows of A, without tensor cores."""
    M, N = C.shape
    ag.launch(warps=WARPS)
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    tile = thin_tile(A, B, m, n, BM, BN, BK, STREAM_A, STREAM_B, f32)
    C[m:, n:] = finish(tile, Bias, Residual, m, n, ACTIVATION).to(C.dtype)


@ag.inline
def copied(X, Y, U, V, BM, BK):
    """Y = X, and V = U, in one launch."""
    M, K = X.shape
    if U is None:
        b, bk = ag.block(ag.cdiv(M, BM), ag.cdiv(K, BK))
        Y[b * BM :, bk * BK :] = ag.load(X[b * BM :, bk * BK :], (BM, BK))
    else:
        first = ag.cdiv(M, BM)
        b, bk = ag.block(first + ag.cdiv(U.shape[0], BM), ag.cdiv(K, BK))
        if b < first:
            Y[b * BM :, bk * BK :] = ag.load(X[b * BM :, bk * BK :], (BM, BK))
        else:
            n = (b - first) * BM
            V[n:, bk * BK :] = ag.load(U[n:, bk * BK :], (BM, BK))


@ag.kernel
def copy_rows(
    X: ag.half["M K"],
    Y: ag.half["M K"],
    U: ag.half["N K"] | None = None,
    V: ag.half["N K"] | None = None,
    *,
    BM: int = 4,
    BK: int = 512,
    WARPS: int = 4,
):
    """Y = X, and V = U: to rows of another step, which TMA can address."""
    ag.launch(warps=WARPS)
    copied(X, Y, U, V, BM, BK)


@ag.reference
def copy_rows_reference(X, U=None):
    """The same rows."""
    return {"Y": X} if U is None else {"Y": X, "V": U}
