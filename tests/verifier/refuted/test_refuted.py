"""Every mistake in `kernels/` is refuted by its rule at its line; without it, proved.

To add one: see `verifier/corpus/mistakes.py`. Mistakes of data (AG03xx) are given to
the analysis of tags, others (AG04xx, and AG0311, which both know) to all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.verify.verdict import Verdict
from argus.verify.verifier import verify
from few import EVERY
from verifier.corpus.mistakes import Mistake, mistakes_of, placed, right_kernels
from verifier.tags.check_tags import told

FILES = sorted((Path(__file__).parent / "kernels").glob("*/*.py"))
MISTAKES = [m for file in FILES for m in mistakes_of(file)]
FIRST = {
    **{(m.kind, m.rule): m for m in reversed(MISTAKES)},
    **{(m.file.parent, m.rule): m for m in reversed(MISTAKES)},
}
"""The first of each class of mistakes, and of each rule in each family of kernels."""
FEW = [m for m in MISTAKES if m in FIRST.values()]
RIGHT = [(file, name) for file in FILES for name in right_kernels(file)]


@pytest.mark.parametrize("mistake", MISTAKES if EVERY else FEW, ids=lambda m: m.name)
def test_refuted(mistake: Mistake) -> None:
    program = placed(mistake.source, mistake.kernel)
    data = mistake.rule.startswith("AG03") and mistake.rule != "AG0311"
    report = verify(
        program, only=("assumptions", "tags") if data else ("tags", "order")
    )
    bad = [o for o in report.obligations if o.verdict is not Verdict.PROVED]
    refuted = [o for o in bad if o.verdict is Verdict.REFUTED]
    fitting = [
        o for o in refuted if o.rule == mistake.rule and o.span.line in mistake.lines
    ]
    assert fitting, f"expected {mistake.rule} in {mistake.lines}:\n{told(bad)}"
    assert all(o.counterexample is not None for o in refuted)


@pytest.mark.parametrize(
    ("file", "name"), RIGHT, ids=[f"{f.stem}-{name}" for f, name in RIGHT]
)
def test_right_without(file: Path, name: str) -> None:
    report = verify(placed(file.read_text(), name))
    bad = [o for o in report.obligations if o.verdict is not Verdict.PROVED]
    assert report.verdict is Verdict.PROVED, told(bad)
    assert all(a.kind == "assume" for a in report.assumptions)


def test_there_are_many() -> None:
    assert len(MISTAKES) >= 250
    assert len({m.source + m.kernel for m in MISTAKES}) == len(MISTAKES)
