"""Matrix products with a result of f32: C[m, n] = sum over k of A[m, k] * B[n, k].

Of f32 the tensor cores multiply 11 bits (tf32). All 24 are three parts of bf16 with 8
bits each, x = high + middle + low, and a product of f32 is six products of parts:

    middle*middle + low*high + high*low + middle*high + high*middle + high*high

What is left out is below 2**-23 of the product. `split_parts` writes the parts of a
matrix next to each other along K, in the order of these terms (for the left factor or
the right), and the sum of the terms is then one matrix product over 6 K, of which each
step is added up outside the tensor cores, whose own sums are less accurate than f32.
(Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance", 2022, for tf32 and f16.)

`single_split` does the same without writing parts to memory: a role splits each tile
that is loaded, again for each tile of C that it belongs to. Few rows of a factor are
multiplied in f32, by `single_thin`.
"""

import argus as ag
from argus import bf16, f32, i32
from argus.kernels.gemm.kernel import (
    copied,
    finish,
    kept,
    multiplied_tile,
    product,
    summed,
    thin_tile,
)

TERMS = 6


@ag.kernel
def split_parts(
    X: f32["R K"],
    P: bf16["R T K"],
    *,
    RIGHT: bool = False,
    BR: int = 4,
    BK: int = 512,
):
    """P[r, t, k]: the part of X[r, k] in term t.

    RIGHT: of the right factor of each term. Finite numbers below 2**127 are split
    without a remainder (but for subnormal parts).
    """
    R, K = X.shape
    ag.require(P.shape[1] == TERMS, "a part for each term")
    r, j = ag.block(ag.cdiv(R, BR), ag.cdiv(K, BK))
    x = ag.load(X[r * BR :, j * BK :], (BR, BK))
    high = x.to(bf16)
    rest = x - high.to(f32)
    middle = rest.to(bf16)
    low = (rest - middle.to(f32)).to(bf16)
    if RIGHT:
        terms = (middle, high, low, high, middle, high)
    else:
        terms = (middle, low, high, middle, high, high)
    for t in ag.static_range(TERMS):
        P[r * BR :, t, j * BK :] = terms[t]


