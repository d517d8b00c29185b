"""Powers of a scalar that a launch requires to be above 0."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ANGLES = """
@ag.kernel
def k(Y: f32["S D"], theta: f32 = 10000.0, *, BD: int = 64):
    S, D = Y.shape
    ag.require({required}, "what is raised to powers")
    i, j = ag.block(S, ag.cdiv(D, BD))
    d = ag.index(ag.zeros((BD,), f32, dims="D"), "D") + j * BD
    log = ag.log(ag.full((BD,), 0.0, f32, dims="D") + theta)
    Y[i, j * BD :] = ag.sin(ag.exp({exponent} * log) * i)


@ag.reference
def ref(theta, S, D):
    return np.sin(np.arange(S)[:, None] * {wanted})
"""
FORM = "-d.to(f32) / D"
WANTED = "theta ** (-np.arange(D) / D)"


@pytest.mark.parametrize(
    ("required", "exponent", "wanted", "right"),
    [
        ("theta > 0.0", FORM, WANTED, True),
        ("theta >= 1.0", FORM, WANTED, True),
        ("(theta > 2.0) & (theta < 3.0)", FORM, WANTED, True),
        ("theta > 0.0", "d.to(f32)", "theta ** np.arange(D)", True),
        ("theta > 0.0", FORM, "(theta + 1.0) ** (-np.arange(D) / D)", False),
        ("theta > 0.0", FORM, "(theta - 1.0) ** (-np.arange(D) / D)", False),
        ("theta > 0.0", "d.to(f32) / D", WANTED, False),
        # of a base that is 0 or less, powers of whole numbers are numbers, too
        ("theta > -1.0", "d.to(f32)", "theta ** np.arange(D)", False),
        ("theta >= 0.0", "d.to(f32)", "theta ** np.arange(D)", False),
        ("theta < 1.0", "d.to(f32)", "theta ** np.arange(D)", False),
        ("theta != 0.0", "d.to(f32)", "theta ** np.arange(D)", False),
    ],
)
def test_a_scalar_to_a_power(
    required: str, exponent: str, wanted: str, right: bool
) -> None:
    text = ANGLES.format(required=required, exponent=exponent, wanted=wanted)
    assert decided_text(text).equal == right


ROOT = """
@ag.kernel
def k(V: f32["N"], Y: f32["N"], c: f32 = 0.5, d: f32 = 0.25):
    ag.require({required}, "corrections")
    i = ag.block(ag.cdiv(V.shape[0], 128))
    v = ag.load(V[i * 128 :], (128,))
    Y[i * 128 :] = ag.sqrt((d * v * v + v) / c)


@ag.reference
def ref(V, c, d):
    return {wanted}
"""


@pytest.mark.parametrize(
    ("required", "wanted", "right"),
    [
        ("c > 0.0", "np.sqrt(d * V**2 + V) / np.sqrt(c)", True),
        ("c >= 0.25", "np.sqrt(d * V**2 + V) / np.sqrt(c)", True),
        ("c > 0.0", "np.sqrt(d * V**2 + V) / np.sqrt(d)", False),
        ("c > 0.0", "np.sqrt(d * V**2 + V) / c", False),
        # of two negative numbers, the root of the quotient is a number
        ("c < 0.0", "np.sqrt(d * V**2 + V) / np.sqrt(c)", False),
        ("c != 0.0", "np.sqrt(V) * np.sqrt(d * V + 1) / np.sqrt(c)", False),
    ],
)
def test_the_root_of_a_quotient(required: str, wanted: str, right: bool) -> None:
    text = ROOT.format(required=required, wanted=wanted)
    assert decided_text(text).equal == right


LOWER = """
@ag.kernel
def k(X: f32["M N"], Y: i32["M"], low: f32 = -4.0, high: f32 = 4.0):
    ag.require({required}, "a range")
    ag.require(X.shape[1] <= 128, "a row is a tile")
    i = ag.block(X.shape[0])
    x = ag.load(X[i, 0:], (128,), fill=ag.inf)
    lower = ag.where((x - low) / (high - low) < 0.5, 1, 0)
    Y[i : i + 1] = ag.full((1,), 1, i32) * ag.sum(lower, "N")


@ag.reference
def ref(X, low, high):
    return ((X - low) / (high - low) < 0.5).sum(1)
"""


@pytest.mark.parametrize(
    ("required", "right"), [("high > low", True), ("high != low", False)]
)
def test_infinity_times_what_is_required_above_zero(required: str, right: bool) -> None:
    assert decided_text(LOWER.format(required=required)).equal == right
