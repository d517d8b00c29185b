"""Rows stored in pages, at the quotient and remainder of what a table says."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

SLOTS = """
@ag.kernel
def k(K: bf16["T 64"], Slot: i64["T"], Cache: bf16["B {P} 64"]):
    T = K.shape[0]
    P = Cache.shape[1]
    ag.assume(lambda s: (s >= -1) & (s < Cache.shape[0] * P), Slot)
    ag.assume(lambda a, b: {apart}, Slot, pairs=True)
    t = ag.block(T)
    s = Slot[t]
    if {kept}:
        Cache[s // P, {at}, 0:64] = ag.load(K[t, 0:64])


@ag.reference
def ref(K, Slot, Cache):
    P = Cache.shape[1]
    out = Cache.copy()
    for t in range(len(Slot)):
        if Slot[t] >= 0:
            out[Slot[t] // P, Slot[t] % P] = K[t]
    return out
"""
RIGHT = {"P": "P", "apart": "(a != b) | (a < 0)", "kept": "s >= 0", "at": "s % P"}
TABLE = """
@ag.kernel
def k(K: bf16["B 64"], Length: i32["B"], Table: i32["B P"], Cache: bf16["N 16 64"]):
    ag.assume(lambda n: (n >= 0) & (n < Table.shape[1] * 16), Length)
    ag.assume(lambda t: (t >= 0) & (t < Cache.shape[0]), Table)
    {apart}
    b = ag.block(K.shape[0])
    n = Length[b]
    Cache[Table[b, n // 16], {at}, 0:64] = ag.load(K[b, 0:64])


@ag.reference
def ref(K, Length, Table, Cache):
    out = Cache.copy()
    for b in range(K.shape[0]):
        out[Table[b, Length[b] // 16], Length[b] % 16] = K[b]
    return out
"""
APART = "ag.assume(lambda a, b: a != b, Table, pairs=True)"


@pytest.mark.parametrize("pages", ["P", "16"])
def test_rows_at_a_quotient_and_remainder(pages: str) -> None:
    found = decided_text(SLOTS.format(**RIGHT | {"P": pages}))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"apart": "(a != b) | (a < 1)"},
        {"apart": "(a // P != b // P) | (a % P == b % P)"},
        {"kept": "s > 0"},
        {"at": "t % P"},
        {"at": "(s + 1) % P"},
    ],
)
def test_rows_at_another_place(change: dict[str, str]) -> None:
    assert not decided_text(SLOTS.format(**RIGHT | change)).equal


def test_a_row_in_the_page_that_a_table_names() -> None:
    found = decided_text(TABLE.format(apart=APART, at="n % 16"))
    assert found.equal, found.reason


@pytest.mark.parametrize(("apart", "at"), [("pass", "n % 16"), (APART, "n % 8")])
def test_a_row_in_another_page(apart: str, at: str) -> None:
    assert not decided_text(TABLE.format(apart=apart, at=at)).equal
