"""A few blocks that stride over all parts: each part is that of one block and turn."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

COUNTS = """
@ag.kernel
def k(I: i32["P"], H: i32["V"], *, BP: int = 128, NB: int = 4):
    P = I.shape[0]
    i = ag.block(NB)
    for p in ag.range({first}, {last}, {step}):
        rows = ag.load(I[p:], (BP,), fill=-1)
        ag.atomic_add(H[rows], ag.full((BP,), 1, i32))


@ag.reference
def ref(I, H):
    return H + np.bincount(I, minlength=len(H))
"""
ADDED = """
@ag.kernel
def k(X: f32["M N"], I: i32["M"], Y: f32["V N"], *, BM: int = 16, NB: int = 3):
    M, N = X.shape
    i, j = ag.block(NB, ag.cdiv(N, 64))
    for m in ag.range(i * BM, M, NB * BM):
        rows = ag.load(I[m:], (BM,), fill=-1)
        x = ag.load(X[m{shift}:, j * 64 :], (BM, 64))
        ag.atomic_add(Y[rows, j * 64 :], x.rename("M N"))


@ag.reference
def ref(X, I, Y):
    y = Y.copy()
    np.add.at(y, I, X)
    return y
"""
RIGHT = {"first": "i * BP", "last": "P", "step": "NB * BP"}


def test_counts_of_strided_parts() -> None:
    found = decided_text(COUNTS.format(**RIGHT))
    assert found.equal, found.reason


def test_rows_of_strided_parts() -> None:
    found = decided_text(ADDED.format(shift=""))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"first": "(i + 1) * BP"},
        {"first": "i * BP + 1"},
        {"last": "P - 1"},
        {"last": "P - BP"},
        {"step": "(NB - 1) * BP"},
        {"step": "(NB + 1) * BP"},
    ],
    ids=str,
)
def test_parts_that_are_missed_or_met_twice(change: dict[str, str]) -> None:
    assert not decided_text(COUNTS.format(**(RIGHT | change))).equal


def test_rows_beside_those_that_a_table_names() -> None:
    assert not decided_text(ADDED.format(shift=" + 1")).equal
