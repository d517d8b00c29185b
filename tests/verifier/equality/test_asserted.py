"""What a reference asserts, or refuses, says of which sizes it is."""

from __future__ import annotations

import pytest

from argus.equivalence.deciding import Decided
from verifier.equality.attacking import decided_text

DOUBLED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], s: i32 = 1, *, B: int = 32):
    M, N = X.shape
    {required}
    i, j = ag.block(ag.cdiv(M, B), ag.cdiv(N, B))
    Y[i * B :, j * B :] = {value}


@ag.reference
def ref(X, s):
    {said}
"""


def doubled(said: str, required: str = "", value: str = "") -> Decided:
    text = said.replace("; ", "\n    ")
    value = value or "ag.load(X[i * B :, j * B :], (B, B)) * 2.0"
    return decided_text(DOUBLED.format(required=required, said=text, value=value))


ROWS = "if X.shape[0] < 1:\n        raise ValueError('rows')"


@pytest.mark.parametrize(
    ("said", "required"),
    [
        ("assert X.shape[0] > 0; return X * 2", ""),
        ("assert X.ndim == 2 and len(X) >= 1, 'rows'; return X * 2", ""),
        (f"{ROWS}; return X * 2", ""),
        (
            "assert X.shape[0] % 2 == 0; return X * 2",
            'ag.require(M % 4 == 0, "pairs of pairs")',
        ),
        (
            "if X.shape[1] > 99: raise ValueError(0); return X * 2",
            'ag.require(N < 64, "short")',
        ),
    ],
)
def test_launches_are_of_sizes_that_it_admits(said: str, required: str) -> None:
    made = doubled(said, required)
    assert made.equal, made.reason
    assert not doubled(said.replace("* 2", "* 3"), required).equal


@pytest.mark.parametrize(
    "said",
    [
        "assert X.shape[0] % 2 == 0; return X * 2",
        "if X.shape[1] > 99: raise ValueError(0); return X * 2",
    ],
)
def test_or_else_it_is_open(said: str) -> None:
    found = doubled(said)
    assert not found.equal
    assert "the kernel does not require" in found.reason


def test_one_that_always_fails_says_nothing() -> None:
    found = doubled("raise ValueError('never')")
    assert not found.equal
    assert "ValueError: never" in found.reason


UNUSED = """
@ag.kernel
def k(X: f32["M"], Y: f32["M"], s: f32):
    M, = X.shape
    m = ag.block(ag.cdiv(M, 64)) * 64
    Y[m:] = ag.load(X[m:], (64,)) * FACTOR


@ag.reference
def ref(X):
    return 2 * X
"""


def test_a_scalar_that_nobody_uses_may_be_anything() -> None:
    assert decided_text(UNUSED.replace("FACTOR", "2.0")).equal
    used = decided_text(UNUSED.replace("FACTOR", "(2.0 + 0.0 * s)"))
    assert not used.equal
    assert "the scalar `s`" in used.reason
