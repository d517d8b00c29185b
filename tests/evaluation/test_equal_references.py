"""Kernels and their references as terms: what is equal, and what must not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.equivalence.deciding import Decided
from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided
from argus.evaluation.proving import proved_all
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from argus.verify.verdict import Verdict

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = "import argus as ag\nfrom argus import f32, i32\n\n\n"
SOFTMAX = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], eps: f32 = 0.0, *, BN: int = 64):
    M, N = X.shape
    m = ag.block(M)
    top = ag.full((1,), -1e30, f32, dims="M")
    total = ag.zeros((1,), f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[m : m + 1, n:], (1, BN), fill=-1e30)
        new = ag.maximum(top, ag.max(x, "N"))
        total = total * ag.exp(top - new) + ag.sum(ag.exp(x - new), "N")
        top = new
    for n in ag.range(0, N, BN):
        x = ag.load(X[m : m + 1, n:], (1, BN))
        Y[m : m + 1, n:] = ag.exp(x - top) / (total + eps)


@ag.reference
def ref(X):
    e = np.exp(X - X.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
"""
BIAS = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], Bias: f32["N"] | None = None, *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,))
    if Bias is not None:
        x = x + ag.load(Bias[j * BN :], (BN,))
    Y[m, j * BN :] = x


@ag.reference
def ref(X, Bias=None):
    return X if Bias is None else X + Bias
"""


def kernel_of(text: str) -> Kernel:
    """The only kernel of a text below the usual imports."""
    (kernel,) = load_kernels("made.py", HEAD + text).kernels.values()
    return kernel


def compared(kernel: Kernel) -> Decided:
    """A kernel, without its optional tensors, and its reference."""
    declared = reference_of(kernel)
    assert declared is not None
    return decided(Request(kernel, default_dtypes(kernel, {})), declared)


def test_an_online_softmax_is_a_softmax_at_the_default_of_a_scalar():
    found = compared(kernel_of(SOFTMAX))
    assert found.equal, found.reason
    assert "eps is 0, as the reference does not take it" in found.axioms


@pytest.mark.parametrize(
    "old, new",
    [
        ("total * ag.exp(top - new)", "total"),
        ("ag.exp(x - top) / (total", "ag.exp(x - 2.0 * top) / (total"),
        ("n in ag.range(0, N, BN)", "n in ag.range(BN, N, BN)"),
        ("eps: f32 = 0.0", "eps: f32 = 1.0"),
        (
            "m : m + 1, n:], (1, BN))\n        Y",
            "m : m + 1, n + 1 :], (1, BN))\n        Y",
        ),
    ],
)
def test_a_wrong_softmax_is_not(old: str, new: str):
    text = SOFTMAX.replace(old, new)
    assert text != SOFTMAX
    assert not compared(kernel_of(text)).equal


@pytest.mark.parametrize("name", ["layernorm", "turns", "embedding"])
def test_examples_are_their_references(name: str):
    for kernel in load_kernels(EXAMPLES / f"{name}.py").kernels.values():
        found = compared(kernel)
        assert found.equal, found.reason


def test_what_a_reference_needs_a_kernel_has_to_require():
    text = """@ag.kernel
def k(X: f32["M N"], Z: f32["M P"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    REQUIRE
    m, j = ag.block(M, ag.cdiv(N, BN))
    z = ag.load(Z[m, j * BN :], (BN,)).rename("N")
    Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,)) + z


@ag.reference
def ref(X, Z):
    return X + Z
"""
    free = compared(kernel_of(text.replace("REQUIRE", "pass")))
    assert not free.equal
    said = 'ag.require(N == Z.shape[1], "as wide")'
    assert compared(kernel_of(text.replace("REQUIRE", said))).equal


def test_equal_is_said_of_all_forms_or_none():
    kernel = kernel_of(BIAS)
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    assert report.verdict is Verdict.EQUAL
    assert report.equality is not None
    assert report.equality.shown
    wrong = kernel_of(BIAS.replace("X + Bias", "X + 2 * Bias"))
    report = proved_all(wrong, {}, "sm_90a", fresh=True).report
    assert report.verdict is Verdict.REFUTED
    [found] = [o for o in report.obligations if o.verdict is Verdict.REFUTED]
    assert found.rule == "AG0322"
    assert found.counterexample is not None
    assert any("Bias given" in note for note in found.counterexample.notes)
