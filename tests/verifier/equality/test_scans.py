"""Scans and folds with functions of the author's against references in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from argus.ir.combine import Combination, CombinationStep
from argus.ir.combining import combined_once
from argus.ir.dtypes import DTYPES, DType, f32, i32
from argus.verify.choosing_functions import Better, better, chooses_alike
from argus.verify.combining import associative, left_out, neutral
from few import rest
from verifier.equality.attacking import decided_text

BOOL = DTYPES["bool"]
FUNCTIONS = """
@ag.inline
def times(a, b):
    return a * b


@ag.inline
def minus(a, b):
    return a - b


@ag.inline
def linear(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@ag.inline
def backwards(a0, b0, a1, b1):
    return a0 * a1, b1 * a0 + b0


@ag.inline
def welford(n0, m0, v0, n1, m1, v1):
    n = n0 + n1
    d = m1 - m0
    return n, m0 + d * (n1 / n), v0 + v1 + d * d * (n0 * n1 / n)

"""
ROWS = """
@ag.kernel
def k(A: f32["M N"], H: f32["M N"]):
    M, N = A.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    a = ag.load(A[i * 4 :, 0:], (4, 64))
    H[i * 4 :, 0:] = ag.scan(a, "N", {fn})


@ag.reference
def ref(A):
    return {ref}
"""
LINEAR = """
@ag.kernel
def k(A: f32["M N"], B: f32["M N"], H: f32["M N"]):
    M, N = A.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    a = ag.load(A[i * 4 :, 0:], (4, 64))
    b = ag.load(B[i * 4 :, 0:], (4, 64))
    _, h = ag.scan((a, b), "N", {fn})
    H[i * 4 :, 0:] = h


@ag.reference
def ref(A, B):
    M, N = A.shape
    h = np.zeros((M,))
    H = np.zeros((M, N))
    for t in range(N):
        {first}
        {second}
    return H
"""
LAST = """
@ag.kernel
def k(A: f32["M N"], B: f32["M N"], H: f32["M"]):
    M, N = A.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    a = ag.load(A[i * 4 :, 0:], (4, 64), fill={fill})
    b = ag.load(B[i * 4 :, 0:], (4, 64))
    _, h = ag.reduce((a, b), "N", linear)
    H[i * 4 :] = h


@ag.reference
def ref(A, B):
    M, N = A.shape
    h = np.zeros((M,))
    for t in range(N):
        h = A[:, t] * h + B[:, t]
    return h
"""
BACK = """
@ag.kernel
def k(A: f32["M N"], B: f32["M N"], H: f32["M N"]):
    M, N = A.shape
    ag.require(N <= 64, "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    a = ag.load(A[i * 4 :, 0:], (4, 64))
    b = ag.load(B[i * 4 :, 0:], (4, 64))
    _, h = ag.scan((a, b), "N", linear, reverse=True)
    H[i * 4 :, 0:] = h


@ag.reference
def ref(A, B):
    M, N = A.shape
    h = np.zeros((M,))
    H = np.zeros((M, N))
    for t in range(N):
        h = A[:, {at}] * h + B[:, {at}]
        H[:, {at}] = h
    return H
"""
SUFFIXES = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(M)
    carry = ag.full((), 0.0, f32)
    for n in ag.range(0, N, 64):
        last = (ag.cdiv(N, 64) - 1) * 64 - n
        x = ag.load(X[i, {last} :], (64,))
        Y[i, {last} :] = ag.cumsum(x, "N", reverse={reverse}) + carry
        carry = carry + {more}


@ag.reference
def ref(X):
    return X[:, ::-1].cumsum(1)[:, ::-1]
"""
STEP, KEEP = "h = A[:, t] * h + B[:, t]", "H[:, t] = h"


@pytest.mark.parametrize(
    ("fn", "ref"),
    [
        ("times", "np.cumprod(A, axis=1)"),
        ("times", "np.multiply.accumulate(A, axis=1)"),
        ("ag.maximum", "np.maximum.accumulate(A, axis=1)"),
        ("ag.minimum", "np.minimum.accumulate(A, axis=1)"),
    ],
)
def test_a_scan_is_what_numpy_accumulates(fn: str, ref: str) -> None:
    found = decided_text(FUNCTIONS + ROWS.format(fn=fn, ref=ref))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("fn", "ref"),
    [
        ("times", "np.cumsum(A, axis=1)"),
        ("times", "np.cumprod(A, axis=0)"),
        ("ag.minimum", "np.maximum.accumulate(A, axis=1)"),
        ("ag.maximum", "np.maximum.accumulate(A[:, ::-1], axis=1)[:, ::-1]"),
        ("times", "np.cumprod(A, axis=1) / A"),
        ("times", "np.cumprod(A[:, ::-1], axis=1)[:, ::-1]"),
        ("minus", "np.cumsum(A, axis=1)"),
        ("minus", "np.subtract.accumulate(A, axis=1)"),
    ],
)
def test_another_scan_is_not(fn: str, ref: str) -> None:
    assert not decided_text(FUNCTIONS + ROWS.format(fn=fn, ref=ref)).equal


def test_a_linear_recurrence_is_a_loop() -> None:
    text = FUNCTIONS + LINEAR.format(fn="linear", first=STEP, second=KEEP)
    found = decided_text(text)
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("fn", "first", "second"),
    [
        ("backwards", STEP, KEEP),
        ("linear", KEEP, STEP),
        ("linear", "h = A[:, t] * h - B[:, t]", KEEP),
        ("linear", "h = A[:, t] * (h + B[:, t])", KEEP),
        ("linear", "h = A[:, 0] * h + B[:, t]", KEEP),
        ("linear", STEP, "H[:, N - 1 - t] = h"),
        ("linear", STEP, "H[:, t] = h + 1"),
    ],
)
def test_another_recurrence_is_not(fn: str, first: str, second: str) -> None:
    text = FUNCTIONS + LINEAR.format(fn=fn, first=first, second=second)
    assert not decided_text(text).equal


