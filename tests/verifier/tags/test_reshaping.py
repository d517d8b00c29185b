"""Coordinates of tiles in other shapes: what names say of parts and of wholes."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import failing, placed, told

HEAD = """
import argus as ag
from argus import f32

@ag.kernel
def k(
    X: f32["S D"],
    T: f32["S G F"],
    Y: f32["S D"],
    Z: f32["S G F"],
    W: f32["S P"],
    *,
    D: int = 64,
    G: int = 4,
    F: int = 16,
    P: int = 4,
):
    S = X.shape[0]
    s = ag.block(ag.cdiv(S, 8))
    x = ag.load(X[s * 8 :, 0:64], (8, 64))
    t = ag.load(T[s * 8 :, 0:4, 0:16], (8, 4, 16))
"""

RIGHT = {
    "parts of one axis": """
    Z[s * 8 :, 0:4, 0:16] = ag.reshape(x, (8, 4, 16), dims="S G F") * t
""",
    "one axis of several": """
    Y[s * 8 :, 0:64] = ag.reshape(t, (8, 64), dims="S D") + x
""",
    "there and back": """
    p = ag.permute(ag.reshape(x, (8, 4, 16), dims="S G F"), "F S G")
    Y[s * 8 :, 0:64] = ag.reshape(ag.permute(p, "S G F"), (8, 64), dims="S D") + x
""",
    "halves": """
    a, b = ag.split(ag.reshape(x, (8, 2, 32), dims="S _ H"), 1, 2)
    Y[s * 8 :, 0:64] = ag.reshape(ag.join(b, a, 1), (8, 64), dims="S D")
""",
    "joined again": """
    a, b = ag.split(x, "D", 2)
    Y[s * 8 :, 0:64] = ag.join(a * 2.0, b, "D")
""",
    "pairs": """
    a, b = ag.split(ag.reshape(x, (8, 32, 2), dims="S H _"), 2, 2)
    a, b = ag.reshape(a, (8, 32), dims="S H"), ag.reshape(b, (8, 32), dims="S H")
    Y[s * 8 :, 0:64] = ag.interleave(a + b, a - b, "H").rename("S D")
""",
    "a sum of parts": """
    p = ag.reshape(x, (8, 4, 16), dims="S P F")
    W[s * 8 :, 0:4] = ag.sum(p, "F")
""",
}

WRONG = {
    "halves exchanged": """
    a, b = ag.split(x, "D", 2)
    Y[s * 8 :, 0:64] = ag.join(b, a, "D")
""",
    "halves as pairs": """
    a, b = ag.split(x.rename("S H"), "H", 2)
    Y[s * 8 :, 0:64] = ag.interleave(a, b, "H").rename("S D")
""",
    "pairs as halves": """
    a, b = x[:, ::2], x[:, 1::2]
    Y[s * 8 :, 0:64] = ag.join(a, b, "D")
""",
    "parts that do not meet": """
    a, b = ag.split(x, "D", 2)
    Y[s * 8 :, 0:32] = a + b
""",
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_right(name: str, target: str) -> None:
    bad = failing(placed(HEAD + RIGHT[name], target=target))
    assert not bad, told(bad)


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    bad = failing(placed(HEAD + WRONG[name]))
    assert bad and bad[0].verdict is Verdict.REFUTED, told(bad)


def test_parts_of_dimensions_make_no_coordinate() -> None:
    """A part of D is put together with S: which coordinate that is cannot be known."""
    bad = failing(
        placed(
            HEAD
            + """
    u = ag.load(X[s * 8 :, 16:48], (8, 32))
    Y[s * 8 : s * 8 + 4, 0:64] = ag.reshape(u, (4, 64), dims="S D")
"""
        )
    )
    reasons = [o.reason for o in bad if o.rule == "AG0305"]
    assert reasons and all("a part of D was put" in r for r in reasons), told(bad)
