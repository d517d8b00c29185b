"""What the verifier cannot decide is unknown, with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argus.verify.verdict import Verdict
from argus.verify.verifier import verify
from verifier.corpus.mistakes import kernels_of, placed
from verifier.tags.check_tags import told

FILE = Path(__file__).parent / "kernels" / "unknown.py"
SOURCE = FILE.read_text()
MARK = re.compile(r"# unknown (AG\d{4}): (.*)$")
CASES = [
    pytest.param(name, line, *found.groups(), id=name)
    for name, first, last in kernels_of(FILE)
    for line, text in enumerate(SOURCE.splitlines(), 1)
    if first <= line <= last and (found := MARK.search(text)) is not None
]


@pytest.mark.parametrize(("kernel", "line", "rule", "reason"), CASES)
def test_unknown(kernel: str, line: int, rule: str, reason: str) -> None:
    report = verify(placed(SOURCE, kernel))
    assert report.verdict is Verdict.UNKNOWN, told(list(report.obligations))
    open_ = [o for o in report.obligations if o.verdict is Verdict.UNKNOWN]
    assert all(o.reason for o in open_)
    assert [
        o
        for o in open_
        if o.rule == rule and o.span.line == line and reason in o.reason
    ], told(open_)


@pytest.mark.parametrize("kernel", ["two_branches", "rows_of_a_table"])
def test_trust_accepts_it_and_is_listed(kernel: str) -> None:
    lines = SOURCE.splitlines()
    (at,) = [c.values[1] for c in CASES if c.values[0] == kernel]
    assert isinstance(at, int)
    indent = lines[at - 1][: -len(lines[at - 1].lstrip())]
    lines.insert(at - 1, f'{indent}ag.trust("each row is written once")')
    report = verify(placed("\n".join(lines), kernel))
    assert report.verdict is Verdict.PROVED
    assert ["each row" in a.text for a in report.assumptions if a.kind == "trust"]


def test_every_kernel_has_a_mark() -> None:
    assert [c.values[0] for c in CASES] == [name for name, _, _ in kernels_of(FILE)]
