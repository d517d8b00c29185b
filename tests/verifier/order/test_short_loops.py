"""Prologues: loops of a few iterations at most, of which a size says how many."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, told

TEXT = """import argus as ag
from argus import bf16, f32


@ag.kernel
def kernel(A: bf16["M K"], Y: f32["M"], *, BM=64, BK=32, S=3):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, BM))
    n = ag.cdiv(K, BK)
    ring = ag.ring(S, a=bf16.tile(BM, BK))
    acc = ag.zeros((BM,), f32, dims="M")
    for p in ag.range({prologue}):
        {guard}with ring.fill() as slot:
                slot.a.load(A[i * BM :, p * BK :])
    for t in ag.range(n):
        if {more}:
            with ring.fill() as slot:
                slot.a.load(A[i * BM :, (t + S - 1) * BK :])
        with ring.drain() as slot:
            acc = acc + ag.sum(slot.a.load().to(f32), "K")
    Y[i * BM :] = acc
"""
GIVEN = {"guard": "if True:\n            ", "more": "t + S - 1 < n"}
RIGHT = {
    "the least of two": {"prologue": "ag.min(S - 1, n)"},
    "the other way round": {"prologue": "ag.min(n, S - 1)"},
    "a branch in it": {
        "prologue": "S - 1",
        "guard": "if p < n:\n            ",
    },
    "a branch that compares elements": {
        "prologue": "S - 1",
        "guard": "if p * BK < K:\n            ",
    },
}
WRONG = {
    "one too few": {"prologue": "ag.min(S - 2, n)"},
    "one too few of long rows": {"prologue": "ag.min(S - 1, ag.max(n - 1, 1))"},
    "fewer before the last": {"prologue": "ag.min(S - 1, n)", "more": "t + S < n"},
    "of whole tiles alone": {"prologue": "ag.min(S - 1, K // BK)"},
    "none of one tile": {
        "prologue": "S - 1",
        "guard": "if p < n - 1:\n            ",
    },
    "too many": {"prologue": "ag.min(S + 1, n)"},
    "as if a row were short": {"prologue": "ag.min(n, 7)", "more": "t + S < 0"},
    "where a row is long": {
        "prologue": "S - 1",
        "guard": "if (p < n) & (n != 11):\n            ",
    },
}


@pytest.mark.parametrize("name", RIGHT)
def test_prologues(name: str) -> None:
    program = placed(TEXT.format(**{**GIVEN, **RIGHT[name]}))
    assert not (bad := failing(program)), told(bad)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_prologues(name: str) -> None:
    bad = failing(placed(TEXT.format(**{**GIVEN, **WRONG[name]})))
    assert bad and bad[0].verdict is Verdict.REFUTED, told(bad)


def test_both_roles_stop_early() -> None:
    text = """import argus as ag
from argus import f32


@ag.kernel
def kernel(A: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    n = ag.cdiv(K, 32)
    ring = ag.ring(2, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for k in ag.range(ag.min(n, {0})):
            with ring.fill() as slot:
                slot.a.load(A[i * 64 :, k * 32 :])
    with ag.role("use", warpgroups=1):
        for k in ag.range(ag.min(n, {1})):
            with ring.drain() as slot:
                C[i * 64 :, k * 32 :] = slot.a.load()
"""
    assert not (bad := failing(placed(text.format(5, 5)))), told(bad)
    bad = failing(placed(text.format(5, 6)))
    assert bad and bad[0].verdict is Verdict.REFUTED, told(bad)
