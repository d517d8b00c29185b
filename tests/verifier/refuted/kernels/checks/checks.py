"""Tags and assertions of authors, and facts that contradict each other."""

# facts 1

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def interleaved(
    A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, T: int = 64, BK: int = 32
):
    """Even and odd columns of both operands belong together."""
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    ag.tag(A, lambda m, k: {"odd": k % 2, "group": k // 8})
    # or AG0314 (wrong tag):
    #   ag.tag(A, lambda m, k: {"odd": (k + 1) % 2, "group": k // 8})
    # or AG0314 (wrong tag): ag.tag(A, lambda m, k: {"odd": k % 2, "group": k // 4})
    ag.tag(B, lambda n, k: {"odd": k % 2, "group": k // 8})
    # or AG0314 (wrong tag): ag.tag(B, lambda n, k: {"odd": n % 2, "group": k // 8})
    bm, bn = ag.block(ag.cdiv(M, T), ag.cdiv(N, T))
    acc = ag.zeros((T, T), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * T :, k:], (T, BK))
        b = ag.load(B[bn * T :, k:], (T, BK))
        # or AG0314 (off-by-one element): b = ag.load(B[bn * T :, k + 1 :], (T, BK))
        # or AG0314 (off-by-one tile): b = ag.load(B[bn * T :, k + BK :], (T, BK))
        ag.check(lambda x, y: x.odd == y.odd, a, b)  # shows AG0314
        # or AG0314 (false assertion): ag.check(lambda x, y: x.odd != y.odd, a, b)
        ag.check(lambda x, y: x.group == y.group, a, b)  # shows AG0314
        # or AG0314 (false assertion): ag.check(lambda x, y: x.group < y.group, a, b)
        ag.check(lambda x: (x.K < K) & (x.M < M), a)
        # or AG0314 (false assertion): ag.check(lambda x: x.K < K - 1, a)
        # or AG0314 (false assertion): ag.check(lambda x: x.M > 0, a)
        # or AG0314 (false assertion): ag.check(lambda x: x.M == x.K, a)
        acc = ag.dot(a, b.T, acc)
    C[bm * T :, bn * T :] = acc.to(bf16)


@ag.kernel
def heads(Q: bf16["H S"], K: bf16["G S"], Y: f32["H S"], *, BN: int = 128):
    """Which key head a query head meets."""
    H, S = Q.shape
    G = K.shape[0]
    ag.require(H % G == 0, "query heads share key heads in equal groups")
    h, j = ag.block(H, ag.cdiv(S, BN))
    g = h // (H // G)
    # or AG0314 (GQA head map off): g = h % G
    # or AG0314 (GQA head map off): g = 0
    # or AG0314 (GQA head map off): g = G - 1 - h // (H // G)
    q = ag.load(Q[h, j * BN :], (BN,)).to(f32)
    k = ag.load(K[g, j * BN :], (BN,)).to(f32)
    ag.check(lambda x, y: y.G == x.H // (H // G), q, k)  # shows AG0314
    Y[h, j * BN :] = q * k


@ag.kernel
def parity(V: f32["T D"], Y: f32["T D"], *, BD: int = 64):
    """A component that survives a trip through registers."""
    T, D = V.shape
    ag.tag(V, lambda t, d: {"parity": d % 2})
    t, j = ag.block(T, ag.cdiv(D, BD))
    v = ag.load(V[t, j * BD :], (BD,))
    w = v * 2.0
    ag.check(lambda x, y: x.parity == y.parity, v, w)
    # or AG0314 (false assertion): ag.check(lambda x, y: x.parity + y.parity == 1, v, w)
    ag.check(lambda x: x.parity < 2, w)
    # or AG0314 (false assertion): ag.check(lambda x: x.parity == 0, w)
    Y[t, j * BD :] = w


@ag.kernel
# shows AG0318
def contradicting(X: f32["M N"], Y: f32["M N"], *, BN: int = 128):
    """What is required can be met."""
    M, N = X.shape
    ag.require(N > 8, "a row is longer than that")
    # or AG0318 (contradicting assumptions):
    #   ag.require((N > 8) & (N < 4), "a row is longer than that")
    m, j = ag.block(M, ag.cdiv(N, BN))
    Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,))


@ag.kernel
def reinterpreted(X: bf16["M N"], Y: bf16["M N"]):
    """Accumulator registers are those of an A operand."""
    M, N = X.shape
    ag.launch(warps=4)
    ag.require(N == 64, "one tile wide")
    i = ag.block(ag.cdiv(M, 64))
    x = ag.load(X[i * 64 :, 0:], (64, 64), layout=ag.layouts.wgmma_accumulator(64, 64))
    y = ag.reinterpret(x, ag.layouts.wgmma_a_operand(64, 64))
    # or AG0316 (wrong N layout of a fragment):
    #   y = ag.reinterpret(x, ag.layouts.blocked((64, 64), 128))
    # or AG0316 (wrong N layout of a fragment):
    #   y = ag.reinterpret(x, ag.layouts.blocked((64, 64), 128, 2))
    Y[i * 64 :, 0:64] = y
    # or AG0305 (off-by-one element): Y[i * 64 + 1 :, 0:64] = y


@ag.kernel
def through_table(T: i32["C"], X: f32["R N"], Y: f32["C N"], *, BN: int = 64):
    """A row of X for each entry of a table."""
    C, N = Y.shape
    R = X.shape[0]
    ag.assume(lambda t: (t >= 0) & (t < R), T)
    c, j = ag.block(C, ag.cdiv(N, BN))
    r = T[c]
    # or AG0312 (table index): r = T[c + 1]
    # or AG0312 (table index): r = T[c * 2]
    Y[c, j * BN :] = ag.load(X[r, j * BN :], (BN,))
    # or AG0305 (off-by-one tile): Y[c, j * BN :] = ag.load(X[r, (j + 1) * BN :], (BN,))
