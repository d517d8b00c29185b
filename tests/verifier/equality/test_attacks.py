"""Wrong kernels that must not be equal to their reference, each beside a right one.

A pair differs in one place of a text: the right form shows that equality is within
reach, so that a wrong one which is not equal is told apart and not just not decided.
"""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

VECTOR = """
@ag.kernel
def k(X: {type}["M"], Z: {type}["M"], Y: {out}["M"], s: i32):
    M, = X.shape
    m = ag.block(ag.cdiv(M, 64)) * 64
    x = ag.load(X[m:], (64,))
    z = ag.load(Z[m:], (64,))
    Y[m:] = {value}


@ag.reference
def ref(X, Z, s):
    return {wanted}
"""


def vector(value: str, wanted: str, type_: str = "f32", out: str = "") -> str:
    """An element-wise kernel and its reference."""
    return VECTOR.format(value=value, wanted=wanted, type=type_, out=out or type_)


WIDE = ("X.astype(np.int64) + Z.astype(np.int64)", "u8", "i32")
DIGIT = "u32", "u32"
ROTATED = "((X << 9) | (X >> 23)) & 0xFFFFFFFF"
ELEMENTS = [
    # what has 8 bits wraps around
    ("x.to(i32) + z.to(i32)", "(x + z).to(i32)", *WIDE),
    ("x.to(i32) + z.to(i32)", "(x.to(i32) + z.to(i32)).to(u8).to(i32)", *WIDE),
    ("x.to(i32) + z.to(i32)", "x.to(i8).to(i32) + z.to(i32)", *WIDE),
    ("x < s", "x.to(i32).to(u8) <= s", "X < s", "u8", "boolean"),
    ("(x.to(i32) // 2).to(u8)", "(x // 2) + 255", "X // 2", "u8", "u8"),
    ("x", "x.to(i32).to(i64)", "X", "i64", "i64"),
    # whole numbers round down, and floats are cut towards 0
    ("x // 3", "-((-x) // 3)", "X // 3", "i32", "i32"),
    ("x % 3", "-((-x) % 3)", "X % 3", "i32", "i32"),
    ("x + s // 4", "x + (s + 3) // 4", "X + s // 4", "i32", "i32"),
    ("x.to(i32)", "ag.floor(x).to(i32)", "X.astype(int)", "f32", "i32"),
    ("x", "x.to(i32).to(f32)", "X", "f32", "f32"),
    # constants that are near to each other, and are not the same
    ("x * 0.5", "x * 0.50000001", "X * 0.5", "f32", "f32"),
    ("x", "x * 1.0000001", "X", "f32", "f32"),
    ("ag.exp2(x * 1.4426950408889634)", "ag.exp2(x * 1.4427)", "np.exp(X)", "f32", ""),
    # infinities and what is not a number
    ("x", "x + 1e30 - 1e30", "X", "f32", "f32"),
    ("x", "x + ag.inf - ag.inf", "X", "f32", "f32"),
    ("x", "ag.where(x != x, x, x + 1.0)", "X", "f32", "f32"),
    ("ag.abs(x)", "x", "abs(X)", "f32", "f32"),
    # bits and halves of products; numbers that lie apart
    ("ag.mulhi(x, z)", "ag.mulhi(x, z) + 1", "(X * Z) >> 32", "i32", "i32"),
    ("x ^ 12", "x ^ 8", "X + 12 - 2 * (X & 12)", "i32", "i32"),
    ("x ^ -1", "x ^ 255", "-X - 1", "i32", "i32"),
    ("x // 10", "ag.mulhi(x, ag.full((64,), 3435973836, u32)) >> 3", "X // 10", *DIGIT),
    ("ag.mulhi(x, ag.full((64,), 3435973837, u32)) >> 3", "x", "X // 10", *DIGIT),
    ("(x << 9) | (x >> 23)", "(x << 9) | (x >> 22)", ROTATED, *DIGIT),
    # quotients of whole numbers, in floats that hold them or do not
    (
        "(x.to(f32) / z.to(f32)).to(i32)",
        "(x.to(bf16) / z.to(bf16)).to(i32)",
        *("(X / Z).astype(np.int32)", "i16", "i32"),
    ),
    ("x.to(f32).to(i16)", "x.to(bf16).to(f32).to(i16)", "X", "i16", "i16"),
    ("ag.ceil(x * 4.0)", "ag.floor(x * 4.0)", "-np.floor(X * -4)", "f32", "f32"),
    # truths
    ("x > 0.0", "x >= 0.0", "X > 0", "f32", "boolean"),
    ("x > 0.0", "x > 1e-7", "X > 0", "f32", "boolean"),
    # the order of what follows a product
    (
        "ag.maximum(x + z, 0.0)",
        "ag.maximum(x, 0.0) + z",
        "np.maximum(X + Z, 0)",
        "f32",
        "",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "wanted", "type_", "out"), ELEMENTS)
def test_elements(right: str, wrong: str, wanted: str, type_: str, out: str) -> None:
    assert decided_text(vector(right, wanted, type_, out)).equal
    found = decided_text(vector(wrong, wanted, type_, out))
    assert not found.equal
    assert found.reason


ROWS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"], w: i32):
    M, N = X.shape
    {more}
    i = ag.block(ag.cdiv(M, 32))
    acc = ag.full((32,), {start}, f32, dims="M")
    for n in ag.range({range}):
        x = ag.load(X[i * 32 :, n:], (32, 32), fill={fill})
        row = ag.broadcast(i * 32 + ag.index(x, "M"), x)
        column = ag.broadcast(n + ag.index(x, "N"), x)
        acc = {step}
    Y[i * 32 :] = acc


