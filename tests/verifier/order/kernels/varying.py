"""Loops that iterate differently often for each tile: all are right as to order.

Each test of a mistake changes a line of one of them.
"""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def triangle(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 2,
):
    """Tile i sees the first i + 1 parts of K, as a causal mask has it."""
    M, K = A.shape
    N, _ = B.shape
    rows, columns = ag.cdiv(M, BM), ag.cdiv(N, BN)
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK), b=bf16.tile(BN, BK))
    with ag.role("load", warps=1):
        for tile in ag.persistent(rows * columns):
            i, j = tile // columns, tile % columns
            steps = ag.min(ag.cdiv(K, BK), i + 1)
            for k in ag.range(0, steps):
                with ring.fill() as slot:
                    slot.a.load(A[i * BM :, k * BK :])
                    slot.b.load(B[j * BN :, k * BK :])
    with ag.role("math", warpgroups=1):
        for tile in ag.persistent(rows * columns):
            i, j = tile // columns, tile % columns
            steps = ag.min(ag.cdiv(K, BK), i + 1)
            acc = ag.zeros((BM, BN), f32)
            for _ in ag.range(0, steps):
                with ring.drain() as slot:
                    acc = ag.dot(slot.a, slot.b.T, acc)
            C[i * BM :, j * BN :] = acc.to(bf16)


