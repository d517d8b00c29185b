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


DIGITS = """
@ag.kernel
def k(X: f32["A B C"], Y: f32["{to}"]{more}):
    A, B, C = X.shape
    R = {count}
    ag.require({required}, "all")
    i = ag.block(ag.cdiv(R, 128))
    x = X.view("R", shape=(R,), at=lambda r: ({read}))
    y = Y.view("R", shape=(R,), at=lambda r: ({written}))
    y[i * 128 :] = ag.load(x[i * 128 :], (128,))


@ag.reference
def ref(X):
    return X.{of}
"""
COPIED = {
    "to": "A B C", "more": "", "count": "A * B * C", "required": "R > 0",
    "read": "r // (B * C), r // C % B, r % C", "of": "copy()",
    "written": "r // (B * C), r // C % B, r % C",
}  # fmt: skip
TURNED = COPIED | {
    "to": "C A B", "written": "r % C, r // C // B, r // C % B",
    "of": "transpose(2, 0, 1)",
}  # fmt: skip
FLATTENED = COPIED | {
    "to": "N", "required": "Y.shape[0] == R", "written": "r", "of": "reshape(-1)",
}  # fmt: skip


@pytest.mark.parametrize("which", [COPIED, TURNED, FLATTENED])
def test_a_tile_of_three_dimensions(which: dict[str, str]) -> None:
    found = decided_text(DIGITS.format(**which))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("which", "change"),
    [
        (COPIED, {"count": "A * B * C - 1"}),
        (COPIED, {"written": "r // (A * C), r // C % A, r % C"}),
        (COPIED, {"read": "r // (B * C), r // B % B, r % C"}),
        (TURNED, {"written": "r % C, r // C % B, r // C // B"}),
        (TURNED, {"written": "r % C, r // A // B, r // A % B"}),
        (FLATTENED, {"read": "r // (B * C), r // B % C, r % B"}),
        (FLATTENED, {"required": "Y.shape[0] <= R"}),
        (FLATTENED, {"required": "Y.shape[0] >= R"}),
    ],
)
def test_a_tile_of_other_dimensions(
    which: dict[str, str], change: dict[str, str]
) -> None:
    assert not decided_text(DIGITS.format(**which | change)).equal


PUT_TOGETHER = """
@ag.kernel
def k(X: f32["A B C"], Y: f32["R"]):
    A, B, C = X.shape
    ag.require(Y.shape[0] == A * B * C, "all")
    a, i, j = ag.block(A, ag.cdiv(B, 8), ag.cdiv(C, 64))
    y = Y.view("B C", shape=(B, C), at=lambda b, c: ({at},))
    y[i * 8 :, j * 64 :] = ag.load(X[a, i * 8 :, j * 64 :], (8, 64))


@ag.reference
def ref(X):
    return X.reshape(-1)
"""


def test_coordinates_that_are_put_together() -> None:
    """A bound of a row in a tile, times a size, is one of its elements."""
    found = decided_text(PUT_TOGETHER.format(at="(a * B + b) * C + c"))
    assert found.equal, found.reason


@pytest.mark.parametrize("at", ["(a + b * A) * C + c", "(a * B + b) * C + c - 1"])
def test_coordinates_that_are_put_together_otherwise(at: str) -> None:
    assert not decided_text(PUT_TOGETHER.format(at=at)).equal


REDUCED = """
@ag.kernel
def k(X: f32["A B C"], Y: f32["1"]):
    A, B, C = X.shape
    R = {count}
    ag.require(R > 0, "some")
    x = X.view("R", shape=(R,), at=lambda r: (r // (B * C), r // C % B, {column}))
    made = ag.zeros((128,), f32, dims="R")
    for r in ag.range(0, R, 128):
        made = made + ag.load(x[r:], (128,))
    Y[0:1] = ag.full((1,), 0.0, f32) + ag.sum(made, "R")


@ag.reference
def ref(X):
    return X.sum().reshape(1)
"""


def test_a_sum_of_three_dimensions() -> None:
    made = REDUCED.format(count="A * B * C", column="r % C")
    found = decided_text(made)
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("count", "column"),
    [("A * B * C - 1", "r % C"), ("A * B * C", "r % B"), ("A * B", "r % C")],
)
def test_a_sum_of_less(count: str, column: str) -> None:
    assert not decided_text(REDUCED.format(count=count, column=column)).equal


PARTS = """
@ag.kernel
def k(X: f32["E"], M: f32["1"], Y: f32["I"], *, E: int = 1000003, I: int = 488):
    parts = X.view("I J", shape=(I, 2050), at=lambda i, j: (i * 2050 + j,))
    i = ag.block(I)
    mean = ag.full((), M[0], f32)
    total = ag.full((2048,), 0.0, f32, dims="J")
    for j in ag.range(0, 2050, 2048):
        at = i * 2050 + j + ag.index(total, "J")
        x = ag.load(parts[i, j:], (2048,)) - mean
        inside = (at < E) & (j + ag.index(total, "J") < {inner})
        total = total + ag.where(inside, x * x, 0.0)
    Y[i] = ag.sum(total, "J")


@ag.reference
def ref(X, M, E, I):
    at = np.arange(I)[:, None] * 2050 + np.arange(2050)
    x = np.pad(X, (0, I * 2050 - E))[at] - M[0]
    return np.where(at < E, x * x, 0.0).sum(1)
"""


def test_what_tiles_of_parts_count_is_one_index() -> None:
    found = decided_text(PARTS.format(inner=2050))
    assert found.equal, found.reason
    assert not decided_text(PARTS.format(inner=2049)).equal