@ag.reference
def ref(X, w):
    M, N = X.shape
    row, column = np.arange(M)[:, None], np.arange(N)[None, :]
    return {wanted}
"""
SUM = {
    "more": "",
    "start": "0.0",
    "range": "0, N, 32",
    "fill": "0.0",
    "step": 'acc + ag.sum(x, "N")',
    "wanted": "X.sum(1)",
}
MAX = SUM | {
    "more": 'ag.require(N > 0, "a column")',
    "start": "-1e30",
    "fill": "-ag.inf",
    "step": 'ag.maximum(acc, ag.max(x, "N"))',
    "wanted": "X.max(1, initial=-np.inf)",
}
CAUSAL = SUM | {
    "range": "0, ag.min(N, (i + 1) * 32), 32",
    "step": 'acc + ag.sum(ag.where(row >= column, x, 0.0), "N")',
    "wanted": "np.where(row >= column, X, 0.0).sum(1)",
}
WINDOW = SUM | {
    "range": "ag.max(0, (i * 32 - w) // 32 * 32), N, 32",
    "step": 'acc + ag.sum(ag.where(row - w < column, x, 0.0), "N")',
    "wanted": "np.where(row - w < column, X, 0.0).sum(1)",
}


@pytest.mark.parametrize("right", [SUM, MAX, CAUSAL, WINDOW])
def test_rows_that_are_right(right: dict[str, str]) -> None:
    found = decided_text(ROWS.format(**right))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("right", "change"),
    [
        (SUM, {"start": "1e-20"}),
        (SUM, {"range": "0, N - 1, 32"}),
        (SUM, {"range": "32, N, 32"}),
        (SUM, {"range": "0, N, 64"}),
        (SUM, {"range": "0, ag.min(N, 4096), 32"}),
        (SUM, {"fill": "1.0"}),
        (SUM, {"step": 'ag.sum(x, "N")'}),
        (SUM, {"step": 'acc + ag.max(x, "N")'}),
        (SUM, {"step": 'acc + acc * 0.0 + ag.sum(x, "N") + acc'}),
        (MAX, {"more": ""}),  # a maximum over nothing is stored as -1e30
        (MAX, {"start": "0.0"}),
        (MAX, {"start": "-1e20"}),
        (MAX, {"fill": "0.0"}),
        (CAUSAL, {"step": 'acc + ag.sum(ag.where(row > column, x, 0.0), "N")'}),
        (CAUSAL, {"step": 'acc + ag.sum(ag.where(row + 1 >= column, x, 0.0), "N")'}),
        (CAUSAL, {"range": "0, ag.min(N, i * 32), 32"}),
        (WINDOW, {"range": "ag.max(0, (i * 32 - w + 33) // 32 * 32), N, 32"}),
        (WINDOW, {"range": "ag.max(0, i * 32), N, 32"}),
    ],
)
def test_rows_that_are_wrong(right: dict[str, str], change: dict[str, str]) -> None:
    found = decided_text(ROWS.format(**right | change))
    assert not found.equal
    assert found.reason


PLACES = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], Z: f32["M N"], s: i32):
    M, N = X.shape
    {more}
    i, j = ag.block(ag.cdiv(M, 16), ag.cdiv(N, 64))
    x = ag.load(X[i * 16 :, j * 64 :], (16, 64))
    Y[i * 16 :, j * 64 :] = x
    {store}


@ag.reference
def ref(X, s):
    return {{"Y": X, "Z": X}}
"""
STORE = "Z[i * 16 :, j * 64 :] = x"


def test_all_outputs_are_stored() -> None:
    assert decided_text(PLACES.format(more="", store=STORE)).equal


@pytest.mark.parametrize(
    "store",
    [
        "pass",
        f"if i % 2 == 0:\n        {STORE}",
        f"if j > 0:\n        {STORE}",
        f"{STORE}\n    if i == 3:\n        {STORE} + 1.0",
        f"if M > 1000:\n        {STORE} + 1.0\n    else:\n        {STORE}",
    ],
)
def test_an_output_that_is_not_stored_everywhere(store: str) -> None:
    found = decided_text(PLACES.format(more="", store=store))
    assert not found.equal
    assert found.reason


@pytest.mark.parametrize(
    "more",
    [
        'ag.require(M > 5, "a")\n    ag.require(M < 3, "b")',
        'ag.require(s > 5, "a")\n    ag.require(s < 3, "b")',
        'ag.require(M % 2 == 0, "a")\n    ag.require(M % 4 == 1, "b")',
        "ag.assume(s < 0)\n    ag.assume(s > 9)",
        "ag.assume(M > N)\n    ag.assume(N > M)",
    ],
)
def test_nothing_is_equal_where_no_launch_is_admitted(more: str) -> None:
    found = decided_text(PLACES.format(more=more, store=STORE))
    assert not found.equal
    assert found.reason


TABLE = """
@ag.kernel
def k(I: i32["M"], X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    m = ag.block(M)
    ag.assume(lambda e: e {assumed}, I)
    ag.assume(lambda e: e >= 0, I)
    for n in ag.range(0, N, 64):
        Y[m, n:] = ag.load(X[I[m], n:], (64,)){more}


@ag.reference
def ref(I, X):
    return X[I]
"""


def test_assumptions_about_a_table_that_contradict_each_other() -> None:
    assert decided_text(TABLE.format(assumed="< 1000", more="")).equal
    assert not decided_text(TABLE.format(assumed="< 1000", more=" + 1.0")).equal
    assert not decided_text(TABLE.format(assumed="< 0", more=" + 1.0")).equal
