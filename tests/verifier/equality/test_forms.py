"""Ordinary kernels that are equal to their reference, and changes of them that are not.

Each change is of one place. What is right has to be equal, so that a wrong form is told
apart and not just not decided.
"""

from __future__ import annotations

import pytest

from few import rest
from verifier.equality.attacking import decided_text

GATHER_ROWS_WEIGHTED = """
@ag.kernel
def k(
    T: f32["V D"], I: i32["P E"], G: f32["P E"], Y: f32["P D"],
    *, E: int = 2, BD: int = 64
):
    V, D = T.shape
    P = I.shape[0]
    p, j = ag.block(P, ag.cdiv(D, BD))
    acc = ag.zeros((BD,), f32, dims="D")
    for e in ag.static_range(E):
        acc = acc + ag.load(T[I[p, e], j * BD :], (BD,)) * G[p, e]
    Y[p, j * BD :] = acc

@ag.reference
def ref(T, I, G):
    return (T[I] * G[..., None]).sum(1)
"""
SPLIT_SUM_ATOMIC = """
@ag.kernel
def k(A: f16["M K"], B: f16["N K"], C: f32["M N"], *, SPLIT: int = 3):
    M, K = A.shape
    N = B.shape[0]
    i, j, z = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64), SPLIT)
    steps = ag.cdiv(ag.cdiv(K, 64), SPLIT)
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(z * steps * 64, ag.min((z + 1) * steps * 64, K), 64):
        a = ag.load(A[i * 64 :, k:], (64, 64))
        b = ag.load(B[j * 64 :, k:], (64, 64))
        acc = ag.dot(a, b.T, acc)
    ag.atomic_add(C[i * 64 :, j * 64 :], acc)

@ag.reference
def ref(A, B):
    return A @ B.T
"""
COUNT_NONZERO = """
@ag.kernel
def k(X: f32["M N"], Y: i32["M"], *, BM: int = 4, BN: int = 64):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, BM))
    c = ag.zeros((BM,), i32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN))
        c = c + ag.sum((x > 0.5).to(i32), "N")
    Y[i * BM :] = c

@ag.reference
def ref(X):
    return (X > 0.5).sum(1)
"""
TOP_MIN_MAX = """
@ag.kernel
def k(X: f32["M N"], Lo: f32["M"], Hi: f32["M"], *, BM: int = 4, BN: int = 64):
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, BM))
    lo = ag.full((BM,), ag.inf, f32, dims="M")
    hi = ag.full((BM,), -ag.inf, f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * BM :, n:], (BM, BN), fill=ag.inf)
        lo = ag.minimum(lo, ag.min(x, "N"))
        y = ag.load(X[i * BM :, n:], (BM, BN), fill=-ag.inf)
        hi = ag.maximum(hi, ag.max(y, "N"))
    Lo[i * BM :] = lo
    Hi[i * BM :] = hi

@ag.reference
def ref(X):
    return {"Lo": X.min(1), "Hi": X.max(1)}
"""
CSR_SPMV = """
@ag.kernel
def k(
    Val: f32["Z"], Col: i32["Z"], Ptr: i32["R"], X: f32["C"], Y: f32["M"],
    *, BZ: int = 64
):
    Z = Val.shape[0]
    M = Y.shape[0]
    ag.require(Ptr.shape[0] == M + 1, "row pointers")
    ag.assume(lambda p: (p >= 0) & (p <= Z), Ptr)
    m = ag.block(M)
    f, l = Ptr[m], Ptr[m + 1]
    acc = ag.zeros((1,), f32, dims="M")
    for z in ag.range(f, l, BZ):
        v = ag.load(Val[z:l], (BZ,))
        c = ag.load(Col[z:l], (BZ,), fill=-1)
        acc = acc + ag.sum(v * ag.load(X[c], (BZ,)).rename("Z"), "Z")
    Y[m : m + 1] = acc

@ag.reference
def ref(Val, Col, Ptr, X):
    M = len(Ptr) - 1
    ends = [(Ptr[m], Ptr[m + 1]) for m in range(M)]
    return np.stack([(Val[f:l] * X[Col[f:l]]).sum() for f, l in ends])
"""
PREFIX_SCAN_LONG = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 128):
    M, N = X.shape
    m = ag.block(M)
    carry = ag.zeros((1,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[m : m + 1, n:], (1, BN))
        Y[m : m + 1, n:] = ag.cumsum(x, "N") + carry
        carry = carry + ag.sum(x, "N")

@ag.reference
def ref(X):
    return np.cumsum(X, 1)
"""
GROUP_DEQUANT_INT4 = """
@ag.kernel
def k(W: u8["N H"], S: f32["N G"], Y: f32["N H 2"], *, BH: int = 32):
    N, H = W.shape
    ag.require(H == 32 * S.shape[1], "groups of 64 numbers")
    n, g = ag.block(N, S.shape[1])
    w = ag.load(W[n, g * 32 :], (BH,)).to(i32)
    s = S[n, g]
    Y[n, g * 32 :, 0] = (w % 16 - 8).to(f32) * s
    Y[n, g * 32 :, 1] = (w // 16 - 8).to(f32) * s

@ag.reference
def ref(W, S):
    s = np.repeat(S, 32, 1)
    w = W.astype(np.int64)
    return np.stack([(w % 16 - 8) * s, (w // 16 - 8) * s], -1)
"""
TRANSPOSE_SHARED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["N M"]):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, 32), ag.cdiv(N, 32))
    s = ag.shared(f32, (32, 32), dims="M N")
    s.store(ag.load(X[i * 32 :, j * 32 :], (32, 32)))
    ag.sync()
    Y[j * 32 :, i * 32 :] = s.T.load()

@ag.reference
def ref(X):
    return X.T
"""
ARGMAX = """
@ag.kernel
def k(X: f32["M N"], I: i32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0), "a row")
    i = ag.block(ag.cdiv(M, BM))
    I[i * BM :] = ag.argmax(ag.load(X[i * BM :, 0:], (BM, BN), fill=-ag.inf), "N")

@ag.reference
def ref(X):
    return X.argmax(1)
"""
SCALES = """
@ag.kernel
def k(X: f32["M N"], S: f32["M"], *, BN: int = 128):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0), "a row")
    m = ag.block(M)
    x = ag.load(X[m : m + 1, 0:], (1, BN))
    S[m : m + 1] = ag.maximum(ag.max(ag.abs(x), "N"), 1e-6) / 127.0

@ag.reference
def ref(X):
    return np.maximum(np.abs(X).max(1), 1e-6) / 127
"""
WHOLES = """
@ag.kernel
def k(X: f32["N"], Y: f32["N"], *, BN: int = 128):
    N = Y.shape[0]
    i = ag.block(ag.cdiv(N, BN))
    n = ag.index(ag.zeros((BN,), i32, dims="N"), "N") + i * BN
    Y[i * BN :] = ag.load(X[n * 1 // 1], (BN,))

@ag.reference
def ref(X):
    return X
"""
CASES = [
    (
        GATHER_ROWS_WEIGHTED,
        [
            ("G[p, e]", "G[p, 0]"),
            ("T[I[p, e], j", "T[I[p, 1 - e], j"),
        ],
    ),
    *rest(
        (
            SPLIT_SUM_ATOMIC,
            [
                ("z * steps * 64, ag", "z * steps * 64 + 64, ag"),
                ("(z + 1) * steps * 64, K", "(z + 1) * steps * 64 + 64, K"),
                ("cdiv(N, 64), SPLIT)", "cdiv(N, 64), SPLIT - 1)"),
            ],
        )
    ),
    (
        COUNT_NONZERO,
        [
            ("x > 0.5", "x >= 0.5"),
            ("c = ag.zeros((BM,), i32", "c = ag.full((BM,), 1, i32"),
        ],
    ),
    (
        TOP_MIN_MAX,
        [
            ("fill=-ag.inf", "fill=0.0"),
            ("lo = ag.minimum(lo, ag.min", "lo = ag.minimum(lo, -ag.min"),
        ],
    ),
    (
        CSR_SPMV,
        [
            ("Ptr[m + 1]\n", "Ptr[m] + 1\n"),
            ("range(f, l, BZ)", "range(f, l, 2 * BZ)"),
        ],
    ),
    (
        PREFIX_SCAN_LONG,
        [
            (" + carry\n", "\n"),
            ("carry = carry + ag.sum", "carry = ag.sum"),
        ],
    ),
    (
        GROUP_DEQUANT_INT4,
        [
            ("w // 16 - 8", "w // 16 - 7"),
            ("w % 16 - 8", "w % 8 - 8"),
            ("s = S[n, g]", "s = S[n, 0]"),
        ],
    ),
    (
        TRANSPOSE_SHARED,
        [
            ("s.T.load()", 's.load().rename("N M")'),
        ],
    ),
    (ARGMAX, [("fill=-ag.inf", "fill=0.0"), ("ag.argmax", "ag.argmin")]),
    (SCALES, [("ag.abs(x)", "x"), ("1e-6", "-1e-6")]),
    # A whole number that leaves 32 bits wraps.
    (WHOLES, [("n * 1 // 1", "n * 100003 // 100003")]),
]


@pytest.mark.parametrize(("text", "changes"), CASES)
def test_forms(text: str, changes: list[tuple[str, str]]) -> None:
    right = decided_text(text)
    assert right.equal, right.reason
    for old, new in changes:
        assert old in text
        found = decided_text(text.replace(old, new, 1))
        assert not found.equal, new
        assert found.reason
