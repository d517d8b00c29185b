"""A tile wider than its swizzle leaves in several TMA boxes, which all count."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

SOURCE = """
import argus as ag
from argus import bf16

@ag.kernel
def copy(A: bf16["B M N"], C: bf16["B M N"], *, N: int = 128):
    B, M, _ = A.shape
    b, i = ag.block(B, ag.cdiv(M, 64))
    out = ag.shared(bf16, (64, N))
    out.store(ag.load(A[b, i * 64 :, :], (64, N)))
    ag.tma_store(C[b, i * 64 :, 0:], out)
"""


@pytest.mark.parametrize("columns", [32, 64, 128, 256])
def test_right(columns: int) -> None:
    bad = failing(placed(SOURCE, N=columns))
    assert not bad, told(bad)


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        # The second box lies beyond the tensor, the first where the second belongs.
        ("C[b, i * 64 :, 0:]", "C[b, i * 64 :, 64:]", {"AG0305", "AG0306"}),
        ("C[b, i * 64 :, 0:]", "C[b, i * 32 :, 0:]", {"AG0305", "AG0307"}),
    ],
)
def test_wrong(old: str, new: str, rules: set[str]) -> None:
    assert SOURCE.count(old) == 1
    bad = failing(placed(SOURCE.replace(old, new)))
    found = {o.rule for o in bad if o.verdict is Verdict.REFUTED}
    assert rules <= found, told(bad)
