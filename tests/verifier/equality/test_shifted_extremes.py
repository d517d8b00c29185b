"""Extremes of what numbers have in common: distances, shares, exponents."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ROWS = """
@ag.kernel
def k(X: f32["M N"], C: f32["M"], Y: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require((N > 0) & (N <= BN), "row")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, BN), fill=-ag.inf)
    c = ag.load(C[i * 4 :], (4,))
    e = ag.exp(x - ag.max(x, "N"))
    low = ag.min(ag.load(X[i * 4 :, 0:], (4, BN), fill=ag.inf), "N")
    Y[i * 4 :] = {value}


@ag.reference
def ref(X, C):
    e = np.exp(X - X.max(1, keepdims=True))
    return {wanted}
"""


@pytest.mark.parametrize(
    ("value", "wanted", "right"),
    [
        ('ag.max(e, "N") / ag.sum(e, "N")', "(e / e.sum(1)[:, None]).max(1)", True),
        ('ag.max(x, "N") - low', "(X - X.min(1, keepdims=True)).max(1)", True),
        ('ag.max(x, "N") + c', "(X + C[:, None]).max(1)", True),
        ('ag.max(x, "N") - c', "(X + C[:, None]).max(1)", False),
        ('ag.max(x, "N") + 2.0 * c', "(X + C[:, None]).max(1)", False),
        ('ag.max(x, "N") - low', "(X - X.max(1, keepdims=True)).max(1)", False),
        ('ag.max(x, "N") + low', "(X - X.min(1, keepdims=True)).max(1)", False),
        ('ag.max(x, "N") * c', "(X * C[:, None]).max(1)", False),
    ],
)
def test_what_all_numbers_have_in_common(value: str, wanted: str, right: bool) -> None:
    text = ROWS.format(value=value, wanted=wanted)
    assert decided_text(text).equal == right


def test_of_no_number_nothing_is_said() -> None:
    """A maximum of none less itself is no number, and no maximum of none is."""
    text = ROWS.format(
        value='ag.max(x, "N") + c', wanted="(X + C[:, None]).max(1)"
    ).replace("(N > 0) & ", "")
    assert not decided_text(text).equal
