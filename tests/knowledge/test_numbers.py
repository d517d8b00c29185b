"""Examples compute what they say: run in the interpreter, compared with numpy.

Proofs show that the right elements meet, each once. That a softmax is rescaled rightly,
or that a bias is added before an activation, is arithmetic, which terms show of all of
them in real numbers (`verifier/equality/inventory.py`); what an entry ends with is run
here, too. Sizes are small and no multiples of the tiles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from argus.interpret import bf16_to_f32, f32_to_bf16, run
from argus.ir.expr import Const
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program

sys.path.insert(0, str(Path(__file__).parent))
from examples import FOLDER, entry_at, placed

Arrays = dict[str, np.ndarray]
SIZES = {"M": 80, "N": 112, "K": 144, "S": 80, "T": 96, "P": 48, "V": 32, "Z": 16}


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layernorm(a: Arrays) -> Arrays:
    x = a["X"] - a["X"].mean(-1, keepdims=True)
    return {"Y": x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * a["W"]}


def _attention(a: Arrays) -> Arrays:
    scores = a["Q"] @ a["K"].T * a["scale"]
    return {"O": _softmax(scores) @ a["V"]}


def _gemm(a: Arrays) -> Arrays:
    rows = a["A"][a["Rows"]] if "Rows" in a else a["A"]
    c = rows @ a["B"].T
    return {"C": np.maximum(c + a["Bias"], 0) if "Bias" in a else c}


def _gelu_gemm(a: Arrays) -> Arrays:
    from math import erf

    c = a["A"] @ a["B"].T
    return {"C": 0.5 * c * (1 + np.vectorize(erf)(c / 2**0.5))}


REFERENCES: dict[str, Callable[[Arrays], Arrays]] = {
    "gemm": _gemm,
    "whole": _gemm,
    "rest": _gemm,
    "gelu_gemm": _gelu_gemm,
    "attention": _attention,
    "softmax": lambda a: {"Y": _softmax(a["X"])},
    "layernorm": _layernorm,
    "bias_relu": lambda a: {"C": np.maximum(a["before C"] + a["Bias"], 0)},
    "parts": lambda a: {"P": np.einsum("mzk,nzk->zmn", a["A"], a["B"])},
    "total": lambda a: {"C": a["P"].sum(0)},
    "scale": lambda a: {"Y": a["X"] * a["alpha"]},
    "gather": lambda a: {"Y": a["X"][a["Rows"]]},
    "lookup": lambda a: {"Y": a["X"][a["I"]]},
    "row_max": lambda a: {"Y": a["X"].max(-1)},
}
"""By the name of the kernel. Outputs are given as they were, with the prefix before."""

CASES = [
    pytest.param(path, i, id=f"{path.stem} {i}")
    for path in sorted(FOLDER.glob("*.md"))
    for i in range(len(entry_at(path).after))
]


def _drawn(tensor: GlobalTensor, sizes: Mapping[str, int], high: int) -> np.ndarray:
    """Random values as they are stored; integers below ``high``."""
    rng = np.random.default_rng(sum(map(ord, tensor.name)))
    shape = tuple(
        e.value if isinstance(e, Const) else sizes[d]
        for d, e in zip(tensor.dims, tensor.shape, strict=True)
    )
    if tensor.dtype.name == "i32":
        return rng.integers(0, high, shape).astype(np.int32)
    values = rng.standard_normal(shape).astype(np.float32)
    return f32_to_bf16(values) if tensor.dtype.name == "bf16" else values


def _numbers(tensor: GlobalTensor, array: np.ndarray) -> np.ndarray:
    """What a stored array means: fp64, or integers."""
    if tensor.dtype.name == "bf16":
        array = bf16_to_f32(array)
    return array if tensor.dtype.name == "i32" else array.astype(np.float64)


def _check(program: Program, sizes: Mapping[str, int], start: float) -> None:
    tensors = [p for p in program.params if isinstance(p, GlobalTensor)]
    scalars = {p.name: 0.125 for p in program.params if not isinstance(p, GlobalTensor)}
    stored = {t.name: _drawn(t, sizes, 20) for t in tensors}
    given = {t.name: _numbers(t, stored[t.name]) for t in tensors}
    given |= {f"before {n}": a.copy() for n, a in given.items()}
    if program.name != "bias_relu":  # which works in place
        for tensor in tensors:
            if tensor.name in program.outputs:
                empty = np.full(stored[tensor.name].shape, start, np.float32)
                half = tensor.dtype.name == "bf16"
                stored[tensor.name] = f32_to_bf16(empty) if half else empty
    run(program, stored, scalars)
    wanted = REFERENCES[program.name]({**given, **scalars})
    assert set(wanted) == set(program.outputs)
    for tensor in tensors:
        if tensor.name in wanted:
            exact = wanted[tensor.name]
            error = np.abs(_numbers(tensor, stored[tensor.name]) - exact).max()
            assert error <= 0.02 * np.abs(exact).max(), tensor.name


@pytest.mark.parametrize(("path", "i"), CASES)
def test_example_computes_its_reference(path: Path, i: int) -> None:
    """Outputs start as NaN, so that nothing is left out; sums by atomics as 0."""
    entry = entry_at(path)
    start = 0.0 if entry.id in ("split-k", "stream-k") else np.nan
    for program in placed(entry.after[i], entry.id):
        _check(program, SIZES, start)
