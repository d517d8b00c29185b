"""What stands at the place of the largest is the largest; the place is in the row."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ROW = """
@ag.kernel
def k(X: f32["M N"], Z: f32["M N"], V: f32["M"], *, BN: int = 64):
    M, N = X.shape
    ag.require((N <= BN) & {some}, "a row")
    i = ag.block(ag.cdiv(M, 8))
    x = ag.load(X[i * 8 :, 0:], (8, BN), fill={fill})
    a = ag.argmax(x, "N")
    hit = ag.broadcast(ag.index(x, "N"), x) == ag.broadcast(a, x)
    V[i * 8 :] = {value}


@ag.reference
def ref(X, Z):
    at = {at}
    return {wanted}
"""
RIGHT = {
    "some": "(N > 0)", "fill": "-ag.inf", "value": 'ag.max(x, "N")',
    "at": "X.argmax(1)", "wanted": "X[np.arange(len(X)), at]",
}  # fmt: skip
CHOSEN = 'ag.sum(ag.where(hit, x, 0.0), "N")'


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"wanted": "2 * np.take_along_axis(X, at[:, None], 1)[:, 0] - X.max(1)"},
        {"value": CHOSEN, "wanted": "X.max(1)"},
        {"value": '-ag.max(-x, "N")', "fill": "ag.inf", "at": "X.argmin(1)"},
    ],
)
def test_is_the_largest(change: dict[str, str]) -> None:
    assert decided_text(ROW.format(**RIGHT | change)).equal


@pytest.mark.parametrize(
    "change",
    [
        {"at": "X.argmin(1)"},
        {"at": "Z.argmax(1)"},
        {"at": "(X + Z).argmax(1)"},
        {"wanted": "Z[np.arange(len(X)), at]"},
        {"at": "X[:, : len(X)].argmax(1)"},
        {"some": "(N >= 0)", "value": CHOSEN, "wanted": "X.max(1)"},
    ],
)
def test_is_another_number(change: dict[str, str]) -> None:
    assert not decided_text(ROW.format(**RIGHT | change)).equal
