"""What the verifier is known to judge wrongly. A test that passes moves elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.verify.verdict import Verdict
from argus.verify.verifier import verify
from verifier.corpus.mistakes import placed
from verifier.report.subjects import Mutant

SOURCE = (Path(__file__).parent / "kernels" / "open.py").read_text()
STRICT = pytest.mark.xfail(strict=True, raises=AssertionError)


@STRICT
@pytest.mark.parametrize("kernel", ["halves", "groups_of_k"])
def test_false_alarm(kernel: str) -> None:
    report = verify(placed(SOURCE, kernel), only=("tags",))
    assert report.verdict is not Verdict.REFUTED


@STRICT
@pytest.mark.parametrize("kernel", ["largest"])
def test_missed(kernel: str) -> None:
    report = verify(placed(SOURCE, kernel), only=("tags",))
    assert report.verdict is not Verdict.PROVED


MISSED = {
    # Two buffers at one place; every access to one is ordered with those to the other.
    "buffers that overlap": Mutant("gemm sm80 epilogue", "buffer_overlaps", 0),
}


@STRICT
@pytest.mark.parametrize("name", MISSED)
def test_missed_mutant(name: str) -> None:
    program, _ = MISSED[name].made()
    report = verify(program, only=("tags", "order"))
    assert report.verdict is not Verdict.PROVED
