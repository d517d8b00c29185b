"""What outputs hold that a kernel adds to: a replay sees what has been added."""

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.verify.evidence import Counterexample
from argus.verify.verdict import Verdict

SPLIT = """import argus as ag
from argus import bf16, f32


@ag.kernel
def k(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j, p = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64), 4)
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(p * 64, K, 256):
        a = ag.load(A[i * 64 :, k:], (64, 64))
        b = ag.load(B[j * 64 :, k - p * 64 :], (64, 64))
        acc = ag.dot(a, b.T, acc)
    ag.atomic_add(C[i * 64 :, j * 64 :], acc)
"""

HOLES = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["N"]):
    N = X.shape[0]
    i = ag.block(N // 128)
    x = ag.load(X[i * 128 :], (128,))
    X[i * 128 :] = x * 2.0
"""


def refuted(source: str, rule: str) -> Counterexample:
    """The counterexample to a rule."""
    kernel = load_kernels("updated.py", source).kernels["k"]
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    assert report.verdict is Verdict.REFUTED
    return next(
        o.counterexample
        for o in report.obligations
        if o.rule == rule and o.counterexample is not None
    )


def test_a_product_that_is_added_to_memory_shows() -> None:
    assert refuted(SPLIT, "AG0301").replayed is True


def test_what_an_output_held_before_is_no_hole() -> None:
    assert refuted(HOLES, "AG0306").replayed is None
