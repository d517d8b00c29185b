"""Loops in loops: what is asked of what they carry."""

from __future__ import annotations

import pytest

from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program
from argus.terms import Integer, Value, World
from argus.verify.denotation import denote, loops
from argus.verify.denotation.recurrences import Form

TEXT = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N K"], Y: f32["M"]):
    M, N, K = X.shape
    m = ag.block(M)
    total = ag.zeros((1,), f32, dims="M")
    for n in ag.range(N):
        for j in ag.range(0, K, 32):
            part = ag.load(X[m : m + 1, n : n + 1, j:], (1, 1, 32))
            total = total + ag.sum(ag.sum(part, "K"), "N")
    Y[m : m + 1] = total
"""


def test_a_loop_that_is_not_read_again_is_asked_for_its_end_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Integer] = []
    at = loops._at

    def counted(form: Form, iteration: Integer) -> Value:
        asked.append(iteration)
        return at(form, iteration)

    monkeypatch.setattr(loops, "_at", counted)
    (kernel,) = load_kernels("k.py", TEXT).kernels.values()
    program = tile_program(Request(kernel, default_dtypes(kernel, {}), {}))
    assert len(denote(program, World()).stores) == 1
    inner = [one for one in asked if str(one).startswith("j.")]
    assert len(inner) == 1, asked
