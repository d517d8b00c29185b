"""Text for known sizes, and text that asks once whether a tile is whole, on the CPU.

Each kernel is printed for all sizes and for those of the launch alone; both write what
numpy says, at sizes whose tiles are whole, whose last tile is not, and of one element.
Every array is larger than what the kernel is given, and the rest stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import emulator
import numpy as np
import pytest

from argus.codegen import CudaSource, emit
from argus.diagnostics import ArgusError
from argus.ir.dtypes import f32
from argus.ir.program import Program
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.runtime.arguments import TensorArg
from argus.runtime.binding import bind

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]

HEAD = "import argus as ag\nfrom argus import f32\n\n@ag.kernel\n"
SCALED = (
    HEAD
    + '''
def scaled(X: f32["I J"], Y: f32["I J"], *, BI: int = 16, BJ: int = 128):
    """Rows, twice."""
    I, J = ag.dim("I"), ag.dim("J")
    i, j = ag.block(ag.cdiv(I, BI), ag.cdiv(J, BJ))
    x = ag.load(X[i * BI :, j * BJ :], (BI, BJ), fill=3.0)
    Y[i * BI :, j * BJ :] = x + x
'''
)
PADDED = (
    HEAD
    + '''
def padded(X: f32["I J"], Y: f32["I J"], *, BI: int = 16, BJ: int = 128):
    """The element before, and what comes before the first is 0."""
    I, J = ag.dim("I"), ag.dim("J")
    i, j = ag.block(ag.cdiv(I, BI), ag.cdiv(J, BJ))
    Y[i * BI :, j * BJ :] = ag.load(X[i * BI :, j * BJ - 1 :], (BI, BJ), fill=0.0)
'''
)
SUMMED = (
    HEAD
    + '''
def summed(X: f32["I J"], Y: f32["I J"], *, BI: int = 4, BJ: int = 256):
    """Running sums of rows."""
    I, J = ag.dim("I"), ag.dim("J")
    ag.require(J > 0, "there is something to add")
    i = ag.block(ag.cdiv(I, BI))
    carry = ag.full((BI,), 0.0, f32, dims="I")
    for j in ag.range(0, J, BJ):
        x = ag.load(X[i * BI :, j:], (BI, BJ))
        Y[i * BI :, j:] = ag.cumsum(x, "J") + carry
        carry = ag.sum(x, "J") + carry
'''
)
Reference = Callable[[np.ndarray], np.ndarray]
KERNELS: dict[str, tuple[str, Reference]] = {
    "scaled": (SCALED, lambda x: x + x),
    "padded": (PADDED, lambda x: np.pad(x, ((0, 0), (1, 0)))[:, :-1]),
    "summed": (SUMMED, lambda x: np.cumsum(x, axis=1)),
}
SIZES = [(32, 256), (32, 257), (17, 511), (1, 1)]
MOST = (40, 600)
"""Of an array, rows and their stride."""


def placed(name: str) -> Program:
    kernel = load_kernels(f"{name}.py", KERNELS[name][0]).kernels[name]
    facts = dict.fromkeys(("I", "J", "X_s0", "X_s1", "Y_s0", "Y_s1"), 1)
    return placed_program(Request(kernel, {"X": f32, "Y": f32}, {}, "sm_90a", facts))


def known(i: int, j: int) -> dict[str, int]:
    return {"I": i, "J": j, "X_s0": MOST[1], "Y_s0": MOST[1]}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", KERNELS)
def test_text_for_known_sizes_computes_the_same(
    name: str, size: tuple[int, int]
) -> None:
    i, j = size
    rng = np.random.default_rng(i + j)
    x = rng.integers(-9, 9, size=MOST).astype(np.float32)
    program = placed(name)
    for values in ({}, known(i, j)):
        y = np.full(MOST, 7, np.float32)
        arrays = {"X": x.copy(), "Y": y}
        strides = {"X_s0": MOST[1], "Y_s0": MOST[1]}
        emulator.launch(emit(program, values), {"I": i, "J": j, **strides}, arrays)
        assert np.array_equal(y[:i, :j], KERNELS[name][1](x[:i, :j]))
        assert (y[i:] == 7).all()
        assert (y[:, j:] == 7).all()


def conditions(source: CudaSource) -> list[str]:
    """Tests of elements, one for each register."""
    return re.findall(r"\bi\d \+? ?<|< I|< J", source.text)


def test_nothing_is_tested_where_all_tiles_are_whole() -> None:
    """Neither what a size says, nor the rows of a block; J ends a loop."""
    assert conditions(emit(placed("scaled")))
    assert not conditions(emit(placed("scaled"), known(32, 256)))
    assert conditions(emit(placed("scaled"), known(32, 257)))
    assert conditions(emit(placed("summed"), known(8, 512))) == ["< J"]


def test_whole_tiles_are_asked_for_once() -> None:
    text = emit(placed("scaled")).text
    assert "if (i * 16 + 15 < I && j * 128 + 127 < J)" in text
    assert "else" in emit(placed("scaled"), known(17, 130)).text
    assert "else" not in emit(placed("scaled"), known(17, 127)).text  # none is whole
    padded_text = emit(placed("padded")).text
    assert re.search(r"if \(.*j \* 128 .*>= 0.*< J\)", padded_text)


def test_sizes_that_are_known_are_no_arguments() -> None:
    source = emit(placed("scaled"), known(32, 257))
    assert "constexpr int J = 257;" in source.text
    assert not {"I", "J"} & {
        str(a.sym.name) for a in source.spec.args if hasattr(a, "sym")
    }


@pytest.mark.parametrize("other", [{"I": 31}, {"J": 258}, {"X_s0": 601}])
def test_other_sizes_are_refused(other: dict[str, int]) -> None:
    spec = emit(placed("scaled"), known(32, 257)).spec
    now = known(32, 257) | other
    tensors = [
        TensorArg(1 << 20, "f32", (now["I"], now["J"]), (now["X_s0"], 1), ("cuda", 0)),
        TensorArg(1 << 30, "f32", (now["I"], now["J"]), (now["Y_s0"], 1), ("cuda", 0)),
    ]
    with pytest.raises(ArgusError, match="these sizes alone"):
        bind(spec, tensors, [])


def test_offsets_that_fit_32_bits_are_computed_in_them() -> None:
    """Of several rows in a thread, too; and of others the part that fits.

    From products of 64 bits with constants nvcc 13.0 took vectors of stores apart: 32
    stores of an element each instead of 8 of four, and a fifth more time on an H200.
    """
    size = {"I": 64, "J": 1 << 18, "X_s0": 1 << 18, "Y_s0": 1 << 18}
    text = emit(placed("scaled"), size).text
    body = text[text.index("__global__") :]
    assert "Y[(i * 16 + r) * Y_s0 + j * 128 + thread_j]" in body
    assert "long long" not in body
    wide = emit(placed("scaled"), size | {"I": 1 << 16}).text
    assert "Y[(long long)(i * 16) * Y_s0 + (r * Y_s0 + j * 128 + thread_j)]" in wide
