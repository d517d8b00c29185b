"""Functions of numpy that are others together, and their wrong neighbours."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

TEXT = """@ag.kernel
def k(X: f32["N"], Z: f32["N"], T: i32["N"], Y: {0}["N"], *, B=128):
    N = X.shape[0]
    ag.require(N >= 3, "neighbours")
    ag.assume(lambda t: (t >= 0) & (t < 2), T)
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    z = ag.load(Z[i * B :], (B,))
    t = ag.load(T[i * B :], (B,))
    n = ag.index(x, "N") + i * B
    Y[i * B :] = {1}


@ag.reference
def reference(X, Z, T):
    return {2}
"""
CASES: list[tuple[str, tuple[str, ...], str, str]] = [
    (
        "ag.where(x < 0.0, 0.0, ag.where(x > 0.0, 1.0, z))",
        (
            "ag.where(x < 0.0, 0.0, ag.where(x >= 0.0, 1.0, z))",
            "ag.where(x < 0.0, z, ag.where(x > 0.0, 1.0, z))",
        ),
        "np.heaviside(X, Z)",
        "f32",
    ),
    (
        "ag.where(z < 0.0, -ag.abs(x), ag.abs(x))",
        ("ag.where(z < 0.0, -x, x)", "ag.where(x < 0.0, -ag.abs(z), ag.abs(z))"),
        "np.copysign(X, Z)",
        "f32",
    ),
    (
        "ag.round(x * 100.0) / 100.0",
        ("ag.floor(x * 100.0) / 100.0", "ag.round(x * 10.0) / 10.0", "x"),
        "np.round(X, 2)",
        "f32",
    ),
    (
        "ag.where(x > 0.5, 2, ag.where(x > 0.25, 1, 0))",
        (
            "ag.where(x >= 0.5, 2, ag.where(x > 0.25, 1, 0))",
            "ag.where(x > 0.25, 2, ag.where(x > 0.5, 1, 0))",
        ),
        "np.searchsorted([0.25, 0.5], X)",
        "i32",
    ),
    (
        "ag.where(x < 0.0, 1.0, ag.where(x < 2.0, 1.0 + x, 3.0))",
        (
            "ag.where(x < 0.0, 1.0, ag.where(x < 2.0, 1.0 + x * 2.0, 3.0))",
            "ag.where(x < 2.0, 1.0 + x, 3.0)",
        ),
        "np.interp(X, [0.0, 2.0], [1.0, 3.0])",
        "f32",
    ),
    (
        "ag.where(t == 0, x, z)",
        ("ag.where(t == 1, x, z)", "x"),
        "np.choose(T, [X, Z])",
        "f32",
    ),
    (
        "ag.where(n == 0, ag.load(X[ag.minimum(n + 1, N - 1)]) - x, "
        "ag.where(n == N - 1, x - ag.load(X[ag.maximum(n - 1, 0)]), "
        "0.5 * (ag.load(X[ag.minimum(n + 1, N - 1)]) "
        "- ag.load(X[ag.maximum(n - 1, 0)]))))",
        (
            "0.5 * (ag.load(X[ag.minimum(n + 1, N - 1)]) - "
            "ag.load(X[ag.maximum(n - 1, 0)]))",
            "ag.load(X[ag.minimum(n + 1, N - 1)]) - x",
        ),
        "np.gradient(X)",
        "f32",
    ),
    (
        "ag.where(x > z, x * 2.0, z)",
        ("ag.where(x > z, x, z)", "ag.where(x < z, x * 2.0, z)"),
        "np.vectorize(lambda v, w: v * 2 if v > w else w)(X, Z)",
        "f32",
    ),
    (
        "ag.maximum(x, z) + ag.log1p(ag.exp(-ag.abs(x - z)))",
        (
            "ag.minimum(x, z) + ag.log1p(ag.exp(-ag.abs(x - z)))",
            "ag.maximum(x, z) + ag.log1p(ag.exp(ag.abs(x - z)))",
        ),
        "np.logaddexp(X, Z)",
        "f32",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[2])
def test_a_function_is_what_it_is_of_others(
    case: tuple[str, tuple[str, ...], str, str],
) -> None:
    right, wrong, says, dtype = case
    made = decided_text(TEXT.format(dtype, right, says))
    assert made.equal, made
    for text in wrong:
        assert not decided_text(TEXT.format(dtype, text, says)).equal, text


HIDING = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], *, B=128):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    x = ag.load(X[i * B :], (B,))
    Y[i * B :] = ag.where(N > 100000000, 0.0, x)


@ag.reference
def reference(X):
    try:
        np.unique(X)
    except {}:
        return X if len(X) <= 100000000 else X * 0
    return X
"""


@pytest.mark.parametrize("kinds", ["Exception", "(ValueError, BaseException)"])
def test_what_is_not_traced_is_no_exception_of_the_reference(kinds: str) -> None:
    made = decided_text(HIDING.format(kinds))
    assert not made.equal
    assert "exceptions of any kind" in str(made)
