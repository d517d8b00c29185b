"""A witness is said at the statement that writes its element."""

from __future__ import annotations

import pytest

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from evaluation.searching import HEAD

HALVES = """@ag.kernel
def k(X: f32["M N"], Y: f32["2 M N"], *, BM: int = 4, BN: int = 64):
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    Y[0, i * BM :, j * BN :] = x * 2.0
    Y[1, i * BM :, j * BN :] = x * 3.0


@ag.reference
def ref(X):
    return np.stack([X * 2, X * 3])
"""


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("x * 2.0", "x * 2.5", "Y[0"),
        ("x * 3.0", "x * 2.0", "Y[1"),
        ("Y[1, i * BM", "Y[1, i * BM + 1", "Y[1"),
    ],
)
def test_the_statement_that_writes_the_element_is_named(
    right: str, wrong: str, line: str
) -> None:
    text = HEAD + HALVES.replace(right, wrong)
    (kernel,) = load_kernels("made.py", text).kernels.values()
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    (found,) = (o for o in report.obligations if o.rule == "AG0322")
    assert text.splitlines()[found.span.line - 1].strip().startswith(line)
