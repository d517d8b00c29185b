"""Constants that a branch leaves beside data, and padding that they hold, too.

What is known of padding has to hold whichever way was taken.
"""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

LAZY = """
import argus as ag
from argus import f32

@ag.kernel
def lse(X: f32["M N"], L: f32["M"]):
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, 8))
    m = ag.full((8,), {first}, f32, dims="M")
    s = ag.zeros((8,), f32, dims="M")
    for n in ag.range(0, N, 128):
        x = ag.load(X[i * 8 :, n:], (8, 128), fill={fill})
        new = ag.maximum(m, ag.max(x, "N"))
        if ag.any(new > m):
            s = s * ag.exp(m - new)
            m = new
        s = s + ag.sum(ag.exp(x - m), "N")
    L[i * 8 :] = m + ag.log(s)
"""
CHOSEN = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M"], some: i32):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 8))
    top = ag.zeros((8,), f32, dims="M")
    for n in ag.range(0, N, 128):
        if some > 0:
            x = ag.load(X[i * 8 :, n:], (8, 128), fill={fill})
        else:
            x = ag.full((8, 128), {held}, f32, dims="M N")
        top = top + ag.sum(x, "N")
    Y[i * 8 :] = top
"""
SECOND_MOMENT = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["N C L"], Y: f32["N C"]):
    N, C, L = X.shape
    n, g = ag.block(N, C // 4)
    q = ag.zeros((4, 128), f32, dims="C L")
    for p in ag.range(0, L, 128):
        x = ag.load(X[n, g * 4 :, p:], (4, 128))
        q = {kept}
    Y[n, g * 4 :] = ag.sum(q, "L")
"""


def _padding(text: str) -> set[Verdict]:
    bad = failing(placed(text.replace("import f32", "import f32, i32")))
    return {o.verdict for o in bad if o.rule == "AG0310"}


def test_a_vote_on_padding_of_the_least_number_says_nothing() -> None:
    text = LAZY.format(first="-ag.inf", fill="-ag.inf")
    assert not _padding(text), told(failing(placed(text)))


@pytest.mark.parametrize(
    "change", [{"first": "-ag.inf", "fill": "0.0"}, {"first": "0.0", "fill": "1.0"}]
)
def test_a_vote_on_padding_that_wins_is_seen(change: dict[str, str]) -> None:
    assert _padding(LAZY.format(**change))


def test_padding_is_what_both_branches_leave() -> None:
    assert not _padding(CHOSEN.format(fill="0.0", held="0.0"))


@pytest.mark.parametrize(
    "change", [{"fill": "0.0", "held": "1.0"}, {"fill": "1.0", "held": "0.0"}]
)
def test_padding_that_one_branch_fills_otherwise(change: dict[str, str]) -> None:
    assert _padding(CHOSEN.format(**change))


def test_a_loop_that_forgets_what_it_had_is_judged() -> None:
    """Coordinates that are known in the first iteration only are reduced, too."""
    bad = failing(placed(SECOND_MOMENT.format(kept="x * x")))
    assert {o.rule for o in bad} & {"AG0304", "AG0308"}, told(bad)