@ag.kernel
def by_hand(
    A: bf16["M K"],
    B: bf16["N K"],
    C: bf16["M N"],
    *,
    BM: int = 64,
    BN: int = 64,
    BK: int = 64,
    STAGES: int = 2,
):
    """The same with barriers, and a buffer for B that is filled once for each tile."""
    M, K = A.shape
    N, _ = B.shape
    rows, columns = ag.cdiv(M, BM), ag.cdiv(N, BN)
    a = ag.shared(bf16, (BM, BK), stages=STAGES)
    b = ag.shared(bf16, (BN, BK), stages=1)
    full, empty = ag.barriers(STAGES), ag.barriers(STAGES)
    there, free = ag.barriers(1), ag.barriers(1, arrivals=4)
    with ag.role("load", warps=1):
        n = 0
        t = 0
        for tile in ag.persistent(rows * columns):
            i, j = tile // columns, tile % columns
            steps = ag.min(ag.cdiv(K, BK), i)
            free[0].wait(t - 1)
            there[0].expect(BN * BK * 2)
            b.copy(B[j * BN :, 0:], there[0])
            for k in ag.range(0, steps):
                empty[n % STAGES].wait(n // STAGES - 1)
                full[n % STAGES].expect(BM * BK * 2)
                a[n % STAGES].copy(A[i * BM :, k * BK :], full[n % STAGES])
                n += 1
            t += 1
    with ag.role("math", warpgroups=1):
        n = 0
        t = 0
        for tile in ag.persistent(rows * columns):
            i, j = tile // columns, tile % columns
            steps = ag.min(ag.cdiv(K, BK), i)
            acc = ag.zeros((BM, BN), f32)
            there[0].wait(t)
            for _ in ag.range(0, steps):
                full[n % STAGES].wait(n // STAGES)
                acc = ag.dot(a[n % STAGES], b.T, acc)
                ag.wgmma_wait(0)
                empty[n % STAGES].arrive()
                n += 1
            free[0].arrive(per="warp")
            t += 1
            C[i * BM :, j * BN :] = acc.to(bf16)


@ag.kernel
def credit(A: bf16["M K"], C: bf16["M K"], *, BM: int = 64, BK: int = 64):
    """One fill is there in advance; a tile drains what the one before has left.

    A tile of n steps fills n - 1 times and drains 1 + (n - 2) times: right as long as
    each has at least two.
    """
    M, K = A.shape
    rows = ag.cdiv(M, BM)
    ring = ag.ring(3, a=bf16.tile(BM, BK, dims="M K"))
    with ag.role("load", warps=1):
        with ring.fill() as slot:
            slot.a.load(A[0:, 0:])
        for tile in ag.persistent(rows):
            steps = ag.min(ag.cdiv(K, BK), tile) + 2
            for k in ag.range(1, steps):
                with ring.fill() as slot:
                    slot.a.load(A[tile * BM :, k * BK :])
    with ag.role("use", warpgroups=1):
        for tile in ag.persistent(rows):
            steps = ag.min(ag.cdiv(K, BK), tile) + 2
            with ring.drain() as slot:
                C[tile * BM :, 0:] = slot.a.load()
            for k in ag.range(2, steps):
                with ring.drain() as slot:
                    C[tile * BM :, k * BK :] = slot.a.load()
        with ring.drain() as slot:
            C[0:, 0:] = slot.a.load()


@ag.kernel
def causal(
    Q: ag.half["H S D"],
    K: ag.half["H T D"],
    V: ag.half["H T D"],
    O: ag.half["H S D"],
    *,
    D: int = 64,
    BQ: int = 64,
    BT: int = 64,
    STAGES: int = 2,
):
    """Attention, tile after tile; the first product of a tile is outside its loop."""
    H, S, _ = Q.shape
    T = K.shape[1]
    ag.require(T > 0, "a softmax over no keys is not defined")
    rows = ag.cdiv(S, BQ)
    q_ring = ag.ring(1, q=Q.dtype.tile(BQ, D))
    k_ring = ag.ring(STAGES, k=K.dtype.tile(BT, D))
    v_ring = ag.ring(STAGES, v=V.dtype.tile(BT, D))
    with ag.role("load", warps=1):
        for tile in ag.persistent(H * rows):
            h, i = tile // rows, tile % rows
            steps = ag.min(ag.cdiv(T, BT), i * BQ // BT + 1)
            with q_ring.fill() as slot:
                slot.q.load(Q[h, i * BQ :, :])
            for j in ag.range(0, steps):
                t = (steps - 1 - j) * BT
                with k_ring.fill() as slot:
                    slot.k.load(K[h, t:, :])
                with v_ring.fill() as slot:
                    slot.v.load(V[h, t:, :])
    with ag.role("math", warpgroups=1):
        for tile in ag.persistent(H * rows):
            h, i = tile // rows, tile % rows
            steps = ag.min(ag.cdiv(T, BT), i * BQ // BT + 1)
            query = q_ring.wait()
            with k_ring.drain() as slot:
                s = ag.dot(query.q, slot.k.T)
            key = ag.broadcast((steps - 1) * BT + ag.index(s, "T"), s)
            seen = (key < T) & (key <= i * BQ + ag.index(s, "S"))
            s = ag.where(seen, s, -1e30)
            m = ag.max(s, "T")
            p = ag.exp2(s - m)
            l = ag.sum(p, "T")
            o = ag.zeros((BQ, D), f32)
            for _ in ag.range(1, steps):
                keys = k_ring.wait()
                s = ag.dot(query.q, keys.k.T)
                values = v_ring.wait()
                o = ag.dot(p.to(V.dtype), values.v, o)
                keys.release()
                m_new = ag.maximum(m, ag.max(s, "T"))
                alpha = ag.exp2(m - m_new)
                p = ag.exp2(s - m_new)
                l = l * alpha + ag.sum(p, "T")
                m = m_new
                values.release()
                o = o * alpha
            query.release()
            with v_ring.drain() as slot:
                o = ag.dot(p.to(V.dtype), slot.v, o)
            O[h, i * BQ :, :] = (o * ag.rcp(l)).to(O.dtype)


@ag.kernel
def ragged(
    A: bf16["M K"],
    First: i32["T"],
    C: bf16["M K"],
    *,
    BM: int = 64,
    BK: int = 64,
    STAGES: int = 2,
):
    """A table says where the parts of each tile begin, and so how many it has."""
    M, K = A.shape
    rows = ag.cdiv(M, BM)
    ring = ag.ring(STAGES, a=bf16.tile(BM, BK, dims="M K"))
    with ag.role("load", warps=1):
        for tile in ag.persistent(rows):
            steps = ag.min(First[tile + 1] - First[tile], ag.cdiv(K, BK))
            for k in ag.range(0, steps):
                with ring.fill() as slot:
                    slot.a.load(A[tile * BM :, k * BK :])
    with ag.role("math", warpgroups=1):
        for tile in ag.persistent(rows):
            steps = ag.min(First[tile + 1] - First[tile], ag.cdiv(K, BK))
            for k in ag.range(0, steps):
                with ring.drain() as slot:
                    C[tile * BM :, k * BK :] = slot.a.load()
