"""Maxima of tiles that have a scale each: found by two kinds of sums at once."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

SOURCE = '''
import argus as ag
from argus import bf16, f32

@ag.kernel
def scaled_tiles(
    Q: bf16["S D"],
    K: bf16["T D"],
    V: bf16["T D"],
    Scale: f32["G"],
    O: bf16["S D"],
    *,
    D: int = 64,
    BQ: int = 64,
    BT: int = 32,
):
    """A scale for each tile of keys, as after quantising."""
    S, T = Q.shape[0], K.shape[0]
    ag.require(ag.dim("G") * BT == T, "a scale for each tile of keys")
    ag.launch(warps=4)
    i = ag.block(ag.cdiv(S, BQ))
    q = ag.load(Q[i * BQ :, :], (BQ, D))
    m = ag.full((BQ,), -1e30, f32)
    l = ag.zeros((BQ,), f32)
    o = ag.zeros((BQ, D), f32)
    for t in ag.range(0, T, BT):
        s = ag.dot(q, ag.load(K[t:, :], (BT, D)).T) * Scale[t // BT]
        m_new = ag.maximum(m, ag.max(s, "T"))
        p = ag.exp(s - m_new)
        alpha = ag.exp(m - m_new)
        l = l * alpha + ag.sum(p, "T")
        v = ag.load(V[t:, :], (BT, D))
        o = ag.dot(p.to(bf16), v, o * alpha)
        m = m_new
    O[i * BQ :, :] = (o / l).to(bf16)
'''


def test_right() -> None:
    bad = failing(placed(SOURCE))
    assert not bad, told(bad)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("Scale[t // BT]", "Scale[t // BT + 1]", "AG0308"),
        ("l * alpha + ag", "l + ag", "AG0321"),
        ("v, o * alpha", "v, o", "AG0321"),
        ("V[t:, :]", "V[t + BT :, :]", "AG0301"),
        ("ag.exp(m - m_new)", "ag.exp2(m - m_new)", "AG0321"),
    ],
)
def test_wrong(old: str, new: str, rule: str) -> None:
    assert SOURCE.count(old) == 1
    bad = failing(placed(SOURCE.replace(old, new)))
    assert rule in {o.rule for o in bad if o.verdict is Verdict.REFUTED}, told(bad)
