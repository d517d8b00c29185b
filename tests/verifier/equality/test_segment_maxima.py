"""Maxima over the rows that a table names between two of its entries, or 0 of none."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

SEGMENTS = """
@ag.kernel
def k(H: f32["V D"], Row: i32["E"], First: i32["N1"], Y: f32["N D"]):
    V, D = H.shape
    E, N = Row.shape[0], Y.shape[0]
    ag.require(First.shape[0] == N + 1, "ends")
    ag.assume(lambda r: (r >= {least}) & (r < V), Row)
    ag.assume(lambda p: (p >= 0) & (p <= E), First)
    n, d = ag.block(N, ag.cdiv(D, 64))
    low, high = First[n], First[n + 1]
    m = ag.full((64,), -ag.inf, f32, dims="D")
    for e in ag.range(low, high, 16):
        rows = ag.load(Row[e:high], (16,), fill=-1)
        h = ag.load(H[rows, d * 64 :], (16, 64), fill={fill})
        m = ag.maximum(m, ag.max(h.rename("E D"), "E"))
    Y[n, d * 64 :] = ag.where(m > {above}, m, 0.0)


@ag.reference
def ref(H, Row, First):
    N = First.shape[0] - 1
    out = np.zeros((N, H.shape[1]))
    for n in range(N):
        low, high = First[n], First[n + 1]
        if high > low{more}:
            out[n] = H[Row[low:high]].max(0)
    return out
"""
RIGHT = {"least": "0", "fill": "-ag.inf", "above": "-ag.inf", "more": ""}


def test_maxima_of_segments_that_may_be_empty() -> None:
    found = decided_text(SEGMENTS.format(**RIGHT))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change", [{"above": "0.0"}, {"more": " + 1"}, {"least": "-1"}]
)
def test_other_maxima_of_segments(change: dict[str, str]) -> None:
    assert not decided_text(SEGMENTS.format(**RIGHT | change)).equal
