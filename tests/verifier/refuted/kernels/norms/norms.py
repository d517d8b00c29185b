"""Row norms and softmaxes, with mistakes."""

# facts 1

import argus as ag
from argus import bf16, f32


@ag.kernel
def softmax(X: bf16["M N"], Y: bf16["M N"], *, BN: int = 512, ROWS: int = 2):
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    # or AG0308 (forgotten requirement):
    #   ag.require(M <= BN, "a row is held in registers")
    ag.launch(warps=4)
    b = ag.block(ag.cdiv(M, ROWS))
    # or AG0306 (grid too small): b = ag.block(M // ROWS)
    x = ag.load(X[b * ROWS :, 0:], (ROWS, BN), fill=-ag.inf).to(f32)
    # or AG0310 (padding in a sum): x = ag.load(X[b * ROWS :, 0:], (ROWS, BN)).to(f32)
    # or AG0310 (padding in a maximum):
    #   x = ag.load(X[b * ROWS :, 0:], (ROWS, BN), fill=ag.inf).to(f32)
    # or AG0305 (wrong rows):
    #   x = ag.load(X[b * ROWS + 1 :, 0:], (ROWS, BN), fill=-ag.inf).to(f32)
    # or AG0308 (missing columns):
    #   x = ag.load(X[b * ROWS :, 8:], (ROWS, BN), fill=-ag.inf).to(f32)
    # or AG0307 (overlapping output tiles):
    #   x = ag.load(X[b :, 0:], (ROWS, BN), fill=-ag.inf).to(f32)
    #   Y[b:, 0:] = x.to(bf16)
    e = ag.exp(x - ag.max(x, "N"))  # shows AG0308, AG0310
    # shows AG0305, AG0306, AG0307, AG0308, AG0310
    Y[b * ROWS :, 0:] = (e / ag.sum(e, "N")).to(bf16)
    # or AG0305 (wrong rows): Y[b * ROWS + 1 :, 0:] = (e / ag.sum(e, "N")).to(bf16)
    # or AG0305 (wrong columns): Y[b * ROWS :, 8:] = (e / ag.sum(e, "N")).to(bf16)


@ag.kernel
def rmsnorm(
    X: bf16["M N"], W: bf16["N"], Y: bf16["M N"], eps: f32 = 1e-6, *, BN: int = 512
):
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,)).to(f32)
    # or AG0310 (padding in a sum): x = ag.load(X[m, 0:], (BN,), fill=1.0).to(f32)
    # or AG0305 (wrong rows): x = ag.load(X[m // 2, 0:], (BN,)).to(f32)
    w = ag.load(W[0:], (BN,)).to(f32)
    # or AG0303 (weight of the wrong column): w = ag.load(W[1:], (BN,)).to(f32)
    # or AG0303 (weight of the wrong column): w = ag.load(W[m:], (BN,)).to(f32)
    scale = ag.rsqrt(ag.sum(x * x, "N") / N + eps)  # shows AG0310
    Y[m, 0:] = (x * scale * w).to(bf16)  # shows AG0303, AG0305
    # or AG0305 (off-by-one element): Y[m + 1, 0:] = (x * scale * w).to(bf16)


@ag.kernel
def in_pieces(
    X: f32["M N"], W: f32["N"], Y: f32["M N"], eps: f32 = 1e-5, *, BN: int = 256
):
    """Rows of any length: two passes over memory."""
    M, N = X.shape
    m = ag.block(M)
    total = ag.zeros((BN,), f32)
    for n in ag.range(0, N, BN):
        # or AG0308 (loop range): for n in ag.range(0, N - BN, BN):
        # or AG0308 (off-by-one tile): for n in ag.range(BN, N, BN):
        x = ag.load(X[m, n:], (BN,))
        # or AG0308 (stale index): x = ag.load(X[m, 0:], (BN,))
        # or AG0303 (wrong rows): x = ag.load(X[0, n:], (BN,))
        total = total + x * x
    scale = ag.rsqrt(ag.sum(total, "N") / N + eps)  # shows AG0308, AG0309
    for n in ag.range(0, N, BN):
        # or AG0306 (loop range): for n in ag.range(0, N - BN, BN):
        y = ag.load(X[m, n:], (BN,)) * scale  # shows AG0303
        # or AG0303 (wrong rows): y = ag.load(X[m // 2, n:], (BN,)) * scale
        w = ag.load(W[n:], (BN,))
        # or AG0303 (weight of the wrong column): w = ag.load(W[0:], (BN,))
        # or AG0303 (weight of the wrong column): w = ag.load(W[n + BN :], (BN,))
        Y[m, n:] = y * w  # shows AG0303, AG0305, AG0306, AG0308, AG0309
        # or AG0305 (off-by-one tile): Y[m, n + BN :] = y * w
        # or AG0305 (stale index): Y[m, 0:] = y * w


