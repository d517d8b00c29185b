"""Problems that the tests judge candidates for: small, so that they run whole."""

from __future__ import annotations

from argus.runs.records import FileProblem, LibraryProblem, Problem

TASK = '''
import argus as ag
from argus import f32


@ag.kernel
def affine(
    X: f32["M N"],
    W: f32["N"],
    Y: f32["M N"],
    alpha: f32 = 1.0,
    *,
    BM: int = 16,
    BN: int = 64,
    FLAG: bool = False,
    ACT: ag.Inline = ag.identity,
):
    """Y[m, n] = alpha * X[m, n] + W[n]."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    w = ag.load(W[j * BN :], (BN,))
    Y[i * BM :, j * BN :] = ACT(x * alpha) + w


@ag.reference
def reference(X, W, alpha=1.0):
    return alpha * X + W
'''

AFFINE = FileProblem(
    name="affine",
    kernel="affine",
    reference=TASK,
    sizes={"M": 40, "N": 152},
    scalars={"alpha": 0.75},
)
"""One multiplication and one addition, with tails in both dimensions."""

GEMM = LibraryProblem(entry="gemm_sm80", sizes={"M": 100, "N": 136, "K": 72})
LARGE = LibraryProblem(entry="gemm_sm80", sizes={"M": 4096, "N": 4096, "K": 4096})
SOFTMAX = LibraryProblem(entry="softmax", sizes={"M": 40, "N": 1000})

PROBLEMS: dict[str, Problem] = {
    "affine": AFFINE,
    "gemm": GEMM,
    "large": LARGE,
    "softmax": SOFTMAX,
}
