"""The printed text computes what the program says: run on the CPU, compared with numpy.

Every array a kernel gets is larger than its problem, and the rest must stay as it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import emulator
import programs
from emulator import from_bf16, to_bf16

from argus.codegen import emit
from argus.ir.dtypes import bf16, f16, f32
from argus.ir.program import Program

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]


def launch(
    program: Program, sizes: dict[str, int | float], arrays: dict[str, np.ndarray]
) -> None:
    emulator.launch(emit(program), sizes, arrays)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_vectors_with_a_tail() -> None:
    x, y = rng().normal(size=(2, 2048)).astype(np.float32)
    z = np.full(2048, 9, np.float32)
    launch(programs.scaled_add(), {"N": 1500, "alpha": -0.5}, {"X": x, "Y": y, "Z": z})
    assert np.array_equal(z[:1500], x[:1500] + y[:1500] * np.float32(-0.5))
    assert (z[1500:] == 9).all()


@pytest.mark.parametrize("dtype", [bf16, f16])
def test_softmax(dtype) -> None:
    rows, columns = 6, 200
    x = rng().normal(size=(8, 256)).astype(np.float32)
    as_stored = {
        "bf16": to_bf16,
        "f16": lambda a: a.astype(np.float16).view(np.uint16),
    }[dtype.name]
    as_f32 = {
        "bf16": from_bf16,
        "f16": lambda a: a.view(np.float16).astype(np.float32),
    }[dtype.name]
    stored, out = as_stored(x), as_stored(np.full((8, 256), 9.0, np.float32))
    launch(
        programs.softmax(dtype),
        {"M": rows, "N": columns},
        {"X": stored, "Y": out},
    )
    exact = as_f32(stored)[:rows, :columns].astype(np.float64)
    exact = np.exp(exact - exact.max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    found = as_f32(out)
    tolerance = {"bf16": 2**-8, "f16": 2**-10}[dtype.name]
    assert np.allclose(found[:rows, :columns], exact, rtol=tolerance, atol=1e-6)
    assert (found[rows:] == 9).all() and (found[:, columns:] == 9).all()


@pytest.mark.parametrize("dtype", [bf16, f32])
def test_masks_fill_and_argmax(dtype) -> None:
    rows = 130
    x = rng().integers(-8, 8, size=(256, 33)).astype(np.float32)
    stored = to_bf16(x) if dtype is bf16 else x.copy()
    out = np.full_like(stored, 0)
    best = np.full(256, -1, np.int32)
    launch(programs.masked(dtype), {"M": rows}, {"X": stored, "Y": out, "Best": best})
    seen = x.copy()
    seen[:, 7] = -2
    chosen = np.where(np.arange(33) % 2 == 0, seen, -seen)
    found = from_bf16(out) if dtype is bf16 else out
    keep = np.arange(33) != 7
    assert np.array_equal(found[:rows, keep], chosen[:rows][:, keep])
    assert (found[:, 7] == 0).all() and (found[rows:] == 0).all()
    assert np.array_equal(best[:rows], chosen[:rows].argmax(1))
    assert (best[rows:] == -1).all()


def test_gather_and_atomic_add() -> None:
    x = rng().integers(-9, 9, size=(20, 64)).astype(np.float32)
    rows = rng().integers(0, 20, size=16).astype(np.int32)
    rows[3] = -1  # no such row: reads as zero
    rows[5] = 20
    y = np.ones(16, np.float32)
    sizes = {"R": 20, "N": 60, "M": 13}
    launch(programs.gather(), sizes, {"X": x, "Rows": rows, "Y": y})
    valid = (rows >= 0) & (rows < 20)
    exact = 1 + np.where(valid, x[np.clip(rows, 0, 19), :60].sum(1), 0)
    exact[13:] = 1
    assert np.array_equal(y, exact)


@pytest.mark.parametrize("dtype", [f32, bf16])
def test_prefix_sums(dtype) -> None:
    x = rng().integers(-2, 3, size=(8, 256)).astype(np.float32)
    stored = to_bf16(x) if dtype is bf16 else x
    y = np.zeros_like(stored)
    launch(programs.scan(dtype), {"M": 7, "N": 252}, {"X": stored, "Y": y})
    found = from_bf16(y) if dtype is bf16 else y
    assert np.array_equal(found[:7, :252], x[:7, :252].cumsum(1))
    assert (found[7:] == 0).all()


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 12])
def test_carried_values_and_branches(steps: int) -> None:
    x = rng().integers(-9, 9, size=64).astype(np.int32)
    y = np.full(64, 77, np.int32)
    launch(programs.control(), {"N": 60, "steps": steps}, {"X": x, "Y": y})
    a, b, i, j = x.copy(), np.ones_like(x), 0, 5
    for _ in range(steps):
        a, b = b, a + b
        i, j = j, i + 1
    merged, extra = (a * 2, i - j) if i > j else (b, (j - i) % 4)
    if steps == 0:
        # Elements outside the tensor read as 0 and are not stored.
        merged = b
    assert np.array_equal(y[:60], (merged + extra)[:60])
    assert (y[60:] == 77).all()


@pytest.mark.parametrize("dtype", [bf16, f32])
def test_transpose_through_swizzled_shared_memory(dtype) -> None:
    kind = np.uint16 if dtype is bf16 else np.float32
    x = rng().integers(0, 60000, size=(64, 128)).astype(kind)
    y = np.zeros((128, 64), kind)
    launch(programs.transpose(dtype), {}, {"X": x, "Y": y})
    assert np.array_equal(y, x.T)


def test_mma_with_cp_async_and_ldmatrix() -> None:
    a, b = (rng().integers(-3, 4, size=(64, 64)).astype(np.float32) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    launch(
        programs.mma(),
        {"M": 60, "N": 48, "K": 56},
        {"A": to_bf16(a), "B": to_bf16(b), "C": c},
    )
    exact = np.zeros_like(c)
    exact[:60, :48] = a[:60, :56] @ b[:56, :48]
    assert np.array_equal(c, exact)
