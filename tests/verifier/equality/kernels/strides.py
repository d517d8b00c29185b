"""Rows that are read in strides: their even and odd places, or each fourth one."""

import argus as ag
from argus import f32, i8, i32


@ag.kernel
def rms_of_pairs(X: f32["M N"], Y: f32["M"], T: f32["M"], *, BM: int = 4, BH: int = 64):
    M, N = X.shape
    ag.require(N % 2 == 0, "pairs")
    ag.require(N > 0, "elements")
    H = N // 2
    i = ag.block(ag.cdiv(M, BM))
    even = X.view("M N", shape=(M, H), at=lambda m, n: (m, 2 * n))
    odd = X.view("M N", shape=(M, H), at=lambda m, n: (m, 2 * n + 1))
    squares = ag.zeros((BM,), f32, dims="M")
    total = ag.zeros((BM,), f32, dims="M")
    for n in ag.range(0, H, BH):
        a = ag.load(even[i * BM :, n:], (BM, BH))
        b = ag.load(odd[i * BM :, n:], (BM, BH))
        squares = squares + ag.sum(a * a + b * b, "N")
        total = total + ag.sum(a, "N") + ag.sum(b, "N")
    Y[i * BM :] = ag.rsqrt(squares / N + 0.1)
    T[i * BM :] = total


@ag.reference
def rms_of_pairs_reference(X):
    return 1 / np.sqrt((X * X).mean(1) + 0.1), X.sum(1)


@ag.kernel
def nibbles_times(
    P: i32["N H"], X: f32["K"], Y: f32["N"], *, BN: int = 8, BH: int = 64
):
    """A row of numbers of four bits, two of which are in one, with an offset of 8."""
    N, H = P.shape
    ag.require(ag.dim("K") == 2 * H, "two in one")
    i = ag.block(ag.cdiv(N, BN))
    y = ag.zeros((BN,), f32, dims="N")
    even = X.view("H", shape=(H,), at=lambda h: (2 * h,))
    odd = X.view("H", shape=(H,), at=lambda h: (2 * h + 1,))
    for h in ag.range(0, H, BH):
        p = ag.load(P[i * BN :, h:], (BN, BH))
        low = (p & 15).to(f32) - 8.0
        high = ((p >> 4) & 15).to(f32) - 8.0
        a, b = ag.load(even[h:], (BH,)), ag.load(odd[h:], (BH,))
        y = y + ag.sum(low * a + high * b, "H")
    Y[i * BN :] = y


@ag.reference
def nibbles_times_reference(P, X):
    N, H = P.shape
    W = np.zeros((N, 2 * H))
    W[:, 0::2] = (P & 15) - 8.0
    W[:, 1::2] = ((P >> 4) & 15) - 8.0
    return W @ X


@ag.kernel
def largest_of_fours(
    X: f32["M N"], A: i8["M N"], Y: f32["M"], S: i32["M"], *, BM: int = 4, BH: int = 64
):
    M, N = X.shape
    ag.require(N % 4 == 0, "fours")
    ag.require(N > 0, "elements")
    ag.require(N < 2**16, "sums fit")
    H = N // 4
    i = ag.block(ag.cdiv(M, BM))
    largest = ag.full((BM,), -ag.inf, f32, dims="M")
    squares = ag.zeros((BM,), i32, dims="M")
    for n in ag.range(0, H, BH):
        for r in ag.static_range(4):
            x = X.view("M N", shape=(M, H), at=lambda m, n: (m, 4 * n + r))
            a = A.view("M N", shape=(M, H), at=lambda m, n: (m, 4 * n + r))
            one = ag.load(x[i * BM :, n:], (BM, BH), fill=-ag.inf)
            largest = ag.maximum(largest, ag.max(one, "N"))
            two = ag.load(a[i * BM :, n:], (BM, BH)).to(i32)
            squares = squares + ag.sum(two * two, "N")
    Y[i * BM :] = largest
    S[i * BM :] = squares


@ag.reference
def largest_of_fours_reference(X, A):
    return X.max(1), (A.astype(np.int64) ** 2).sum(1)


@ag.kernel
def sums_of_fours(X: f32["M N"], S: f32["B"], Y: f32["B N"], *, BN: int = 64):
    """Four rows each; how many there are has a name of its own."""
    M, N = X.shape
    B = S.shape[0]
    ag.require(M == 4 * B, "four rows each")
    b, j = ag.block(B, ag.cdiv(N, BN))
    x = ag.load(X[b * 4 : b * 4 + 4, j * BN :], (4, BN))
    Y[b, j * BN :] = ag.sum(x, "M") * S[b]


@ag.reference
def sums_of_fours_reference(X, S):
    return X.reshape(len(S), 4, -1).sum(1) * S[:, None]
