"""Softmax with masks that may hide a whole row, and guards for such rows.

A maximum of nothing is minus infinity, and compared with it by how many there are. In
each wrong form one place is changed; terms alone have to tell it apart, since a row of
which data hides all may be one that no run draws.
"""

from __future__ import annotations

import pytest

from few import rest
from verifier.equality.attacking import decided_text

ROW = """
@ag.kernel
def k(X: f32["M N"], V: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N <= BN, "a row")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, BN), fill=-ag.inf)
    v = ag.load(V[i * 4 :, 0:], (4, BN), fill={outside})
    s = ag.where({seen}, x, -ag.inf)
    m = ag.max(s, "N")
    m = ag.where({empty}, {guard}, m)
    e = ag.exp(s - m)
    t = ag.sum(e, "N")
    Y[i * 4 :, 0:] = {value}


@ag.reference
def ref(X, V):
    s = np.where(V > 0, X, -np.inf)
    m = s.max(1, keepdims=True)
    m = np.where(m == -np.inf, 0, m)
    e = np.exp(s - m)
    t = e.sum(1, keepdims=True)
    return e / np.where(t == 0, 1, t)
"""
MAXIMUM = """
@ag.kernel
def k(X: f32["M N"], V: f32["M N"], Y: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N > 0, "a row")
    i = ag.block(ag.cdiv(M, 4))
    m = ag.full((4,), -ag.inf, f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i * 4 :, n:], (4, BN), fill=-ag.inf)
        v = ag.load(V[i * 4 :, n:], (4, BN), fill={outside})
        m = ag.maximum(m, ag.max(ag.where({seen}, x, -ag.inf), "N"))
    Y[i * 4 :] = ag.where({empty}, {guard}, {value})


@ag.reference
def ref(X, V):
    m = np.where(V > 0, X, -np.inf).max(1)
    return np.where(m == -np.inf, 0, m)
"""
PLAIN = {"outside": "0.0", "seen": "v > 0.0", "empty": "m == -ag.inf", "guard": "0.0"}
OF_ROW = {**PLAIN, "value": "e / ag.where(t == 0.0, 1.0, t)"}
OF_MAXIMUM = {**PLAIN, "value": "m"}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"outside": "7.0"},  # what is outside of a row is hidden by -inf
        {"empty": "m <= -ag.inf"},
        {"empty": "-m == ag.inf"},
        *rest({"value": "e / ag.where(t > 0.0, t, 1.0)"}),
    ],
)
def test_rows_that_may_be_hidden(change: dict[str, str]) -> None:
    found = decided_text(ROW.format(**{**OF_ROW, **change}))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"guard": "1.0"},
        {"guard": "ag.inf"},
        {"value": "e / ag.where(t == 0.0, 2.0, t)"},
    ],
)
def test_of_hidden_rows_all_is_0_whatever_guards(change: dict[str, str]) -> None:
    """Differences of infinity from a guard are infinite, and 0 over anything is 0."""
    assert decided_text(ROW.format(**{**OF_ROW, **change})).equal


@pytest.mark.parametrize(
    "change",
    [
        {"seen": "v >= 0.0"},
        {"seen": "v < 0.0"},
        {"guard": "-ag.inf"},
        {"empty": "m == ag.inf"},
        {"empty": "m > -ag.inf"},
        {"value": "e / t"},
        {"value": "e / ag.where(t == 1.0, 1.0, t)"},
    ],
)
def test_another_mask_or_guard_is_not_equal(change: dict[str, str]) -> None:
    found = decided_text(ROW.format(**{**OF_ROW, **change}))
    assert not found.equal
    # What is known of its counts had 45 000 alternatives, and took 18 s.
    assert found.seconds < 6


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        ({}, True),
        ({"empty": "m < -3.0e38"}, False),
        ({"guard": "5.0"}, False),
        ({"seen": "v > 1.0"}, False),
        ({"value": "m + 1.0"}, False),
        ({"empty": "2.0 * m == -ag.inf"}, True),
        ({"empty": "m + x0 == -ag.inf"}, False),
    ],
)
def test_maxima_of_nothing(change: dict[str, str], equal: bool) -> None:
    text = MAXIMUM.format(**{**OF_MAXIMUM, **change})
    x0 = "    x0 = ag.load(X[i * 4 :, 0], (4,))\n    m = ag.full"
    assert decided_text(text.replace("    m = ag.full", x0)).equal is equal
