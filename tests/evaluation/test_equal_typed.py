"""Witnesses that only a kernel's own types show: digits that cancel, small numbers."""

from __future__ import annotations

import pytest

from evaluation.searching import tried

ALONE = """@ag.kernel
def k(X: f32["P"], Y: f32["P"], *, B: int = 64):
    i = ag.block(ag.cdiv(X.shape[0], B))
    x = ag.load(X[i * B :], (B,)) * 1e-7
    Y[i * B :] = MADE * 1e7


@ag.reference
def ref(X):
    return 1e7 * np.expm1(1e-7 * X)
"""
ROWS = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 256):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0), "a row")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, BN)) * SMALL
    Y[i * 4 :] = ag.sqrt(ag.sum(x * x, "N")) / SMALL


@ag.reference
def ref(X):
    return np.sqrt((X * X).sum(1))
"""
HALVES = """@ag.kernel
def k(X: f16["M N"], Y: f16["M N"], *, BN: int = 256):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0), "a row")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, BN)).to(TYPE)
    s = ag.sum(ag.abs(x), "N").to(TYPE) + 1e-8
    Y[i * 4 :, 0:] = (x / s).to(f16)


@ag.reference
def ref(X):
    return X / (np.abs(X).sum(1, keepdims=True) + 1e-8)
"""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (ALONE.replace("MADE", "ag.expm1(x)"), False),
        (ALONE.replace("MADE", "(ag.exp(x) - 1.0)"), True),
        (ROWS.replace("SMALL", "1e-3"), False),
        (ROWS.replace("SMALL", "1e-25"), True),
        (HALVES.replace("TYPE", "f32"), False),
        (HALVES.replace("TYPE", "f16"), True),
    ],
)
def test_what_is_lost_in_the_types_of_the_kernel(text: str, wrong: bool) -> None:
    found = tried(text)
    assert (found.witness is not None) is wrong
    assert wrong or found.runs > found.differed


COUNTS = """@ag.kernel
def k(X: f32["M N"], Y: i32["M"], *, BN: int = 64):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    c = ag.full((4, BN), 0, TYPE, dims="M N")
    for n in ag.range(0, N, BN):
        c = c + (ag.load(X[i * 4 :, n:], (4, BN)) > 0.0).to(TYPE)
    Y[i * 4 :] = ag.sum(c.to(i32), "N")


@ag.reference
def ref(X):
    return (X > 0).sum(1)
"""


@pytest.mark.parametrize(("dtype", "wrong"), [("i32", False), ("i8", True)])
def test_counts_of_more_than_eight_bits(dtype: str, wrong: bool) -> None:
    found = tried(COUNTS.replace("TYPE", dtype))
    assert (found.witness is not None) is wrong


MASKED = """@ag.kernel
def k(S: f32["M N"], A: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = S.shape
    ag.require((N <= BN) & (N > 0), "a row")
    i = ag.block(ag.cdiv(M, 4))
    s = ag.load(S[i * 4 :, 0:], (4, BN), fill=-ag.inf) * 200.0
    a = ag.load(A[i * 4 :, 0:], (4, BN))
    s = s + ADDED
    e = ag.exp(s - MOST)
    Y[i * 4 :, 0:] = e / ag.sum(e, "N")


@ag.reference
def ref(S, A):
    s = S * 200.0 + WANTED
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
"""
LARGE = "(1.0 - {}) * -3.3895313892515355e38"


@pytest.mark.parametrize(
    ("added", "most", "wanted", "wrong"),
    [
        (LARGE.format("a"), 'ag.max(s, "N")', LARGE.format("A"), False),
        (LARGE.format("(1.0 - a)"), 'ag.max(s, "N")', LARGE.format("A"), True),
        ("a", "0.0", "A", True),
    ],
)
def test_what_leaves_f32_in_the_reference_too(
    added: str, most: str, wanted: str, wrong: bool
) -> None:
    """A mask that holds other numbers than 0 and 1 is infinite in both."""
    text = MASKED.replace("ADDED", added).replace("MOST", most)
    found = tried(text.replace("WANTED", wanted))
    assert (found.witness is not None) is wrong
