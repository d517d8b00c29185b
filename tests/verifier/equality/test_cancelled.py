"""What cancels needs what it needed: x / s * s is not x where s may be 0."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

TEXT = """
@ag.kernel
def k(X: f32["M"], Z: f32["M"], I: i32["M"], Y: f32["M"], s: f32, n: i32):
    M, = X.shape
    {require}
    m = ag.block(ag.cdiv(M, 64)) * 64
    x = ag.load(X[m:], (64,))
    z = ag.load(Z[m:], (64,))
    i = ag.load(I[m:], (64,))
    Y[m:] = {value}


@ag.reference
def ref(X, Z, I, s, n):
    return {wanted}
"""
POWER = "ag.exp2(1.5 * ag.log2(x))"
"""Of what is 0 beyond the ends of a tensor."""
OPEN = [
    ("x * (s / s)", "X"),
    ("x / s * s", "X"),
    ("x / z * z", "X"),
    ("x * z / z", "X"),
    ("x / s - x / s", "0 * X"),
    ("0.0 * x / z", "0 * X"),
    ("x * 0.0 + 0.0 / z", "0 * X"),
    ("(x / s) * (s / z)", "X / Z"),
    ("x * s / (z * s)", "X / Z"),
    ("x * ((z - 1.0) / z + 1.0 / z)", "X"),
    ("ag.maximum(x / z * z, 0.0)", "np.maximum(X, 0)"),
    ("ag.where(x / z * z > 0.0, x, 0.0)", "np.where(X > 0, X, 0)"),
    ("ag.where(z >= 0.0, x / z * z, x)", "X"),
    ("x * ag.rsqrt(z) * ag.sqrt(z)", "X"),
    ("x * ag.tanh(z) / ag.tanh(z)", "X"),
    ("x + (i // i).to(f32)", "X + 1"),
    ("ag.sqrt(x) * ag.sqrt(x)", "X"),
    ("ag.sqrt(x) * ag.sqrt(z)", "np.sqrt(X * Z)"),
    ("ag.exp(ag.log(x))", "X"),
    ("ag.log(x) - ag.log(x)", "0 * X"),
    ("ag.exp(ag.log(x) - ag.log(z))", "X / Z"),
    ("x + ag.log(x - x) - ag.log(x - x)", "X"),
    ("x + 0.0 * ag.log(x - x)", "X"),
    ("x + ag.exp(-0.5 * ag.log(x - x))", "X"),
    ("x * ag.exp(ag.log(x - x) - ag.log(x - x))", "X"),
    ("ag.where(x + ag.log(x - x) > ag.log(x - x), x, 0.0)", "np.where(X > 0, X, 0)"),
    ("ag.where(ag.log(x - x) == -ag.inf, x, z)", "Z"),
    ("ag.maximum(ag.log(x - x), x)", "X"),
    ("ag.log(x - x)", "np.log(0 * X)"),
    (
        "ag.where(P == -ag.inf, ag.inf, P)".replace("P", POWER),
        "np.exp2(2.5 * np.log2(X))",
    ),
]
EQUAL = [
    ("", "x / s * s", "X / s * s"),
    ("", "x * (1.0 / s)", "X / s"),
    ("", "x / (1.0 / z)", "X * Z"),
    ("", "x * s / (z * s)", "X / Z + 0 * s / s"),
    ("", "ag.where(z != 0.0, x / z * z, x)", "X"),
    ("", "ag.where(z > 0.0, x / z * z, x)", "X"),
    ("", "ag.exp(x) / ag.exp(x)", "0 * X + 1"),
    ("", "ag.maximum(z, 1e-6) / ag.maximum(z, 1e-6)", "0 * X + 1"),
    ("", "ag.sqrt(z * z)", "abs(Z)"),
    ("", "ag.exp2(ag.log2(ag.abs(x)))", "abs(X)"),
    ("", "ag.exp(0.5 * ag.log(x))", "np.sqrt(X)"),
    ("", "ag.sqrt(x) * ag.sqrt(x)", "np.sqrt(X) ** 2"),
    ("", "x + ag.exp(0.5 * ag.log(x - x))", "X"),
    (
        "",
        "ag.where(P == -ag.inf, ag.inf, P)".replace("P", POWER),
        "np.exp2(1.5 * np.log2(X))",
    ),
    ("", "x * ag.rsqrt(z * z + 1e-5) * ag.sqrt(z * z + 1e-5)", "X"),
    ('ag.require(s > 0.0, "a scale")', "x / s * s", "X"),
    ('ag.require(s != 0.0, "a scale")', "x * (s / s)", "X"),
    ("ag.assume(lambda e: e > 0, I)", "x + (i // i).to(f32)", "X + 1"),
]


@pytest.mark.parametrize(("value", "wanted"), OPEN)
def test_what_cancels_is_asked_for(value: str, wanted: str) -> None:
    found = decided_text(TEXT.format(require="", value=value, wanted=wanted))
    assert not found.equal
    assert found.reason


@pytest.mark.parametrize(("require", "value", "wanted"), EQUAL)
def test_what_is_there_or_needed_by_both(require: str, value: str, wanted: str) -> None:
    found = decided_text(TEXT.format(require=require, value=value, wanted=wanted))
    assert found.equal, found.reason


SUMS = """
@ag.kernel
def k(X: f32["M N"], Z: f32["N"], Y: f32["M"], W: f32["M"]):
    M, N = X.shape
    m = ag.block(ag.cdiv(M, 32)) * 32
    acc = ag.zeros((32,), f32, dims="M")
    for n in ag.range(0, N, 32):
        z = ag.load(Z[n:], (32,), fill=1.0)
        x = ag.load(X[m:, n:], (32, 32))
        acc = acc + ag.sum({value}, "N")
    Y[m:] = acc
    W[m:] = 0.0 * acc


