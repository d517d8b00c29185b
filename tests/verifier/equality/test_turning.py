"""References whose loops branch on what a launch decides, and on what a round does."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ROWS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    y = x
    if {kernel}:
        y = x * 2.0
    first = ag.full((BN,), X[m, 0], f32, dims="N")
    Y[m, j * BN :] = ag.where(first > 0.0, y, -y)


@ag.reference
def ref(X):
    M, N = X.shape
    Y = np.zeros(X.shape)
    for m in range(M):
        {order}
    return Y
"""
OUTSIDE = """y = X[m]
        if {reference}:
            y = y * 2
        Y[m] = -y
        if X[m, 0] > 0:
            Y[m] = y"""
INSIDE = """if X[m, 0] > 0:
            Y[m] = X[m]
        else:
            Y[m] = -X[m]
        if {reference}:
            Y[m] *= 2"""
NESTED = """if X[m, 0] > 0:
            if {reference}:
                Y[m] = X[m] * 2
            else:
                Y[m] = X[m]
        else:
            Y[m] = -X[m] * (2 if {reference} else 1)"""


@pytest.mark.parametrize("order", [OUTSIDE, INSIDE, NESTED])
@pytest.mark.parametrize(
    ("kernel", "reference", "right"),
    [
        ("N > 8", "N > 8", True),
        ("N > 8", "N > 9", False),
        ("N > 8", "N <= 8", False),
        ("m > 8", "m > 8", True),
        ("m > 8", "m > 7", False),
        ("M > N", "X.shape[0] > X.shape[1]", True),
        ("M > N", "m > 8", False),
    ],
)
def test_branches_in_a_loop(
    order: str, kernel: str, reference: str, right: bool
) -> None:
    text = ROWS.format(kernel=kernel, order=order.format(reference=reference))
    found = decided_text(text)
    assert found.equal == right, found.reason
