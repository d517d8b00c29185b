"""Products of tokens with the weights of their experts, and the sum for each token.

Positions, their tokens (Rows) and the experts of tiles of positions (Expert) are those
of `routing.py`: a tile is of one expert, so that tiles of results are whole, are stored
by TMA, and no two of them meet whatever the tables hold.
"""

import argus as ag
from argus import f32, i32
from argus.kernels.swiglu.kernel import product_of_slots


@ag.kernel
def moe_up(
    X: ag.half["R K"],
    Gate: ag.half["E N K"],
    Up: ag.half["E N K"],
    H: ag.half["P N"],
    Rows: i32["P"],
    Expert: i32["C"],
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 16,
    WARPGROUPS: int = 2,
    BC: int = 64,
    REGISTERS: int = 224,
    ACTIVATION: ag.Inline = ag.silu,
):
    """H[p, n] = ACTIVATION(row p of X times Gate[e, n]) * (row p of X times Up[e, n]).

    Row p of X is ``X[Rows[p]]``, 0 where that is none, and e is ``Expert[p // BM]``.
    Where that is negative, nothing is written. Both sums are f32.
    """
    R, (E, N, K) = X.shape[0], Gate.shape
    C = Expert.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.require(E > 0, "an expert is there")
    ag.require(R > 0, "a row of X is there")
    ag.require(H.shape[0] == C * BM, "a tile of positions for each expert of a tile")
    ring = ag.ring(STAGES, a=X.dtype.tile(BM, BK), b=Gate.dtype.tile(2 * BN, BK))
    out = (ag.shared(H.dtype, (BM, BC)), ag.shared(H.dtype, (BM, BC)))

    with ag.role("load", warps=4, registers=56):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, BN), group=GROUP):
            e = Expert[t]
            if e >= 0:
                rows = ag.load(Rows[t * BM :], (BM,))
                w = ag.min(e, E - 1)
                for k in ag.range(0, K, BK):
                    with ring.fill() as slot:
                        slot.a.load(X[rows, k:])
                        slot.b[0:BN, :].load(Gate[w, bn * BN :, k:])
                        slot.b[BN : 2 * BN, :].load(Up[w, bn * BN :, k:])

    with ag.role("math", warpgroups=WARPGROUPS, registers=REGISTERS):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, BN), group=GROUP):
            e = Expert[t]
            if e >= 0:
                acc = product_of_slots(ring, ag.cdiv(K, BK))
                for j in ag.static_range(BN // BC):
                    one = ACTIVATION(acc[:, j * BC : (j + 1) * BC])
                    part = one * acc[:, BN + j * BC : BN + (j + 1) * BC]
                    out[j % 2].store(ag.rename(part.to(H.dtype), "P N"))
                    ag.tma_store(H[t * BM :, bn * BN + j * BC :], out[j % 2])


@ag.reference
def moe_up_reference(X, Gate, Up, H, Rows, Expert, BM):
    """Each position by itself; SwiGLU, as by default."""
    import numpy as np

    R, E = X.shape[0], Gate.shape[0]
    there = (Rows >= 0) & (Rows < R)
    x = np.where(there[:, None], X[np.where(there, Rows, 0)], 0)
    e = np.repeat(Expert, BM)
    used = e >= 0
    own = np.where(used, np.minimum(e, E - 1), 0)
    gate = np.einsum("pk,pnk->pn", x, Gate[own])
    up = np.einsum("pk,pnk->pn", x, Up[own])
    return np.where(used[:, None], gate / (1 + np.exp(-gate)) * up, H)


@ag.kernel
def moe_down(
    H: ag.half["P K"],
    W: ag.half["E N K"],
    Y: ag.half["P N"],
    Expert: i32["C"],
    *,
    BM: int = 128,
    BN: int = 256,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 16,
    WARPGROUPS: int = 2,
    BC: int = 64,
    REGISTERS: int = 240,
):
    """Y[p, n] = the sum over k of H[p, k] * W[e, n, k], where e is Expert[p // BM].

    Where that is negative, nothing is written.
    """
    E, N, K = W.shape
    C = Expert.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.require(E > 0, "an expert is there")
    ag.require(Y.shape[0] == C * BM, "a tile of positions for each expert of a tile")
    ring = ag.ring(STAGES, a=H.dtype.tile(BM, BK), b=W.dtype.tile(BN, BK))
    out = (ag.shared(Y.dtype, (BM, BC)), ag.shared(Y.dtype, (BM, BC)))

    with ag.role("load", warps=1, registers=24):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, BN), group=GROUP):
            e = Expert[t]
            if e >= 0:
                for k in ag.range(0, K, BK):
                    with ring.fill() as slot:
                        slot.a.load(H[t * BM :, k:])
                        slot.b.load(W[ag.min(e, E - 1), bn * BN :, k:])

    with ag.role("math", warpgroups=WARPGROUPS, registers=REGISTERS):
        for t, bn in ag.persistent_tiles(C, ag.cdiv(N, BN), group=GROUP):
            e = Expert[t]
            if e >= 0:
                acc = product_of_slots(ring, ag.cdiv(K, BK))
                for j in ag.static_range(BN // BC):
                    part = acc[:, j * BC : (j + 1) * BC].to(Y.dtype)
                    out[j % 2].store(part)
                    ag.tma_store(Y[t * BM :, bn * BN + j * BC :], out[j % 2])


@ag.reference
def moe_down_reference(H, W, Y, Expert, BM):
    """Each position by itself."""
    import numpy as np

    e = np.repeat(Expert, BM)
    used = e >= 0
    own = np.where(used, np.minimum(e, W.shape[0] - 1), 0)
    return np.where(used[:, None], np.einsum("pk,pnk->pn", H, W[own]), Y)


@ag.kernel
def moe_sum(
    Y: ag.half["P D"],
    Position: i32["T TOP"],
    Weights: f32["T TOP"],
    Out: ag.half["T D"],
    Residual: ag.half["T D"] | None = None,
    *,
    TOP: int = 2,
    BT: int = 4,
    BD: int = 512,
    WARPS: int = 4,
):
    """Out[t, d]: the sum over j of Weights[t, j] * Y[Position[t, j], d], in order of j.

    In f32, with ``Residual[t, d]`` as the first where it is given.
    """
    T, D = Out.shape
    ag.require(Y.shape[0] > 0, "a row of Y is there")
    ag.launch(warps=WARPS)
    i, n = ag.block(ag.cdiv(T, BT), ag.cdiv(D, BD))
    if Residual is not None:
        total = ag.load(Residual[i * BT :, n * BD :], (BT, BD)).to(f32)
    else:
        total = ag.zeros((BT, BD), f32, dims="T D")
    for j in ag.static_range(TOP):
        rows = ag.load(Position[i * BT :, j], (BT,), fill=-1)
        weight = ag.load(Weights[i * BT :, j], (BT,))
        part = ag.load(Y[rows, n * BD :], (BT, BD)).to(f32)
        total = total + ag.rename(part, "T D") * weight
    Out[i * BT :, n * BD :] = total.to(Out.dtype)


@ag.reference
def moe_sum_reference(Y, Position, Weights, TOP, Residual=None):
    """Rows of positions that are there, weighted."""
    import numpy as np

    P = Y.shape[0]
    total = 0 if Residual is None else Residual
    for j in range(TOP):
        p = Position[:, j]
        there = (p >= 0) & (p < P)
        row = np.where(there[:, None], Y[np.where(there, p, 0)], 0)
        total = total + row * Weights[:, j][:, None]
    return total
