"""Quotients that a condition chooses: what divides by 0 elsewhere does not matter."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

MEAN = """
@ag.kernel
def k(X: f32["M N"], K: i8["M N"], Y: f32["M"], *, BM: int = 4, BN: int = 128):
    M, N = X.shape
    ag.require(N <= BN, "a row")
    i = ag.block(ag.cdiv(M, BM))
    x = ag.load(X[i * BM :, 0:], (BM, BN))
    k = ag.load(K[i * BM :, 0:], (BM, BN)).to(f32)
    s = ag.sum(ag.where(k != 0.0, x, 0.0), "N")
    c = ag.sum(ag.where(k != 0.0, 1.0, 0.0), "N")
    y = ag.zeros((BM,), f32, dims="M")
    {made}
    Y[i * BM :] = {value}


@ag.reference
def ref(X, K):
    c = (K != 0).sum(1)
    s = np.where(K != 0, X, 0).sum(1)
    return {wanted}
"""
GUARDED = "np.where(c > 0, s / np.maximum(c, 1), 0)"
TURN = "for _ in ag.range(0, 1):\n        q = s / c\n        "


def equal(value: str, wanted: str = GUARDED, made: str = "pass") -> bool:
    return decided_text(MEAN.format(value=value, wanted=wanted, made=made)).equal


def test_a_quotient_that_is_chosen() -> None:
    assert equal("ag.where(c > 0.0, s / c, 0.0)")
    assert equal("ag.where(c <= 0.0, 0.0, s / c)")
    # The reference divides by the same number, and says nothing where it is 0.
    assert equal("s / c", "s / c")


@pytest.mark.parametrize(
    ("value", "wanted", "made"),
    [
        ("s / c", GUARDED, "pass"),
        ("ag.where(c > 0.0, 0.0, s / c)", GUARDED, "pass"),
        ("ag.where(s > 0.0, s / c, 0.0)", GUARDED, "pass"),
        # What is chosen once is used elsewhere, too, or carried on.
        ("ag.where(c > 0.0, q, 0.0) + 0.0 * q", GUARDED, "q = s / c"),
        ("q * c", "s", "q = s / c"),
        ("y * c", "s", f"{TURN}x = ag.where(c > 0.0, q, 0.0)\n        y = q"),
        # The reference guards, or divides by another number.
        ("s / c", "np.where(c > 0, s / c, 0)", "pass"),
        ("s / c * (c / c)", "s / np.maximum(c, 1)", "pass"),
    ],
)
def test_a_quotient_that_is_not(value: str, wanted: str, made: str) -> None:
    assert not equal(value, wanted, made)
