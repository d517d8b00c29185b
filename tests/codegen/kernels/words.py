"""Elements of 16 bits, of which a register holds two."""

import argus as ag
from argus import i16, u16


@ag.kernel
def numbers(X: u16["N"], Y: ag.half["P N"]):
    i = ag.block(ag.cdiv(X.shape[0], 256))
    x = ag.load(X[i * 256 :], (256,))
    for j in ag.static_range(4):
        Y[j, i * 256 :] = ((x >> (4 * j)) & 15).to(Y.dtype) - 8.0
    Y[4, i * 256 :] = (x & 127).to(Y.dtype)
    Y[5, i * 256 :] = ((x >> 7) & 127).to(Y.dtype) + 3.0


@ag.kernel
def signed_bytes(X: ag.i8["N"], Y: ag.half["P N"]):
    i = ag.block(ag.cdiv(X.shape[0], 256))
    x = ag.load(X[i * 256 :], (256,))
    Y[0, i * 256 :] = x.to(Y.dtype)
    Y[1, i * 256 :] = (x >> 4).to(Y.dtype)


@ag.kernel
def mx_numbers(X: u16["N"], Y: ag.half["P N"]):
    i = ag.block(ag.cdiv(X.shape[0], 256))
    x = ag.load(X[i * 256 :], (256,))
    for j in ag.static_range(4):
        Y[j, i * 256 :] = ag.twice_e2m1((x >> (4 * j)).to(i16)).to(Y.dtype)
    Y[4, i * 256 :] = ag.twice_e2m1(x.to(i16) >> 3).to(Y.dtype) + 1.0


@ag.kernel
def sums(X: ag.half["N"], Y: ag.half["N"], Z: ag.half["P N"]):
    i = ag.block(ag.cdiv(X.shape[0], 256))
    x, y = ag.load(X[i * 256 :], (256,)), ag.load(Y[i * 256 :], (256,))
    Z[0, i * 256 :] = x + y
    Z[1, i * 256 :] = x - y
    Z[2, i * 256 :] = x * y
    Z[3, i * 256 :] = x * 0.5
    Z[4, i * 256 :] = x + 0.1
    Z[5, i * 256 :] = 1.0 - x


@ag.kernel
def bits(X: i16["N"], U: u16["N"], Y: i16["P N"], V: u16["P N"]):
    i = ag.block(ag.cdiv(X.shape[0], 256))
    x, u = ag.load(X[i * 256 :], (256,)), ag.load(U[i * 256 :], (256,))
    Y[0, i * 256 :] = (x & 255) | 7
    Y[1, i * 256 :] = x ^ -30584
    Y[2, i * 256 :] = x >> 3
    Y[3, i * 256 :] = x % 8
    Y[4, i * 256 :] = x * 3 - x // 5
    Y[5, i * 256 :] = u.to(i16)
    V[0, i * 256 :] = (u & 255) | 7
    V[1, i * 256 :] = u ^ 0x8888
    V[2, i * 256 :] = u >> 3
    V[3, i * 256 :] = u % 8
    V[4, i * 256 :] = u * 3 + u // 5
    V[5, i * 256 :] = x.to(u16)
