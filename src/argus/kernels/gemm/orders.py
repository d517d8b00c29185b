"""Matrix products of factors in any order, and batches of products.

`gemm_sm90` takes factors that lie along K. Here A may lie along M, and B along N: TMA
brings tiles as they lie, and the tensor cores read them turned. `turned_rows` makes
rows that lie along K, where TMA cannot address others, or where a product is better
done in parts. Of a batch all matrices are as large.
"""

import argus as ag
from argus.kernels.gemm.kernel import finish, multiplied, plain


@ag.inline
def straight(slot, acc):
    """The product of a slot whose tiles lie along K."""
    return ag.dot(slot.a, slot.b.T, acc)


@ag.inline
def left_turned(slot, acc):
    """The same, of which the left tile lies along its rows."""
    return ag.dot(slot.a.T, slot.b.T, acc)


@ag.inline
def right_turned(slot, acc):
    """The same of the right one."""
    return ag.dot(slot.a, slot.b, acc)


@ag.inline
def both_turned(slot, acc):
    """The same of both."""
    return ag.dot(slot.a.T, slot.b, acc)


@ag.inline
def leave(acc, C, Bias, Residual, m, n, out, BC, TMA_STORE, ACTIVATION):
    """Finish a tile of C, BC columns at a time, which leave through shared memory."""
    for c in ag.static_range(acc.shape[1] // BC):
        at = n + c * BC
        part = acc[:, c * BC : (c + 1) * BC]
        part = finish(part, Bias, Residual, m, at, ACTIVATION).to(C.dtype)
        out[c % 2].store(part)
        if TMA_STORE:
            ag.tma_store(C[m:, at:], out[c % 2])
        else:
            C[m:, at:] = out[c % 2].load().rename("M N")


@ag.kernel
def gemm_orders(
    C: ag.half["M N"],
    A: ag.half["M K"] | None = None,
    TurnedA: ag.half["K M"] | None = None,
    B: ag.half["N K"] | None = None,
    TurnedB: ag.half["K N"] | None = None,
    Bias: ag.float["N"] | None = None,
    Residual: ag.half["M N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 256,
    BK: int = 64,
    STAGES: int = 4,
    GROUP: int = 16,
    CLUSTER: int = 2,
    WARPGROUPS: int = 2,
    BC: int = 64,
    TMA_STORE: bool = True,
    REGISTERS: int = 240,
    ACTIVATION: ag.Inline = plain,
):
    """C[m, n] = epilogue(sum over k of A[m, k] * B[n, k]); see `gemm_sm90`.

    Each factor is given once, as it lies.
    """
    assert (A is None) != (TurnedA is None), "one of A and TurnedA is given"
    assert (B is None) != (TurnedB is None), "one of B and TurnedB is given"
    M, N, K = ag.dim("M"), ag.dim("N"), ag.dim("K")
    ag.require(K > 0, "the first step of K is taken before the loop")
    ag.cluster(CLUSTER)
    T = C.dtype
    left = T.tile(BM, BK) if TurnedA is None else T.tile(BK, BM)
    right = T.tile(BN, BK) if TurnedB is None else T.tile(BK, BN)
    ring = ag.ring(STAGES, a=left, b=right)
    out = (ag.shared(T, (BM, BC)), ag.shared(T, (BM, BC)))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)
    if TurnedA is None:
        PRODUCT = straight if TurnedB is None else right_turned
    else:
        PRODUCT = left_turned if TurnedB is None else both_turned

    with ag.role("load", warps=1, registers=LOAD):
        for i, j in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    if TurnedA is None:
                        slot.a.load(A[i * BM :, k:])
                    else:
                        slot.a.load(TurnedA[k:, i * BM :])
                    if TurnedB is None:
                        slot.b.load(B[j * BN :, k:], multicast=CLUSTER)
                    else:
                        slot.b.load(TurnedB[k:, j * BN :], multicast=CLUSTER)

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        for i, j in ag.persistent_tiles(ag.cdiv(M, BM), ag.cdiv(N, BN), group=GROUP):
            acc = multiplied(ring, ag.cdiv(K, BK), PRODUCT).rename("M N")
            m, n = i * BM, j * BN
            leave(acc, C, Bias, Residual, m, n, out, BC, TMA_STORE, ACTIVATION)


@ag.reference
def gemm_orders_reference(A, TurnedA, B, TurnedB, Bias, Residual):
    """Without an activation."""
    a = TurnedA.T if A is None else A
    b = TurnedB if B is None else B.T
    x = a @ b
    x = x if Bias is None else x + Bias
    return x if Residual is None else x + Residual


@ag.kernel
def batched_orders(
    C: ag.half["P M N"],
    A: ag.half["P M K"] | None = None,
    TurnedA: ag.half["P K M"] | None = None,
    B: ag.half["P N K"] | None = None,
    TurnedB: ag.half["P K N"] | None = None,
    *,
    BM: int = 128,
    BN: int = 128,
    BK: int = 64,
    STAGES: int = 4,
    WARPGROUPS: int = 2,
    BC: int = 64,
    TMA_STORE: bool = True,
    REGISTERS: int = 240,
):
    """C[p, m, n] = sum over k of A[p, m, k] * B[p, n, k], as `gemm_orders`."""
    assert (A is None) != (TurnedA is None), "one of A and TurnedA is given"
    assert (B is None) != (TurnedB is None), "one of B and TurnedB is given"
    P, M, N, K = C.shape[0], ag.dim("M"), ag.dim("N"), ag.dim("K")
    ag.require(K > 0, "the first step of K is taken before the loop")
    T = C.dtype
    left = T.tile(BM, BK) if TurnedA is None else T.tile(BK, BM)
    right = T.tile(BN, BK) if TurnedB is None else T.tile(BK, BN)
    ring = ag.ring(STAGES, a=left, b=right)
    out = (ag.shared(T, (BM, BC)), ag.shared(T, (BM, BC)))
    LOAD, MATH = (24, REGISTERS) if REGISTERS else (None, None)
    if TurnedA is None:
        PRODUCT = straight if TurnedB is None else right_turned
    else:
        PRODUCT = left_turned if TurnedB is None else both_turned

    with ag.role("load", warps=1, registers=LOAD):
        for p, i, j in ag.persistent(P, ag.cdiv(M, BM), ag.cdiv(N, BN)):
            for k in ag.range(0, K, BK):
                with ring.fill() as slot:
                    if TurnedA is None:
                        slot.a.load(A[p, i * BM :, k:])
                    else:
                        slot.a.load(TurnedA[p, k:, i * BM :])
                    if TurnedB is None:
                        slot.b.load(B[p, j * BN :, k:])
                    else:
                        slot.b.load(TurnedB[p, k:, j * BN :])

    with ag.role("math", warpgroups=WARPGROUPS, registers=MATH):
        for p, i, j in ag.persistent(P, ag.cdiv(M, BM), ag.cdiv(N, BN)):
            acc = multiplied(ring, ag.cdiv(K, BK), PRODUCT)
            for c in ag.static_range(BN // BC):
                m, n = i * BM, j * BN + c * BC
                out[c % 2].store(acc[:, c * BC : (c + 1) * BC].to(T))
                if TMA_STORE:
                    ag.tma_store(C[p, m:, n:], out[c % 2])
                else:
                    C[p, m:, n:] = out[c % 2].load().rename("M N")


@ag.reference
def batched_orders_reference(A, TurnedA, B, TurnedB):
    """Each product by itself."""
    a = TurnedA.swapaxes(1, 2) if A is None else A
    b = TurnedB if B is None else B.swapaxes(1, 2)
    return a @ b


@ag.kernel
def turned_rows(
    X: ag.half["K M"],
    Y: ag.half["M K"],
    *,
    BM: int = 64,
    BK: int = 64,
    WARPS: int = 4,
):
    """Y[m, k] = X[k, m], through shared memory, so that neighbours write neighbours."""
    K, M = X.shape
    ag.launch(warps=WARPS)
    bm, bk = ag.block(ag.cdiv(M, BM), ag.cdiv(K, BK))
    tile = ag.shared(X.dtype, (BK, BM))
    tile.store(ag.load(X[bk * BK :, bm * BM :], (BK, BM)))
    Y[bm * BM :, bk * BK :] = tile.T.load()


@ag.reference
def turned_rows_reference(X):
    """The same, turned."""
    return X.T
