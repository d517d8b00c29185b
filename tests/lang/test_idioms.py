"""What people write who know numpy, PyTorch or Triton is answered by how it is said."""

from __future__ import annotations

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, tile_program

TEXT = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    i = ag.block(ag.cdiv(X.shape[0], 16))
    x = ag.load(X[i * 16 :, 0:64], (16, 64))
    y = WRITTEN
    Y[i * 16 :, 0:64] = x
"""
SAID = {
    "np.exp(x)": "`ag.exp`",
    "torch.exp(x)": "`ag.exp`",
    "x.exp()": "`ag.exp(x, ...)`",
    "x.sum(dim=1)": "`ag.sum(x, ...)`",
    "x.float()": "`.to(f32)`",
    "x.astype(f32)": "`.to(dtype)`",
    "ag.sum(x, axis=1)": "second argument",
    "ag.sum(x, 1, keepdim=True)": "by the names",
    "ag.program_id(0)": "`i, j = ag.block(n0, n1)`",
    "ag.arange(0, 64)": "`ag.index(",
    "ag.matmul(x, x)": "`ag.dot(a, b)`",
    "ag.softmax(x, -1)": "ag.sum(e, d)",
    "ag.zeros_like(x)": "`ag.zeros(x.shape, x.dtype)`",
    "X.size(0)": "`X.shape[0]`",
    "X.T": "X.view(dims, shape, at)",
    "X.reshape(-1)": "X.view(dims, shape, at)",
    "ag.load(X[0:16, 0:64], (16, 64), other=0.0)": "`fill=`",
}


@pytest.mark.parametrize("written", SAID)
def test_how_it_is_said(written: str) -> None:
    (kernel,) = load_kernels(
        "made.py", TEXT.replace("WRITTEN", written)
    ).kernels.values()
    with pytest.raises(ArgusError) as caught:
        tile_program(Request(kernel, default_dtypes(kernel, {})))
    found = caught.value.diagnostics[0]
    assert found.span is not None
    assert found.span.line == 9
    assert SAID[written] in (found.help or "")
