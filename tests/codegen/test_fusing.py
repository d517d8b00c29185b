"""Which products are printed so that no compiler fuses them, and what that prevents."""

from __future__ import annotations

import re
from dataclasses import replace

import emulator
import numpy as np
import pytest

from argus.codegen import emit
from argus.codegen.fusing import rounded_products, rounded_steps
from argus.evaluation.requests import default_dtypes
from argus.interpret import run
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from contraction import contracted

KERNEL = """
import argus as ag
from argus import bf16, f32, f64


@ag.inline
def then(a, b, c, d):
    return a * c, b * c + d * 0.3


@ag.kernel
def k(
    X: {kind}["M N"],
    Z: {kind}["M"],
    B: bf16["N"],
    Y: {kind}["M N"],
    factor: f32,
    *,
    BN: int = 64,
):
    M, N = X.shape
    ag.require(N == BN, "a row")
    ag.launch(warps=1)
    m = ag.block(M)
    x = ag.load(X[m, 0:], (BN,))
    b = ag.load(B[0:], (BN,))
    {body}
    Y[m, 0:] = {value}
"""
ROUNDED = [
    ("ag.exp(x * factor - ag.max(x * factor, 'N'))", 2),
    ("x * factor - Z[m]", 1),
    ("Z[m] - x * factor", 1),
    ("x * 3.0 + x * 5.0", 2),
    ("x * x - ag.abs(x * 5.0)", 2),
    ("x * 3.0 - (x + 1.0) * 2.0", 0),  # nothing is rounded twice, or to less
    ("-(x * 3.0) + ag.where(x > 0.0, x * 5.0, 1.0)", 2),
    ("x * 3.0 - factor * 1.1", 1),
    ("x * 3.0 - ag.rename(ag.full((BN,), factor * 1.1, f32), 'N')", 1),
    ("ag.maximum(x * 3.0, 0.0) / 4.0 - x * 5.0", 2),
    ("x * 3.0 + b.to(f32)", 0),
    ("x * 3.0 + 1.0", 0),
    ("x * 3.0 - ag.sum(x * x, 'N')", 2),  # the sum may be of one
    ("x * 3.0 - ag.sum(x + 1.0, 'N')", 0),
    ("x * 3.0 - ag.exp(x)", 0),
    ("ag.fma(x, factor, -(x * 3.0))", 0),
    ("(b * b - b * 3.0).to(f32)", 0),
]
CARRIED = """top = ag.zeros((BN,), f32)
    for _ in ag.range(0, N):
        top = ag.maximum(top, x * factor)"""
BRANCHES = """if N > 3:
        top = x * factor
    else:
        top = x"""
STAGED = """kept = ag.shared(f32, (BN,))
    kept.store(x * factor)
    ag.sync()
    top = kept.load()"""


def placed(value: str, body: str = "pass", kind: str = "f32") -> Program:
    text = KERNEL.format(value=value, body=body, kind=kind)
    (kernel,) = load_kernels("fusing.py", text).kernels.values()
    return placed_program(Request(kernel, default_dtypes(kernel, {})))


def fixed(program: Program) -> int:
    """How many tiles are products that are printed as rounded."""
    return len(rounded_products(program))


@pytest.mark.parametrize(("value", "count"), ROUNDED)
def test_products_that_meet_products(value: str, count: int) -> None:
    program = placed(value)
    assert fixed(program) == count
    printed = re.findall(r"\] = __fmul_rn\(", emit(program).text)
    assert len(printed) >= count and bool(printed) == bool(count)


@pytest.mark.parametrize("body", [CARRIED, BRANCHES, STAGED])
def test_products_that_arrive_by_other_ways(body: str) -> None:
    assert fixed(placed("x * 3.0 - top", body)) == 2


def test_products_of_wide_floats() -> None:
    assert "__dmul_rn(" in emit(placed("x * 3.0 - x * 5.0", kind="f64")).text


def test_scalars_are_never_fused() -> None:
    text = emit(placed("x - factor * 1.1")).text
    assert "__fmul_rn(factor, 1.1f)" in text
    assert "__fmul_rn" not in emit(placed("x - factor * 2.0")).text


def test_functions_of_scans() -> None:
    program = placed("y", "_, y = ag.scan((x, x), 'N', then)")
    (steps,) = {
        rounded_steps(op.combine) for op in walk(program.body) if hasattr(op, "combine")
    }
    assert len(steps) == 2
    assert emit(program).text.count("__fmul_rn(") > 0


HARD = "ag.exp2(x * factor - ag.max(x * factor, 'N')) / ag.sum(x * 0.0 + 1.0, 'N')"


def arguments() -> dict[str, np.ndarray]:
    x = np.full((16, 64), 1.3e30, np.float32)
    bias, out = np.zeros(64, np.uint16), np.full_like(x, np.nan)
    return {"X": x, "Z": x[:, 0].copy(), "B": bias, "Y": out}


def computed(program: Program) -> np.ndarray:
    arrays = arguments()
    with np.errstate(all="ignore"):
        run(program, arrays, {"factor": 0.37})
    return arrays["Y"]


@pytest.mark.parametrize("value", [HARD, "ag.exp2(x * factor - Z[m] * factor)"])
def test_equal_products_leave_nothing(value: str) -> None:
    """Whatever a compiler fuses; what it might else have fused would be seen."""
    exact = computed(placed(value))
    assert np.isfinite(exact).all() and (exact > 0).all()
    program, _ = contracted(placed(value))
    assert np.array_equal(computed(program), exact)
    program, count = contracted(placed(value), anything=True)
    assert count and not np.allclose(computed(program), exact)


@pytest.mark.compiler
@pytest.mark.skipif(not emulator.fuses(), reason="needs g++, and fused products")
@pytest.mark.parametrize("last", ["Z[m] * factor", "ag.max(x, 'N') * factor"])
def test_a_compiler_that_fuses(last: str) -> None:
    """The text as it is, and with products as C++ writes them."""
    source = emit(placed(f"ag.exp2(x * factor - {last}) + 0.0 * b.to(f32)"))
    plain = re.sub(r"__fmul_rn\((.*), (.*)\);", r"\1 * \2;", source.text)
    assert "__fmul_rn" not in plain
    results: list[np.ndarray] = []
    launches: list[emulator.Launch] = []
    for text in (source.text, plain):
        arrays = arguments()
        results.append(arrays["Y"])
        sizes = {"M": 16, "N": 64, "factor": 0.37}
        launches.append(emulator.bound(replace(source, text=text), sizes, arrays))
    emulator.run_all(launches, *emulator.FUSED)
    assert (results[0] == 1).all()
    assert not np.isclose(results[1], 1).any()
