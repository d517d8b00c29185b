"""Bits: signs that are packed, bytes of words, what is left in a narrower type."""

import argus as ag
from argus import f32, i8, i32, i64, u8, u32


@ag.kernel
def sign_bits(X: f32["M N"], Y: u8["M P"], t: f32 = 0.0, *, BM: int = 8, BP: int = 32):
    """X > t as bits, the first element in the lowest one."""
    M, N = X.shape
    P = Y.shape[1]
    ag.require(N == 8 * P, "whole bytes")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(P, BP))
    x = ag.load(X[i * BM :, j * BP * 8 :], (BM, BP * 8))
    x = ag.reshape(x, (BM, BP, 8), dims="M P E")
    bit = ag.where(x > t, 1, 0)
    weight = ag.broadcast(1 << ag.index(x, "E"), x)
    Y[i * BM :, j * BP :] = ag.sum(bit * weight, "E").to(u8)


@ag.reference
def sign_bits_reference(X, t):
    M, N = X.shape
    bits = (X.reshape(M, N // 8, 8) > t).astype(np.int64)
    return (bits << np.arange(8)).sum(2)


@ag.kernel
def bits_of_bytes(P: u8["M W"], Y: i8["M N"], *, BM: int = 4, BN: int = 64):
    """Each bit of a byte as a number."""
    M, W = P.shape
    N = ag.dim("N")
    ag.require(N == 8 * W, "bytes")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    v = P.view("M N", shape=(M, N), at=lambda m, n: (m, n // 8))
    p = ag.load(v[i * BM :, j * BN :], (BM, BN)).to(i32)
    e = ag.broadcast((j * BN + ag.index(p, "N")) % 8, p)
    Y[i * BM :, j * BN :] = ((p >> e) & 1).to(i8)


@ag.reference
def bits_of_bytes_reference(P):
    M, W = P.shape
    return ((P[:, :, None] >> np.arange(8)) & 1).reshape(M, 8 * W)


@ag.kernel
def bytes_of_words(X: i32["M N"], P: i32["M W"], *, BM: int = 4, BW: int = 16):
    """The lowest bytes of three of four numbers, in one number."""
    M, N = X.shape
    W = ag.dim("W")
    ag.require(N == 4 * W, "words")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(W, BW))
    s = ag.zeros((BM, BW), i32, dims="M W")
    for e in ag.static_range(3):
        each = X.view("M W", shape=(M, W), at=lambda m, w: (m, w * 4 + e))
        x = ag.load(each[i * BM :, j * BW :], (BM, BW))
        s = s + (x & 255) * (1 << (8 * e))
    P[i * BM :, j * BW :] = s


@ag.reference
def bytes_of_words_reference(X):
    M, N = X.shape
    low = (X & 255).reshape(M, N // 4, 4)[:, :, :3]
    return (low << (8 * np.arange(3))).sum(-1)


@ag.kernel
def cut_prefix_sums(X: i64["I J"], Y: i32["I J"], *, BJ: int = 64):
    """Sums in 64 bits, of which 32 are kept."""
    I, J = X.shape
    i = ag.block(I)
    carry = ag.full((), 0, i64)
    for j in ag.range(0, J, BJ):
        x = ag.load(X[i, j:], (BJ,))
        Y[i, j:] = (ag.cumsum(x, "J") + carry).to(i32)
        carry = ag.sum(x, "J") + carry


@ag.reference
def cut_prefix_sums_reference(X):
    return np.cumsum(X, axis=1, dtype=np.int32)


@ag.kernel
def hashed_places(X: u32["N"], Y: i32["N"], *, B: int = 128):
    """A multiplicative hash, which wraps around."""
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ((x * 40503 + 7) % 1021).to(i32)


@ag.reference
def hashed_places_reference(X):
    return (X.astype(np.uint32) * 40503 + 7) % 1021


@ag.kernel
def next_random(S: u32["N"], T: u32["N"], F: f32["N"], *, B: int = 128):
    """A step of a generator of 32 bits, and a fraction of the upper 24."""
    i = ag.block(ag.cdiv(S.shape[0], B))
    t = ag.load(S[i * B :], (B,)) * 1664525 + 1013904223
    t = t ^ (t >> 16)
    T[i * B :] = t
    F[i * B :] = (t >> 8).to(f32) / 16777216.0


@ag.reference
def next_random_reference(S):
    t = S.astype(np.uint32) * np.uint32(1664525) + np.uint32(1013904223)
    t = t ^ (t >> np.uint32(16))
    return t, (t >> np.uint32(8)) / 16777216.0


@ag.kernel
def mixed(K: u32["N"], H: u32["N"], *, B: int = 128):
    """Constants of 32 bits."""
    i = ag.block(ag.cdiv(K.shape[0], B))
    h = ag.load(K[i * B :], (B,))
    h = (h ^ (h >> 16)) * 2246822507
    H[i * B :] = h ^ (h >> 13)


@ag.reference
def mixed_reference(K):
    h = K.astype(np.uint32)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(2246822507)
    return h ^ (h >> np.uint32(13))


@ag.kernel
def bits_that_differ(
    A: u32["M W"], B: u32["N W"], D: i32["M N"], *, BM: int = 16, BN: int = 16
):
    M, W = A.shape
    N = B.shape[0]
    ag.require(W < 2**20, "sums fit")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    d = ag.zeros((BM, BN), i32, dims="M N")
    for w in ag.range(0, W):
        a, b = ag.load(A[i * BM :, w], (BM,)), ag.load(B[j * BN :, w], (BN,))
        d = d + ag.popcount(ag.broadcast(a, d) ^ b).to(i32)
    D[i * BM :, j * BN :] = d


@ag.reference
def bits_that_differ_reference(A, B):
    return np.bitwise_count(A[:, None] ^ B[None]).sum(-1)


@ag.kernel
def parts_of_sums(
    X: u8["M N"], A: i32["M"], P: i32["M"], T: i32["M"], *, BM: int = 4, BN: int = 128
):
    """A mean that is rounded down, a parity, digits of a sum."""
    M, N = X.shape
    ag.require(N < 2**20, "sums fit")
    ag.require(N > 0, "elements")
    i = ag.block(ag.cdiv(M, BM))
    total = ag.zeros((BM,), i32, dims="M")
    for n in ag.range(0, N, BN):
        total = total + ag.sum(ag.load(X[i * BM :, n:], (BM, BN)).to(i32), "N")
    A[i * BM :] = total // N
    P[i * BM :] = total & 1
    T[i * BM :] = (total >> 3) % 5


@ag.reference
def parts_of_sums_reference(X):
    total = X.sum(1)
    return total // X.shape[1], total % 2, total // 8 % 5
