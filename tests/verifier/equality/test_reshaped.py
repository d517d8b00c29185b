"""References that see a dimension as parts of a fixed size."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

KERNEL = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 128):
    M, N = X.shape
    {required}
    m, j = ag.block(M, ag.cdiv(N, BN))
    Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,)) * 2.0


@ag.reference
def ref(X):
    M, N = X.shape
    return {returned}
"""
QUADS = "ag.require(N % 4 == 0, 'columns come in fours')"


@pytest.mark.parametrize(
    "returned",
    [
        "(X.reshape(M, N // 4, 4) * 2).reshape(M, N)",
        "(X.reshape(M, -1, 4) * 2).reshape(M, N)",
        "(X.reshape((M, N // 4, 4)) * 2).reshape(M, -1)",
    ],
)
def test_columns_in_fours(returned: str) -> None:
    found = decided_text(KERNEL.format(required=QUADS, returned=returned))
    assert found.equal, found.reason
    open_ = decided_text(KERNEL.format(required="pass", returned=returned))
    assert not open_.equal and "4 divides N" in open_.reason


@pytest.mark.parametrize(
    "returned",
    [
        "(X.reshape(M, N // 4, 4)[:, ::-1] * 2).reshape(M, N)",
        "(X.reshape(M, N // 4, 4)[:, :, ::-1] * 2).reshape(M, N)",
        "(X.reshape(M, 4, N // 4).swapaxes(1, 2) * 2).reshape(M, N)",
    ],
)
def test_other_elements(returned: str) -> None:
    assert not decided_text(KERNEL.format(required=QUADS, returned=returned)).equal