@pytest.mark.parametrize(
    ("fn", "ref", "fill"),
    [
        ("times", "np.cumprod", "1.0"),
        ("ag.maximum", "np.maximum.accumulate", "-ag.inf"),
    ],
)
def test_a_scan_in_reverse_begins_with_padding(fn: str, ref: str, fill: str) -> None:
    text = FUNCTIONS + ROWS.replace("(4, 64))", "(4, 64), fill={fill})")
    right = {"fn": f"{fn}, reverse=True", "ref": f"{ref}(A[:, ::-1], axis=1)[:, ::-1]"}
    found = decided_text(text.format(**right, fill=fill))
    assert found.equal, found.reason
    assert not decided_text(text.format(**right, fill="0.0")).equal
    other = right | {"ref": f"{ref}(A, axis=1)"}
    assert not decided_text(text.format(**other, fill=fill)).equal


def test_a_scan_from_the_last_element() -> None:
    found = decided_text(FUNCTIONS + BACK.format(at="N - 1 - t"))
    assert found.equal, found.reason
    assert not decided_text(FUNCTIONS + BACK.format(at="t")).equal


def test_suffix_sums_with_what_is_carried_from_later_tiles() -> None:
    right = {"last": "last", "reverse": "True", "more": 'ag.sum(x, "N")'}
    found = decided_text(SUFFIXES.format(**right))
    assert found.equal, found.reason
    for change in ({"last": "n"}, {"reverse": "False"}, {"more": "0.0"}):
        assert not decided_text(SUFFIXES.format(**right | change)).equal


def test_a_fold_is_the_last_state() -> None:
    found = decided_text(FUNCTIONS + LAST.format(fill="1.0"))
    assert found.equal, found.reason
    assert not decided_text(FUNCTIONS + LAST.format(fill="0.5")).equal


def _steps(*steps: tuple[str, str, str], results: tuple[str, ...]) -> Combination:
    made = (CombinationStep(fn, f32, (x, y)) for fn, x, y in steps)
    return Combination(tuple(made), results)


LINEAR_STEPS = _steps(
    ("mul", "a0", "b0"), ("mul", "a1", "b0"), ("add", "t1", "b1"), results=("t0", "t2")
)
WELFORD = _steps(
    ("add", "a0", "b0"), ("sub", "b1", "a1"), ("div", "b0", "t0"), ("mul", "t1", "t2"),
    ("add", "a1", "t3"), ("add", "a2", "b2"), ("mul", "t1", "t1"), ("mul", "a0", "t2"),
    ("mul", "t6", "t7"), ("add", "t5", "t8"), results=("t0", "t4", "t9"),
)  # fmt: skip


