"""Two dimensions that one loop counts, taken apart by a size of the launch."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

FLAT = """
@ag.kernel
def k(X: f32["B R C"], Y: f32["B"]):
    B, R, C = X.shape
    ag.require((R > 0) & (C > 0), "some")
    b = ag.block(B)
    made = ag.full((128,), {first}, f32, dims="C")
    n = {steps}
    for t in ag.range(0, {count}):
        x = ag.load(X[b, t // n, {column} :], (128,), fill={first})
        made = {step}
    Y[b] = {end}(made, "C")


@ag.reference
def ref(X):
    return {wanted}
"""
SUM = {
    "first": "0.0", "steps": "ag.cdiv(C, 128)", "count": "R * n",
    "column": "t % n * 128", "step": "made + x", "end": "ag.sum",
    "wanted": "X.sum((1, 2))",
}  # fmt: skip
MAX = SUM | {
    "first": "-ag.inf", "step": "ag.maximum(made, x)", "end": "ag.max",
    "wanted": "X.reshape(len(X), -1).max(1)",
}  # fmt: skip


@pytest.mark.parametrize("of", [SUM, MAX])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"column": "(t - t // n * n) * 128"},
        {"count": "n * R"},
        {"count": "R * n + n"},  # of a row that is not there nothing is read
    ],
)
def test_all_rows_and_columns(of: dict[str, str], change: dict[str, str]) -> None:
    found = decided_text(FLAT.format(**of | change))
    assert found.equal, found.reason


@pytest.mark.parametrize("of", [SUM, MAX])
@pytest.mark.parametrize(
    "change",
    [
        {"count": "(R - 1) * n"},
        {"count": "R * n - 1"},
        {"steps": "ag.max(C // 128, 1)"},
        {"column": "t % R * 128"},
        {"column": "t % n * 64"},
    ],
)
def test_other_rows_or_columns(of: dict[str, str], change: dict[str, str]) -> None:
    assert not decided_text(FLAT.format(**of | change)).equal


ADDED = """
@ag.kernel
def k(G: f32["B T D"], Id: i32["B T"], E: f32["V D"]):
    B, T, D = G.shape
    V = E.shape[0]
    ag.assume(lambda v: (v >= 0) & (v < V), Id)
    b, t, d = ag.block(B, ag.cdiv(T, 32), ag.cdiv(D, 64))
    rows = ag.load(Id[b, t * 32 :], (32,), fill=-1)
    ag.atomic_add(E[rows, d * 64 :], ag.load(G[b, t * 32 :, d * 64 :], (32, 64)))


@ag.reference
def ref(G, Id, E):
    out = E.copy()
    np.add.at(out, Id.reshape(-1), {of}.reshape(-1, G.shape[-1]))
    return out
"""


def test_rows_that_a_reference_counts_as_one_dimension() -> None:
    assert decided_text(ADDED.format(of="G")).equal
    assert not decided_text(ADDED.format(of="G[:, ::-1]")).equal
    assert not decided_text(ADDED.format(of="G[::-1]")).equal
