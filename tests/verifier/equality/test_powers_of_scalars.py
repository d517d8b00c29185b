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
