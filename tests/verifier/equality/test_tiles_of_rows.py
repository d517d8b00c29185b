"""Rows in tiles that a table names: what is assumed of pairs of them tells which."""

from __future__ import annotations

import pytest

from argus.equivalence.deciding import decided_alike
from argus.equivalence.programs import programs_of
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request
from verifier.equality.attacking import HEAD, decided_text

BM = "(s + BM <= s2) | (e <= s2) | (s2 + BM <= s) | (e2 <= s)"
"""No two tiles have a row in common, of which each has BM rows at most."""
ROWS = """
@ag.kernel
def k(
    X: f32["P N"], W: f32["E N"], Y: f32["P N"], Expert: i32["C"], Start: i32["C"],
    End: i32["C"], Out: i32["P"], *, BM: int = 32, BN: int = 64,
):
    P, N = X.shape
    E, C = W.shape[0], Expert.shape[0]
    ag.assume(lambda expert: (expert < E) & (expert >= 0), Expert)
    ag.assume(lambda start: start >= 0, Start)
    ag.assume(lambda end: end <= P, End)
    ag.assume(lambda a, b: a != b, Out, pairs=True)
    ag.assume(lambda s, e, s2, e2: {apart}, Start, End, pairs=True)
    t, bn = ag.block(C, ag.cdiv(N, BN))
    e, p, end = Expert[t], Start[t], End[t]
    x = ag.load(X[p:end, bn * BN :], (BM, BN))
    w = ag.load(W[e, bn * BN :], (BN,))
    y = ag.rename(x * ag.broadcast(w, x), "P N")
    {store}


@ag.reference
def ref(X, W, Y, Expert, Start, End, BM, Out):
    p = np.arange(Y.shape[0])
    first = Start[:, None]
    own = (p >= first) & (p < End[:, None]) & (p < first + BM)
    y = np.einsum("cp,pn,cn->pn", own, X, W[Expert])
    written = own.sum(0)
    {to}
    return np.where(written[:, None] > 0, y, Y)
"""
PLAIN = {"store": "Y[p:end, bn * BN :] = y", "to": "pass"}
SCATTERED = {
    "store": "Y[ag.load(Out[p:end], (BM,), fill=-1), bn * BN :] = y",
    "to": "to = p[:, None] == Out; y, written = to @ y, to @ written",
}


def text(apart: str = BM, **parts: str) -> str:
    """The kernel with an assumption of tiles."""
    return ROWS.format(apart=apart, **parts)


@pytest.mark.parametrize("parts", [PLAIN, SCATTERED], ids=["plain", "scattered"])
@pytest.mark.parametrize("apart", [BM, "(e <= s2) | (e2 <= s)"])
def test_each_row_lies_in_one_tile(apart: str, parts: dict[str, str]) -> None:
    assert decided_text(text(apart, **parts)).equal


@pytest.mark.parametrize(
    "apart",
    [
        "s != s2",
        "(s + BM <= s2 + 1) | (e <= s2) | (s2 + BM <= s + 1) | (e2 <= s)",
        "(s + BM <= s2) | (e <= s2) | (s2 + BM <= s) | (e2 <= s) | (s == s2)",
        "(e <= s2) | (e2 <= s) | (e != e2)",
    ],
)
@pytest.mark.parametrize("parts", [PLAIN, SCATTERED], ids=["plain", "scattered"])
def test_tiles_that_may_overlap_are_not_told_apart(
    apart: str, parts: dict[str, str]
) -> None:
    assert not decided_text(text(apart, **parts)).equal


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (" & (p < End[:, None])", ""),
        (" & (p < first + BM)", ""),
        ("(p >= first)", "(p > first)"),
        ("W[Expert]", "W[0 * Expert]"),
        ("y, Y)", "y, 0 * Y)"),
        ("fill=-1", "fill=0"),
        ("fill=-1), bn", "fill=-1) + 1, bn"),
    ],
)
def test_another_reference_is_not_equal(right: str, wrong: str) -> None:
    whole = text(**SCATTERED)
    assert right in whole
    assert not decided_text(whole.replace(right, wrong)).equal


def alike(one: str, other: str) -> bool:
    """Whether two kernels of texts are shown to store the same."""
    first, second = (
        load_kernels("attack.py", HEAD + whole).kernels["k"] for whole in (one, other)
    )
    programs, given = (
        programs_of(Request(kernel, default_dtypes(kernel, {})))
        for kernel in (first, second)
    )
    return decided_alike(programs, given.tile, whole=True).equal


@pytest.mark.parametrize("parts", [PLAIN, SCATTERED], ids=["plain", "scattered"])
def test_a_kernel_stores_what_another_one_stores(parts: dict[str, str]) -> None:
    """Also where neither writes: a row that lies in no tile stays what it was."""
    whole = text(**parts)
    assert alike(whole, whole)
    assert not alike(whole, whole.replace("x * ag", "x + ag"))
    assert not alike(whole.replace("e, p, end = ", "e, p, end = 0 * "), whole)


@pytest.mark.parametrize("parts", [PLAIN, SCATTERED], ids=["plain", "scattered"])
def test_rows_that_may_be_stored_twice_are_not_compared(parts: dict[str, str]) -> None:
    weak = text("s != s2", **parts)
    assert not alike(weak, weak)
