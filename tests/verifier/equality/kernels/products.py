"""Products of matrices, and what is like them."""

import argus as ag
from argus import bf16, f32, i8, i32, u8


@ag.kernel
def gemm_int8(
    A: i8["M K"],
    B: i8["N K"],
    Sa: f32["M"],
    Sb: f32["N"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
):
    M, K = A.shape
    N = B.shape[0]
    ag.require(K < 2**17, "sums of products fit 32 bits")
    i, j = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), i32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[i * BM :, k:], (BM, BK))
        b = ag.load(B[j * BN :, k:], (BN, BK))
        acc = ag.dot(a, b.T, acc)
    c = acc.to(f32) * ag.load(Sa[i * BM :], (BM,)) * ag.load(Sb[j * BN :], (BN,))
    C[i * BM :, j * BN :] = c.to(bf16)


@ag.reference
def gemm_int8_reference(A, B, Sa, Sb):
    return (A @ B.T) * Sa[:, None] * Sb


@ag.kernel
def gemm_w4(A: bf16["M K"], W: u8["N KH"], S: f32["N G"], C: f32["M N"]):
    """Weights of 4 bits: of each 128 the first half are low nibbles."""
    M, K = A.shape
    N = W.shape[0]
    G = S.shape[1]
    ag.require(K == 128 * G, "groups")
    ag.require(ag.dim("KH") == 64 * G, "two per byte")
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for g in ag.range(G):
        w = ag.load(W[j * 64 :, g * 64 :], (64, 64)).to(i32)
        s = ag.load(S[j * 64 :, g], (64,))
        lo = (((w & 15) - 8).to(f32) * s).to(bf16).rename("N K")
        hi = (((w >> 4) - 8).to(f32) * s).to(bf16).rename("N K")
        acc = ag.dot(ag.load(A[i * 64 :, g * 128 :], (64, 64)), lo.T, acc)
        acc = ag.dot(ag.load(A[i * 64 :, g * 128 + 64 :], (64, 64)), hi.T, acc)
    C[i * 64 :, j * 64 :] = acc


@ag.reference
def gemm_w4_reference(A, W, S):
    N = W.shape[0]
    G = S.shape[1]
    w = W.reshape(N, G, 64)
    q = np.concatenate([w % 16 - 8, w // 16 - 8], axis=2) * S[:, :, None]
    return A @ q.reshape(N, G * 128).T


@ag.kernel
def swiglu_dual(X: bf16["M K"], W1: bf16["N K"], W2: bf16["N K"], Y: bf16["M N"]):
    M, K = X.shape
    N = W1.shape[0]
    bm, bn = ag.block_tile(ag.cdiv(M, 128), ag.cdiv(N, 64))
    ring = ag.ring(3, x=bf16.tile(128, 64), w1=bf16.tile(64, 64), w2=bf16.tile(64, 64))
    with ag.role("load", warps=1, registers=24):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.x.load(X[bm * 128 :, k:])
                slot.w1.load(W1[bn * 64 :, k:])
                slot.w2.load(W2[bn * 64 :, k:])
    with ag.role("math", warpgroups=2, registers=240):
        g = ag.zeros((128, 64), f32)
        u = ag.zeros((128, 64), f32)
        for k in ag.range(0, K, 64):
            with ring.drain() as slot:
                g = ag.dot(slot.x, slot.w1.T, g)
                u = ag.dot(slot.x, slot.w2.T, u)
        Y[bm * 128 :, bn * 64 :] = (ag.silu(g) * u).to(bf16)


@ag.reference
def swiglu_dual_reference(X, W1, W2):
    g = X @ W1.T
    return g / (1 + np.exp(-g)) * (X @ W2.T)


@ag.kernel
def splitk_atomic(A: bf16["M K"], B: bf16["N K"], C: f32["M N"], *, SPLIT: int = 4):
    M, K = A.shape
    N = B.shape[0]
    i, j, s = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64), SPLIT)
    steps = ag.cdiv(ag.cdiv(K, 64), SPLIT)
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(s * steps, ag.min(s * steps + steps, ag.cdiv(K, 64))):
        acc = ag.dot(
            ag.load(A[i * 64 :, k * 64 :], (64, 64)),
            ag.load(B[j * 64 :, k * 64 :], (64, 64)).T,
            acc,
        )
    ag.atomic_add(C[i * 64 :, j * 64 :], acc)


