"""Places that a table of different numbers names: each once, and all if it is a
permutation."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

PERMUTED = """
@ag.kernel
def k(X: f32["P D"], Perm: i32["{size}"], Y: f32["P D"], V: i32["{size}"]):
    P, D = X.shape
    {range}
    {pairs}
    i, j = ag.block(ag.cdiv({rows}, 16), ag.cdiv(D, 64))
    rows = ag.load(Perm[i * 16 :], (16,), fill=-1)
    x = ag.load(X[i * 16 :, j * 64 :], (16, 64)).rename("{size} D")
    Y[{at}, j * 64 :] = x{mask}


@ag.reference
def ref(X, Perm):
    y = np.zeros_like(X)
    y[Perm[:X.shape[0]]] = X
    return y
"""
WHOLE = {
    "size": "P",
    "range": "ag.assume(lambda p: (p >= 0) & (p < P), Perm)",
    "pairs": "ag.assume(lambda a, b: a != b, Perm, pairs=True)",
    "rows": "P",
    "at": "rows",
    "mask": "",
}

PAGED = """
@ag.kernel
def k(New: f32["T D"], Slot: i32["T"], Cache: f32["P 16 D"]):
    T, D = New.shape
    P = Cache.shape[0]
    ag.require(D <= 64, "a row is a tile")
    ag.assume(lambda s: (s >= 0) & (s < P * 16), Slot)
    {pairs}
    t = ag.block({rows})
    s = Slot[t]
    Cache[s // 16, {row}, 0:] = ag.load(New[t, 0:], (64,))


@ag.reference
def ref(New, Slot, Cache):
    c = Cache.copy()
    c[Slot // 16, Slot % 16] = New
    return c
"""
PAGES = {
    "pairs": "ag.assume(lambda a, b: a != b, Slot, pairs=True)",
    "rows": "T",
    "row": "s % 16",
}


def test_a_permutation_writes_every_row() -> None:
    found = decided_text(PERMUTED.format(**WHOLE))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": "pass"},
        {"pairs": "ag.assume(lambda a, b: a <= b, Perm, pairs=True)"},
        {"pairs": "ag.assume(lambda a, b: a != b, V, pairs=True)"},
        {"range": "pass"},
        {"range": "ag.assume(lambda p: (p >= -1) & (p < P), Perm)"},
        {"rows": "(P - 1)"},
        {"rows": "(P - 16)"},
        {"size": "Q"},
        {"at": "ag.where(rows > 3, rows, -1)"},
        {"at": "ag.where(ag.index(rows, 'P') > 3, rows, -1)"},
        {"mask": " + 1.0"},
    ],
)
def test_rows_that_no_permutation_names(change: dict[str, str]) -> None:
    found = decided_text(PERMUTED.format(**WHOLE | change))
    assert not found.equal


def test_a_row_that_numpy_refuses_is_none() -> None:
    """The reference has no result; that the kernel stores there is another finding."""
    range_ = "ag.assume(lambda p: (p >= 0) & (p <= P), Perm)"
    assert decided_text(PERMUTED.format(**WHOLE | {"range": range_})).equal


def test_different_slots_are_different_rows_of_pages() -> None:
    found = decided_text(PAGED.format(**PAGES))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": "pass"},
        {"pairs": "ag.assume(lambda a, b: a != b + 1, Slot, pairs=True)"},
        {"rows": "T - 1"},
        {"row": "(s + 1) % 16"},
        {"row": "t % 16"},
    ],
)
def test_slots_that_may_be_the_same_or_others(change: dict[str, str]) -> None:
    found = decided_text(PAGED.format(**PAGES | change))
    assert not found.equal


def test_what_one_branch_assumes_is_not_said_of_all() -> None:
    """Where control does not come, two entries may be the same."""
    text = PAGED.format(**PAGES | {"pairs": "pass"}).replace(
        "    s = Slot[t]",
        "    if t > 3:\n"
        "        ag.assume(lambda a, b: a != b, Slot, pairs=True)\n"
        "    s = Slot[t]",
    )
    assert not decided_text(text).equal
