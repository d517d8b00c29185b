"""Slices between entries of tables that rounds of a reference's loop assign to."""

from __future__ import annotations

import pytest

from few import rest
from verifier.equality.attacking import decided_text

KERNEL = """
@ag.kernel
def k(
    X: f32["P D"], W: f32["B D"], First: i32["B"], Last: i32["B"], Y: f32["P D"],
    longest: i32, *, BP: int = 16, BD: int = 64
):
    P, D = X.shape
    B = W.shape[0]
    ag.require(longest > 0, "rows")
    ag.require(P < 2**30, "positions have 32 bits")
    ag.assume(lambda f, l: (f >= 0) & (f <= l) & (l <= P), First, Last)
    ag.assume(lambda f, l: l <= f + longest, First, Last)
    ag.assume(lambda f, l, f2, l2: (l <= f2) | (l2 <= f), First, Last, pairs=True)
    b, i, j = ag.block(B, ag.cdiv(longest, BP), ag.cdiv(D, BD))
    p, last = First[b] + i * BP, Last[b]
    w = ag.load(W[b, j * BD :], (BD,))
    Y[p:last, j * BD :] = ag.load(X[p:, j * BD :], (BP, BD)) * w

@ag.reference
def ref(X, W, First, Last, Y, longest):
    out = Y.copy()
    for b in range(len(First)):
        out[First[b] : Last[b]] = X[First[b] : Last[b]] * W[b]
    return out
"""


def test_rows_of_a_sequence_are_its_own_round_s() -> None:
    made = decided_text(KERNEL)
    assert made.equal, made.reason
    assert not any("no element in common" in x for x in made.axioms)  # it is shown


@pytest.mark.parametrize(
    "said",
    [
        "lambda f, l, f2, l2: f != f2",
        "lambda f, l, f2, l2: (l <= f2 + 1) | (l2 <= f)",
        "lambda f, l, f2, l2: (l <= f2) | (l2 <= f) | (l > 9)",
    ],
)
def test_pairs_have_to_say_that_slices_do_not_meet(said: str) -> None:
    """That something is said of pairs does not say that."""
    stated = "lambda f, l, f2, l2: (l <= f2) | (l2 <= f)"
    assert stated in KERNEL
    made = decided_text(KERNEL.replace(stated, said))
    assert not made.equal
    assert "no element in common" in made.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Other weights, the weights of another round, rows left out, other rows.
        ("X[First[b] : Last[b]] * W[b]", "X[First[b] : Last[b]] * W[0]"),
        ("ag.load(W[b, j", "ag.load(W[B - 1 - b, j"),
        ("Last[b]\\n    w", "Last[b] - 1\\n    w"),
        ("ag.load(X[p:,", "ag.load(X[p + 1:,"),
        ("out = Y.copy()", "out = 0 * Y"),
        # Without that, a row past `longest` is not written.
        ("    ag.assume(lambda f, l: l <= f + longest, First, Last)\\n", ""),
        # These are not slices that have nothing in common: the last round stays.
        (
            "out[First[b] : Last[b]] = X[First[b] : Last[b]]",
            "out[: Last[b]] = X[: Last[b]]",
        ),
    ],
)
def test_another_reference_or_kernel_is_not_equal(old: str, new: str) -> None:
    old, new = (x.replace("\\n", "\n") for x in (old, new))
    assert old in KERNEL
    made = decided_text(KERNEL.replace(old, new))
    assert not made.equal


def test_a_round_that_only_a_table_decides_is_no_slice() -> None:
    text = KERNEL.replace(
        "        out[First[b] : Last[b]] = X[First[b] : Last[b]] * W[b]",
        "        if Last[b] > 0:\n            out[0] = W[b]",
    )
    assert not decided_text(text).equal


ENDS = """
@ag.kernel
def k(X: f32["P"], Ends: i32["R"], Y: f32["P"]):
    P = X.shape[0]
    ag.assume(lambda p: (p >= 0) & (p <= P), Ends)
    b = ag.block(Ends.shape[0] - 1)
    first, last = Ends[b], Ends[b + 1]
    m = ag.full((1,), -1e30, f32, dims="Z")
    s = ag.zeros((1,), f32, dims="Z")
    for p in ag.range(first, last, 32):
        x = ag.load(X[p:last], (32,), fill=-ag.inf)
        x = ag.reshape(x, (1, 32), dims="Z P")
        new = ag.maximum(m, ag.max(x, "P"))
        s = s * ag.exp(m - new) + ag.sum(ag.exp(x - new), "P")
        m = new
    for p in ag.range(first, last, 32):
        x = ag.reshape(ag.load(X[p:last], (32,)), (1, 32), dims="Z P")
        Y[p:last] = ag.reshape(ag.exp(x - m) / s, (32,), dims="P")

@ag.reference
def ref(X, Ends, Y):
    out = Y.copy()
    for b in range(len(Ends) - 1):
        x = X[Ends[b] : Ends[b + 1]]
        if len(x) == 0:
            continue
        e = np.exp(x - x.max())
        out[Ends[b] : Ends[b + 1]] = e / e.sum()
    return out
"""


def test_rows_between_an_entry_and_the_next() -> None:
    made = decided_text(ENDS)
    assert made.equal, made.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("len(x) == 0", "len(x) < 2"),
        *rest(
            ("ag.range(first, last, 32):\n        x = ag.r",
             "ag.range(first, last - 1, 32):\n        x = ag.r"),
            ("X[Ends[b] : Ends[b + 1]]\n", "X[Ends[b] : Ends[b + 1] + 1]\n"),
            ("range(len(Ends) - 1)", "range(1, len(Ends) - 1)"),
        ),
    ],
)  # fmt: skip
def test_other_rows_between_entries_are_not_equal(old: str, new: str) -> None:
    assert ENDS.count(old) == 1
    assert not decided_text(ENDS.replace(old, new)).equal
