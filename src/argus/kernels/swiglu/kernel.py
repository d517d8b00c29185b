"""Two products of the same rows, of which one gates the other.

H[m, n] = ACTIVATION(sum over k of A[m, k] * Gate[n, k]) * (sum over k of A[m, k] *
Up[n, k]), SwiGLU with `silu` (Shazeer 2020, "GLU Variants Improve Transformer"). A tile
of Gate and one of Up lie one below the other in shared memory, as one factor: both sums
are one accumulator, each row of which one thread has of both, and only H is written.
The same for tokens of experts stands in `kernels/moe`.
"""

import argus as ag


@ag.inline
def product_of_slots(ring, steps):
    """The sum of products of `a` and `b` of steps > 0 slots, one always in flight."""
    slot = ring.wait()
    acc = ag.dot(slot.a, slot.b.T)
    for _ in ag.range(1, steps):
        ahead = ring.wait()
        acc = ag.dot(ahead.a, ahead.b.T, acc)
        slot.release()
        slot = ahead
    slot.release()
    return acc


@ag.kernel
def swiglu_sm90(
    A: ag.half["M K"],
    Gate: ag.half["N K"],
    Up: ag.half["N K"],
    H: ag.half["M N"],
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 16,
    CLUSTER: int = 1,
    WARPGROUPS: int = 2,
    BC: int = 64,
    REGISTERS: int = 240,
    ACTIVATION: ag.Inline = ag.silu,
):
    """Persistent form with roles; a cluster shares tiles of Gate and Up."""
    M, K = A.shape
    N = Gate.shape[0]
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.cluster(CLUSTER)
    ring = ag.ring(STAGES, a=A.dtype.tile(BM, BK), b=Gate.dtype.tile(2 * BN, BK))
    out = (ag.shared(H.dtype, (BM, BC)), ag.shared(H.dtype, (BM, BC)))

    with ag.role("load", warps=1, registers=24):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    slot.a.load(A[bm * BM :, k:])
                    slot.b[0:BN, :].load(Gate[bn * BN :, k:], multicast=CLUSTER)
                    slot.b[BN : 2 * BN, :].load(Up[bn * BN :, k:], multicast=CLUSTER)

    with ag.role("math", warpgroups=WARPGROUPS, registers=REGISTERS):
        for bm, bn in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            acc = product_of_slots(ring, ag.cdiv(K, BK))
            for j in ag.static_range(BN // BC):
                gate = ACTIVATION(acc[:, j * BC : (j + 1) * BC])
                part = gate * acc[:, BN + j * BC : BN + (j + 1) * BC]
                out[j % 2].store(part.to(H.dtype))
                ag.tma_store(H[bm * BM :, bn * BN + j * BC :], out[j % 2])


@ag.reference
def swiglu_sm90_reference(A, Gate, Up):
    """SwiGLU, as by default."""
    import numpy as np

    gate = A @ Gate.T
    return gate / (1 + np.exp(-gate)) * (A @ Up.T)
