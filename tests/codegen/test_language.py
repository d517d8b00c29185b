"""From a kernel's source to its text: run on the CPU where it can be, compiled else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import emulator
import numpy as np
import pytest
from emulator import from_bf16, to_bf16
from nvrtc_compile import compiled

from argus.codegen import CudaSource, emit
from argus.ir.dtypes import DTYPES
from argus.lang.frontend import specialise
from argus.lang.kernel import load_kernels
from argus.lower import place
from argus.targets import TARGETS

KERNELS = Path(__file__).parent / "kernels"
pytestmark = pytest.mark.compiler
needs_gcc = pytest.mark.skipif(not emulator.available(), reason="needs g++")


def source(
    file: str,
    name: str,
    dtypes: dict[str, str],
    target: str,
    facts: dict[str, int] | None = None,
    **statics: int,
) -> CudaSource:
    kernel = load_kernels(KERNELS / file).kernels[name]
    program = specialise(
        kernel,
        dtypes={k: DTYPES[v] for k, v in dtypes.items()},
        statics=statics,
        target=TARGETS[target],
        present=dict.fromkeys(dtypes, True),
        facts=facts or {},
    )
    return emit(place(program))


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@needs_gcc
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(("columns", "facts"), [(496, {}), (499, {"N": 1, "X_s0": 1})])
def test_softmax(warps: int, columns: int, facts: dict[str, int]) -> None:
    x = rng().normal(size=(5, 512)).astype(np.float32)
    stored, out = to_bf16(x), np.zeros((5, 512), np.uint16)
    dtypes = {"X": "bf16", "Y": "bf16"}
    kernel = source("small.py", "row_softmax", dtypes, "sm_90a", facts, WARPS=warps)
    emulator.launch(kernel, {"M": 4, "N": columns}, {"X": stored, "Y": out})
    exact = np.exp(from_bf16(stored)[:4, :columns].astype(np.float64))
    exact /= exact.sum(1, keepdims=True)
    assert np.allclose(from_bf16(out)[:4, :columns], exact, rtol=2**-8, atol=1e-7)
    assert (out[4:] == 0).all() and (out[:, columns:] == 0).all()


@needs_gcc
def test_layer_norm() -> None:
    x = rng().normal(size=(8, 256)).astype(np.float32)
    g = rng().normal(size=256).astype(np.float32)
    y = np.zeros_like(x)
    dtypes = {"X": "f32", "G": "f32", "Y": "f32"}
    kernel = source("small.py", "layer_norm", dtypes, "sm_80")
    sizes = {"M": 6, "N": 240, "eps": 1e-5}
    emulator.launch(kernel, sizes, {"X": x, "G": g, "Y": y})
    part = x[:6, :240].astype(np.float64)
    exact = part - part.mean(1, keepdims=True)
    exact *= g[:240] / np.sqrt(part.var(1, keepdims=True) + 1e-5)
    assert np.allclose(y[:6, :240], exact, rtol=1e-4, atol=1e-5)
    assert (y[6:] == 0).all() and (y[:, 240:] == 0).all()


@needs_gcc
@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 96), (80, 112, 48), (64, 64, 16)])
def test_matmul(m: int, n: int, k: int) -> None:
    a = rng().integers(-3, 4, size=(m, k)).astype(np.float32)
    b = rng().integers(-3, 4, size=(k, n)).astype(np.float32)
    c = np.zeros((m, n), np.uint16)
    dtypes = dict.fromkeys("ABC", "bf16")
    kernel = source("small.py", "matmul", dtypes, "sm_80")
    emulator.launch(
        kernel, {"M": m, "N": n, "K": k}, {"A": to_bf16(a), "B": to_bf16(b), "C": c}
    )
    assert np.array_equal(c, to_bf16(a @ b))


@pytest.mark.parametrize(
    ("file", "name", "tensors", "target"),
    [
        ("hopper.py", "gemm", "ABC", "sm_90a"),
        ("hopper.py", "attention", ("Q", "K", "V", "Out"), "sm_90a"),
        ("small.py", "matmul", "ABC", "sm_90a"),
    ],
)
def test_compiles(
    file: str,
    name: str,
    tensors: Sequence[str],
    target: str,
    golden: Callable[[str, str], None],
) -> None:
    found = source(file, name, dict.fromkeys(tensors, "bf16"), target)
    log = compiled(found.text, target)
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    assert "serialized" not in log and "setmaxnreg" not in log
    if file == "hopper.py":
        golden(f"{name}_hopper.cu", found.text[found.text.index('extern "C"') :])


def test_markers_show_the_source() -> None:
    text = source("hopper.py", "gemm", dict.fromkeys("ABC", "bf16"), "sm_90a").text
    lines = (KERNELS / "hopper.py").read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "slot.b.T, acc" in text)
    assert f"// hopper.py:{line}: {lines[line - 1].strip()}\n" in text
    assert str(KERNELS) not in text, "the text must not depend on where the file is"
