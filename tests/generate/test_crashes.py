"""Kernels that once ended in an exception that was no diagnosed mistake."""

from __future__ import annotations

import numpy as np
import pytest

from argus.compiler import Request, placed_program
from argus.interpret import run
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.verify.verifier import verify

HEAD = "import argus as ag\nfrom argus import bf16, f32, i32, i64\n\n\n@ag.kernel\n"
KERNELS = {
    "a function of three operands, two of which are known numbers": """
def k(X: f32["M N"], Y: f32["M N"], c: i32 = 1):
    M, N = X.shape
    i = ag.block(M)
    x = ag.load(X[i, 0:], (64,))
    ag.require(N <= 64, "one tile")
    Y[i, 0:] = ag.fma(x, x, 0.5)
""",
    "a table that may name an end below its start": """
def k(E: i32["G"], X: f32["G M"], Y: f32["G"]):
    M = X.shape[1]
    g = ag.block(E.shape[0])
    last = E[g]
    acc = ag.zeros((1,), f32)
    for m in ag.range(0, last, 32):
        x = ag.load(X[g : g + 1, m:last], (1, 32))
        acc = acc + ag.sum(x, "M")
    Y[g : g + 1] = acc
""",
}


@pytest.mark.parametrize("text", list(KERNELS.values()), ids=list(KERNELS))
def test_the_verifier_answers(text: str) -> None:
    kernel = load_kernels("crash.py", HEAD + text.lstrip("\n")).kernels["k"]
    dtypes = {t.name: DTYPES[t.dtypes[0].name] for t in kernel.signature.tensors}
    assert verify(placed_program(Request(kernel, dtypes))).obligations


def test_an_empty_array_has_no_strides() -> None:
    text = 'def k(X: f32["M N"], Y: f32["M N"]):\n    i = ag.block(X.shape[0])\n'
    text += "    Y[i, 0:] = ag.load(X[i, 0:], (32,)) * 2.0\n"
    kernel = load_kernels("empty.py", HEAD + text).kernels["k"]
    program = placed_program(Request(kernel, dict.fromkeys("XY", DTYPES["f32"])))
    empty = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (0, 32), (0, 0))
    run(program, {"X": empty.copy(), "Y": empty}, {})