@ag.kernel
def single_sm90(
    A: ag.float["M K"],
    B: ag.float["N K"],
    C: f32["M N"],
    Bias: f32["N"] | None = None,
    Residual: f32["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 6,
    GROUP: int = 16,
    CLUSTER: int = 2,
    WARPGROUPS: int = 2,
    BC: int = 32,
    REGISTERS: int = 240,
    STEPWISE: bool = True,
    ACTIVATION: ag.Inline = ag.identity,
):
    """Persistent, warp-specialised Hopper form; a cluster shares each tile of B.

    STEPWISE: the sum of each step of K is added up in f32, and not by tensor cores.
    """
    M, K = A.shape
    N = B.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.cluster(CLUSTER)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=B.dtype.tile(BN, BK))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)

    with ag.role("load", warps=1, registers=LOAD):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    slot.b.load(B[bn * BN :, k:], multicast=CLUSTER)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            acc = multiplied_tile(ring, ag.cdiv(K, BK), False, STEPWISE)
            for j in ag.static_range(BN // BC):
                m, n = bm * BM, bn * BN + j * BC
                part = acc[:, j * BC : (j + 1) * BC]
                C[m:, n:] = finish(part, Bias, Residual, m, n, ACTIVATION)


@ag.kernel
def single_small(
    A: ag.float["M K"],
    B: ag.float["N K"],
    C: f32["M N"],
    Bias: f32["N"] | None = None,
    Residual: f32["M N"] | None = None,
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 32,
    STAGES: int = 4,
    WARPGROUPS: int = 1,
    SWAP: bool = False,
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    STEPWISE: bool = False,
    ACTIVATION: ag.Inline = ag.identity,
):
    """One small tile per block; like `gemm_small`. STEPWISE: as in `single_sm90`."""
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
        acc = multiplied_tile(ring, ag.cdiv(K, BK), SWAP, STEPWISE)
        m, n = bm * BM, bn * BN
        C[m:, n:] = finish(acc, Bias, Residual, m, n, ACTIVATION)


@ag.kernel
def single_thin(
    A: f32["M K"],
    B: f32["N K"],
    C: f32["M N"],
    Bias: f32["N"] | None = None,
    Residual: f32["M N"] | None = None,
    *,
    BM: int = 1,
    BN: int = 4,
    BK: int = 512,
    WARPS: int = 4,
    STREAM_A: bool = False,
    STREAM_B: bool = False,
    ACTIVATION: ag.Inline = ag.identity,
):
    """C = epilogue(A B^T) for a few rows of A, without tensor cores, in f32."""
    M, N = C.shape
    ag.launch(warps=WARPS)
    bn, bm = ag.block(ag.cdiv(N, BN), ag.cdiv(M, BM))
    m, n = bm * BM, bn * BN
    tile = thin_tile(A, B, m, n, BM, BN, BK, STREAM_A, STREAM_B, f32)
    C[m:, n:] = finish(tile, Bias, Residual, m, n, ACTIVATION)


@ag.kernel
def copy_singles(
    X: f32["M K"],
    Y: f32["M K"],
    U: f32["N K"] | None = None,
    V: f32["N K"] | None = None,
    *,
    BM: int = 4,
    BK: int = 512,
    WARPS: int = 4,
):
    """Y = X, and V = U: to rows of another step, which TMA can address."""
    ag.launch(warps=WARPS)
    copied(X, Y, U, V, BM, BK)


@ag.reference
def copy_singles_reference(X, U=None):
    """The same rows."""
    return {"Y": X} if U is None else {"Y": X, "V": U}


@ag.inline
def three(x):
    """Three numbers of bf16 that are x together."""
    high = x.to(bf16)
    rest = x - high.to(f32)
    middle = rest.to(bf16)
    return high, middle, (rest - middle.to(f32)).to(bf16)


@ag.inline
def six(slot, acc):
    """The products of parts of a step, the smallest first."""
    acc = ag.dot(slot.a1, slot.b1.T, acc)
    acc = ag.dot(slot.a2, slot.b0.T, acc)
    acc = ag.dot(slot.a0, slot.b2.T, acc)
    acc = ag.dot(slot.a1, slot.b0.T, acc)
    acc = ag.dot(slot.a0, slot.b1.T, acc)
    return ag.dot(slot.a0, slot.b0.T, acc)


@ag.inline
def six_swapped(slot, acc):
    """The same transposed, so that the rows of `wgmma` are rows of B."""
    acc = ag.dot(slot.b1, slot.a1.T, acc)
    acc = ag.dot(slot.b2, slot.a0.T, acc)
    acc = ag.dot(slot.b0, slot.a2.T, acc)
    acc = ag.dot(slot.b1, slot.a0.T, acc)
    acc = ag.dot(slot.b0, slot.a1.T, acc)
    return ag.dot(slot.b0, slot.a0.T, acc)


@ag.kernel
def single_split(
    A: f32["M K"],
    B: f32["N K"],
    W: f32["S M N"],
    steps: i32,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 32,
    STAGES: int = 2,
    SWAP: bool = False,
):
    """W[s, m, n]: the part of C[m, n] of ``steps`` steps of K, from step s * steps on.

    All bits of f32 are multiplied. SWAP: computed transposed, for tiles with few rows.
    """
    M = A.shape[0]
    S, _, N = W.shape
    ag.require(steps > 0, "the first step of a part is taken before the loop")
    s, bm, bn = ag.block(S, ag.cdiv(M, BM), ag.cdiv(N, BN))
    raw = ag.ring(2, a=f32.tile(BM, BK), b=f32.tile(BN, BK))
    ring = ag.ring(
        STAGES,
        a0=bf16.tile(BM, BK),
        a1=bf16.tile(BM, BK),
        a2=bf16.tile(BM, BK),
        b0=bf16.tile(BN, BK),
        b1=bf16.tile(BN, BK),
        b2=bf16.tile(BN, BK),
    )

    with ag.role("load", warps=1, registers=24):
        for i in ag.range(0, steps):
            k = (s * steps + i) * BK
            with raw.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k:])

    with ag.role("split", warpgroups=1, registers=120):
        for _ in ag.range(0, steps):
            with raw.drain() as slot:
                a = slot.a.load()
                b = slot.b.load()
            with ring.fill() as parts:
                a0, a1, a2 = three(a)
                parts.a0.store(a0)
                parts.a1.store(a1)
                parts.a2.store(a2)
                b0, b1, b2 = three(b)
                parts.b0.store(b0)
                parts.b1.store(b1)
                parts.b2.store(b2)

    with ag.role("math", warpgroups=2, registers=168):
        acc = summed(ring, steps, six_swapped if SWAP else six)
        W[s, bm * BM :, bn * BN :] = acc.T if SWAP else acc


@ag.reference
def single_split_reference(A, B, S, steps, BK):
    """Each part by itself; those past the end of K are 0."""
    import numpy as np

    K = A.shape[1]
    part = steps * BK
    ends = [(s * part, min(K, (s + 1) * part)) for s in range(S)]
    return np.stack([A[:, begin:end] @ B[:, begin:end].T for begin, end in ends])


@ag.kernel
def single_sm80(
    A: ag.float["M K"],
    B: ag.float["N K"],
    C: f32["M N"],
    Bias: f32["N"] | None = None,
    Residual: f32["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 64,
    BK: int = 32,
    STAGES: int = 3,
    GROUP: int = 8,
    WARPS: int = 8,
    VECTORS: bool = True,
    ACTIVATION: ag.Inline = ag.identity,
):
    """One tile per block; all warps load and multiply, STAGES - 1 fills ahead.

    VECTORS: rows are aligned to 4 bytes at least, so that cp.async can copy them.
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
            acc = acc + product(full.a, full.b.T)
    acc = finish(acc, Bias, Residual, bm * BM, bn * BN, ACTIVATION)
    C[bm * BM :, bn * BN :] = acc
