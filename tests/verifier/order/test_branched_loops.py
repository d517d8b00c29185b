"""Loops inside a branch that tables decide, as in attention of packed sequences.

A block whose tile its sequence does not have leaves at once; how often the others
iterate is a table's, too. What the branch does before its loop is over when states of
the loop are compared.
"""

from __future__ import annotations

import pytest

from argus.ir.program import Program
from argus.verify.verdict import Obligation, Verdict
from verifier.order.check_order import ROOT, failing, placed, told

SOURCE = (ROOT / "src/argus/kernels/varlen_attention/kernel.py").read_text()
NAME = "varlen_attention"


def _unordered(program: Program) -> list[Obligation]:
    """What names of dimensions say of tables is not asked here."""
    return [o for o in failing(program) if o.rule.startswith("AG04")]


def test_right() -> None:
    bad = _unordered(placed(SOURCE, NAME))
    assert not bad, told(bad)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for j in ag.range(0, steps):", "for j in ag.range(1, steps):"),
        ("for j in ag.range(1, steps):", "for j in ag.range(2, steps):"),
        ("for j in ag.range(1, steps):", "for j in ag.range(0, steps):"),
        (
            "        if q0 < rows:\n            unit",
            "        if q0 <= rows:\n            unit",
        ),
        ("if steps > 0:", "if steps > 1:"),
        ("                        keys.release()\n", ""),
        ("                        values.release()\n", ""),
    ],
)
def test_wrong(old: str, new: str) -> None:
    assert old in SOURCE
    bad = _unordered(placed(SOURCE.replace(old, new), NAME))
    assert any(o.rule == "AG0403" for o in bad), told(bad)
    assert all(o.verdict is not Verdict.PROVED for o in bad)
