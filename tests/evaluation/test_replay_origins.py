"""Whose element a counterexample names: of several tensors, nothing is replayed."""

from argus.evaluation.proving import proved_all
from argus.lang.kernel import load_kernels
from argus.verify.verdict import Verdict

# The tag of an element of W has K and N, and S has only floats of N.
NEXT = """import argus as ag
from argus import bf16, f32, i8


@ag.kernel
def k(A: bf16["M K"], W: i8["N K"], S: f32["N"], C: f32["M N"]):
    M, K = A.shape
    N = W.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        a = ag.load(A[i * 64 :, k:], (64, 64))
        w = ag.load(W[j * 64 :, k + 64 :], (64, 64)).to(bf16)
        acc = ag.dot(a, w.T, acc)
    C[i * 64 :, j * 64 :] = acc * ag.load(S[j * 64 :], (64,))
"""


def test_an_element_of_another_type_is_not_taken_for_one_of_floats() -> None:
    kernel = load_kernels("next.py", NEXT).kernels["k"]
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    assert report.verdict is Verdict.REFUTED
    found = [o for o in report.obligations if o.counterexample is not None]
    assert any(o.rule == "AG0301" for o in found)
    assert not any(
        o.counterexample.replayed is False for o in found if o.counterexample
    )
