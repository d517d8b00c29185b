"""The printed text says which results nobody reads: there is nothing to warn of."""

from __future__ import annotations

import pytest
from nvrtc_compile import compiled

from argus.codegen import emit
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program

pytestmark = pytest.mark.compiler

TEXT = """import argus as ag
from argus import f32, i32


@ag.inline
def flagged(f0, s0, f1, s1):
    return ag.maximum(f0, f1), ag.where(f1 > 0, s1, s0 + s1)


@ag.kernel
def k(X: f32["M N"], F: i32["M N"], Y: f32["M N"]):
    i = ag.block(ag.cdiv(ag.dim("M"), 4))
    x = ag.load(X[i * 4 :, 0:128], (4, 128))
    f = ag.load(F[i * 4 :, 0:128], (4, 128))
    BODY
    Y[i * 4 :, 0:128] = x
"""
BODIES = {
    "one of two states": '_, x = ag.scan((f, x), "N", flagged)',
    "a row in one round": 'x = ag.cumsum(x, "N")',
    "several rounds": "x = ag.load(X[i * 4 :, 0:1024], (4, 1024))\n"
    '    x = ag.cumsum(x, "N")[:, 0:128]',
    "places of a sort": 'x, _ = ag.sort(x, "N")',
    "elements of a sort": '_, p = ag.sort(x, "N")\n    x = p.to(f32)',
    "what was there": "ag.atomic_exchange(X[i * 4 :, 0:128], x)",
    "whether it was swapped": "ag.atomic_cas(F[i * 4 :, 0:128], f, 1)",
    "bits that become floats in one step": "x = ((f & 15).to(ag.bf16) - 8.0).to(f32)",
    "a half": 'x = ag.reshape(x, (4, 64, 2), dims="M P C")\n'
    '    x, _ = ag.split(x, "C", 2)\n    x = ag.join(x, x, "P")\n'
    '    x = ag.reshape(x, (4, 128), dims="M N")',
}


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", BODIES)
def test_nothing_is_warned_of(name: str, target: str) -> None:
    text = TEXT.replace("BODY", BODIES[name])
    kernel = load_kernels("k.py", text).kernels["k"]
    request = Request(kernel, default_dtypes(kernel, {}), {}, target)
    compiled(emit(placed_program(request)).text, target)
