"""Kernels that are right, or may be, and that the verifier does not decide.

Behind the line where it gives up: `# unknown CODE: part of the reason`.
"""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def two_branches(X: f32["M N"], Y: f32["M N"], *, BN: int = 128):
    """Every element is written, by one branch or the other."""
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    if m % 2 == 0:
        Y[m, j * BN :] = x  # unknown AG0306: do not reach the store
    else:
        Y[m, j * BN :] = x + 1.0


@ag.kernel
def by_name(X: f32["M N"], Y: f32["M N"], *, T: int = 32):
    """Two roles hand a tile over by named barriers: which write is read is not seen."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, T))
    s = ag.shared(f32, (T, T), dims="M N")
    with ag.role("put", warpgroups=1):
        for j in ag.range(0, N, T):
            ag.sync("free", threads=256)
            s.store(ag.load(X[i * T :, j:], (T, T)))
            ag.arrive("full", threads=256)
    with ag.role("take", warpgroups=1):
        for j in ag.range(0, N, T):
            ag.arrive("free", threads=256)
            ag.sync("full", threads=256)
            Y[i * T :, j:] = s.load()  # unknown AG0390: no write has this fill's number


@ag.kernel
def flipped(X: f32["M N"], Y: f32["M P"], *, BN: int = 128):
    """Each row from its end to its beginning: padding comes first."""
    M, N = X.shape
    ag.require(ag.dim("P") == N, "as many columns")
    m, j = ag.block(M, ag.cdiv(N, BN))
    view = X.view("M P", shape=(M, N), at=lambda m, n: (m, N - 1 - n))
    Y[m, j * BN :] = ag.load(view[m, j * BN :], (BN,))  # unknown AG0310: outside X


@ag.kernel
def rows_of_a_table(
    X: bf16["P N"], Out: i32["P"], Y: bf16["R N"], *, BP: int = 32, BN: int = 64
):
    """Nobody says that the table names each row once."""
    P, N = X.shape
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(N, BN))
    rows = ag.load(Out[i * BP :], (BP,), fill=-1)
    x = ag.load(X[i * BP :, j * BN :], (BP, BN))
    Y[rows, j * BN :] = x  # unknown AG0307: different entries of Out


@ag.kernel
def pairs(X: f32["N"], Y: f32["N"]):
    """Tiles change places two by two: no lemma describes that order."""
    N = X.shape[0]
    i = ag.block(2 * ag.cdiv(N, 64))
    start = (i ^ 1) * 32
    Y[start:] = ag.load(X[start:], (32,))  # unknown AG0306: not linear


@ag.kernel
def data_dependent(X: f32["M N"], Flag: i32["M"], Y: f32["M N"], *, BN: int = 128):
    """A row is written only where a table says so."""
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    if (Flag[m] > 0) & (m % 3 < 2):
        Y[m, j * BN :] = x  # unknown AG0306: do not reach the store
