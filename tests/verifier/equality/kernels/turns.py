"""Roles that take a buffer in turns; fills and drains of several rings at a time."""

import argus as ag
from argus import bf16, f32, i32, u8


@ag.kernel
def one_buffer(X: f32["M N"], Y: f32["M N"]):
    """Two roles write and read one buffer, one after the other."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 128))
    s = ag.shared(f32, (64, 32), dims="M N")
    t = ag.turns("s", 2)
    for w in ag.static_range(2):
        with ag.role(f"r{w}", warpgroups=1):
            for n in ag.range(0, N, 32):
                t.wait(w)
                s.store(ag.load(X[i * 128 + w * 64 :, n:], (64, 32)) * 2.0)
                Y[i * 128 + w * 64 :, n:] = s.load()
                t.next(w)


@ag.reference
def one_buffer_reference(X):
    return X * 2


@ag.kernel
def each_other_half(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"]):
    """Each of two roles multiplies every other half of the fills, and drains all."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(K > 0, "K")
    ring = ag.ring(4, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    out = ag.shared(bf16, (64, 64))
    t = ag.turns("epilogue", 2)
    with ag.role("load", warps=1):
        for i, j in ag.persistent(ag.cdiv(M, 128), ag.cdiv(N, 64)):
            for w in ag.static_range(2):
                for k in ag.range(0, K, 64):
                    with ring.fill() as slot:
                        slot.a.load(A[i * 128 + w * 64 :, k:])
                        slot.b.load(B[j * 64 :, k:])
    for w in ag.static_range(2):
        with ag.role(f"math{w}", warpgroups=1):
            for i, j in ag.persistent(ag.cdiv(M, 128), ag.cdiv(N, 64)):
                acc = ag.zeros((64, 64), f32)
                for v in ag.static_range(2):
                    for k in ag.range(0, K, 64):
                        with ring.drain() as slot:
                            if v == w:
                                acc = ag.dot(slot.a, slot.b.T, acc)
                t.wait(w)
                out.store(acc.to(bf16))
                ag.tma_store(C[i * 128 + w * 64 :, j * 64 :], out)
                ag.tma_store_wait(0)
                t.next(w)


@ag.reference
def each_other_half_reference(A, B):
    return A @ B.T


@ag.kernel
def filled_together(X: f32["M N"], Z: f32["M N"], Y: f32["M N"]):
    """Fills of two rings begin and end together."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    rx = ag.ring(2, x=f32.tile(64, 32))
    rz = ag.ring(3, z=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for n in ag.range(0, N, 32):
            with rx.fill() as a, rz.fill() as b:
                a.x.load(X[i * 64 :, n:])
                b.z.load(Z[i * 64 :, n:])
    with ag.role("use", warpgroups=1):
        for n in ag.range(0, N, 32):
            with rx.drain() as a, rz.drain() as b:
                Y[i * 64 :, n:] = a.x.load() - b.z.load()


@ag.reference
def filled_together_reference(X, Z):
    return X - Z


@ag.kernel
def some_steps(A: bf16["M K"], B: bf16["N K"], Keep: i32["K"], C: f32["M N"]):
    """A table says which steps are multiplied: a drain may end without a product."""
    M, K = A.shape
    N = B.shape[0]
    ag.require(K % 64 == 0, "whole steps")
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    ring = ag.ring(3, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
                slot.b.load(B[j * 64 :, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for k in ag.range(0, K, 64):
            with ring.drain() as slot:
                if Keep[k] > 0:
                    acc = ag.dot(slot.a, slot.b.T, acc)
        C[i * 64 :, j * 64 :] = acc


@ag.reference
def some_steps_reference(A, B, Keep):
    return (A * np.repeat(Keep[::64] > 0, 64)) @ B.T


@ag.kernel
def signed_halves(P: u8["N H"], Y: i32["N K"]):
    """Numbers of four bits with a sign, two in a byte."""
    N, H = P.shape
    ag.require(ag.dim("K") == 2 * H, "pairs")
    i, j = ag.block(ag.cdiv(N, 16), ag.cdiv(H, 32))
    p = ag.load(P[i * 16 :, j * 32 :], (16, 32)).to(i32)
    lo = ((p & 15) ^ 8) - 8
    hi = ((p >> 4) ^ 8) - 8
    Y[i * 16 :, j * 64 :] = ag.interleave(lo, hi, "H").rename("N K")


@ag.reference
def signed_halves_reference(P):
    n = np.stack([P % 16, P // 16], -1).reshape(P.shape[0], -1)
    return np.select([n >= 8], [n - 16], n)
