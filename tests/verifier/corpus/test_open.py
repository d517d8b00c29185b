"""What the verifier is known to judge wrongly. A test that passes moves elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.verify.verdict import Verdict
from argus.verify.verifier import verify
from verifier.corpus.mistakes import placed

SOURCE = (Path(__file__).parent / "kernels" / "open.py").read_text()
STRICT = pytest.mark.xfail(strict=True, raises=AssertionError)


@STRICT
@pytest.mark.parametrize("kernel", ["real_part"])
def test_false_alarm(kernel: str) -> None:
    report = verify(placed(SOURCE, kernel), only=("tags",))
    assert report.verdict is not Verdict.REFUTED


@STRICT
@pytest.mark.parametrize("kernel", ["the_same_again"])
def test_missed(kernel: str) -> None:
    report = verify(placed(SOURCE, kernel), only=("tags",))
    assert report.verdict is not Verdict.PROVED
