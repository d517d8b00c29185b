"""A grid of which a dimension is a sum: blocks of one output, then those of another."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

PARTS = """
@ag.kernel
def k(X: bf16["S E"], Q: bf16["S A"], K: bf16["S C"], *, BS: int = 16, BN: int = 64):
    S, E = X.shape
    A, C = Q.shape[1], K.shape[1]
    ag.require(E == A + C, "queries, and keys behind them")
    i, j = ag.block(ag.cdiv(S, BS), {blocks})
    if j < ag.cdiv(A, BN):
        Q[i * BS :, j * BN :] = ag.load(X[i * BS :, j * BN :], (BS, BN)).rename("S A")
    else:
        c = (j - {first}) * BN
        K[i * BS :, c:] = ag.load(X[i * BS :, {at} :], (BS, BN)).rename("S C")


@ag.reference
def ref(X, Q, K):
    A = Q.shape[1]
    return {{"Q": X[:, :A], "K": X[:, A:]}}
"""
RIGHT = {
    "blocks": "ag.cdiv(A, BN) + ag.cdiv(C, BN)",
    "first": "ag.cdiv(A, BN)",
    "at": "A + c",
}


def test_blocks_of_two_outputs() -> None:
    found = decided_text(PARTS.format(**RIGHT))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": "ag.cdiv(A + C, BN)"},
        {"blocks": "ag.cdiv(A, BN) + ag.cdiv(C, BN) - 1"},
        {"first": "ag.cdiv(A, BN) + 1"},
        {"at": "j * BN"},
    ],
    ids=str,
)
def test_blocks_that_miss_a_part(change: dict[str, str]) -> None:
    assert not decided_text(PARTS.format(**(RIGHT | change))).equal
