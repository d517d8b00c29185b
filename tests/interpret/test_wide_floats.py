"""Kernels of f64: no step of them is computed in fewer bits."""

from __future__ import annotations

import numpy as np
import pytest

from argus.interpret.interpreter import run
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

KERNELS = """import argus as ag
from argus import f32, f64, i64


@ag.kernel
def softmax(X: f64["M N"], Y: f64["M N"]):
    M, N = X.shape
    ag.require(N <= 128, "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, 128), fill=-ag.inf)
    e = ag.exp(x - ag.max(x, "N"))
    Y[i * 4 :, 0:] = e / ag.sum(e, "N")


@ag.kernel
def constants(X: f64["M"], S: f64["1"], Y: f64["M"], a: f32):
    M = X.shape[0]
    i = ag.block(ag.cdiv(M, 32))
    x = ag.load(X[i * 32 :], (32,))
    Y[i * 32 :] = (x * 0.1 + S[0]) * a + (M + 16777217) * ag.full((), 1.0, f64)


@ag.kernel
def product(A: f64["M K"], B: f64["N K"], C: f64["M N"]):
    M, K = A.shape
    N = B.shape[0]
    bm, bn = ag.block(ag.cdiv(M, 32), ag.cdiv(N, 32))
    acc = ag.zeros((32, 32), f64)
    for k in ag.range(0, K, 16):
        a = ag.load(A[bm * 32 :, k:], (32, 16))
        b = ag.load(B[bn * 32 :, k:], (32, 16))
        acc = ag.dot(a, b.T, acc)
    C[bm * 32 :, bn * 32 :] = acc
"""
NEAR = 1e-13


def interpreted(
    name: str, arrays: dict[str, np.ndarray], target: str = "sm_90a", **scalars: float
) -> dict[str, np.ndarray]:
    """The arrays after a kernel, which is proved before."""
    kernel = load_kernels("<wide>", KERNELS).kernels[name]
    program = placed_program(
        Request(kernel, dict.fromkeys(arrays, DTYPES["f64"]), target=target)
    )
    assert verify(program).verdict is Verdict.PROVED
    run(program, arrays, scalars).check()
    return arrays


def test_functions_and_sums_have_53_bits() -> None:
    x = np.random.default_rng(0).normal(size=(16, 96))
    y = interpreted("softmax", {"X": x, "Y": np.zeros_like(x)})["Y"]
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=NEAR)


def test_constants_elements_and_sizes_are_not_rounded_to_f32() -> None:
    x, s = np.random.default_rng(1).normal(size=48), np.array([1 / 3])
    given = {"X": x, "S": s, "Y": np.zeros_like(x)}
    y = interpreted("constants", given, a=0.1)["Y"]
    wanted = (x * 0.1 + s[0]) * float(np.float32(0.1)) + (48 + 16777217)
    np.testing.assert_allclose(y, wanted, rtol=1e-15)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_products_of_matrices(target: str) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(48, 64)), rng.normal(size=(16, 64))
    given = {"A": a, "B": b, "C": np.zeros((48, 16))}
    c = interpreted("product", given, target)["C"]
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-11, atol=1e-13)
