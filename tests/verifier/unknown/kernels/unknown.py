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


@ag.kernel
def halves(X: bf16["M W"], Y: bf16["M N"], *, BM: int = 4, BN: int = 128):
    """silu of the first half of a row times the second half, without names."""
    M, N = Y.shape
    ag.require(ag.dim("W") == 2 * N, "two halves")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    gate = ag.load(X[i * BM :, j * BN : N], (BM, BN)).to(f32).rename("M _")
    up = ag.load(X[i * BM :, N + j * BN :], (BM, BN)).to(f32).rename("M _")
    y = ag.silu(gate) * up  # unknown AG0303: a view gives them coordinates
    Y[i * BM :, j * BN :] = y.to(bf16)


@ag.kernel
def average(X: f32["M N"], Y: f32["M"], decay: f32, *, BN: int = 64):
    """Later columns count more: a sum that is multiplied in each iteration."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BN))
    y = ag.zeros((BN,), f32, dims="M")
    for n in ag.range(0, N):
        y = y * decay + ag.load(X[i * BN :, n], (BN,))
    Y[i * BN :] = y  # unknown AG0308: multiplied in each iteration


@ag.kernel
def continued(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    """Running sums of rows of any length."""
    M, N = X.shape
    m = ag.block(M)
    before = ag.zeros((1,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[m : m + 1, n:], (1, BN))
        Y[m : m + 1, n:] = ag.cumsum(x, "N") + before  # unknown AG0308: is continued
        before = before + ag.sum(x, "N")


@ag.kernel
def means(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    """A running mean: the part of a sum is divided in each iteration."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BN))
    y = ag.zeros((BN,), f32, dims="M")
    for n in ag.range(0, N):
        y = y + (ag.load(X[i * BN :, n], (BN,)) - y) / (n + 1)
    Y[i * BN :] = y  # unknown AG0308: in each iteration


@ag.kernel
def handed_on(X: f32["M N"], Next: i32["M"], Y: f32["M N"], *, BN: int = 64):
    """A row that a table leads to, from entry to entry."""
    M, N = X.shape
    ag.assume(lambda row: (row >= 0) & (row < M), Next)
    m = ag.block(M)
    at = 0
    for _ in ag.range(0, m):
        at = Next[at]
    for n in ag.range(0, N, BN):
        Y[m, n:] = ag.load(X[at, n:], (BN,))  # unknown AG0305: in a way that is not


@ag.kernel
def nothing_before(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    """The first tile is a constant: it is stored where an element belongs."""
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    x = ag.zeros((4, BN), f32, dims="M N")
    for n in ag.range(0, N, BN):
        Y[i * 4 :, n:] = x  # unknown AG0305: in the first iteration it is a constant
        x = ag.load(X[i * 4 :, n + BN :], (4, BN))


@ag.kernel
def masked_by_value(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    """Which elements are written depends on what they are."""
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    ag.store(Y[m, j * BN :], x, mask=x > 0.0)  # unknown AG0306: what the mask


@ag.kernel
def half_of_the_rows(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    """Sums of even rows; 0 stands in odd ones."""
    M, N = X.shape
    i = ag.block(M)
    y = ag.zeros((1,), f32, dims="M")
    if i % 2 == 0:
        for n in ag.range(0, N, BN):
            y = y + ag.sum(ag.load(X[i : i + 1, n:], (1, BN)), "N")
    Y[i : i + 1] = y  # unknown AG0308: one branch leaves a constant


@ag.kernel
def places_that_are_sums(I: i32["M N"], Y: i32["P"], *, BM: int = 32):
    """Which element is written is a sum of numbers of a table."""
    M, N = I.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, BM))
    p = ag.sum(ag.load(I[i * BM :, 0:], (BM, 64)), "N")
    row = i * BM + ag.index(p, "M")
    ag.atomic_max(Y[p], row, mask=row < M)  # unknown AG0306: not affine
