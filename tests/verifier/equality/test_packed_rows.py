"""Slices between entries of tables that rounds of a reference's loop assign to."""

from __future__ import annotations

import pytest

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
    assert any("no element in common" in axiom for axiom in made.axioms)


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
