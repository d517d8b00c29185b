"""Loops whose iterations no size chooses alone: in a persistent grid, with one
iteration before.

How often a block goes from tile to tile, and how often it iterates in a tile, comes
from several sizes. Both are then free, but for what the requirements say of them: the
iteration outside the loop of keys is there only because T > 0.
"""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.order.check_order import ROOT, failing, placed, told

SOURCE = (ROOT / "src/argus/kernels/attention/kernel.py").read_text()
NAME = "attention_persistent"


def test_right() -> None:
    bad = failing(placed(SOURCE, NAME))
    assert not bad, told(bad)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    ag.require(T > 0, "a softmax over no keys is not defined")\n', ""),
        ("for j in ag.range(0, steps):", "for j in ag.range(1, steps):"),
        ("for _ in ag.range(1, steps):", "for _ in ag.range(2, steps):"),
        ("for _ in ag.range(1, steps):", "for _ in ag.range(0, steps):"),
        ("    query.release()\n", ""),
        ("        keys.release()\n", ""),
        ("        values.release()\n", ""),
    ],
)
def test_wrong(old: str, new: str) -> None:
    assert old in SOURCE
    bad = failing(placed(SOURCE.replace(old, new), NAME))
    assert any(o.rule == "AG0403" for o in bad), told(bad)
    assert all(o.verdict is not Verdict.PROVED for o in bad)
