"""Whole numbers that are sums of entries: counts, and what follows from them."""

import argus as ag
from argus import i32, i64, u8


@ag.kernel
def segment_begins(Count: i32["B E"], Begin: i32["E"], *, BM: int = 128, BE: int = 128):
    """Where the segment of each expert begins, if segments are whole tiles."""
    B, E = Count.shape
    ag.require(E <= BE, "one tile has all experts")
    ag.require(B < 2**18, "positions are numbered")
    ag.assume(lambda n: (n >= 0) & (n <= 16), Count)
    every = ag.zeros((BE,), i32, dims="E")
    for i in ag.range(0, B, 32):
        every = every + ag.sum(ag.load(Count[i:, 0:], (32, BE)), "B")
    tiles = (every + (BM - 1)) // BM
    Begin[0:] = (ag.cumsum(tiles, "E") - tiles) * BM


@ag.reference
def segment_begins_reference(Count, BM):
    tiles = (Count.sum(0) + BM - 1) // BM
    return (np.cumsum(tiles) - tiles) * BM


@ag.kernel
def counted_before(Count: i32["B E"], Before: i32["B E"], *, BE: int = 128):
    """Of each expert what the blocks before have counted."""
    B, E = Count.shape
    ag.require(E <= BE, "one tile has all experts")
    ag.require(B < 2**18, "counts fit")
    ag.assume(lambda n: (n >= 0) & (n <= 16), Count)
    b = ag.block(B)
    before = ag.zeros((BE,), i32, dims="E")
    for i in ag.range(0, B, 32):
        part = ag.load(Count[i:, 0:], (32, BE))
        earlier = i + ag.index(part, "B") < b
        before = before + ag.sum(ag.where(earlier, part, 0), "B")
    Before[b, 0:] = before


@ag.reference
def counted_before_reference(Count):
    return np.cumsum(Count, 0) - Count


@ag.kernel
def owner_of_tile(Count: i32["E"], Owner: i32["C"], *, BE: int = 128, BC: int = 32):
    """The expert whose segment a tile of 64 is in; E behind all of them."""
    E, C = Count.shape[0], Owner.shape[0]
    ag.require(E <= BE, "one tile has all experts")
    ag.assume(lambda n: (n >= 0) & (n < 2**20), Count)
    c = ag.block(ag.cdiv(C, BC))
    upto = ag.cumsum((ag.load(Count[0:], (BE,)) + 63) // 64, "E")
    ended = ag.zeros((BC, BE), i32, dims="C E")
    tile = c * BC + ag.index(ended, "C")
    past = ag.broadcast(upto, ended) <= ag.broadcast(tile, ended)
    real = ag.broadcast(ag.index(ended, "E") < E, ended)
    Owner[c * BC :] = ag.sum(ag.where(past & real, 1, ended), "E")


@ag.reference
def owner_of_tile_reference(Count, C):
    upto = np.cumsum((Count + 63) // 64)
    return (upto <= np.arange(C)[:, None]).sum(1)


@ag.kernel
def parity_of_bits(X: i32["M N"], Odd: i32["M"], *, N: int = 64, BM: int = 16):
    """The remainder and the low bits of a sum."""
    ag.assume(lambda n: (n >= 0) & (n < 256), X)
    i = ag.block(ag.cdiv(X.shape[0], BM))
    total = ag.sum(ag.load(X[i * BM :, 0:], (BM, N)), "N")
    Odd[i * BM :] = total % 7 + (total & 15)


@ag.reference
def parity_of_bits_reference(X):
    total = X.sum(1)
    return total % 7 + (total & 15)


@ag.kernel
def bounded_products(T: i32["N"], U: i32["N"], Y: i64["N"], *, BN: int = 128):
    """In 32 bits what a reference computes in 64."""
    ag.require(ag.dim("N") < 2**21, "products fit")
    ag.assume(lambda n: (n >= 0) & (n < 1000), T)
    ag.assume(lambda n: (n >= -1000) & (n <= 1000), U)
    b = ag.block(ag.cdiv(ag.dim("N"), BN))
    t = ag.load(T[b * BN :], (BN,))
    u = ag.load(U[b * BN :], (BN,)).rename("N")
    Y[b * BN :] = (t * u + t * (b * BN + ag.index(t, "N"))).to(i64)


@ag.reference
def bounded_products_reference(T, U, N):
    t = T.astype(np.int64)
    return t * U + t * np.arange(N)


@ag.kernel
def pooled_bytes(X: u8["M N"], Y: u8["M P"], *, BM: int = 16, BP: int = 32):
    """Means of four neighbours, rounded: none is more than 255."""
    M, N = X.shape
    P = Y.shape[1]
    ag.require(N == 4 * P, "four each")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(P, BP))
    x = ag.load(X[i * BM :, j * BP * 4 :], (BM, BP * 4)).to(i32)
    total = ag.sum(ag.reshape(x, (BM, BP, 4), dims="M P _"), 2)
    Y[i * BM :, j * BP :] = ((total + 2) >> 2).to(u8)


@ag.reference
def pooled_bytes_reference(X):
    M, N = X.shape
    return (X.astype(np.int32).reshape(M, N // 4, 4).sum(2) + 2) // 4


@ag.kernel
def bytes_below(X: u8["N"], Y: i32["N"], s: i32, *, BN: int = 128):
    """Bytes are computed in 32 bits: s may be more than all of them."""
    b = ag.block(ag.cdiv(ag.dim("N"), BN))
    Y[b * BN :] = (ag.load(X[b * BN :], (BN,)) < s).to(i32)


@ag.reference
def bytes_below_reference(X, s):
    return X < s


@ag.kernel
def bytes_raised(X: u8["N"], Y: u8["N"], s: i32, *, BN: int = 128):
    """What is stored is a byte again."""
    b = ag.block(ag.cdiv(ag.dim("N"), BN))
    Y[b * BN :] = ag.maximum(ag.load(X[b * BN :], (BN,)), s)


@ag.reference
def bytes_raised_reference(X, s):
    return np.maximum(X.astype(np.int32), s).astype(np.uint8)
