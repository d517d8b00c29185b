"""Extremes of numbers that data choose: whether there is one, and where it stands."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ROWS = """
@ag.kernel
def k(X: f32["M N"], Y: i32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0), "a row is a tile")
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BN), fill={fill})
    seen = ag.index(x, "N") < N
    at = ag.broadcast(ag.index(x, "N"), x)
    Y[i * BM :] = {value}


@ag.reference
def ref(X):
    return {wanted}
"""
INFINITE, ZERO = "-ag.inf", "0.0"
EQUAL = {
    "one is above 0": (
        ZERO,
        'ag.max(ag.where(x > 0.0, 1, 0), "N")',
        "(X > 0).any(1)",
    ),
    "one of two numbers": (
        ZERO,
        'ag.max(ag.where(x > 0.0, 7, -2), "N")',
        "np.where((X > 0).any(1), 7, -2)",
    ),
    "all are above 0": (
        ZERO,
        'ag.min(ag.where(seen, ag.where(x > 0.0, 1, 0), 1), "N")',
        "(X > 0).all(1)",
    ),
    "the least place of the largest": (
        INFINITE,
        'ag.min(ag.where(x == ag.max(x, "N"), at, BN), "N")',
        "X.argmax(1)",
    ),
    "the least place of the least": (
        "ag.inf",
        'ag.min(ag.where(x == ag.min(x, "N"), at, BN), "N")',
        "X.argmin(1)",
    ),
    "zeros behind absolute values": (
        ZERO,
        'ag.argmax(ag.abs(x), "N")',
        "np.abs(X).argmax(1)",
    ),
    "the first above 0": (
        ZERO,
        'ag.argmax(ag.where(x > 0.0, 1, 0), "N")',
        "(X > 0).argmax(1)",
    ),
}
DIFFER = {
    "padding is above": (
        ZERO,
        'ag.max(ag.where(x > -1.0, 1, 0), "N")',
        "(X > -1).any(1)",
    ),
    "padding is not above": (
        ZERO,
        'ag.min(ag.where(x > 0.0, 1, 0), "N")',
        "(X > 0).all(1)",
    ),
    "another number": (
        ZERO,
        'ag.max(ag.where(x > 0.0, 2, 0), "N")',
        "(X > 0).any(1)",
    ),
    "the other way": (
        ZERO,
        'ag.max(ag.where(x > 0.0, 0, 1), "N")',
        "(X > 0).any(1)",
    ),
    "the largest place": (
        INFINITE,
        'ag.max(ag.where(x == ag.max(x, "N"), at, -1), "N")',
        "X.argmax(1)",
    ),
    "the least place of another number": (
        INFINITE,
        'ag.min(ag.where(x + 1.0 == ag.max(x, "N"), at, BN), "N")',
        "X.argmax(1)",
    ),
    "a number that stands before the places": (
        INFINITE,
        'ag.min(ag.where(x == ag.max(x, "N"), at, 100), "N")',
        "X.argmax(1)",
    ),
    "the place of the largest of some": (
        INFINITE,
        'ag.min(ag.where((x == ag.max(x, "N")) & (at > 0), at, BN), "N")',
        "X.argmax(1)",
    ),
    "the largest with what is padded": (
        ZERO,
        'ag.min(ag.where(x == ag.max(x, "N"), at, BN), "N")',
        "X.argmax(1)",
    ),
    "zeros behind numbers of any sign": (
        ZERO,
        'ag.argmax(x, "N")',
        "X.argmax(1)",
    ),
    "zeros before what is not above": (
        ZERO,
        'ag.argmax(ag.where(seen, ag.where(x > 0.0, 1, -1), 0), "N")',
        "np.where(X > 0, 1, -1).argmax(1)",
    ),
    "the last above 0": (
        ZERO,
        'ag.argmax(ag.where(x > 0.0, at, -1), "N")',
        "(X > 0).argmax(1)",
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_an_extreme_that_data_choose_is_known(name: str):
    fill, value, wanted = EQUAL[name]
    found = decided_text(ROWS.format(fill=fill, value=value, wanted=wanted))
    assert found.equal, found.reason


@pytest.mark.parametrize("name", DIFFER)
def test_which_others_are_not(name: str):
    fill, value, wanted = DIFFER[name]
    assert not decided_text(ROWS.format(fill=fill, value=value, wanted=wanted)).equal
