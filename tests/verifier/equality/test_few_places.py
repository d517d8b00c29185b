"""The place of the largest of a few numbers, which a kernel finds by comparing them."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

PAIRS = """
@ag.kernel
def k(X: f32["B L"], I: i32["B P"], *, BP: int = 64):
    B, L = X.shape
    P = I.shape[1]
    ag.require(L == 2 * P, "pairs")
    b, j = ag.block(B, ag.cdiv(P, BP))
    x = ag.reshape(ag.load(X[b, j * 2 * BP :], (2 * BP,)), (BP, 2), dims="P C")
    u, v = ag.split(x, "C", 2)
    p, q = ag.reshape(u, (BP,), dims="P"), ag.reshape(v, (BP,), dims="P")
    first = (ag.index(p, "P") + j * BP) * 2
    I[b, j * BP :] = ag.where(q > p, first + 1, first)


@ag.reference
def ref(X):
    B, L = X.shape
    return X.reshape(B, L // 2, 2).argmax(-1) + 2 * np.arange(L // 2)
"""
THREE = """
@ag.kernel
def k(X: f32["N 3"], I: i32["N"], *, BN: int = 64):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, BN))
    a, b, c = (ag.load(X[i * BN :, d], (BN,)) for d in (0, 1, 2))
    one = ag.full((BN,), 1, i32, dims="N")
    place = ag.where(b > a, one, 0 * one)
    place = ag.where(c > ag.maximum(a, b), 2 * one, place)
    I[i * BN :] = place


@ag.reference
def ref(X):
    return X.argmax(1)
""".replace(
    "a, b, c = (ag.load(X[i * BN :, d], (BN,)) for d in (0, 1, 2))",
    "\n    ".join(
        f"{name} = ag.load(X[i * BN :, {d}], (BN,))" for d, name in enumerate("abc")
    ),
)


@pytest.mark.parametrize("text", [PAIRS, THREE], ids=["pairs", "three"])
def test_it_is_the_place(text: str) -> None:
    found = decided_text(text)
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (PAIRS, "q > p", "q >= p"),
        (PAIRS, "first + 1, first", "first, first + 1"),
        (PAIRS, "q > p", "q > -p"),
        (THREE, "b > a", "b >= a"),
        (THREE, "ag.maximum(a, b)", "a"),
        (THREE, "2 * one, place", "one, place"),
    ],
)
def test_it_is_another_place(text: str, right: str, wrong: str) -> None:
    assert right in text
    assert not decided_text(text.replace(right, wrong)).equal
