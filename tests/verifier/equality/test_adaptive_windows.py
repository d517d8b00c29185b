"""Windows of adaptive pools: from a rounded down quotient to one that is rounded up."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

POOL = """
@ag.kernel
def k(X: f32["H W"], Y: f32["P Q"]):
    H, W = X.shape
    P, Q = Y.shape
    ag.require((H > 0) & (W > 0) & (H < 4096) & (W < 4096), "some")
    ag.require((P < 4096) & (Q < 4096), "indices fit")
    p, q = ag.block(P, Q)
    h0 = p * H // P
    h1 = {last}
    w0 = q * W // Q
    w1 = ((q + 1) * W + Q - 1) // Q
    s = 0.0
    for h in ag.range(h0, h1):
        for w in ag.range(w0, w1):
            s = s + X[h, w]
    Y[p, q] = s / {count}


@ag.reference
def ref(X, P, Q):
    H, W = X.shape
    Y = np.empty((P, Q))
    for p in range(P):
        for q in range(Q):
            rows = slice(p * H // P, -(-(p + 1) * H // P))
            Y[p, q] = X[rows, q * W // Q : -(-(q + 1) * W // Q)].mean()
    return Y
"""
LAST = "ag.cdiv((p + 1) * H, P)"
COUNT = "((h1 - h0) * (w1 - w0))"


@pytest.mark.parametrize(
    ("last", "count", "right"),
    [
        (LAST, COUNT, True),
        ("(p + 1) * H // P", COUNT, False),
        ("(p + 1) * H // P + 1", COUNT, False),
        (LAST, "((h1 - h0) * (w1 - w0 + 1))", False),
    ],
)
def test_windows_of_two_dimensions(last: str, count: str, right: bool) -> None:
    """What is divided by is a product, each factor of which is above 0."""
    assert decided_text(POOL.format(last=last, count=count)).equal == right
