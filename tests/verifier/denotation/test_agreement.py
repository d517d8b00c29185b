"""Denotations against the interpreter: the numbers are the same, at random elements.

The interpreter runs threads, registers and barriers of the placed program at one size.
A denotation that takes a wrong iteration, slot, mask or block has other numbers there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verifier.denotation.denoting import agrees

GATHERED = """
@ag.kernel
def k(X: f32["R N"], Rows: i32["P"], Y: f32["P N"], alpha: f32):
    p, j = ag.block(ag.cdiv(Y.shape[0], 16), ag.cdiv(X.shape[1], 32))
    rows = ag.load(Rows[p * 16 :], (16,), fill=-1)
    x = ag.load(X[rows, j * 32 :], (16, 32), fill=2.5)
    keep = ag.broadcast(ag.index(x, "N"), x) % 3 != 1
    Y[p * 16 :, j * 32 :] = ag.where(keep, x * alpha, ag.abs(x) - 1.0).rename("P N")
"""

SUMS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"], Z: f32["M N"], W: f32["M"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 8))
    total = ag.zeros((8,), f32, dims="M")
    most = ag.full((8,), -ag.inf, f32, dims="M")
    least = ag.full((8,), 100.0, f32, dims="M")
    for n in ag.range(0, N, 32):
        x = ag.load(X[i * 8 :, n:], (8, 32))
        total = total + ag.sum(x * x, "N")
        high = ag.load(X[i * 8 :, n:], (8, 32), fill=-ag.inf)
        most = ag.maximum(most, ag.max(high, "N"))
        low = ag.load(X[i * 8 :, n:], (8, 32), fill=50.0)
        least = ag.minimum(ag.min(low, "N"), least)
        Z[i * 8 :, n:] = ag.cumsum(x, "N")
    Y[i * 8 :] = total + most
    W[i * 8 :] = least
"""

SOFTMAX = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"], L: f32["M"]):
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, 8))
    m = ag.full((8,), -1e30, f32, dims="M")
    l = ag.zeros((8,), f32, dims="M")
    o = ag.zeros((8,), f32, dims="M")
    for n in ag.range(0, N, 32):
        x = ag.load(X[i * 8 :, n:], (8, 32), fill=-ag.inf)
        z = ag.load(X[i * 8 :, n:], (8, 32))
        new = ag.maximum(m, ag.max(x, "N"))
        p = ag.exp2((x - new) * 1.4426950408889634)
        alpha = ag.exp(m - new)
        l = l * alpha + ag.sum(p, "N")
        o = o * alpha + ag.sum(p * z, "N")
        m = new
    Y[i * 8 :] = o / l
    L[i * 8 :] = m + ag.log(l)
"""

PIPELINED = """
@ag.kernel
def k(A: f16["M K"], B: f16["N K"], C: f32["M N"], *, STAGES: int = 3):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block_tile(ag.cdiv(M, 64), ag.cdiv(N, 64), group=2)
    ring = ag.ring(STAGES, a=f16.tile(64, 64), b=f16.tile(64, 64))
    for s in ag.static_range(STAGES - 1):
        with ring.fill() as slot:
            slot.a.load(A[i * 64 :, s * 64 :])
            slot.b.load(B[j * 64 :, s * 64 :])
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        with ring.drain() as full:
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k + (STAGES - 1) * 64 :])
                slot.b.load(B[j * 64 :, k + (STAGES - 1) * 64 :])
            acc = ag.dot(full.a, full.b.T, acc)
    C[i * 64 :, j * 64 :] = acc
"""

AHEAD_WHERE_NEEDED = """
@ag.kernel
def k(A: f16["M K"], B: f16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    ring = ag.ring(3, a=f16.tile(64, 16), b=f16.tile(64, 16))
    for s in ag.static_range(2):
        if s * 16 < K:
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, s * 16 :])
                slot.b.load(B[j * 64 :, s * 16 :])
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 16):
        with ring.drain() as full:
            if k + 32 < K:
                with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k + 32 :])
                    slot.b.load(B[j * 64 :, k + 32 :])
            acc = ag.dot(full.a, full.b.T, acc)
    C[i * 64 :, j * 64 :] = acc