@ag.kernel
def layernorm(
    X: bf16["M N"],
    W: bf16["N"],
    B: bf16["N"],
    Y: bf16["M N"],
    eps: f32 = 1e-5,
    *,
    BN: int = 1024,
):
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    ag.launch(warps=4)
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,)).to(f32)
    mean = ag.sum(x, "N") / N
    centred = ag.where(ag.index(x, "N") < N, x - mean, 0.0)
    # or AG0310 (missing tail mask): centred = x - mean
    # or AG0310 (mask off by one):
    #   centred = ag.where(ag.index(x, "N") < N + 1, x - mean, 0.0)
    # or AG0310 (mask with the wrong value):
    #   centred = ag.where(ag.index(x, "N") < N, x - mean, 1.0)
    # or AG0310 (mask by the wrong length):
    #   centred = ag.where(ag.index(x, "N") < M, x - mean, 0.0)
    # or AG0310 (mask the wrong way round):
    #   centred = ag.where(ag.index(x, "N") >= N, x - mean, 0.0)
    var = ag.sum(centred * centred, "N") / N  # shows AG0310
    w = ag.load(W[0:], (BN,)).to(f32)
    b = ag.load(B[0:], (BN,)).to(f32)
    # or AG0303 (bias of the wrong column): b = ag.load(B[N - BN :], (BN,)).to(f32)
    y = centred * ag.rsqrt(var + eps) * w + b  # shows AG0303
    Y[m, 0:] = y.to(bf16)


@ag.kernel
def extremes(X: f32["M N"], Y: f32["M"], Z: f32["M"], *, BN: int = 256, BM: int = 4):
    """The largest and the smallest element of each row."""
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    i = ag.block(ag.cdiv(M, BM))
    high = ag.load(X[i * BM :, 0:], (BM, BN), fill=-ag.inf)
    # or AG0310 (padding in a maximum): high = ag.load(X[i * BM :, 0:], (BM, BN))
    low = ag.load(X[i * BM :, 0:], (BM, BN), fill=ag.inf)
    # or AG0310 (padding in a minimum): low = ag.load(X[i * BM :, 0:], (BM, BN))
    # or AG0310 (padding in a minimum):
    #   low = ag.load(X[i * BM :, 0:], (BM, BN), fill=-ag.inf)
    Y[i * BM :] = ag.max(high, "N")  # shows AG0307, AG0308, AG0310
    Z[i * BM :] = ag.min(low, "N")  # shows AG0310
    # or AG0305 (off-by-one element): Z[i * BM + 1 :] = ag.min(low, "N")
    # or AG0307 (wrong output): Y[i * BM :] = ag.min(low, "N")


@ag.kernel
def column_sums(X: f32["M N"], Y: f32["N"], *, BM: int = 16, BN: int = 64):
    """Sums over rows, as in the gradient of a bias."""
    M, N = X.shape
    j = ag.block(ag.cdiv(N, BN))
    total = ag.zeros((BN,), f32)
    for m in ag.range(0, M, BM):
        # or AG0308 (loop range): for m in ag.range(0, M - M % BM, BM):
        # or AG0309 (counted twice): for m in ag.range(0, M, BM // 2):
        x = ag.load(X[m:, j * BN :], (BM, BN))
        # or AG0310 (padding in a sum): x = ag.load(X[m:, j * BN :], (BM, BN), fill=1.0)
        # or AG0309 (stale index): x = ag.load(X[0:, j * BN :], (BM, BN))
        total = total + ag.sum(x, "M")  # shows AG0310
        # or AG0308 (lost accumulator): total = ag.sum(x, "M")
    Y[j * BN :] = total  # shows AG0308, AG0309
    # or AG0305 (off-by-one tile): Y[(j + 1) * BN :] = total
