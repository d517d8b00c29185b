"""Nothing orders the blocks of a grid: what depends on their order is a difference."""

from __future__ import annotations

import pytest

from argus.evaluation.proving import proved_all
from argus.verify.verdict import Verdict
from evaluation.searching import kernels, tried

NEXT_ROWS = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    first = ag.index(ag.zeros((BM,), f32, dims="M"), "M")
    rows = ag.minimum(i * BM + 1 + first, M - 1)
    OUT[i * BM :, j * BN :] = ag.load(X[rows, j * BN :], (BM, BN))


@ag.reference
def ref(X):
    rows = np.concatenate([X[1:], X[-1:]])
    return SAID
"""
LAST_ROW = """@ag.kernel
def k(X: f32["M N"], Y: f32["N"], *, B: int = 64):
    M, N = X.shape
    i, j = ag.block(M, ag.cdiv(N, B))
    Y[j * B :] = ag.load(X[ROW, j * B :], (B,))


@ag.reference
def ref(X):
    return X[-1]
"""
SCATTERED = """@ag.kernel
def k(X: f32["P"], I: i32["P"], Y: f32["V"], *, B: int = 16):
    ag.assume(lambda e: (e >= 0) & (e < ag.dim("V")), I)
    i = ag.block(ag.cdiv(ag.dim("P"), B))
    rows = ag.load(I[i * B :], (B,), fill=-1)
    Y[rows] = ag.load(X[i * B :], (B,)).rename("P")


@ag.reference
def ref(X, I, Y):
    Y[I] = X
    return Y
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            NEXT_ROWS.replace("OUT", "Y").replace("SAID", "rows"),
            NEXT_ROWS.replace("OUT", "X")
            .replace(', Y: f32["M N"]', "")
            .replace("SAID", "rows"),
        ),
        (LAST_ROW.replace("ROW", "M - 1"), LAST_ROW.replace("ROW", "i")),
    ],
    ids=["rows that others write", "the last block that writes"],
)
def test_the_last_block_may_run_first(right: str, wrong: str) -> None:
    assert tried(right).witness is None
    shown = tried(wrong).witness
    assert shown is not None
    assert shown.backwards


def test_entries_that_name_one_place_twice_are_the_caller_s() -> None:
    assert tried(SCATTERED).witness is None


KEPT = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], C: i32["One"], *, BN: int = 128):
    N = X.shape[0]
    ag.require(ag.dim("One") == 1, "one")
    _ = ag.block(1)
    count = ag.full((), 0, i32)
    for n in ag.range(0, N, BN):
        Y[n:] = ag.zeros((BN,), f32, dims="N")
    ag.sync()
    for n in ag.range(0, N, BN):
        x = ag.load(X[n:], (BN,))
        one = ag.where(x > 0.0, 1, 0)
        at = ag.where(x > 0.0, ag.cumsum(one, "N") - one + count, -1)
        Y[at] = x
        count = count + ag.sum(one, "N")
    C[0] = count


@ag.reference
def ref(X):
    kept = np.zeros(X.shape[0])
    some = X[X > 0]
    kept[: len(some)] = some
    return kept, np.array([len(some)])
"""


def test_that_a_result_changes_with_padding_does_not_say_that_it_is_wrong() -> None:
    """Of numbers that are counted where they are positive, 0 is the right padding."""

    def verdict(text: str) -> Verdict:
        return proved_all(kernels(text)["k"], {}, "sm_90a", fresh=True).report.verdict

    assert verdict(KEPT) is Verdict.UNKNOWN
    assert verdict(KEPT.replace("x > 0.0, 1, 0", "x >= 0.0, 1, 0")) is Verdict.REFUTED
    ones = KEPT.replace("(X[n:], (BN,))", "(X[n:], (BN,), fill=1.0)")
    assert verdict(ones) is Verdict.REFUTED
