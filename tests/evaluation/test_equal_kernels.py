"""A kernel against another one: the naive form is the specification of every other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import argus
from argus.equivalence.deciding import Decided, decided_alike
from argus.equivalence.programs import programs_of
from argus.equivalence.references import Unusable
from argus.evaluation.equal.alike import kernel_reference
from argus.evaluation.equal.comparing import Comparison, compare_kernels
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request
from argus.verify.verdict import Report, Verdict

FORMS = Path(argus.__file__).parent / "kernels"
NAIVE = FORMS / "gemm" / "forms" / "naive.py"
HEAD = "import argus as ag\nfrom argus import f32, i32\n\n\n"
ROWS = """@ag.kernel
def rows(X: f32["M N"], Y: f32["M N"], *, BM: int = 16, BN: int = 64):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    Y[i * BM :, j * BN :] = ag.load(X[i * BM :, j * BN :], (BM, BN)) * 2.0
"""
ONE = """@ag.kernel
def one(X: f32["M N"], Y: f32["M N"], *, BN: int = 128):
    M, N = X.shape
    m = ag.block(M)
    for n in ag.range(0, N, BN):
        x = ag.load(X[m, n:], (BN,))
        Y[m, n:] = x + x
"""


def request(text: str | Path) -> Request:
    """The only kernel of a file, or of a text below the usual imports."""
    if isinstance(text, Path):
        found = load_kernels(text).kernels
    else:
        found = load_kernels("made.py", HEAD + text).kernels
    (kernel,) = found.values()
    return Request(kernel, default_dtypes(kernel, {}))


def proved(of: Request) -> Report:
    """A report that claims that a kernel is proved."""
    return Report(of.kernel.name, "sm_90a", ())


def alike(mine: Request, other: Request) -> Decided:
    """Both kernels as terms."""
    return decided_alike(programs_of(mine), programs_of(other).tile)


def compared(left: str | Path, right: str | Path) -> Comparison:
    """Both kernels, the first taken to be proved."""
    mine = request(left)
    return compare_kernels(mine, request(right), proved(mine), seconds=0.3)


def test_two_orders_of_the_same_elements_are_equal():
    made = compared(ROWS, ONE)
    assert made.verdict is Verdict.EQUAL
    assert made.runs
    assert compared(ONE, ROWS).verdict is Verdict.EQUAL


def test_what_differs_is_refuted_with_both_values():
    made = compared(ROWS.replace("2.0", "2.5"), ONE)
    assert made.verdict is Verdict.REFUTED
    assert made.witness is not None
    assert "`one` says" in made.witness.message


def test_what_is_equal_and_not_proved_is_not_said_to_be():
    mine = request(ROWS)
    bad = Report("rows", "sm_90a", ())
    made = compare_kernels(mine, request(ONE), bad, seconds=0.1)
    assert made.verdict is Verdict.EQUAL
    from dataclasses import replace

    from argus.verify.verdict import Obligation

    span = mine.kernel.declaration.env.source.span(mine.kernel.declaration.node)
    open_ = Obligation("AG0303", "something", span, Verdict.UNKNOWN)
    assert replace(made, report=replace(bad, obligations=(open_,))).verdict is (
        Verdict.UNKNOWN
    )


def test_a_gemm_with_roles_is_the_naive_one():
    roles = FORMS / "gemm" / "forms" / "roles.py"
    found = alike(request(roles), request(NAIVE))
    assert found.equal, found.reason


def test_other_parameters_are_not_compared():
    found = alike(request(ROWS), request(ONE.replace("X:", "Z:").replace("X", "Z")))
    assert not found.equal
    assert "no parameter of both" in found.reason


def test_a_product_with_entries_of_a_table_may_not_fit():
    text = """@ag.kernel
def gathered(T: f32["V D"], I: i32["P"], Y: f32["P D"], *, BP: int = 16, BD: int = 64):
    P, D = Y.shape
    i, j = ag.block(ag.cdiv(P, BP), ag.cdiv(D, BD))
    rows = ag.load(I[i * BP :], (BP,)) SCALED
    Y[i * BP :, j * BD :] = ag.load(T[rows, j * BD :], (BP, BD))
"""
    plain, scaled = (
        request(text.replace("SCALED", s)) for s in ("", "* 100000 // 100000")
    )
    assert alike(plain, plain).equal
    assert "does not fit 32 bits" in alike(scaled, plain).reason


def test_a_launch_that_refuses_small_sizes_is_not_one_for_all_sizes():
    text = ONE.replace("m = ag.block(M)", "m = ag.block(M) * 1000003 // 1000003")
    found = alike(request(text), request(ONE))
    assert not found.equal
    assert "a launch refuses M" in found.reason


LIMITED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    SAID
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    Y[m, j * BN :] = MADE
"""
CUT = "ag.where(j * BN + ag.index(x, 'N') < 5000, x, 0.0)"


@pytest.mark.parametrize(
    ("mine", "theirs", "equal"),
    [
        ("ag.require(N <= 4096, 'short')", "ag.require(N <= 4096, 'short')", True),
        ("ag.require(N <= 1000, 'short')", "ag.require(N <= 4096, 'short')", True),
        ("ag.assume(N <= 4096)", "ag.assume(N <= 4096)", True),
        ("pass", "ag.require(N <= 4096, 'short')", False),
        ("pass", "ag.assume(N <= 4096)", False),
    ],
)
def test_what_only_the_other_kernel_requires(
    mine: str, theirs: str, equal: bool
) -> None:
    """Of launches that it does not admit it says nothing."""
    left = LIMITED.replace("SAID", mine).replace("MADE", CUT)
    made = compared(left, LIMITED.replace("SAID", theirs).replace("MADE", "x"))
    assert made.verdict is (Verdict.EQUAL if equal else Verdict.UNKNOWN)


@pytest.mark.parametrize(
    "said", ["ag.require(N <= 4096, 'short')", "ag.assume(N <= 4)"]
)
def test_what_it_does_not_admit_is_not_run(said: str) -> None:
    text = LIMITED.replace("SAID", said).replace("MADE", "x")
    reference = kernel_reference(programs_of(request(text)).typed)
    x = np.ones((2, 4097), np.float32)
    with pytest.raises(Unusable, match="admits no such launch"):
        reference.function(X=x, Y=x)
    assert reference.function(X=x[:, :4], Y=x[:, :4])["Y"].sum() == 8