def test_what_is_associative_and_neutral() -> None:
    two, three = (f32, f32), (f32, f32, f32)
    assert associative(LINEAR_STEPS, two) is None
    assert neutral(LINEAR_STEPS, two) == (1.0, 0.0)
    assert left_out(LINEAR_STEPS, two, (1.0, 0.0))
    assert not left_out(LINEAR_STEPS, two, (0.0, 0.0))
    assert associative(WELFORD, three) is None
    assert neutral(WELFORD, three) == (0.0, 0.0, 0.0)
    first = Combination((), ("a0",))
    assert associative(first, (i32,)) is None
    assert neutral(first, (i32,)) is None
    for fn in ("add", "mul", "maximum", "minimum"):
        assert associative(Combination.of(fn, f32), (f32,)) is None
    for fn in ("sub", "div"):
        assert associative(Combination.of(fn, f32), (f32,)) is not None


@pytest.mark.parametrize(("flags", "right"), [("maximum", True), ("minimum", False)])
def test_sums_that_begin_anew_at_flags(flags: str, right: bool) -> None:
    steps = (
        CombinationStep("gt", f32, ("b1", 0)),
        CombinationStep("add", f32, ("a0", "b0")),
        CombinationStep("where", f32, ("t0", "b0", "t1")),
        CombinationStep(flags, i32, ("a1", "b1")),
    )
    why = associative(Combination(steps, ("t2", "t3")), (f32, i32))
    assert (why is None) == right


def test_what_is_not_associative_shows_numbers() -> None:
    reason = associative(Combination.of("sub", f32), (f32,))
    assert reason is not None and "f(f(a, b), c) is" in reason
    wrong = _steps(
        ("mul", "a0", "b0"), ("mul", "a1", "a0"), ("add", "t1", "b1"),
        results=("t0", "t2"),
    )  # fmt: skip
    assert associative(wrong, (f32, f32)) is not None


WITH_PLACE = (
    *(("{0}", "b0", "a0"), ("where", "t0", "b0", "a0"), ("where", "t0", "b1", "a1")),
)
TIES = (
    *(("gt", "b0", "a0"), ("eq", "b0", "a0"), ("lt", "b1", "a1"), ("and", "t1", "t2")),
    *(("or", "t0", "t3"), ("where", "t4", "b0", "a0"), ("where", "t4", "b1", "a1")),
)


def _choosing(
    steps: tuple[tuple[str, ...], ...], kinds: Sequence[DType], results: Sequence[int]
) -> Combination:
    """Steps on states of two numbers: a comparison is a truth, a choice its number."""
    made = [
        CombinationStep(fn, kinds[int(args[-1][1])] if fn == "where" else BOOL, args)
        for fn, *rest in steps
        for args in [tuple(rest)]
    ]
    return Combination(tuple(made), tuple(f"t{i}" for i in results))


@pytest.mark.parametrize("compare", ["ge", "gt"])
def test_a_place_goes_with_its_extreme(compare: str) -> None:
    steps = tuple((fn.format(compare), *args) for fn, *args in WITH_PLACE)
    last = _choosing(steps, (f32, i32), (1, 2))
    assert associative(last, (f32, i32)) is None
    ties = _choosing(TIES, (f32, i32), (5, 6))
    assert associative(ties, (f32, i32)) is None


def test_a_place_of_another_number_is_not_associative() -> None:
    mixed = (
        CombinationStep("ge", BOOL, ("b0", "a0")),
        CombinationStep("minimum", f32, ("a0", "b0")),
        CombinationStep("where", i32, ("t0", "b1", "a1")),
    )
    why = associative(Combination(mixed, ("t1", "t2")), (f32, i32))
    assert why is not None and "f(f(a, b), c) is" in why


@pytest.mark.parametrize("bound", [0.0, 1e300, inf, -inf])
def test_choices_by_constants_are_tried_on_both_sides(bound: float) -> None:
    """Where the one before is kept: left, it is compared with the bound twice."""
    steps = (
        CombinationStep("gt", BOOL, ("b0", bound)),
        CombinationStep("where", f32, ("t0", "a0", "b0")),
    )
    right = Combination(steps, ("t1",))
    assert chooses_alike(right, (f32,)) == _by_trying(right)


