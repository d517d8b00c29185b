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


GROUPS = """
@ag.kernel
def k(X: f32["B C P"], Y: f32["B C P"], *, GROUP: int = 4, BP: int = 256):
    B, C, P = X.shape
    ag.require(C % GROUP == 0, "groups of channels")
    ag.require(P > 0, "a mean over no elements is not defined")
    b, g = ag.block(B, C // GROUP)
    total = ag.zeros((GROUP, BP), f32)
    for p in ag.range(0, P, BP):
        total = total + ag.load(X[b, g * GROUP : g * GROUP + GROUP, p:], (GROUP, BP))
    mean = ag.sum(ag.sum(total, "P"), "C") / (P * {count})
    for p in ag.range(0, P, BP):
        x = ag.load(X[b, g * GROUP : g * GROUP + GROUP, p:], (GROUP, BP))
        Y[b, g * GROUP : g * GROUP + GROUP, p:] = x - mean


@ag.reference
def ref(X, GROUP):
    B, C, P = X.shape
    x = X.reshape({shape})
    return (x - x.mean(-1, keepdims=True)).reshape(B, C, P)
"""


@pytest.mark.parametrize(
    ("shape", "count", "right"),
    [
        ("B, C // GROUP, GROUP * P", "GROUP", True),
        ("B, C // GROUP, -1", "GROUP", True),
        ("B, C // GROUP, GROUP * P", "2", False),
        ("B, C * P // 4, 4", "GROUP", False),
    ],
)
def test_groups_of_channels_as_rows(shape: str, count: str, right: bool) -> None:
    """A sum over a dimension that is several is one over each of them."""
    found = decided_text(GROUPS.format(shape=shape, count=count))
    assert found.equal == right, found.reason


BLOCKS = """
@ag.kernel
def k(X: f32["M N"], S: f32["B"], Y: f32["M N"], *, BN: int = 128):
    M, N = X.shape
    ag.require(M == 64 * S.shape[0], "rows of blocks")
    m, j = ag.block(M, ag.cdiv(N, BN))
    Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,)) * S[m // 64]


@ag.reference
def ref(X, S):
    M, N = X.shape
    made = X.reshape({parts}) * S[:, None, None]
    return made.reshape({rows})
"""


@pytest.mark.parametrize("parts", ["len(S), 64, N", "len(S), 64, -1", "-1, 64, N"])
@pytest.mark.parametrize("rows", ["M, N", "M, -1", "-1, N", "64 * len(S), -1"])
def test_rows_that_are_so_many_blocks(parts: str, rows: str) -> None:
    found = decided_text(BLOCKS.format(parts=parts, rows=rows))
    assert found.equal, found.reason


PARTS = """
@ag.kernel
def k(X: f32["M H C"], Y: f32["M E"]):
    M, H, C = X.shape
    ag.require((H == 3) & (Y.shape[1] == 3 * C), "three parts of a row")
    m = ag.block(M)
    for h in ag.static_range(3):
        for c in ag.range(0, C, 32):
            x = ag.load(X[m, {part}, c:], (32,))
            Y[m, h * C + c : {end}] = x.rename("E")


@ag.reference
def ref(X):
    return X.reshape(len(X), -1)
"""


@pytest.mark.parametrize(
    ("part", "end", "right"),
    [
        ("h", "(h + 1) * C", True),
        ("h", "3 * C", False),  # the last part of a tile is the next one's first
        ("2 - h", "(h + 1) * C", False),
        ("h", "(h + 1) * C - 1", False),
    ],
)
def test_parts_of_a_row_that_end_where_a_size_does(
    part: str, end: str, right: bool
) -> None:
    found = decided_text(PARTS.format(part=part, end=end))
    assert found.equal == right, found.reason
