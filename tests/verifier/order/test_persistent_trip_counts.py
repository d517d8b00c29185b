"""Loops whose iterations no size chooses alone: in a persistent grid, with one
iteration before.

How often a block goes from tile to tile, and how often it iterates in a tile, comes
from several sizes. Both are then free, but for what is known of sizes: the iteration
outside the loop of keys is there since no launch has T = 0.

A loop with a bound may have no size that lets it go on until it repeats.
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


WINDOW = """
import argus as ag
from argus import bf16, f32

@ag.kernel
def k(Q: bf16["S D"], V: bf16["T D"], O: f32["S D"], *, D: int = 64):
    S, T = Q.shape[0], V.shape[0]
    i = ag.block(ag.cdiv(S, 64))
    s, o = ag.load(Q[i * 64 :, :], (64, D)), ag.zeros((64, D), f32)
    kept = ag.shared(bf16, (64, 64))
    for t in ag.range(ag.max(i * 64 - 128, 0), i * 64 + 64, 64):
        kept.store(s)
        ag.sync()
        o = o + kept.load().to(f32)
        ag.sync()
    O[i * 64 :, :] = o
"""


def test_a_loop_of_at_most_three_iterations_is_proved() -> None:
    assert not failing(placed(WINDOW, "k"))


def test_in_a_cluster_it_is_not_known() -> None:
    """Blocks that iterate differently often are not walked together: nothing else says
    how often the loop iterates.
    """
    text = WINDOW.replace("    S, T", "    ag.cluster(2)\n    S, T")
    text = text.replace(
        "i = ag.block(ag.cdiv(S, 64))", "i, _ = ag.block_tile(ag.cdiv(S, 64), 1)"
    )
    bad = failing(placed(text, "k"))
    assert bad and all(o.verdict is Verdict.UNKNOWN for o in bad), told(bad)