def _by_trying(combine: Combination) -> bool:
    numbers = np.array([-inf, -2e300, -1.0, 0.0, 1.0, 5e299, 1e300, 2e300, 3e300, inf])
    a, b, c = (x.reshape(-1) for x in np.meshgrid(*(numbers,) * 3))

    def made(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return combined_once(combine, (f32,), [x], [y], exact=True)[0]

    return np.array_equal(made(made(a, b), c), made(a, made(b, c)))


def test_what_computes_does_not_only_choose() -> None:
    assert not chooses_alike(Combination.of("add", f32), (f32,))
    assert not chooses_alike(LINEAR_STEPS, (f32, f32))
    assert chooses_alike(Combination.of("maximum", i32), (i32,))


def test_random_numbers_are_equal_to_no_reference() -> None:
    text = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    i = ag.block(ag.cdiv(ag.dim("M"), 4))
    ag.require(ag.dim("N") == 64, "a row is a tile")
    x = ag.load(X[i * 4 :, 0:], (4, 64))
    Y[i * 4 :, 0:] = ag.where(ag.random(1, ag.index(x, "N")) < 0.5, x, 0.0)


@ag.reference
def ref(X):
    return X
"""
    found = decided_text(text)
    assert not found.equal and "philox" in found.reason


TILES = """
@ag.inline
def then(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@ag.kernel
def k(A: f32["D T"], B: f32["D T"], S: f32["D"], H: f32["D T"]):
    D, T = A.shape
    i = ag.block(ag.cdiv(D, 8))
    h = ag.load(S[i * 8 :], (8,))
    for t in ag.range(0, T, 64):
        a = ag.load(A[i * 8 :, t:], (8, 64), fill=1.0)
        b = ag.load(B[i * 8 :, t:], (8, 64))
        p, q = ag.scan((a, b), "T", then)
        H[i * 8 :, t:] = {stored}
        x, y = ag.reduce((a, b), "T", then)
        h = {handed}


@ag.reference
def ref(A, B, S):
    h, out = S, np.zeros(A.shape)
    for t in range(A.shape[1]):
        h = {step}
        out[:, t] = h
    return out
"""
GOES_ON = {
    "stored": "p * h + q", "handed": "x * h + y", "step": "A[:, t] * h + B[:, t]",
}  # fmt: skip


def test_a_recurrence_goes_on_from_tile_to_tile() -> None:
    found = decided_text(TILES.format(**GOES_ON))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"stored": "p * h + q * h"},
        {"handed": "x * h + x * y"},
        {"step": "A[:, 0] * h + B[:, t]"},
        *rest(
            {"stored": "p + q"},
            {"handed": "x * h"},
            {"handed": "h + y"},
            {"step": "A[:, t] * (h + B[:, t])"},
        ),
    ],
)
def test_another_recurrence_over_tiles(change: dict[str, str]) -> None:
    assert not decided_text(TILES.format(**GOES_ON | change)).equal


LAST_OF_TILES = """
@ag.inline
def then(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@ag.kernel
def k(A: f32["D T"], B: f32["D T"], S: f32["D"], Last: f32["D"]):
    D, T = A.shape
    i = ag.block(ag.cdiv(D, 8))
    h = ag.load(S[i * 8 :], (8,))
    for t in ag.range(0, T, 64):
        a = ag.load(A[i * 8 :, t:], (8, 64), fill={fill})
        b = ag.load(B[i * 8 :, t:], (8, 64))
        x, y = ag.reduce((a, b), "T", then)
        h = x * h + y
    Last[i * 8 :] = h


@ag.reference
def ref(A, B, S):
    h = S
    for t in range(A.shape[1]):
        h = {step}
    return h
"""


def test_what_a_recurrence_over_tiles_comes_to() -> None:
    found = decided_text(LAST_OF_TILES.format(fill="1.0", step="A[:, t] * h + B[:, t]"))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("fill", "step"),
    [("0.0", "A[:, t] * h + B[:, t]"), ("1.0", "A[:, t] * (h + B[:, t])")],
)
def test_what_another_recurrence_comes_to(fill: str, step: str) -> None:
    assert not decided_text(LAST_OF_TILES.format(fill=fill, step=step)).equal


PAIRS = """
@ag.inline
def both(m0, s0, m1, s1):
    m = ag.maximum(m0, m1)
    return m, {first} + s1 * ag.exp(m1 - m)


@ag.kernel
def k(X: f32["M N"], Y: f32["{to}"]):
    M, N = X.shape
    ag.require((N > 0) & (N <= 128), "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, 128), fill={fill})
    m, s = ag.{how}((x, ag.full((4, 128), 1.0, f32, dims="M N")), "N", both)
    Y[i * 4 :{rest}] = {made}


@ag.reference
def ref(X):
    return {wanted}
"""
LSE = {
    "first": "s0 * ag.exp(m0 - m)", "to": "M", "fill": "-ag.inf", "how": "reduce",
    "rest": "", "made": "m + ag.log(s)", "wanted": "np.log(np.exp(X).sum(1))",
}  # fmt: skip
UP_TO = LSE | {
    "to": "M N", "how": "scan", "rest": ", 0:",
    "wanted": "np.log(np.cumsum(np.exp(X), 1))",
}  # fmt: skip


@pytest.mark.parametrize("which", [LSE, UP_TO])
def test_sums_relative_to_the_largest(which: dict[str, str]) -> None:
    """Rows and columns end within a tile: the largest is one of those that are."""
    found = decided_text(PAIRS.format(**which))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("which", "change"),
    [
        (LSE, {"fill": "0.0"}),
        (LSE, {"made": "ag.log(s)"}),
        (LSE, {"first": "s0"}),
        (LSE, {"wanted": "np.log(np.exp(X).mean(1))"}),
        (UP_TO, {"wanted": "np.log(np.cumsum(np.exp(X), 0))"}),
        (UP_TO, {"made": "m + s"}),
    ],
)
def test_sums_relative_to_another(
    which: dict[str, str], change: dict[str, str]
) -> None:
    assert not decided_text(PAIRS.format(**which | change)).equal


PADDED = """
@ag.kernel
def k(X: f32["N"], Y: f32["N"]):
    N = ag.dim("N")
    ag.launch(warps=1)
    carry = ag.full((), 0.0, f32)
    for j in ag.range(0, N, 32):
        x = ag.load(X[j:], (32,))
        seen = ag.where(j + ag.index(x, "N") < {end}, {added}, 0.0)
        Y[j:] = ag.cumsum(seen, "N") + carry
        carry = ag.sum(seen, "N") + carry


@ag.reference
def ref(X):
    return np.cumsum({wanted})
"""


def _in_tiles(end: str, added: str, wanted: str) -> bool:
    return decided_text(PADDED.format(end=end, added=added, wanted=wanted)).equal


def test_what_is_added_to_each_element_of_a_running_sum_is_counted() -> None:
    """How many elements a tile has, of those that are no padding, is a known number."""
    assert _in_tiles("N", "1.0 - x", "1.0 - X")
    assert _in_tiles("N", "x * 2.0 + 0.5", "0.5 + X + X")


@pytest.mark.parametrize(
    ("end", "added", "wanted"),
    [
        ("N - 1", "1.0 - x", "1.0 - X"),
        ("N", "1.0 - x", "2.0 - X"),
        ("N", "1.0 - x", "1.0 + X"),
        ("N", "x * 2.0 + 0.5", "0.25 + X + X"),
    ],
)
def test_another_number_of_elements(end: str, added: str, wanted: str) -> None:
    assert not _in_tiles(end, added, wanted)


def _pairs(taken: str) -> Combination:
    """``v, i = b if taken else a`` of steps between two pairs, as a text of lines."""
    steps: list[CombinationStep] = []
    for line in taken.split(";"):
        fn, *args = line.split()
        steps.append(CombinationStep(fn, BOOL, tuple(args)))
    last = f"t{len(steps) - 1}"
    steps.append(CombinationStep("where", f32, (last, "b0", "a0")))
    steps.append(CombinationStep("where", i32, (last, "b1", "a1")))
    return Combination(tuple(steps), (f"t{len(steps) - 2}", f"t{len(steps) - 1}"))


EQUAL = "eq a0 b0;lt b1 a1;and t0 t1"


@pytest.mark.parametrize(
    ("taken", "kept"),
    [
        (f"{EQUAL};gt b0 a0;or t2 t3", Better(0, 1, True)),
        (f"{EQUAL};lt b0 a0;or t2 t3", Better(0, -1, True)),
        (f"{EQUAL.replace('lt', 'gt')};gt b0 a0;or t2 t3", Better(0, 1, False)),
        ("gt b0 a0", None),  # of two that are equal, that which comes first
        (f"{EQUAL.replace('eq', 'le')};gt b0 a0;or t2 t3", Better(0, 1, True)),
        (f"{EQUAL.replace('eq', 'ge')};gt b0 a0;or t2 t3", None),
        (f"{EQUAL};gt b0 a0;and t2 t3", None),
    ],
)
def test_what_keeps_the_better_pair(taken: str, kept: Better | None) -> None:
    """By number, and of equal numbers by place."""
    assert better(_pairs(taken), (f32, i32)) == kept
