"""What the CUDA compiler makes of text whose order matters."""

import re

import pytest

from argus.compiler import cuda_source
from argus.evaluation.disassembly import disassembler, sass
from argus.ir.dtypes import f32
from argus.lang.kernel import load_kernels
from argus.requests import Request
from argus.runtime.build import build

DRAINED = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    ring = ag.ring(1, x=f32.tile(64, 64))
    with ag.role("load", warps=1):
        for n in ag.range(0, N, 64):
            with ring.fill() as slot:
                slot.x.load(X[i * 64 :, n:], via="tma")
    with ag.role("use", warps=1):
        for n in ag.range(0, N, 64):
            with ring.drain() as slot:
                x = slot.x.load()
            Y[i * 64 :, n:] = x
"""


@pytest.mark.compiler
def test_loads_are_over_when_a_slot_is_handed_back() -> None:
    """An arrival waits for no load by itself: the proxy fence before it does."""
    if disassembler() is None:
        pytest.skip("nvdisasm is not installed")
    kernel = load_kernels("drained.py", DRAINED).kernels["k"]
    facts = {"N": 16, "X_s0": 16, "Y_s0": 16}
    request = Request(kernel, {"X": f32, "Y": f32}, {}, "sm_90a", facts)
    code = sass(build(cuda_source(request).text, "sm_90a").image)
    kinds = re.findall(r"\b(LDS|MEMBAR\.ALL\.CTA|FENCE\.VIEW|SYNCS\.ARRIVE)\b", code)
    last = len(kinds) - kinds[::-1].index("LDS")
    assert kinds[last : last + 3] == ["MEMBAR.ALL.CTA", "FENCE.VIEW", "SYNCS.ARRIVE"]