"""

HANDED_ON = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"], Z: f32["M"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 8))
    held = ag.load(X[i * 8 :, 0:], (8, 32)) * 3.0
    last = ag.zeros((8,), f32, dims="M")
    total = ag.zeros((8,), f32, dims="M")
    for n in ag.range(0, N, 32):
        total = total + ag.sum(held, "N")
        last = ag.sum(held, "N") + n
        held = ag.load(X[i * 8 :, n + 32 :], (8, 32))
    Y[i * 8 :] = total
    Z[i * 8 :] = last
"""

SKIPPED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 32))
    ring = ag.ring(2, a=f32.tile(32, 32))
    for n in ag.range(0, N, 32):
        if {condition}:
            with ring.fill() as slot:
                slot.a.load(X[i * 32 :, n:])
            with ring.drain() as slot:
                Y[i * 32 :, n:] = slot.a.load()
"""
"""Fills are counted while a condition lasts; what begins later has another count."""

PERSISTENT = """
@ag.kernel
def k(A: f16["M K"], B: f16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    ring = ag.ring(3, a=f16.tile(64, 64), b=f16.tile(64, 64))
    with ag.role("load", warps=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64), group=2):
            for k in ag.range(0, ag.min(K, (i + 1) * 64), 64):
                with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k:])
                    slot.b.load(B[j * 64 :, k:])
    with ag.role("math", warpgroups=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64), group=2):
            acc = ag.zeros((64, 64), f32)
            for k in ag.range(0, ag.min(K, (i + 1) * 64), 64):
                with ring.drain() as slot:
                    acc = ag.dot(slot.a, slot.b.T, acc)
            C[i * 64 :, j * 64 :] = acc
"""

CLUSTER = """
@ag.kernel
def k(A: f16["M K"], B: f16["N K"], C: f16["M N"]):
    M, K = A.shape
    N = B.shape[0]
    ag.cluster(2)
    ring = ag.ring(2, a=f16.tile(64, 64), b=f16.tile(64, 64))
    out = ag.shared(f16, (64, 64))
    with ag.role("load", warps=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64), group=4):
            for k in ag.range(0, K, 64):
                with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k:])
                    slot.b.load(B[j * 64 :, k:], multicast=2)
    with ag.role("math", warpgroups=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64), group=4):
            acc = ag.zeros((64, 64), f32)
            for k in ag.range(0, K, 64):
                with ring.drain() as slot:
                    acc = ag.dot(slot.a, slot.b.T, acc)
            out.store(acc.to(f16))
            ag.tma_store(C[i * 64 :, j * 64 :], out)
"""

BARRIERS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    buffer = ag.shared(f32, (64, 32), stages=2, dims="M N")
    full, empty = ag.barriers(2), ag.barriers(2, arrivals=4)
    with ag.role("load", warps=1):
        n = 0
        for c in ag.range(0, N, 32):
            empty[n % 2].wait(n // 2 - 1)
            full[n % 2].expect(64 * 32 * 4)
            buffer[n % 2].copy(X[i * 64 :, c:], full[n % 2])
            n += 1
    with ag.role("use", warpgroups=1):
        n = 0
        for c in ag.range(0, N, 32):
            full[n % 2].wait(n // 2)
            Y[i * 64 :, c:] = buffer[n % 2].load() * 2.0
            ag.fence_async()
            empty[n % 2].arrive(per="warp")
            n += 1
"""

