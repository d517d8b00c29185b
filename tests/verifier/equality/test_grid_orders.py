"""A grid of one dimension, taken apart in an order that is not that of its factors."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

HEADS = """
@ag.kernel
def k(X: f32["B H N"], Y: f32["B H N"], *, BN: int = 64):
    B, H, N = X.shape
    T = ag.cdiv(N, BN)
    i = ag.block({grid})
    {taken}
    Y[b, h, j * BN :] = ag.load(X[b, h, j * BN :], (BN,))


@ag.reference
def ref(X, Y):
    return X
"""
WHOLE = "B * H * T"
RIGHT = {
    "as multiplied": (WHOLE, "b, h, j = i // T // H, i // T % H, i % T"),
    "last factor first": (WHOLE, "b, h, j = i % B, i // B % H, i // (B * H)"),
    "middle one last": (WHOLE, "h, b, j = i % H, i // H % B, i // H // B"),
    "between": ("T * B * H", "b, j, h = i % B, i // B % T, i // B // T"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_any_order_of_the_factors(name: str) -> None:
    grid, taken = RIGHT[name]
    found = decided_text(HEADS.format(grid=grid, taken=taken))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("i // B % H", "i // H % H"), ("i % B", "i % H"), ("(B * H)", "(B * B)")],
)
def test_digits_of_another_number(right: str, wrong: str) -> None:
    grid, taken = RIGHT["last factor first"]
    assert right in taken
    changed = HEADS.format(grid=grid, taken=taken.replace(right, wrong))
    assert not decided_text(changed).equal


ROLES = """
@ag.kernel
def k(X: f32["B M 32"], Y: f32["B M 32"]):
    B, M, _ = X.shape
    ring = ag.ring(2, x=f32.tile(16, 32))
    with ag.role("load", warps=1):
        for t in ag.persistent(B * ag.cdiv(M, 16)):
            with ring.fill() as slot:
                slot.x.load(X[t % B, t // B * 16 :, 0:32])
    with ag.role("store", warps=4):
        for t in ag.persistent(B * ag.cdiv(M, 16)):
            with ring.drain() as slot:
                Y[{row}, 0:32] = slot.x.load()


@ag.reference
def ref(X, Y):
    return X
"""


def test_roles_share_the_tiles_of_one_order() -> None:
    assert decided_text(ROLES.format(row="t % B, t // B * 16 :")).equal
    other = "t // ag.cdiv(M, 16), t % ag.cdiv(M, 16) * 16 :"
    assert not decided_text(ROLES.format(row=other)).equal
