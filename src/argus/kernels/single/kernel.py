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
"""

import argus as ag
from argus import bf16, f32

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
def summed(ring, steps, PRODUCT):
    """The sum of so many products (one at least), added up in f32 one by one."""
    with ring.drain() as slot:
        acc = PRODUCT(slot, None)
    for _ in ag.range(1, steps):
        with ring.drain() as slot:
            acc = acc + PRODUCT(slot, None)
    return acc


@ag.inline
def ahead(ring, steps, PRODUCT):
    """The sum of so many products (one at least), of which one is always in flight."""
    slot = ring.wait()
    acc = PRODUCT(slot, None)
    for _ in ag.range(1, steps):
        following = ring.wait()
        acc = PRODUCT(following, acc)
        slot.release()
        slot = following
    slot.release()
    return acc


@ag.inline
def finish(acc, Bias, Residual, m, n, ACTIVATION):
    """Activation(acc + bias[n]) + residual[m, n]; absent tensors are skipped."""
    BM, BN = acc.shape
    if Bias is not None:
        acc = acc + ag.load(Bias[n:], (BN,))
    acc = ACTIVATION(acc)
    if Residual is not None:
        acc = acc + ag.load(Residual[m:, n:], (BM, BN))
    return acc


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
            if STEPWISE:
                acc = summed(ring, ag.cdiv(K, BK), straight)
            else:
                acc = ahead(ring, ag.cdiv(K, BK), straight)
            for j in ag.static_range(BN // BC):
                m, n = bm * BM, bn * BN + j * BC
                part = acc[:, j * BC : (j + 1) * BC]
                C[m:, n:] = finish(part, Bias, Residual, m, n, ACTIVATION)


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