NAMED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    buffer = ag.shared(f32, (32, 32), dims="M N")
    with ag.role("make", warpgroups=1):
        for i in ag.persistent(ag.cdiv(M, 32)):
            for n in ag.range(0, ag.min(N, (i + 1) * 32), 32):
                x = ag.load(X[i * 32 :, n:], (32, 32))
                buffer[0:16, :].store(x[0:16, :] * 2.0)
                buffer[16:32, :].store(x[16:32, :] * 3.0)
                ag.sync("ready", threads=256)
                ag.sync("done", threads=256)
    with ag.role("use", warpgroups=1):
        for i in ag.persistent(ag.cdiv(M, 32)):
            for n in ag.range(0, ag.min(N, (i + 1) * 32), 32):
                ag.sync("ready", threads=256)
                Y[i * 32 :, n:] = buffer.load()
                ag.sync("done", threads=256)
"""

SHARED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["N M"], flip: i32):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 32), ag.cdiv(N, 32))
    s = ag.shared(f32, (32, 32), dims="M N")
    s.store(ag.load(X[i * 32 :, j * 32 :], (32, 32)))
    if flip > 0:
        s[0:16, :].store(ag.zeros((16, 32), f32))
    else:
        s[:, 0:16].store(ag.full((32, 16), 7.0, f32))
    x = s.T.load() + s[3, :].load().rename("N")
    j2 = j * 32
    Y[j2 : j2 + 16, i * 32 :] = x[0:32:2, :]
    Y[j2 + 16 : j2 + 32, i * 32 :] = x[1:32:2, :]
"""

TABLES = """
@ag.kernel
def k(X: f32["R N"], First: i32["B"], Last: i32["B"], Y: f32["B N"]):
    R, N = X.shape
    b, j = ag.block(First.shape[0], ag.cdiv(N, 64))
    ag.assume(lambda f: f >= 0, First)
    lo, hi = First[b], Last[b]
    total = ag.zeros((64,), f32, dims="N")
    if lo < hi:
        for r in ag.range(lo, hi, 8):
            x = ag.load(X[r:hi, j * 64 :], (8, 64))
            total = total + ag.sum(x, "R")
    Y[b, j * 64 :] = total
"""

CASES = {
    "gathered": (GATHERED, {"R": 9, "P": 21, "N": 40}, {"alpha": 1.5}, {}),
    "sums": (SUMS, {"M": 11, "N": 75}, {}, {}),
    "softmax": (SOFTMAX, {"M": 11, "N": 75}, {}, {}),
    "pipelined": (PIPELINED, {"M": 200, "N": 72, "K": 264}, {}, {}),
    "pipelined, short": (PIPELINED, {"M": 64, "N": 72, "K": 40}, {}, {}),
    "ahead where needed": (
        AHEAD_WHERE_NEEDED,
        {"M": 72, "N": 64, "K": 72},
        {},
        {},
    ),
    "handed on": (HANDED_ON, {"M": 11, "N": 100}, {}, {}),
    "handed on, once": (HANDED_ON, {"M": 11, "N": 20}, {}, {}),
    **{
        f"skipped where not {condition}": (
            SKIPPED.replace("{condition}", condition),
            {"M": 40, "N": 200},
            {},
            {},
        )
        for condition in ("n + 64 < N", "n >= 64", "n % 64 == 0")
    },
    "persistent": (PERSISTENT, {"M": 264, "N": 200, "K": 200}, {}, {}),
    "cluster": (CLUSTER, {"M": 264, "N": 136, "K": 136}, {}, {}),
    "barriers": (BARRIERS, {"M": 70, "N": 100}, {}, {}),
    "named barriers": (NAMED, {"M": 150, "N": 100}, {}, {}),
    "shared, flipped": (SHARED, {"M": 70, "N": 40}, {"flip": 1}, {}),
    "shared": (SHARED, {"M": 70, "N": 40}, {"flip": 0}, {}),
    "tables": (
        TABLES,
        {"R": 40, "B": 4, "N": 70},
        {},
        {"First": np.array([0, 7, 7, 20]), "Last": np.array([7, 7, 20, 37])},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_denotation_agrees_with_the_interpreter(name: str, tmp_path: Path) -> None:
    source, sizes, scalars, given = CASES[name]
    agrees(source, tmp_path, sizes, scalars=scalars, given=given)
