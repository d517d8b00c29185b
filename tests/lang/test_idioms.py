"""What people write who know numpy, PyTorch or Triton is answered by how it is said."""

from __future__ import annotations

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.requests import default_dtypes
from argus.ir.walk import walk
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
    'ag.index(x, "M") >= ag.index(x, "N")': "`ag.broadcast(left, like)`",
    "x[:, None]": "`ag.broadcast(v, x)`",
    'ag.sum(x, "N")[:, None]': "`ag.broadcast(v, x)`",
    "ag.load(X[X, 0:64])": "`rows = ag.load(X[0:], (32,))`",
    'ag.zeros((16, 64), f32, dims="M 64")': "write `_` for it",
    'ag.sum(ag.zeros((16, 64), f32), "64")': "its number",
    "f32(X[0, 0])": "`.to(f32)`",
    "X[0, 0].to(f32)": "`ag.full((1,), s, f32)`",
    "x.view(f32)": "`ag.reshape(x, shape)`",
    "enumerate((1, 2))": "`for i in range(len(w)):`",
    "float('inf')": "`ag.inf`",
    "ag.isnan(x)": "`x != x`",
    "ag.atomic_or(X[0, 0], 1)": "`atomic_add`",
    "ag.load(X[0:16, 0:64], layout=ag.layouts.blocked)": "`ag.layouts.blocked(",
    "ag.gather(x, x, 0)": "`ag.load(X[rows, 0:64])`",
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


OPENED = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], Z: f32["M N"]):
    i = ag.block(ag.cdiv(X.shape[0], 16))
    x, z = ag.ring(1, x=f32.tile(16, 64)), ag.ring(1, z=f32.tile(16, 64))
    with ag.role("load", warps=1):
        WITH
    with ag.role("store", warps=1):
        with x.drain() as one, z.drain() as other:
            Y[i * 16 :, 0:64] = (one.x.load() + other.z.load()).rename("M N")
"""
ONE = "with x.fill() as a, z.fill() as b:"
TWO = "with x.fill() as a:\n            with z.fill() as b:"


@pytest.mark.parametrize("several", [ONE, TWO])
def test_a_with_may_open_several_things(several: str) -> None:
    """As in Python: one inside the other."""
    depth = "\n" + " " * (12 + 4 * several.count("\n"))
    copies = ("a.x.load(X[i * 16 :, 0:64])", "b.z.load(Z[i * 16 :, 0:64])")
    text = OPENED.replace("WITH", depth.join((several, *copies)))
    (kernel,) = load_kernels("made.py", text).kernels.values()
    program = tile_program(Request(kernel, default_dtypes(kernel, {})))
    found = [type(op).__name__ for op in walk(program.body)]
    wanted = ["RingAcquire", "RingAcquire", "CopyAsync", "CopyAsync"]
    wanted += ["RingPublish", "RingPublish"]
    assert [name for name in found if name in wanted][:6] == wanted
