"""Rows that index tables name: assumptions on pairs of entries, and without them."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import ROOT, failing, placed, told

SCATTER = """
import argus as ag
from argus import bf16, i32

@ag.kernel
def scatter(X: bf16["P N"], Out: i32["P"], Y: bf16["M N"], *, BP: int = 32):
    P, N = X.shape
    ASSUME
    ip, jn = ag.block(ag.cdiv(P, BP), ag.cdiv(N, 64))
    rows = ag.load(Out[ip * BP :], BP, fill=-1)
    Y[rows, jn * 64 :] = ag.load(X[ip * BP :, jn * 64 :], (BP, 64))
"""
GROUPED = (ROOT / "src" / "argus" / "kernels" / "grouped" / "kernel.py").read_text()
SEGMENTS = "(s + BM <= s2) | (e <= s2) | (s2 + BM <= s) | (e2 <= s)"


def found(source: str) -> list[tuple[str, Verdict]]:
    return [(o.rule, o.verdict) for o in failing(placed(source))]


@pytest.mark.parametrize(
    "fact",
    [
        "ag.assume(lambda a, b: a != b, Out, pairs=True)",
        # Entries that name no row may be alike.
        "ag.assume(lambda a, b: (a != b) | (a < 0), Out, pairs=True)",
        "ag.assume(lambda a, b: (a < b) | (b < a), Out, pairs=True)",
    ],
)
def test_rows_that_differ(fact: str) -> None:
    bad = failing(placed(SCATTER.replace("ASSUME", fact)))
    assert not bad, told(bad)


@pytest.mark.parametrize(
    "fact",
    [
        "pass",
        "ag.assume(lambda a: a >= 0, Out)",
        "ag.assume(lambda a, b: (a != b) | (a < 5), Out, pairs=True)",
    ],
)
def test_rows_that_may_be_alike(fact: str) -> None:
    bad = failing(placed(SCATTER.replace("ASSUME", fact)))
    assert [(o.rule, o.verdict) for o in bad] == [("AG0307", Verdict.UNKNOWN)]
    assert "different entries of Out" in bad[0].reason
    assert "pairs=True" in bad[0].reason


def test_contributions_may_go_to_one_row() -> None:
    adding = SCATTER.replace("ASSUME", "pass").replace(
        "Y[rows, jn * 64 :] = ag.load(X[ip * BP :, jn * 64 :], (BP, 64))",
        "x = ag.load(X[ip * BP :, jn * 64 :], (BP, 64))\n"
        "    ag.atomic_add(Y[rows, jn * 64 :], x)",
    )
    assert "AG0307" not in {rule for rule, _ in found(adding)}


def test_tiles_of_rows_that_a_table_names() -> None:
    """Tile t writes rows from Start[t] to End[t], at most BM of them."""
    assert SEGMENTS in GROUPED
    assert found(GROUPED) == []
    for weaker in (SEGMENTS.replace("BM", "BM // 2"), "s != s2"):
        source = GROUPED.replace(SEGMENTS, weaker)
        assert found(source) == [("AG0307", Verdict.UNKNOWN)]
