"""The verdict beside a reference: equal, refuted, or unknown where it is traced."""

from __future__ import annotations

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.verify.verdict import Obligation, Report, Verdict
from few import rest

HEAD = "import argus as ag\nfrom argus import f32, i32\n\n\n"
CLAMPED = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], *, BN: int = 128):
    N, = X.shape
    b = ag.block(ag.cdiv(N, BN))
    at = ag.index(ag.load(X[b * BN :], (BN,)), "N") + b * BN
    Y[b * BN :] = ag.load(X[ag.minimum(at, {last})])


@ag.reference
def ref(X):
    return {wanted}
"""
TWO = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], Z: f32["N"], *, BN: int = 128):
    N, = X.shape
    b = ag.block(ag.cdiv(N, BN))
    x = ag.load(X[b * BN :], (BN,))
    at = ag.index(x, "N") + b * BN
    Y[b * BN :] = {first}
    Z[b * BN :] = x * 2.0


@ag.reference
def ref(X):
    return {wanted}
"""
SORTED = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, N: int = 32):
    i = ag.block(ag.cdiv(ag.dim("M"), 4))
    values, _ = ag.sort(ag.load(X[i * 4 :, 0:N], (4, N)), "N")
    Y[i * 4 :, 0:N] = values


@ag.reference
def ref(X):
    return {wanted}
"""
FAR = 1 << 28
"""An element beyond all that is run."""


def checked(text: str) -> Report:
    """What `argus check` says of the only kernel of a text."""
    (kernel,) = load_kernels("made.py", HEAD + text).kernels.values()
    return proved_all(kernel, {}, "sm_90a", fresh=True).report


def of_reference(report: Report) -> list[Obligation]:
    return [o for o in report.obligations if o.rule == "AG0322"]


def test_terms_that_differ_are_unknown_where_no_run_shows_it():
    report = checked(CLAMPED.format(last=FAR, wanted="X"))
    assert report.verdict is Verdict.UNKNOWN
    [found] = of_reference(report)
    assert found.verdict is Verdict.UNKNOWN
    assert found.reason == "the terms of `Y` differ"
    assert report.equality is not None and not report.equality.untraced
    assert f"min(128*block + i0, {FAR})" in report.equality.kernel
    assert report.equality.specification == "X[128*block + i0]"


@pytest.mark.parametrize("last", [70_000, 1_000_000, *rest(5_000_000)])
def test_terms_say_at_which_size_a_run_shows_it(last: int):
    report = checked(CLAMPED.format(last=last, wanted="X"))
    assert report.verdict is Verdict.REFUTED
    [found] = of_reference(report)
    assert found.counterexample is not None
    assert last < found.counterexample.sizes["N"] <= last + 18


@pytest.mark.parametrize("part", ["np.sort(X)[0] * 0", "np.spacing(X) * 0"])
def test_a_reference_without_terms_leaves_what_is_proved(part: str):
    report = checked(TWO.format(first="x", wanted=f"X, X * 2 + {part}"))
    assert report.verdict is Verdict.PROVED
    assert not of_reference(report)
    assert report.equality is not None and report.equality.untraced
    assert "not traced" in report.equality.reason


def test_what_is_open_of_the_kernel_counts_beside_what_is_not_traced():
    clamped = f"ag.load(X[ag.minimum(at, {FAR})])"
    report = checked(TWO.format(first=clamped, wanted="X, X * 2"))
    assert report.verdict is Verdict.UNKNOWN


def test_a_kernel_without_terms_is_unknown_beside_a_reference_that_has_them():
    # Equal elements keep their order, which terms do not know of a sort.
    order = SORTED.replace("values, _", "_, values").replace('Y: f32["', 'Y: i32["')
    order = order.replace("ag.sort(", "ag.sort(0.0 * ")
    wanted = "(X * 0 + np.arange(N)).astype(int)"
    report = checked(order.replace("ref(X)", "ref(X, N)").format(wanted=wanted))
    assert report.verdict is Verdict.UNKNOWN


def test_a_kernel_without_terms_beside_a_reference_without_terms():
    report = checked(SORTED.format(wanted="np.sort(X, axis=1)"))
    assert report.verdict is Verdict.PROVED
    assert report.equality is not None and report.equality.untraced


def test_what_the_reference_needs_and_no_launch_requires_is_unknown():
    text = TWO.replace('Z: f32["N"]', 'Z: f32["N"], W: f32["P"]')
    text = text.replace("ref(X)", "ref(X, W)")
    report = checked(text.format(first="x", wanted="X + 0 * W, X * 2"))
    assert report.verdict is Verdict.UNKNOWN
    [found] = of_reference(report)
    assert "does not require of its launches" in found.reason


def test_a_reference_that_cannot_be_loaded_is_unknown():
    text = CLAMPED.format(last=FAR, wanted="X").replace("ref(X):", "ref(X=nothing):")
    report = checked(text)
    assert report.verdict is Verdict.UNKNOWN
    assert of_reference(report)