@ag.reference
def splitk_atomic_reference(A, B):
    return A @ B.T


@ag.kernel
def trmm(L: bf16["N N2"], X: bf16["N2 P"], Y: f32["N P"]):
    """Lower triangular times dense; tiles above the diagonal are skipped."""
    N = L.shape[0]
    P = X.shape[1]
    ag.require(N == ag.dim("N2"), "square")
    i, j = ag.block(ag.cdiv(N, 64), ag.cdiv(P, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, i + 1):
        l = ag.load(L[i * 64 :, k * 64 :], (64, 64))
        row = ag.broadcast(i * 64 + ag.index(l, "N"), l)
        col = ag.broadcast(k * 64 + ag.index(l, "N2"), l)
        l = ag.where(col <= row, l, 0.0)
        acc = ag.dot(l, ag.load(X[k * 64 :, j * 64 :], (64, 64)), acc)
    Y[i * 64 :, j * 64 :] = acc


@ag.reference
def trmm_reference(L, X):
    return np.tril(L) @ X


@ag.kernel
def cdist_nomax(X: bf16["M D"], Y: bf16["N D"], Z: f32["M N"]):
    """Squared distances by |x|^2 + |y|^2 - 2xy."""
    M, D = X.shape
    N = Y.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    xy = ag.zeros((64, 64), f32)
    xx = ag.zeros((64,), f32)
    yy = ag.zeros((64,), f32)
    for d in ag.range(0, D, 32):
        x = ag.load(X[i * 64 :, d:], (64, 32))
        y = ag.load(Y[j * 64 :, d:], (64, 32))
        xy = ag.dot(x, y.T, xy)
        xx = xx + ag.sum(x.to(f32) * x.to(f32), "D")
        yy = yy + ag.sum(y.to(f32) * y.to(f32), "D")
    Z[i * 64 :, j * 64 :] = xx + (yy - 2.0 * xy)


@ag.reference
def cdist_nomax_reference(X, Y):
    return ((X[:, None] - Y[None]) ** 2).sum(-1)


@ag.kernel
def bmm_tt(A: bf16["K M"], B: bf16["N K"], C: f32["N M"]):
    K, M = A.shape
    N = B.shape[0]
    j, i = ag.block(ag.cdiv(N, 64), ag.cdiv(M, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        acc = ag.dot(
            ag.load(B[j * 64 :, k:], (64, 64)), ag.load(A[k:, i * 64 :], (64, 64)), acc
        )
    C[j * 64 :, i * 64 :] = acc


@ag.reference
def bmm_tt_reference(A, B):
    return (A.T @ B.T).T


@ag.inline
def six_products(slot, acc):
    acc = ag.dot(slot.x, slot.w.T, acc)
    acc = ag.dot(slot.x2, slot.w2.T, acc)
    acc = ag.dot(slot.x3, slot.w3.T, acc)
    acc = ag.dot(slot.x, slot.w2.T, acc)
    acc = ag.dot(slot.x3, slot.w.T, acc)
    return ag.dot(slot.x3, slot.w2.T, acc)


@ag.kernel
def mish_twice(
    X: bf16["M K"],
    X2: bf16["M K"],
    X3: bf16["M K"],
    W: bf16["N K"],
    W2: bf16["N K"],
    W3: bf16["N K"],
    Bias: f32["N"],
    Y: f32["M N"],
    *,
    BM: int = 128,
    BN: int = 64,
    BK: int = 32,
):
    """A sum that stands in conditions, exponents and factors of what is stored."""
    M = ag.dim("M")
    N = ag.dim("N")
    K = ag.dim("K")
    ag.require(K > 0, "the first step of K is taken before the loop")
    ring = ag.ring(
        4,
        x=bf16.tile(BM, BK),
        x2=bf16.tile(BM, BK),
        x3=bf16.tile(BM, BK),
        w=bf16.tile(BN, BK),
        w2=bf16.tile(BN, BK),
        w3=bf16.tile(BN, BK),
    )
    out = ag.shared(f32, (BM, BN))
    with ag.role("load", warps=1, registers=24):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN)):
            m, n = bm * BM, bn * BN
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.x.load(X[m:, k:])
                    slot.x2.load(X2[m:, k:])
                    slot.x3.load(X3[m:, k:])
                    slot.w.load(W[n:, k:])
                    slot.w2.load(W2[n:, k:])
                    slot.w3.load(W3[n:, k:])
    with ag.role("math", warpgroups=2, registers=240):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN)):
            with ring.drain() as slot:
                acc = six_products(slot, None)
            for _ in ag.range(1, ag.cdiv(K, BK)):
                with ring.drain() as slot:
                    acc = acc + six_products(slot, None)
            v = acc + ag.load(Bias[bn * BN :], (BN,))
            v2 = v * ag.tanh(ag.where(v > 20.0, v, ag.log1p(ag.exp(v))))
            v3 = ag.tanh(ag.where(v2 > 20.0, v2, ag.log1p(ag.exp(v2))))
            out.store(v2 * v3)
            ag.tma_store(Y[bm * BM :, bn * BN :], out)


