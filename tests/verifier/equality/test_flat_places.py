"""Elements at places of a flat view, second largest ones, and parts of few bits."""

from __future__ import annotations

import pytest

from argus.terms import Integer, World
from verifier.equality.attacking import decided_text

GATHER = """@ag.kernel
def k(X: f32["T V"], L: i32["T"], Y: f32["{0}"], *, BT=4):
    T, V = X.shape
    ag.require(V >= 1, "a class")
    ag.assume(lambda l: (l >= 0) & (l < V), L)
    i = ag.block(ag.cdiv(T, BT))
    l = ag.load(L[i * BT :], (BT,), fill=0)
    t = ag.index(l, "T") + i * BT
    flat = X.view("F", shape=(T * V,), at=lambda f: (f // V, f % V))
    x = ag.load(flat[t.to(i64) * V + {1}]).rename("T")
    {2}


@ag.reference
def reference(X, L):
    return {3}
"""
EACH = ("T", "Y[i * BT :] = x", "X[np.arange(len(L)), L]")
TOTAL = (
    "1",
    'ag.atomic_add(Y[0], ag.sum(ag.where(t < T, x, 0.0), "T"))',
    "np.array([X[np.arange(len(L)), L].sum()])",
)


@pytest.mark.parametrize("of", [EACH, TOTAL], ids=["each", "all together"])
def test_an_element_of_each_row(of: tuple[str, str, str]) -> None:
    dim, stored, says = of
    assert decided_text(GATHER.format(dim, "l.to(i64)", stored, says)).equal
    for wrong in ("l.to(i64) + 1", "(V - 1 - l).to(i64)", "0"):
        assert not decided_text(GATHER.format(dim, wrong, stored, says)).equal


def test_products_of_tiles_that_are_apart() -> None:
    world = World()
    rows, size = world.size("T"), world.size("V")
    row = world.fresh("k", 0, rows)
    inside = world.compare(row, ">=", 0) & world.compare(row, "<", rows)
    tile = world.quotient(row, Integer.of(4))
    tiles = world.quotient(rows + 3, Integer.of(4))
    fits = world.compare(size * tiles, ">=", size + size * tile)
    assert world.is_subset(inside, fits)
    more = world.compare(size * tiles, ">=", size * 2 + size * tile)
    assert not world.is_subset(inside, more)


SECOND = """@ag.kernel
def k(X: f32["T E"], V: f32["T 2"], I: i32["T 2"], *, BT=16, BE=64):
    T, E = X.shape
    ag.require((E >= {0}) & (E <= BE), "experts")
    i = ag.block(ag.cdiv(T, BT))
    x = ag.load(X[i * BT :, 0:], (BT, BE), fill=-ag.inf)
    e = ag.broadcast(ag.index(x, "E"), x)
    a = ag.argmax(x, "E")
    rest = ag.where(e {1} ag.broadcast(a, x), -ag.inf, x)
    V[i * BT :, 0] = ag.max(x, "E")
    V[i * BT :, 1] = ag.max({2}, "E")
    I[i * BT :, 0] = a
    I[i * BT :, 1] = ag.argmax(rest, "E")


@ag.reference
def reference(X):
    a = X.argmax(1)
    rows = np.arange(len(X))
    Z = X.copy()
    Z[rows, a] = -np.inf
    b = Z.argmax(1)
    return np.stack([X[rows, a], Z[rows, b]], 1), np.stack([a, b], 1)
"""


def test_the_two_largest() -> None:
    assert decided_text(SECOND.format(2, "==", "rest")).equal
    for wrong in ((1, "==", "rest"), (2, ">=", "rest"), (2, "==", "x")):
        assert not decided_text(SECOND.format(*wrong)).equal, wrong


PARTS = """@ag.kernel
def k(X: f32["M N"], Q: i8["M N"], S: f32["M G"], *, BM=16, GS=64):
    M, N = X.shape
    ag.require(N == ag.dim("G") * GS, "parts")
    i, g = ag.block(ag.cdiv(M, BM), ag.dim("G"))
    x = ag.load(X[i * BM :, g * GS :], (BM, GS))
    a = ag.max(ag.abs(x), "N")
    s = ag.where(a == 0.0, 1.0, a / 127.0)
    Q[i * BM :, g * GS :] = {}
    S[i * BM :, g] = s


@ag.reference
def reference(X, G):
    M, N = X.shape
    Z = X.reshape(M, G, 64)
    a = np.abs(Z).max(2)
    s = np.where(a == 0, 1.0, a / 127)
    q = np.round(Z / s[:, :, None]).astype(np.int8)
    return q.reshape(M, N), s
"""


def test_a_scale_for_each_part_of_a_row() -> None:
    assert decided_text(PARTS.format("ag.round(x / s).to(i8)")).equal
    for wrong in (
        "ag.floor(x / s).to(i8)",
        "ag.round(x * s).to(i8)",
        "ag.maximum(ag.round(x / s), 0.0).to(i8)",
    ):
        assert not decided_text(PARTS.format(wrong)).equal, wrong
