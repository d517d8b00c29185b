"""Roles that meet at named barriers and take turns: the text, run on the CPU."""

from __future__ import annotations

import emulator
import numpy as np
import pytest

from argus.codegen import emit
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]

HEAD = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 16))
"""
TURNS = """
    s = ag.shared(f32, (8, 64))
    t = ag.turns("take", 2)
    for w in range(2):
        with ag.role(f"r{w}", warps=4):
            for j in ag.range(0, N, 64):
                t.wait(w)
                s.store(ag.load(X[i * 16 + w * 8 :, j:], (8, 64)))
                ag.sync()
                Y[i * 16 + w * 8 :, j:] = s.load() * 2.0
                t.next(w)
"""
NAMED = """
    s = ag.shared(f32, (16, 64))
    with ag.role("a", warps=4):
        for j in ag.range(0, N, 64):
            s.store(ag.load(X[i * 16 :, j:], (16, 64)))
            ag.arrive("full", threads=256)
            ag.sync("empty", threads=256)
    with ag.role("b", warps=4):
        for j in ag.range(0, N, 64):
            ag.sync("full", threads=256)
            Y[i * 16 :, j:] = s.load() * 2.0
            ag.arrive("empty", threads=256)
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("body", [TURNS, NAMED], ids=["turns", "named"])
def test_roles_meet(body: str, target: str) -> None:
    kernel = load_kernels("k.py", HEAD + body).kernels["k"]
    program = placed_program(Request(kernel, default_dtypes(kernel, {}), {}, target))
    x = np.random.default_rng(1).normal(size=(40, 192)).astype(np.float32)
    y = np.zeros_like(x)
    emulator.launch(emit(program), {"M": 37, "N": 160}, {"X": x, "Y": y})
    assert np.array_equal(y[:37, :160], x[:37, :160] * 2)
    assert (y[37:] == 0).all() and (y[:, 160:] == 0).all()
