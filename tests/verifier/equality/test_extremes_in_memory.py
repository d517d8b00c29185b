"""Maxima and minima that blocks leave in memory, in whichever order."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

KERNEL = """
@ag.kernel
def k(X: f32["M N"], I: i32["M"], Y: f32["G N"], *, BM: int = 16):
    M, N = X.shape
    ag.require(M > 0, "there are rows")
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, 64))
    rows = ag.load(I[i * BM :], (BM,), fill=-1)
    x = ag.load(X[i * BM :, j * 64 :], (BM, 64){fill})
    {stored}


@ag.reference
def ref(X, I, Y):
    {reference}
    return Y
"""
GROUPS = "ag.atomic_max(Y[rows, j * 64 :], x)"
COLUMNS = 'ag.atomic_min(Y[0, j * 64 :], ag.min(x, "M"))'
INF = ", fill=ag.inf"

EQUAL = {
    "groups": ("", GROUPS, "np.maximum.at(Y, I, X)"),
    "columns": (INF, COLUMNS, "Y[0] = np.minimum(Y[0], X.min(axis=0))"),
    "masked": (
        "",
        "ag.atomic_max(Y[rows, j * 64 :], x, mask=x > 0.0)",
        "np.maximum.at(Y, I, np.where(X > 0, X, -np.inf))",
    ),
}
OTHER = {
    "min for max": ("", GROUPS, "np.minimum.at(Y, I, X)"),
    "an assignment": ("", GROUPS, "Y[I] = X"),
    "a sum": ("", GROUPS, "np.add.at(Y, I, X)"),
    "negated": ("", GROUPS, "np.maximum.at(Y, I, -X)"),
    "padding": ("", COLUMNS, "Y[0] = np.minimum(Y[0], X.min(axis=0))"),
    "without what was there": (INF, COLUMNS, "Y[0] = X.min(axis=0)"),
    "without the last row": (
        INF,
        COLUMNS,
        "Y[0] = np.minimum(Y[0], X[:-1].min(axis=0))",
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name: str) -> None:
    fill, stored, reference = EQUAL[name]
    text = KERNEL.format(fill=fill, stored=stored, reference=reference)
    found = decided_text(text)
    assert found.equal, found.reason


@pytest.mark.parametrize("name", OTHER)
def test_other_numbers(name: str) -> None:
    fill, stored, reference = OTHER[name]
    text = KERNEL.format(fill=fill, stored=stored, reference=reference)
    assert not decided_text(text).equal


def test_several_ways_are_not_told_apart() -> None:
    both = f"{GROUPS}\n    ag.atomic_add(Y[rows, j * 64 :], x)"
    text = KERNEL.format(fill="", stored=both, reference="np.maximum.at(Y, I, X)")
    found = decided_text(text)
    assert not found.equal and "several ways" in found.reason
