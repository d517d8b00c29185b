"""Roles that hand a buffer over by barriers."""

import argus as ag
from argus import bf16, f32


@ag.kernel
def three_meet(X: f32["M N"], Y: f32["M N"], Z: f32["M"]):
    """One role makes, one stores, one adds up; named barriers between the three."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    with ag.role("make", warpgroups=1):
        for n in ag.range(0, N, 32):
            s.store(ag.load(X[i * 64 :, n:], (64, 32)) * 3.0)
            ag.sync("ready", threads=384)
            ag.sync("done", threads=384)
    with ag.role("copy", warpgroups=1):
        for n in ag.range(0, N, 32):
            ag.sync("ready", threads=384)
            Y[i * 64 :, n:] = s.load()
            ag.sync("done", threads=384)
    with ag.role("add", warpgroups=1):
        acc = ag.zeros((64,), f32, dims="M")
        for n in ag.range(0, N, 32):
            ag.sync("ready", threads=384)
            acc = acc + ag.sum(s.load(), "N")
            ag.sync("done", threads=384)
        Z[i * 64 :] = acc


@ag.reference
def three_meet_reference(X):
    return {"Y": 3 * X, "Z": 3 * X.sum(1)}


@ag.kernel
def each_arrives(X: f32["M N"], Y: f32["M N"]):
    """Producer and consumer with full and empty; each only arrives at the other's."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    with ag.role("make", warpgroups=1):
        for n in ag.range(0, N, 32):
            ag.sync("empty", threads=256)
            s.store(ag.load(X[i * 64 :, n:], (64, 32)) * 2.0)
            ag.arrive("full", threads=256)
    with ag.role("use", warpgroups=1):
        ag.arrive("empty", threads=256)
        for n in ag.range(0, N, 32):
            ag.sync("full", threads=256)
            Y[i * 64 :, n:] = s.load()
            if n + 32 < N:
                ag.arrive("empty", threads=256)


@ag.reference
def each_arrives_reference(X):
    return 2 * X


@ag.kernel
def two_readers(X: f32["M N"], Y: f32["M N"], Z: f32["M"]):
    """The maker arrives at full, which two roles wait for; both arrive at empty."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    with ag.role("make", warpgroups=1):
        for n in ag.range(0, N, 32):
            s.store(ag.load(X[i * 64 :, n:], (64, 32)) * 3.0)
            ag.sync("full", threads=384)
            ag.sync("empty", threads=384)
    with ag.role("copy", warpgroups=1):
        for n in ag.range(0, N, 32):
            ag.sync("full", threads=384)
            Y[i * 64 :, n:] = s.load()
            ag.arrive("empty", threads=384)
    with ag.role("add", warpgroups=1):
        acc = ag.zeros((64,), f32, dims="M")
        for n in ag.range(0, N, 32):
            ag.sync("full", threads=384)
            acc = acc + ag.sum(s.load(), "N")
            ag.arrive("empty", threads=384)
        Z[i * 64 :] = acc


@ag.reference
def two_readers_reference(X):
    return {"Y": 3 * X, "Z": 3 * X.sum(1)}


@ag.kernel
def two_buffers(X: f32["M N"], Y: f32["M N"]):
    """Two buffers by hand, each with a barrier of its own of an array."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 32))
    b0, b1 = ag.shared(f32, (32, 64)), ag.shared(f32, (32, 64))
    full, empty = ag.barriers(2), ag.barriers(2, arrivals=4)
    with ag.role("load", warps=1):
        for n in ag.range(0, ag.cdiv(N, 128)):
            empty[0].wait(n - 1)
            full[0].expect(32 * 64 * 4)
            b0.copy(X[i * 32 :, n * 128 :], full[0])
            empty[1].wait(n - 1)
            full[1].expect(32 * 64 * 4)
            b1.copy(X[i * 32 :, n * 128 + 64 :], full[1])
    with ag.role("use", warpgroups=1):
        for n in ag.range(0, ag.cdiv(N, 128)):
            full[0].wait(n)
            Y[i * 32 :, n * 128 :] = ag.relu(b0.load()).rename("M N")
            empty[0].arrive(per="warp")
            full[1].wait(n)
            Y[i * 32 :, n * 128 + 64 :] = ag.relu(b1.load()).rename("M N")
            empty[1].arrive(per="warp")


@ag.reference
def two_buffers_reference(X):
    return np.maximum(X, 0)


@ag.kernel
def own_halves(X: bf16["M K"], W: bf16["N K"], Y: bf16["M N"], *, K: int = 64):
    """Two roles multiply, and store through halves of one buffer."""
    M, N = Y.shape
    i, j = ag.block(ag.cdiv(M, 128), ag.cdiv(N, 64))
    ring = ag.ring(1, x=bf16.tile(128, K), w=bf16.tile(64, K))
    out = ag.shared(bf16, (128, 64))
    with ag.role("load", warps=1), ring.fill() as slot:
        slot.x.load(X[i * 128 :, :])
        slot.w.load(W[j * 64 :, :])
    for r in ag.static_range(2):
        with ag.role(f"math{r}", warpgroups=1):
            with ring.drain() as slot:
                acc = ag.dot(slot.x[r * 64 : (r + 1) * 64, :], slot.w.T)
            half = out[r * 64 : (r + 1) * 64, :]
            half.store(ag.maximum(acc, 0.0).to(bf16))
            ag.tma_store(Y[i * 128 + r * 64 :, j * 64 :], half)


