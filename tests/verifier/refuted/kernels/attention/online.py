"""Maxima of parts of a row, and what is relative to them."""

import argus as ag
from argus import bf16, f32

NONE = -1e30


@ag.kernel
def attention(
    Q: bf16["S D"],
    K: bf16["T D"],
    V: bf16["T D"],
    O: bf16["S D"],
    scale: f32,
    *,
    D: int = 64,
    BQ: int = 64,
    BT: int = 32,
):
    S, T = Q.shape[0], K.shape[0]
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(S, BQ))
    q = ag.load(Q[i * BQ :, :], (BQ, D))
    m = ag.full((BQ,), NONE, f32)
    l = ag.zeros((BQ,), f32)
    o = ag.zeros((BQ, D), f32)
    for t in ag.range(0, T, BT):
        k = ag.load(K[t:, :], (BT, D))
        s = ag.dot(q, k.T)
        s = ag.where(t + ag.index(s, "T") < T, s, NONE)
        m_new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp2((s - m_new) * scale)
        # or AG0321 (the older maximum): p = ag.exp2((s - m) * scale)
        # or AG0321 (scaled differently): p = ag.exp2(s * scale - m_new)
        alpha = ag.exp2((m - m_new) * scale)
        # or AG0321 (not scaled): alpha = ag.exp2(m - m_new)
        # or AG0321 (another base): alpha = ag.exp((m - m_new) * scale)
        # or AG0321 (the wrong way round): alpha = ag.exp2((m_new - m) * scale)
        l = l * alpha + ag.sum(p, "T")  # shows AG0321
        # or AG0321 (rescale forgotten): l = l + ag.sum(p, "T")
        # or AG0321 (rescaled too late): l = (l + ag.sum(p, "T")) * alpha
        v = ag.load(V[t:, :], (BT, D))
        o = ag.dot(p.to(bf16), v, o * alpha)  # shows AG0321
        # or AG0321 (rescale forgotten): o = ag.dot(p.to(bf16), v, o)
        # or AG0321 (rescaled by the sum): o = ag.dot(p.to(bf16), v, o * l)
        m = m_new
    O[i * BQ :, :] = (o / l).to(bf16)


@ag.kernel
def log_sums(X: f32["M N"], Z: f32["M"], Y: f32["M N"], *, BN: int = 256):
    """log of the sum of exponentials of each row, and what it leaves of the row."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    m = ag.full((4,), -ag.inf, f32, dims="M")
    l = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        # or AG0308 (off-by-one tile): for n in ag.range(BN, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=-ag.inf)
        # or AG0310 (padding in a maximum): x = ag.load(X[i * 4 :, n:], (4, BN))
        # or AG0310 (padding in a maximum):
        #   x = ag.load(X[i * 4 :, n:], (4, BN), fill=-1.0)
        high = ag.maximum(m, ag.max(x, "N"))  # shows AG0310
        l = l * ag.exp(m - high) + ag.sum(ag.exp(x - high), "N")  # shows AG0321
        # or AG0321 (rescale forgotten): l = l + ag.sum(ag.exp(x - high), "N")
        # or AG0321 (maximum of one tile):
        #   l = l * ag.exp(m - high) + ag.sum(ag.exp(x - ag.max(x, "N")), "N")
        m = high
    Z[i * 4 :] = m + ag.log(l)  # shows AG0308
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=-ag.inf)
        Y[i * 4 :, n:] = x - m - ag.log(l)  # shows AG0308


@ag.kernel
def largest(X: f32["M N"], Y: f32["M"], Z: f32["M N"], *, BN: int = 256):
    """The largest element of each row, and how far each is below it."""
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    # or AG0308 (forgotten requirement): ag.require(M <= BN, "not that one")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, BN), fill=-ag.inf)
    high = ag.max(x, "N")
    # or AG0308 (missing columns):
    #   high = ag.max(ag.load(X[i * 4 :, 1:], (4, BN), fill=-ag.inf), "N")
    # or AG0308 (missing columns):
    #   high = ag.max(ag.load(X[i * 4 :, 0:], (4, BN // 2), fill=-ag.inf), "N")
    Y[i * 4 :] = high  # shows AG0308
    Z[i * 4 :, 0:] = x - high  # shows AG0308


@ag.kernel
def running(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    """The smallest element of rows of any length."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    least = ag.full((4,), ag.inf, f32, dims="M")
    for n in ag.range(0, N, BN):
        # or AG0308 (off-by-one tile): for n in ag.range(BN, N, BN):
        # or AG0308 (loop range): for n in ag.range(0, N - BN, BN):
        # or AG0308 (every other tile): for n in ag.range(0, N, 2 * BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=ag.inf)
        # or AG0308 (stale index): x = ag.load(X[i * 4 :, 0:], (4, BN), fill=ag.inf)
        # or AG0310 (padding in a minimum): x = ag.load(X[i * 4 :, n:], (4, BN))
        least = ag.minimum(least, ag.min(x, "N"))  # shows AG0310
        # or AG0308 (lost accumulator): least = ag.min(x, "N")
    Y[i * 4 :] = least  # shows AG0308


@ag.kernel
def by_lanes(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    """The largest element, of each column of tiles first; tiles overlap by a half."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    high = ag.full((4, BN), -ag.inf, f32)
    for n in ag.range(0, N, BN // 2):
        # or AG0308 (off-by-one tile): for n in ag.range(BN, N, BN // 2):
        # or AG0308 (every other tile): for n in ag.range(0, N, 2 * BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=-ag.inf)
        high = ag.maximum(high, x)
    Y[i * 4 :] = ag.max(high, "N")  # shows AG0308


@ag.kernel
def products(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    """The product of each row."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    y = ag.full((4,), 1.0, f32, dims="M")
    for n in ag.range(0, N, BN):
        # or AG0308 (off-by-one tile): for n in ag.range(BN, N, BN):
        # or AG0309 (counted twice): for n in ag.range(0, N, BN // 2):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=1.0)
        # or AG0310 (padding in a product): x = ag.load(X[i * 4 :, n:], (4, BN))
        y = y * ag.prod(x, "N")  # shows AG0310
        # or AG0308 (lost accumulator): y = ag.prod(x, "N")
    Y[i * 4 :] = y  # shows AG0308, AG0309


@ag.kernel
def place_of_largest(X: f32["M N"], Y: f32["M"], *, BN: int = 256):
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, BN), fill=-ag.inf)
    # or AG0308 (missing columns): x = ag.load(X[i * 4 :, 8:], (4, BN), fill=-ag.inf)
    # or AG0310 (padding in a maximum): x = ag.load(X[i * 4 :, 0:], (4, BN))
    Y[i * 4 :] = ag.argmax(x, "N").to(f32)  # shows AG0308, AG0310
