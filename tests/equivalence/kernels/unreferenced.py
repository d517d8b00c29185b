"""Kernels without a reference: right ones, and wrong ones."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def sound_fma_chain(X: f32["M N"], W: f32["N"], Y: f32["M"], *, BN: int = 256):
    M, N = X.shape
    row = ag.block(M)
    acc = ag.zeros((BN,), f32)
    for n in ag.range(0, N, BN):
        acc = ag.fma(ag.load(X[row, n:], (BN,)), ag.load(W[n:], (BN,)), acc)
    Y[row] = ag.sum(acc, "N")


@ag.kernel
def sound_nested_sum_scalar(X: f32["M N"], Y: f32["1"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    acc = ag.zeros((BM, BN), f32, dims="M N")
    for m in ag.range(0, M, BM):
        for n in ag.range(0, N, BN):
            acc = acc + ag.load(X[m:, n:], (BM, BN))
    Y[0] = ag.sum(ag.sum(acc, "N"), "M")


@ag.kernel
def sound_complex_gemm_real(
    AR: bf16["M K"], AI: bf16["M K"], BR: bf16["N K"], BI: bf16["N K"], C: f32["M N"]
):
    M, K = AR.shape
    N = BR.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        acc = ag.dot(
            ag.load(AR[i * 64 :, k:], (64, 64)),
            ag.load(BR[j * 64 :, k:], (64, 64)).T,
            acc,
        )
        acc = ag.dot(
            -ag.load(AI[i * 64 :, k:], (64, 64)),
            ag.load(BI[j * 64 :, k:], (64, 64)).T,
            acc,
        )
    C[i * 64 :, j * 64 :] = acc


@ag.kernel
def sound_batchnorm_sums(X: f32["B S C"], Y: f32["C"], *, BC: int = 64, BS: int = 16):
    B, S, C = X.shape
    b, i, j = ag.block(B, ag.cdiv(S, BS), ag.cdiv(C, BC))
    ag.atomic_add(Y[j * BC :], ag.sum(ag.load(X[b, i * BS :, j * BC :], (BS, BC)), "S"))


@ag.kernel
def open_stencil_slices(X: f32["M N"], Y: f32["M N"], *, BN: int = 128):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    a = ag.load(X[m, j * BN - 1 :], (BN,))
    b = ag.load(X[m, j * BN :], (BN,))
    c = ag.load(X[m, j * BN + 1 :], (BN,))
    Y[m, j * BN :] = 0.25 * a + 0.5 * b + 0.25 * c


@ag.kernel
def open_reverse_rows(X: f32["M N"], Y: f32["M N"], *, BN: int = 128):
    M, N = X.shape
    r = X.view("M N", shape=(M, N), at=lambda m, n: (m, N - 1 - n))
    m, j = ag.block(M, ag.cdiv(N, BN))
    Y[m, j * BN :] = ag.load(r[m, j * BN :], (BN,))


@ag.kernel
def open_depthwise_causal(
    X: f32["B S C"], W: f32["4 C"], Y: f32["B T C"], *, BT: int = 32, BC: int = 64
):
    B, S, C = X.shape
    T = Y.shape[1]
    ag.require(S == T, "as long")
    b, i, j = ag.block(B, ag.cdiv(T, BT), ag.cdiv(C, BC))
    acc = ag.zeros((BT, BC), f32, dims="T C")
    for r in ag.static_range(4):
        v = X.view("B T C", shape=(B, T, C), at=lambda b, t, c: (b, t + r - 3, c))
        acc = acc + ag.load(v[b, i * BT :, j * BC :], (BT, BC)) * ag.load(
            W[r, j * BC :], (BC,)
        )
    Y[b, i * BT :, j * BC :] = acc


@ag.kernel
def open_max_pool_window(
    X: f32["B S C"], Y: f32["B T C"], *, BT: int = 32, BC: int = 64, W: int = 3
):
    B, S, C = X.shape
    T = Y.shape[1]
    ag.require(S == 2 * T, "stride two")
    b, i, j = ag.block(B, ag.cdiv(T, BT), ag.cdiv(C, BC))
    acc = ag.full((BT, BC), -ag.inf, f32, dims="T C")
    for r in ag.static_range(W):
        v = X.view("B T C", shape=(B, T, C), at=lambda b, t, c: (b, 2 * t + r, c))
        acc = ag.maximum(acc, ag.load(v[b, i * BT :, j * BC :], (BT, BC), fill=-ag.inf))
    Y[b, i * BT :, j * BC :] = acc


@ag.kernel
def open_prod_of_part(X: f32["M N"], Y: f32["M"], *, BM: int = 4):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    ag.require(N >= 8, "eight")
    Y[i * BM :] = ag.prod(ag.load(X[i * BM :, 0:8], (BM, 8), fill=1.0), "N")


@ag.kernel
def open_max_blocks(X: f32["M N"], Y: f32["M P"], *, BM: int = 4, W: int = 8):
    M, N = X.shape
    P = Y.shape[1]
    ag.require(N == P * W, "windows")
    i, p = ag.block(ag.cdiv(M, BM), P)
    Y[i * BM :, p] = ag.max(ag.load(X[i * BM :, p * W :], (BM, W)), "N")


@ag.kernel
def open_partial_prod_tile(X: f32["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    acc = ag.full((BM, BN), 1.0, f32, dims="M N")
    for n in ag.range(0, N, BN):
        acc = acc * ag.load(X[i * BM :, n:], (BM, BN), fill=1.0)
    Y[i * BM :] = ag.prod(acc, "N")


@ag.kernel
def open_sliding_window(
    Q: bf16["S D"],
    K: bf16["T D"],
    V: bf16["T D"],
    O: f32["S D"],
    *,
    D: int = 64,
    W: int = 128,
):
    S = Q.shape[0]
    T = K.shape[0]
    ag.require(S == T, "self")
    i = ag.block(ag.cdiv(S, 64))
    q = ag.load(Q[i * 64 :, :], (64, D))
    o = ag.zeros((64, D), f32)
    for t in ag.range(ag.max(i * 64 - W, 0), i * 64 + 64, 64):
        s = ag.dot(q, ag.load(K[t:, :], (64, D)).T)
        qi = ag.broadcast(i * 64 + ag.index(s, "S"), s)
        ki = ag.broadcast(t + ag.index(s, "T"), s)
        s = ag.where((ki <= qi) & (qi - ki < W), s, 0.0)
        o = ag.dot(s.to(bf16), ag.load(V[t:, :], (64, D)), o)
    O[i * 64 :, :] = o


@ag.kernel
def open_triangular_matvec(A: f32["M N"], X: f32["N"], Y: f32["M"]):
    M, N = A.shape
    ag.require(M == N, "square")
    m = ag.block(M)
    acc = 0.0
    for n in ag.range(0, m + 1):
        acc = acc + A[m, n] * X[n]
    Y[m] = acc


@ag.kernel
def open_welford(
    X: f32["M N"], Mean: f32["M"], Var: f32["M"], *, BM: int = 4, BN: int = 128
):
    M, N = X.shape
    ag.require(N > 0, "columns")
    ag.require(N % BN == 0, "whole tiles")
    i = ag.block(ag.cdiv(M, BM))
    mean = ag.zeros((BM,), f32, dims="M")
    m2 = ag.zeros((BM,), f32, dims="M")
    count = 0.0
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        mb = ag.sum(x, "N") / BN
        c = x - mb
        d = mb - mean
        total = count + BN
        m2 = m2 + ag.sum(c * c, "N") + d * d * (count * BN / total)
        mean = mean + d * (BN / total)
        count = total
    Mean[i * BM :] = mean
    Var[i * BM :] = m2 / N


@ag.kernel
def open_moving_sum(X: f32["N"], Y: f32["N"], *, BN: int = 128, W: int = 5):
    N = X.shape[0]
    j = ag.block(ag.cdiv(N, BN))
    acc = ag.zeros((BN,), f32, dims="N")
    for r in ag.range(0, W):
        v = X.view("N", shape=(N,), at=lambda n: (n + r,))
        acc = acc + ag.load(v[j * BN :], (BN,))
    Y[j * BN :] = acc


@ag.kernel
def open_autocorrelation(X: f32["N"], Y: f32["L"], *, BN: int = 128):
    N = X.shape[0]
    L = Y.shape[0]
    l = ag.block(L)
    acc = ag.zeros((BN,), f32, dims="N")
    for n in ag.range(0, N, BN):
        acc = acc + ag.load(X[n:], (BN,)) * ag.load(X[n + l :], (BN,))
    Y[l] = ag.sum(acc, "N")


@ag.kernel
def open_ema(X: f32["M N"], Y: f32["M N"], a: f32, *, BM: int = 32):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    s = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N):
        s = s * a + ag.load(X[i * BM :, n], (BM,)) * (1.0 - a)
        Y[i * BM :, n] = s


@ag.kernel
def open_row_extremes(
    X: f32["M N"], Y: f32["M"], Z: f32["M"], *, BM: int = 4, BN: int = 128
):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    s = ag.zeros((BM,), f32, dims="M")
    t = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        s = s + ag.sum(ag.abs(x), "N")
        t = ag.maximum(t, ag.max(x, "N"))
    Y[i * BM :] = s
    Z[i * BM :] = t


@ag.kernel
def open_paged_sum(X: f32["P 16 D"], Table: i32["B L"], Y: f32["B D"], *, BD: int = 64):
    P, _, D = X.shape
    B, L = Table.shape
    ag.assume(lambda p: (p >= 0) & (p < P), Table)
    b, j = ag.block(B, ag.cdiv(D, BD))
    acc = ag.zeros((16, BD), f32)
    for l in ag.range(0, L):
        acc = acc + ag.load(X[Table[b, l], :, j * BD :], (16, BD))
    Y[b, j * BD :] = ag.sum(acc, "16") if False else ag.sum(acc.rename("R D"), "R")


@ag.kernel
def wrong_k_shifted(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k - 64 :], (64, 64)).T,
            acc,
        )
    C[i * 64 :, j * 64 :] = acc


@ag.kernel
def wrong_k_tile_twice(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    acc = ag.dot(
        ag.load(A[i * 64 :, 0:], (64, 64)), ag.load(B[j * 64 :, 0:], (64, 64)).T, acc
    )
    for k in ag.range(0, K, 64):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k:], (64, 64)).T,
            acc,
        )
    C[i * 64 :, j * 64 :] = acc


@ag.kernel
def wrong_k_overlap(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 32):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k:], (64, 64)).T,
            acc,
        )
    C[i * 64 :, j * 64 :] = acc


@ag.kernel
def wrong_k_short(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K - 63, 64):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k:], (64, 64)).T,
            acc,
        )
    C[i * 64 :, j * 64 :] = acc


@ag.kernel
def wrong_store_swapped(X: f32["M N"], Y: f32["M N"], *, BM: int = 32):
    M, N = X.shape
    ag.require(M == N, "square")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BM))
    Y[j * BM :, i * BM :] = ag.load(X[i * BM :, j * BM :], (BM, BM))


@ag.kernel
def wrong_sum_same_tile(X: f32["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    s = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        s = s + ag.sum(ag.load(X[i * BM :, 0:], (BM, BN)), "N")
    Y[i * BM :] = s


@ag.kernel
def wrong_max_padding(X: f32["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    s = ag.full((BM,), -ag.inf, f32, dims="M")
    for n in ag.range(0, N, BN):
        s = ag.maximum(s, ag.max(ag.load(X[i * BM :, n:], (BM, BN)), "N"))
    Y[i * BM :] = s


@ag.kernel
def wrong_output_overlap(X: f32["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    Y[i * BM :] = ag.sum(ag.load(X[i * BM :, j * BN :], (BM, BN)), "N")


@ag.kernel
def wrong_softmax_max_stale(X: f32["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 256):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    m = ag.full((BM,), -ag.inf, f32, dims="M")
    l = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN), fill=-ag.inf)
        new = ag.maximum(m, ag.max(x, "N"))
        l = l + ag.sum(ag.exp(x - new), "N")
        m = new
    Y[i * BM :] = l


@ag.kernel
def wrong_bias_each_time(A: bf16["M K"], B: bf16["N K"], V: f32["N"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k:], (64, 64)).T,
            acc,
        )
        acc = acc + ag.load(V[j * 64 :], (64,))
    C[i * 64 :, j * 64 :] = acc


@ag.kernel
def wrong_split_k_bias(
    A: bf16["M K"], B: bf16["N K"], V: f32["N"], C: f32["M N"], *, SPLIT: int = 4
):
    M, K = A.shape
    N = B.shape[0]
    i, j, s = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64), SPLIT)
    acc = ag.zeros((64, 64), f32)
    part = ag.cdiv(ag.cdiv(K, 64), SPLIT) * 64
    for k in ag.range(s * part, ag.min(K, s * part + part), 64):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k:], (64, 64)).T,
            acc,
        )
    ag.atomic_add(C[i * 64 :, j * 64 :], acc + ag.load(V[j * 64 :], (64,)))


@ag.kernel
def open_wrong_k_skips_first(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(64, K, 64):
        acc = ag.dot(
            ag.load(A[i * 64 :, k:], (64, 64)),
            ag.load(B[j * 64 :, k:], (64, 64)).T,
            acc,
        )
    C[i * 64 :, j * 64 :] = acc


@ag.kernel
def open_wrong_gather_shift(
    X: f32["V D"], I: i32["P"], Y: f32["P D"], *, BP: int = 16, BD: int = 64
):
    V, D = X.shape
    P = I.shape[0]
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(I[i * BP + 1 :], (BP,), fill=-1)
    Y[i * BP :, j * BD :] = ag.load(X[rows, j * BD :], (BP, BD)).rename("P D")