@ag.reference
def own_halves_reference(X, W):
    return np.maximum(X @ W.T, 0)


@ag.kernel
def numbered_stages(X: f32["M N"], Y: f32["M N"]):
    """Two stages of a buffer, each with a number and barriers of its own."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N", stages=2)
    with ag.role("make", warpgroups=1):
        for n in ag.range(0, N, 64):
            s[0].store(ag.load(X[i * 64 :, n:], (64, 32)) * 2.0)
            ag.arrive("full0", threads=256)
            s[1].store(ag.load(X[i * 64 :, n + 32 :], (64, 32)) * 3.0)
            ag.arrive("full1", threads=256)
            ag.sync("empty0", threads=256)
            ag.sync("empty1", threads=256)
    with ag.role("use", warpgroups=1):
        for n in ag.range(0, N, 64):
            ag.sync("full0", threads=256)
            Y[i * 64 :, n:] = s[0].load()
            ag.arrive("empty0", threads=256)
            ag.sync("full1", threads=256)
            Y[i * 64 :, n + 32 :] = s[1].load()
            ag.arrive("empty1", threads=256)


@ag.reference
def numbered_stages_reference(X):
    return X * np.where(np.arange(X.shape[1]) // 32 % 2 == 0, 2, 3)


@ag.kernel
def by_phases(X: f32["M N"], Y: f32["M N"]):
    """A buffer that is written from registers, and an mbarrier for each way."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    full, done = ag.barriers(1, arrivals=4), ag.barriers(1, arrivals=128)
    with ag.role("make", warpgroups=1):
        t = 0
        for n in ag.range(0, N, 32):
            x = ag.load(X[i * 64 :, n:], (64, 32))
            done[0].wait(t - 1)
            s.store(x * 2.0)
            full[0].arrive(per="warp")
            t += 1
    with ag.role("use", warpgroups=1):
        t = 0
        for n in ag.range(0, N, 32):
            full[0].wait(t)
            y = s.load()
            done[0].arrive(per="thread")
            Y[i * 64 :, n:] = y
            t += 1


@ag.reference
def by_phases_reference(X):
    return 2 * X


@ag.kernel
def handed_on_twice(X: f32["M N"], Y: f32["M N"]):
    """The second role of three meets the third, too."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    u = ag.shared(f32, (64, 32), dims="M N")
    with ag.role("make", warpgroups=1):
        for n in ag.range(0, N, 32):
            s.store(ag.load(X[i * 64 :, n:], (64, 32)))
            ag.sync("made", threads=256)
            ag.sync("taken", threads=256)
    with ag.role("change", warpgroups=1):
        for n in ag.range(0, N, 32):
            ag.sync("made", threads=256)
            x = s.load()
            ag.sync("taken", threads=256)
            u.store(ag.exp(x))
            ag.sync("changed", threads=256)
            ag.sync("kept", threads=256)
    with ag.role("keep", warpgroups=1):
        for n in ag.range(0, N, 32):
            ag.sync("changed", threads=256)
            Y[i * 64 :, n:] = u.load()
            ag.sync("kept", threads=256)


@ag.reference
def handed_on_twice_reference(X):
    return np.exp(X)


@ag.kernel
def handed_operands(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    """Operands of products, for which their role waits by hand."""
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    a = ag.shared(bf16, (64, 64), dims="M K")
    b = ag.shared(bf16, (64, 64), dims="N K")
    with ag.role("make", warpgroups=1):
        for k in ag.range(0, K, 64):
            a.store(ag.load(A[i * 64 :, k:], (64, 64)))
            b.store(ag.load(B[j * 64 :, k:], (64, 64)))
            ag.fence_async()
            ag.sync("ready", threads=256)
            ag.sync("done", threads=256)
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for k in ag.range(0, K, 64):
            ag.sync("ready", threads=256)
            acc = ag.dot(a, b.T, acc)
            ag.wgmma_wait(0)
            ag.sync("done", threads=256)
        C[i * 64 :, j * 64 :] = acc


@ag.reference
def handed_operands_reference(A, B):
    return A @ B.T


@ag.kernel
def told_of_copies(X: f32["M N"], Y: f32["M N"], Z: f32["M"]):
    """Two roles wait for the copies into one buffer, and for nothing else."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    full, done = ag.barriers(1), ag.barriers(1, arrivals=8)
    with ag.role("load", warps=1):
        for t in ag.range(ag.cdiv(N, 32)):
            done[0].wait(t - 1)
            full[0].expect(64 * 32 * 4)
            s.copy(X[i * 64 :, t * 32 :], full[0])
    with ag.role("copy", warpgroups=1):
        for t in ag.range(ag.cdiv(N, 32)):
            full[0].wait(t)
            Y[i * 64 :, t * 32 :] = s.load() + 1.0
            done[0].arrive(per="warp")
    with ag.role("add", warpgroups=1):
        acc = ag.zeros((64,), f32, dims="M")
        for t in ag.range(ag.cdiv(N, 32)):
            full[0].wait(t)
            acc = acc + ag.sum(s.load(), "N")
            done[0].arrive(per="warp")
        Z[i * 64 :] = acc


@ag.reference
def told_of_copies_reference(X):
    return {"Y": X + 1, "Z": X.sum(1)}
