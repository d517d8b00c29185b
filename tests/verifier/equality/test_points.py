"""Kernels that take the first or the last step of a sum outside of its loop."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

KERNEL = """
@ag.kernel
def k(X: f32["M N"], S: f32["M"], *, BM: int = 32):
    M, N = X.shape
    ag.require(N > 1, "a first column and a last one")
    m = ag.block(ag.cdiv(M, BM)) * BM
    s = {first}
    for n in ag.range({start}, {stop}):
        s = s + ag.load(X[m:, n], (BM,))
    S[m:] = s{last}


@ag.reference
def ref(X):
    return X.sum(1)
"""
COLUMN = "ag.load(X[m:, {}], (BM,))"
FIRST, LAST = COLUMN.format("0"), COLUMN.format("N - 1")
NONE = 'ag.zeros((BM,), f32, dims="M")'


@pytest.mark.parametrize(
    ("first", "start", "stop", "last"),
    [
        (FIRST, "1", "N", ""),
        (NONE, "0", "N - 1", f" + {LAST}"),
        (FIRST, "1", "N - 1", f" + {LAST}"),
        (f"0.0 - {FIRST}", "0", "N", f" + {FIRST}"),
    ],
)
def test_a_step_outside_of_the_loop(
    first: str, start: str, stop: str, last: str
) -> None:
    text = KERNEL.format(first=first, start=start, stop=stop, last=last)
    found = decided_text(text)
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("first", "start", "stop", "last"),
    [
        (FIRST, "0", "N", ""),
        (FIRST, "2", "N", ""),
        (FIRST, "1", "N", f" + {LAST}"),
        (LAST, "1", "N", ""),
        (f"0.0 - {FIRST}", "1", "N", ""),
        (COLUMN.format("1"), "1", "N", ""),
    ],
)
def test_a_step_too_much_or_less(first: str, start: str, stop: str, last: str) -> None:
    text = KERNEL.format(first=first, start=start, stop=stop, last=last)
    assert not decided_text(text).equal
