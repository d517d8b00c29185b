"""A last tile that begins earlier, so that it is full, and overlaps the one before."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

COPIES = """
@ag.kernel
def k(X: f32["N"], Y: f32["N"]):
    N = X.shape[0]
    ag.require(N >= 64, "a tile")
    i = ag.block(ag.cdiv(N, 64))
    first = ag.min(i * 64, {last})
    Y[first : first + 64] = ag.load(X[{read} : {read} + 64]) * 2.0


@ag.reference
def ref(X):
    return X * 2
"""


@pytest.mark.parametrize(
    ("last", "read", "equal"),
    [
        ("N - 64", "first", True),
        ("N - 63", "first", True),
        ("N - 65", "first", False),
        ("N - 64", "i * 64", False),
        ("ag.max(N - 64, 0)", "first", True),
        ("ag.max(N - 100, 0)", "first", False),
    ],
)
def test_all_elements_are_written_by_the_tiles(last: str, read: str, equal: bool):
    found = decided_text(COPIES.format(last=last, read=read))
    assert found.equal == equal, found.reason
