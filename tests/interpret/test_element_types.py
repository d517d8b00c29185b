"""Products of each element type of the tensor cores: placed, proved, interpreted."""

from __future__ import annotations

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.interpret.interpreter import run
from argus.ir.codec import numbers, rounded, storage
from argus.ir.ops import Dot
from argus.ir.placement import MmaPlan, WgmmaPlan
from argus.ir.walk import walk
from argus.isa.matrix import ELEMENTS, MatrixElement
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program, tile_program
from argus.verify.refinement import gaps
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

KERNEL = """import argus as ag
from argus import {types}


@ag.kernel
def product(A: {t}["M K"], B: {t}["N K"], C: {s}["M N"]):
    M, K = A.shape
    N = B.shape[0]
    bm, bn = ag.block(ag.cdiv(M, 64), ag.cdiv(N, 64))
    ring = ag.ring(2, a={t}.tile(64, {k}), b={t}.tile(64, {k}))
    acc = ag.zeros((64, 64), {s})
    for k in ag.range(0, K, {k}):
        with ring.fill() as slot:
            slot.a.load(A[bm * 64 :, k:])
            slot.b.load(B[bn * 64 :, k:])
        with ring.drain() as full:
            acc = ag.{dot}({a}, full.b.T, acc{precision})
    C[bm * 64 :, bn * 64 :] = acc
"""
FORMS = {
    "wgmma": ("wgmma", "full.a", WgmmaPlan),
    "wgmma, A in registers": ("wgmma", "full.a.load()", WgmmaPlan),
    "mma": ("mma", "full.a", MmaPlan),
}


def request(of: MatrixElement, form: str, target: str = "sm_90a") -> Request:
    dot, a, _ = FORMS[form]
    t, s = of.dtype, of.accumulator
    text = KERNEL.format(
        types=", ".join(sorted({str(t), str(s)})),
        t=t,
        s=s,
        k=2 * of.depth,
        dot=dot,
        a=a,
        precision=f", precision={of.ptx!r}" if of.ignored else "",
    )
    kernel = load_kernels("<product>", text).kernels["product"]
    return Request(kernel, {"A": t, "B": t, "C": s}, target=target)


def drawn(rng: np.random.Generator, shape: tuple[int, int], of: MatrixElement):
    """Whole numbers with few bits: their products and sums are exact."""
    if of.dtype.is_float:
        return rounded(rng.integers(-7, 8, shape).astype(np.float32), of.dtype)
    kind = storage(of.dtype)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, int(limits.max) + 1, shape).astype(kind)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", ELEMENTS, ids=lambda e: e.ptx)
def test_products(of: MatrixElement, form: str) -> None:
    asked = request(of, form)
    if form.startswith("wgmma") and not of.asynchronous:
        with pytest.raises(ArgusError, match=f"does not multiply {of.dtype}"):
            placed_program(asked)
        return
    placed = placed_program(asked)
    plans = [op.plan for op in walk(placed.body) if isinstance(op, Dot)]
    assert [type(plan) for plan in plans] == [FORMS[form][2]]
    wrong = [
        o.claim
        for o in verify(placed).obligations
        if o.verdict is not Verdict.PROVED and not o.slow
    ]
    assert not wrong
    assert not gaps(tile_program(asked), placed)
    rng = np.random.default_rng(1)
    a, b = drawn(rng, (80, 80), of), drawn(rng, (16, 80), of)
    c = np.zeros((80, 16), storage(of.accumulator))
    run(placed, {"A": a, "B": b, "C": c}).check()
    left, right = (numbers(x, of.dtype).astype(np.float64) for x in (a, b))
    assert np.array_equal(c, left @ right.T)


@pytest.mark.parametrize("of", ELEMENTS, ids=lambda e: e.ptx)
def test_products_on_ampere(of: MatrixElement) -> None:
    asked = request(of, "mma", "sm_80")
    if "sm_80" in of.targets:
        assert verify(placed_program(asked)).verdict is Verdict.PROVED
        return
    with pytest.raises(ArgusError, match="sm_80 has no matrix instruction") as caught:
        placed_program(asked)
    assert caught.value.code == "AG0602"


def test_wgmma_of_eight_bits_reads_rows_along_k() -> None:
    text = KERNEL.format(
        types="e4m3, f32", t="e4m3", s="f32", k=64, dot="wgmma", a="full.a",
        precision="",
    ).replace('B: e4m3["N K"]', 'B: e4m3["K N"]')  # fmt: skip
    text = text.replace("N = B.shape[0]", "N = B.shape[1]")
    text = text.replace("full.b.T", "full.b").replace(
        "B[bn * 64 :, k:]", "B[k:, bn * 64 :]"
    )
    kernel = load_kernels("<product>", text).kernels["product"]
    types = {
        name: tensor.dtypes[0]
        for name, tensor in ((t.name, t) for t in kernel.signature.tensors)
    }
    with pytest.raises(ArgusError, match="K has to run along the rows") as caught:
        placed_program(Request(kernel, types))
    assert caught.value.code == "AG0603"
