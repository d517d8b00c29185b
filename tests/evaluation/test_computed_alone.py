"""Numbers that are no index, by a reference's text: those below 0 are tried, too."""

from __future__ import annotations

import ast

import pytest

from argus.evaluation.equal.computed_alone import computed_alone
from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Verdict
from evaluation.searching import HEAD
from verifier.tags.check_tags import told

COUNTING = """
import argus as ag
from argus import f32, i32


@ag.kernel
def k(F: i32["M N"], Y: i32["M N"], *, BM: int = 32):
    M, N = F.shape
    i = ag.block(ag.cdiv(M, BM))
    c = ag.full((BM,), 0, i32, dims="M")
    for n in ag.range(0, N):
        f = ag.load(F[i * BM :, n], (BM,))
        c = ag.where({asked}, 0, c + 1)
        Y[i * BM :, n] = c


@ag.reference
def ref(F):
    M, N = F.shape
    out = np.zeros((M, N), np.int32)
    c = np.zeros(M, np.int32)
    for n in range(N):
        c = np.where(F[:, n] != 0, 0, c + 1)
        out[:, n] = c
    return out
"""


@pytest.mark.parametrize(("asked", "wrong"), [("f != 0", False), ("f > 0", True)])
def test_flags_below_0_are_tried_where_the_reference_has_no_terms(
    asked: str, wrong: bool
) -> None:
    kernel = load_kernels("flags.py", COUNTING.format(asked=asked)).kernels["k"]
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    binding = [o for o in report.obligations if not o.slow]
    refuted = [o for o in binding if o.verdict is Verdict.REFUTED]
    assert any(o.rule == "AG0322" for o in refuted) is wrong, told(refuted)
    assert wrong or not refuted


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("return np.where(I > 0, X, 0)", True),
        ("return np.bitwise_count(I) + (I << 2).cumsum()", True),
        ("return np.sort(np.bitwise_xor(I, 5))", True),
        ("return np.repeat(X, I)", False),
        ("np.maximum.at(X, I, 1)\n    return X", False),
        ("return X[I]", False),
        ("return np.take(X, I)", False),
        ("J = I + 1\n    return X[J]", False),
        ("J = abs(I)\n    Y = np.zeros(9)\n    Y[J] = X\n    return Y", False),
        ("M, N = I.shape\n    return X[:M] + I[:N].sum()", True),
        ("for n in range(len(I)):\n        X[n] = X[n] + I[n]\n    return X", True),
        ("for n in range(I.max()):\n        X = X + 1\n    return X", False),
        ("for i in I:\n        X[i] = 0\n    return X", False),
        ("return X[np.arange(4), I]", False),
        ("return sum(X[i] for i in I)", False),
        ("np.add.at(X, I, 1)\n    return X", False),
        ("if (n := int(I[0])) > 0:\n        X = X[n]\n    return X", False),
        ("first, *rest = I\n    return X[rest[0]]", False),
    ],
)
def test_what_may_be_an_index(text: str, alone: bool) -> None:
    (function,) = ast.parse(f"def ref(X, I):\n    {text}").body
    assert isinstance(function, ast.FunctionDef)
    assert ("I" in computed_alone(function, {"X", "I"})) is alone


COMPARED = """@ag.kernel
def k(A: i32["P"], B: i32["P"], Y: i32["P"]):
    i = ag.block(ag.cdiv(A.shape[0], 128))
    a, b = ag.load(A[i * 128 :], (128,)), ag.load(B[i * 128 :], (128,))
    Y[i * 128 :] = ag.where(ASKED, 1, 0).to(i32)


@ag.reference
def ref(A, B):
    return (SAYS).astype(np.int64)
"""


@pytest.mark.parametrize(
    ("asked", "says", "wrong"),
    [
        ("a < b", "A < B", False),
        ("a - b < 0", "A < B", True),
        ("a - b < 0", "A - B < 0", False),  # it may mean numbers of 32 bits
        ("ag.abs(a) >= 0", "np.abs(A.astype(np.int64)) >= 0", True),
    ],
)
def test_entries_at_the_ends_of_their_type(asked: str, says: str, wrong: bool) -> None:
    body = COMPARED.replace("ASKED", asked).replace("SAYS", says)
    (kernel,) = load_kernels("made.py", HEAD + body).kernels.values()
    report = proved_all(kernel, {}, DEFAULT_TARGET, fresh=True).report
    assert report.verdict is (Verdict.REFUTED if wrong else Verdict.EQUAL)


BITS = """
import argus as ag
from argus import i32


@ag.kernel
def k(I: i32["P"], Y: i32["P"], *, B: int = 64):
    P = I.shape[0]
    i = ag.block(ag.cdiv(P, B))
    Y[i * B :] = ag.popcount({counted})


@ag.reference
def ref(I):
    return np.bitwise_count(I).astype(np.int32)
"""


@pytest.mark.parametrize(
    ("counted", "wrong"),
    [("ag.abs(ag.load(I[i * B :], (B,)))", False), ("ag.load(I[i * B :], (B,))", True)],
)
def test_bits_of_numbers_below_0_are_counted(counted: str, wrong: bool) -> None:
    kernel = load_kernels("bits.py", BITS.format(counted=counted)).kernels["k"]
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    binding = [o for o in report.obligations if not o.slow]
    refuted = [o for o in binding if o.verdict is Verdict.REFUTED]
    assert any(o.rule == "AG0322" for o in refuted) is wrong, told(refuted)
