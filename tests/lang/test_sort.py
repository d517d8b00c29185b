"""Sorts in the interpreter are numpy's stable ones; padding must come last."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.interpret import run
from argus.ir.dtypes import f32, i32
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

KERNEL = """
import argus as ag
from argus import f32, i32


@ag.kernel
def k(X: f32["M N"], V: f32["M N"], I: i32["M N"], T: f32["M 4"], J: i32["M 4"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 8))
    x = ag.load(X[i * 8 :, 0:], (8, 64), fill={fill})
    v, index = ag.sort(x, "N", descending={descending})
    V[i * 8 :, 0:] = v
    I[i * 8 :, 0:] = index
    t, at = ag.topk(x, 4, "N")
    T[i * 8 :, 0:4] = t
    J[i * 8 :, 0:4] = at
"""


def _program(folder: Path, **options: object):
    path = folder / "k.py"
    path.write_text(KERNEL.format(**options))
    kernel = load_kernels(path).kernels["k"]
    types = {"X": f32, "V": f32, "I": i32, "T": f32, "J": i32}
    return placed_program(Request(kernel, types, {}, "sm_90a", {"T_s0": 4, "J_s0": 4}))


@pytest.mark.parametrize("descending", [False, True])
def test_sorts_are_stable(descending: bool, tmp_path: Path) -> None:
    program = _program(tmp_path, fill="0.0", descending=descending)
    x = np.random.default_rng(1).integers(-3, 4, (16, 64)).astype(np.float32)
    x[3, 5] = x[3, 9] = np.nan
    x[4, 7], x[4, 8] = -0.0, np.inf
    v, t = np.zeros_like(x), np.zeros((16, 4), np.float32)
    index, at = np.zeros(x.shape, np.int32), np.zeros((16, 4), np.int32)
    run(program, {"X": x, "V": v, "I": index, "T": t, "J": at})
    key = np.where(np.isnan(x), np.inf, x)
    # NaN after infinity, then by value, then by place.
    place = np.broadcast_to(np.arange(64), x.shape)
    keys = (np.isnan(x), key)
    largest = np.lexsort((place, -key, ~np.isnan(x)), axis=1)
    exact = largest if descending else np.lexsort((place, keys[1], keys[0]), axis=1)
    assert np.array_equal(index, exact)
    assert np.array_equal(v, np.take_along_axis(x, exact, 1), equal_nan=True)
    assert np.array_equal(at, largest[:, :4])
    assert np.array_equal(t, np.take_along_axis(x, at, 1), equal_nan=True)


@pytest.mark.parametrize(
    ("fill", "proved"), [("-ag.inf", True), ("0.0", False), ("ag.inf", False)]
)
def test_padding_comes_last(fill: str, proved: bool, tmp_path: Path) -> None:
    program = _program(tmp_path, fill=fill, descending=True)
    found = [
        x for x in verify(program, only=["tags"]).obligations if x.rule == "AG0310"
    ]
    assert any("sorted" in x.claim for x in found)
    assert all(x.verdict is Verdict.PROVED for x in found) == proved
