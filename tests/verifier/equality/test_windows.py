"""Windows as reshapes: a mean over K x K blocks, whose elements are added one by one;
and where the least element of a row is, in 64 bits."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

POOL = """
@ag.kernel
def k(X: f32["H W"], Y: f32["P Q"], *, K: int = {size}, BQ: int = 64):
    H, W = X.shape
    P, Q = Y.shape
    ag.require(H == P * K, "windows")
    ag.require(W == Q * K, "windows")
    p, q = ag.block(P, ag.cdiv(Q, BQ))
    acc = ag.zeros((BQ,), f32, dims="Q")
    for a in ag.static_range({rows}):
        for b in ag.static_range(K):
            x = X.view("Q", shape=(Q,), at=lambda j: ({row}, {column}))
            acc = acc + ag.load(x[q * BQ :], (BQ,))
    Y[p, q * BQ :] = acc / {count}


@ag.reference
def ref(X, P, Q, K):
    return X.reshape(P, K, Q, K).{of}
"""
RIGHT = {
    "size": "2", "rows": "K", "row": "p * K + a", "column": "j * K + b",
    "count": "(K * K)", "of": "mean((1, 3))",
}  # fmt: skip
LEAST = """
@ag.kernel
def k(X: f32["M N"], Y: i64["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N > 0, "a row")
    i = ag.block(ag.cdiv(M, 4))
    best = ag.full((4,), ag.inf, f32, dims="M")
    at = ag.zeros((4,), i64, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=ag.inf)
        m = ag.min(x, "N")
        p = ag.argmin(x, "N").to(i64) + {first}
        at = ag.where({better}, p, at)
        best = ag.minimum(best, m)
    Y[i * 4 :] = at


@ag.reference
def ref(X):
    return X.argmin(1)
"""


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"size": "3"},
        {"row": "p * K + K - 1 - a"},
        {"count": "4", "of": "sum((1, 3)) / K**2"},
        {"count": "1", "of": "sum(3).sum(1)"},
    ],
)
def test_a_window_is_the_sum_of_its_elements(change: dict[str, str]) -> None:
    found = decided_text(POOL.format(**{**RIGHT, **change}))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"row": "p * K + a + 1"},
        {"column": "j * K + b - 1"},
        {"column": "j + b"},
        {"column": "j * K + a"},
        {"row": "p * K + b", "column": "j * K + b"},
        {"rows": "K - 1"},
        {"rows": "K + 1"},
        {"count": "K"},
        {"of": "mean((0, 2))"},
        {"of": "max(3).mean(1)"},
    ],
)
def test_another_window_is_not_equal(change: dict[str, str]) -> None:
    assert not decided_text(POOL.format(**{**RIGHT, **change})).equal


@pytest.mark.parametrize(
    ("better", "first", "equal"),
    [
        ("m < best", "n", True),
        ("m <= best", "n", False),  # the last of several
        ("m > best", "n", False),
        ("m < best", "n + 1", False),
        ("m < best", "0", False),
    ],
)
def test_where_the_least_is(better: str, first: str, equal: bool) -> None:
    assert decided_text(LEAST.format(better=better, first=first)).equal is equal


VIEWED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["N M"]):
    M, N = X.shape
    t = X.view("N M", shape=({rows}, M), at=lambda n, m: (m, n + 1))
    v = t.view("N M", shape=(N, M), at=lambda n, m: ({row}, m))
    i, j = ag.block(ag.cdiv(N, 32), ag.cdiv(M, 32))
    Y[i * 32 :, j * 32 :] = ag.load(v[i * 32 :, j * 32 :], (32, 32))


@ag.reference
def ref(X):
    N = X.shape[1]
    rows = [np.where((n >= 2) & (n < {end}), X[:, n - 1], 0) for n in range(N)]
    return np.stack(rows)
"""


@pytest.mark.parametrize(
    ("rows", "row", "end", "right"),
    [
        ("N", "n - 2", "N", True),
        # A row that the first view does not have is 0, also where X has one.
        ("N - 4", "n - 2", "N - 2", True),
        ("N - 4", "n - 2", "N", False),
        ("N", "n - 1", "N", False),
        ("N", "n - 2", "N - 2", False),
    ],
)
def test_a_view_of_a_view(rows: str, row: str, end: str, right: bool) -> None:
    found = decided_text(VIEWED.format(rows=rows, row=row, end=end))
    assert found.equal == right, found.reason


POWERS = """
@ag.kernel
def k(X: f32["C L"], Y: f32["C T"]):
    C, L = X.shape
    T = Y.shape[1]
    ag.require(L == 2 * T, "pairs")
    c, i = ag.block(C, ag.cdiv(T, 64))
    s = ag.zeros((64,), f32, dims="T")
    for r in ag.static_range(2):
        x = X.view("T", shape=(T,), at=lambda t: (c, 2 * t + r))
        x = ag.load(x[i * 64 :], (64,))
        s = s + {term}
    Y[c, i * 64 :] = {root}


@ag.reference
def ref(X):
    import torch

    return torch.nn.functional.lp_pool1d(X, {order}, 2)
"""
CUBES = {"term": "x * x * x", "root": "ag.exp(ag.log(s) / 3.0)", "order": "3"}
SQUARES = {"term": "x * x", "root": "ag.sqrt(s)", "order": "2"}


@pytest.mark.parametrize("which", [CUBES, SQUARES])
def test_pools_by_powers(which: dict[str, str]) -> None:
    """Of a sum of cubes below 0 there is no root: the reference has none either."""
    found = decided_text(POWERS.format(**which))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("which", "change"),
    [
        (CUBES, {"root": "ag.exp(ag.log(s) / 2.0)"}),
        (CUBES, {"term": "x * x"}),
        (SQUARES, {"root": "s"}),
        (SQUARES, {"root": "ag.sqrt(s / 2.0)"}),
        (SQUARES, {"order": "4"}),
    ],
)
def test_pools_by_other_powers(which: dict[str, str], change: dict[str, str]) -> None:
    assert not decided_text(POWERS.format(**which | change)).equal
