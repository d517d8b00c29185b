"""Sizes of open slices come from the tiles that meet them, and names of stored ones."""

from __future__ import annotations

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.requests import default_dtypes
from argus.ir import ops as o
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program

TEXT = """import argus as ag
from argus import boolean, f32, i32


@ag.kernel
def k(X: f32["M N"], K: boolean["M N"], L: i32["M N"], I: i32["P"]):
    i = ag.block(ag.cdiv(ag.dim("M"), 8))
    m = ag.load(K[i * 8 :, 0:], (8, 64))
    old = ag.load(L[i * 8 :, 0:], (8, 64))
    rows = ag.load(I[0:8], fill=-1)
    WRITTEN
"""
SIZED = (
    "ag.store(X[i * 8 :, 0:], 1.0, mask=m)",
    "ag.atomic_add(X[i * 8 :, 0:], 1.0, mask=m)",
    "ag.store(X[rows, 0:], 1.0, mask=m.rename('P N'))",
    "ag.atomic_exchange(L[i * 8 :, 0:], 1, mask=m)",
    "ag.atomic_cas(L[i * 8 :, 0:], old, 1)",
    "ag.store(X[i * 8 :, 0:64], ag.load(X[i * 8 :, 0:], mask=m))",
)
REFUSED = {
    # Nothing says a size; what says one says another; a mask along another axis.
    "ag.store(X[i * 8 :, 0:], 1.0)": ("AG0108", ""),
    "ag.store(X[i * 8 :, 0:32], 1.0, mask=m)": ("AG0206", "the mask"),
    "ag.store(X[i, 0:], 1.0, mask=m)": ("AG0108", ""),
    "ag.atomic_cas(L[i * 8 :, 0:32], old, 1)": ("AG0206", "what is expected"),
    # What is to be renamed is the tile, and not the slice.
    "X[rows, 0:64] = ag.load(X[i * 8 :, 0:64], (8, 64))": ("AG0218", '"P N"'),
    "ag.store(X[rows, 0:64], 1.0, mask=m)": ("AG0218", '"P N"'),
}


def _made(written: str) -> list[o.AnyOp]:
    text = TEXT.replace("WRITTEN", written)
    kernel = load_kernels("k.py", text).kernels["k"]
    return list(walk(tile_program(Request(kernel, default_dtypes(kernel, {}))).body))


@pytest.mark.parametrize("written", SIZED)
def test_a_tile_says_the_sizes(written: str) -> None:
    made = [
        x.view
        for x in _made(written)
        if isinstance(x, o.StoreGlobal | o.Atomic | o.LoadGlobal)
    ]
    assert made[-1].shape == (8, 64)


@pytest.mark.parametrize("written", REFUSED)
def test_what_does_not_fit_is_refused(written: str) -> None:
    code, said = REFUSED[written]
    with pytest.raises(ArgusError) as caught:
        _made(written)
    found = caught.value.diagnostics[0]
    assert found.code == code
    assert said in found.message + (found.help or "")
