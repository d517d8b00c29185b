"""Rows between entries of tables, of which one is read at another position."""

from __future__ import annotations

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Verdict

KERNEL = """import argus as ag
from argus import f32, i32


@ag.kernel
def k(A: f32["G N"], First: i32["G"], Last: i32["G"], C: f32["M N"]):
    M, N = C.shape
    G = A.shape[0]
    ag.assume(lambda f: (f >= 0) & (f <= M), First)
    ag.assume(lambda l: (l >= 0) & (l <= M), Last)
    ag.assume({said}, pairs=True)
    g, j = ag.block(G, ag.cdiv(N, 64))
    first = {first}
    last = {last}
    a = ag.load(A[g, j * 64 :], (64,))
    C[first:last, j * 64 :] = ag.zeros((64, 64), f32, dims="M N") + a
"""
APART = "lambda f, l, f2, l2: (l <= f2) | (l2 <= f), First, Last"
OTHER = "lambda a, b: a != b, First"
FIRST, LAST = "First[g]", "Last[g]"


@pytest.mark.parametrize(
    ("said", "first", "last", "proved"),
    [
        (APART, FIRST, LAST, True),
        (APART, FIRST, "Last[G - 1 - g]", False),
        (APART, FIRST, "Last[0]", False),
        (APART, FIRST, "Last[g] + 1", False),
        (OTHER, FIRST, "First[g] + 1", True),
        (OTHER, FIRST, "First[g] + 2", False),
        (OTHER, FIRST, "First[G - 1 - g]", False),
        (OTHER, FIRST, "First[0]", False),
        (OTHER, FIRST, LAST, False),
        (OTHER, "First[g] + First[G - 1 - g]", "First[g] + 1", False),
    ],
)
def test_what_is_said_of_pairs_is_of_one_position(
    said: str, first: str, last: str, proved: bool
) -> None:
    """An entry of the same table at another position is another number."""
    text = KERNEL.format(said=said, first=first, last=last)
    (kernel,) = load_kernels("made.py", text).kernels.values()
    found = proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report.verdict
    assert found is (Verdict.PROVED if proved else Verdict.UNKNOWN)