@ag.reference
def mish_twice_reference(X, X2, X3, W, W2, W3, Bias):
    import numpy as np

    v = X @ (W + W2).T + X2 @ W2.T + X3 @ (W + W2 + W3).T + Bias
    v2 = v * np.tanh(np.where(v > 20.0, v, np.log1p(np.exp(v))))
    return v2 * np.tanh(np.where(v2 > 20.0, v2, np.log1p(np.exp(v2))))


@ag.kernel
def biased_sums(
    A: i8["M K"], S: i32["M"], Z: f32["M"], Y: i8["M"], *, BM: int = 4, BK: int = 64
):
    """Sums of whole numbers with an offset, requantised."""
    M, K = A.shape
    ag.require(K < 2**15, "sums fit")
    ag.assume(lambda s: (s > -1000000) & (s < 1000000), S)
    i = ag.block(ag.cdiv(M, BM))
    total = ag.zeros((BM,), i32, dims="M")
    for k in ag.range(0, K, BK):
        total = total + ag.sum(ag.load(A[i * BM :, k:], (BM, BK)).to(i32), "K")
    x = (total + ag.load(S[i * BM :], (BM,))).to(f32) * ag.load(Z[i * BM :], (BM,))
    Y[i * BM :] = ag.maximum(ag.minimum(ag.round(x), 127.0), -128.0).to(i8)


@ag.reference
def biased_sums_reference(A, S, Z):
    return np.clip(np.round((A.sum(1) + S) * Z), -128, 127)


@ag.kernel
def squared_distances(
    A: bf16["M K"], B: bf16["N K"], D: f32["M N"], *, BM: int = 64, BK: int = 64
):
    """By a product of matrices; what rounding leaves below 0 is cut."""
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BM))
    acc = ag.zeros((BM, BM), f32)
    aa = ag.zeros((BM,), f32, dims="M")
    bb = ag.zeros((BM,), f32, dims="N")
    for k in ag.range(0, K, BK):
        a = ag.load(A[i * BM :, k:], (BM, BK))
        b = ag.load(B[j * BM :, k:], (BM, BK))
        acc = ag.dot(a, b.T, acc)
        aa = aa + ag.sum(a.to(f32) * a.to(f32), "K")
        bb = bb + ag.sum(b.to(f32) * b.to(f32), "K")
    d = ag.broadcast(aa, acc) + bb - 2.0 * acc
    D[i * BM :, j * BM :] = ag.maximum(d, 0.0)


@ag.reference
def squared_distances_reference(A, B):
    return ((A[:, None, :] - B[None, :, :]) ** 2).sum(-1)
