"""A shared tile that an iteration reads as the one before it has left it."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

COPY = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    s.store(ag.load(X[i * 64 :, 0:], (64, 32)))
    for n in ag.range(0, ag.cdiv(N, 32)):
        x = ag.load(X[i * 64 :, (n + 1) * 32 :], (64, 32))
        Y[i * 64 :, n * 32 :] = s.load()
        s.store(x)


@ag.reference
def ref(X, Y):
    return X
"""
PRODUCT = """
@ag.kernel
def k(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N = B.shape[0]
    i, j = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    a, b = ag.shared(bf16, (64, 64)), ag.shared(bf16, (64, 64))
    a.store(ag.load(A[i * 64 :, 0:], (64, 64)))
    b.store(ag.load(B[j * 64 :, 0:], (64, 64)))
    acc = ag.zeros((64, 64), f32)
    for k in ag.range(0, K, 64):
        x = ag.load(A[i * 64 :, k + 64 :], (64, 64))
        y = ag.load(B[j * 64 :, k + 64 :], (64, 64))
        acc = ag.dot(a, b.T, acc)
        a.store(x)
        b.store(y)
    C[i * 64 :, j * 64 :] = acc


@ag.reference
def ref(A, B, C):
    return A @ B.T
"""
HALVES = COPY.replace(
    "s.store(x)", "s[0:32, :].store(x[0:32, :])\n        s[32:64, :].store(x[32:64, :])"
)
LAST = COPY.replace(
    "        s.store(x)\n", "        s.store(x)\n    Y[i * 64 :, 0:] = s.load()\n"
)


@pytest.mark.parametrize("text", [COPY, PRODUCT, HALVES], ids=["copy", "dot", "halves"])
def test_right(text: str) -> None:
    found = decided_text(text)
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (COPY, "X[i * 64 :, 0:]", "X[i * 64 :, 32:]"),
        (COPY, "(n + 1) * 32", "n * 32"),
        (COPY, "(n + 1) * 32", "(n + 2) * 32"),
        (COPY, "        s.store(x)", "        if n % 2 == 0:\n            s.store(x)"),
        (COPY, "        s.store(x)", "        if n > 0:\n            s.store(x)"),
        (COPY, "        s.store(x)", "        s[0:32, :].store(x[0:32, :])"),
        (COPY, "        s.store(x)", "        s.store(s.load())"),
        (COPY, "        s.store(x)", "        s.store(x + s.load())"),
        (COPY, "    s.store(ag.load(X[i * 64 :, 0:], (64, 32)))\n", ""),
        (COPY, "s.load()\n        s.store(x)", "x\n        s.store(x)"),
        (PRODUCT, "A[i * 64 :, k + 64 :]", "A[i * 64 :, k :]"),
        (PRODUCT, "        b.store(y)\n", ""),
        (PRODUCT, "b.store(y)", "b.store(y + y)"),
        (HALVES, "s[32:64, :].store(x[32:64", "s[32:64, :].store(x[0:32"),
        (LAST, "(n + 1) * 32", "(n + 1) * 32"),  # and a tile too many at the end
    ],
)  # fmt: skip
def test_wrong(text: str, old: str, new: str) -> None:
    assert old in text
    assert not decided_text(text.replace(old, new)).equal