@ag.reference
def ref(X, Z):
    return {wanted}, 0 * X.sum(1)
"""


@pytest.mark.parametrize(
    ("value", "wanted", "equal"),
    [
        ("x * (z / z)", "X.sum(1)", False),
        ("x / z", "(X / Z).sum(1)", True),
        ("x * (z / z)", "(X / Z * Z).sum(1)", True),
        ("x * (z / z)", "(X / Z[::-1] * Z[::-1]).sum(1)", True),  # of all of them
        ("x * (z / z)", "(X[:, 1:] / Z[1:] * Z[1:]).sum(1) + X[:, 0]", False),
        ("x * (z / z)", "X.sum(1) + 0 * (1 / Z[1:]).sum()", False),
    ],
)
def test_in_sums(value: str, wanted: str, equal: bool) -> None:
    found = decided_text(SUMS.format(value=value, wanted=wanted))
    assert found.equal is equal, found.reason


NORMS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"], Z: f32["M N"], *, BN: int = 32):
    M, N = X.shape
    ag.require(N > 0, "columns")
    ag.require(N <= BN, "a row is a tile")
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,))
    norm = ag.sqrt(ag.sum(x * x, "N"))
    Y[m] = {norm}
    Z[m, 0:] = x / norm


@ag.reference
def ref(X):
    norm = np.sqrt(np.sum(X * X, axis=1, keepdims=True))
    return {wanted}
"""


@pytest.mark.parametrize(
    ("norm", "wanted", "equal"),
    [
        ("norm", "(norm[:, 0], X / norm)", True),
        ("norm / norm", "(norm[:, 0] / norm[:, 0], X / norm)", True),
        # The other output has no number for such a row either.
        ("norm / norm", "(1 + 0 * norm[:, 0], X / norm)", True),
        ("norm", "(norm[:, 0], np.where(norm > 0, X / norm, X))", False),
        ("norm / norm", "(1 + 0 * norm[:, 0], X / (norm + 1))", False),
    ],
)
def test_what_one_output_needs_at_more_axes(
    norm: str, wanted: str, equal: bool
) -> None:
    made = decided_text(NORMS.format(norm=norm, wanted=wanted))
    assert made.equal is equal, made.reason
