"""The examples, interpreted against numpy at sizes that are no multiple of a tile."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from kernel_files import ROOT, close, rounded, subject

TARGETS = ["sm_80", "sm_90a"]
SEED = 11


def normal(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(SEED + sum(shape))
    return rng.standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_layernorm(target: str) -> None:
    x, w, b = normal(5, 1000) * 3 + 2, normal(1000), normal(1000)
    kernel = subject("examples/layernorm.py", "layernorm", target, BN=1024)
    y = kernel.interpret({"X": x, "W": w, "B": b}, {"Y": x.shape}, {"eps": 1e-5})["Y"]
    x, w, b = rounded(x), rounded(w), rounded(b)
    centred = x - x.mean(1, keepdims=True)
    close(y, centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b)


def test_layernorm_refuses_a_row_that_does_not_fit() -> None:
    from argus.interpret import ArgumentError

    kernel = subject("examples/layernorm.py", "layernorm", BN=512)
    given = {"X": normal(1, 600), "W": normal(600), "B": normal(600)}
    with pytest.raises(ArgumentError, match="a row is held in registers"):
        kernel.interpret(given, {"Y": (1, 600)}, {"eps": 1e-5})


@pytest.mark.parametrize("target", TARGETS)
def test_gelu(target: str) -> None:
    x = normal(7, 300)
    y = subject("examples/elementwise.py", "activation", target).interpret(
        {"X": x}, {"Y": x.shape}
    )["Y"]
    exact = rounded(x)
    close(y, 0.5 * exact * (1 + np.vectorize(math.erf)(exact / math.sqrt(2))))


@pytest.mark.parametrize("target", TARGETS)
def test_own_inline_function(target: str) -> None:
    x = normal(5, 77)
    y = subject("examples/elementwise.py", "squared", target).interpret(
        {"X": x}, {"Y": x.shape}
    )["Y"]
    close(y, np.maximum(rounded(x), 0) ** 2)


@pytest.mark.parametrize("target", TARGETS)
def test_rope(target: str) -> None:
    x, angle = normal(3, 5, 32), normal(3, 16)
    cos, sin = np.cos(angle), np.sin(angle)
    y = subject("examples/elementwise.py", "rope", target, D=32).interpret(
        {"X": x, "Cos": cos, "Sin": sin}, {"Y": x.shape}
    )["Y"]
    x, c, s = rounded(x), cos[:, None, :], sin[:, None, :]
    low, high = x[..., :16], x[..., 16:]
    close(y, np.concatenate([low * c - high * s, high * c + low * s], axis=-1))


@pytest.mark.parametrize("target", TARGETS)
def test_embedding(target: str) -> None:
    table = normal(50, 200)
    index = np.random.default_rng(SEED).integers(0, 50, 41).astype(np.int32)
    y = subject("examples/embedding.py", "embedding", target).interpret(
        {"Table": table, "Index": index}, {"Y": (41, 200)}
    )["Y"]
    assert np.array_equal(y, rounded(table)[index])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("channels", "taps"), [(32, 3), (16, 1), (20, 3)])
def test_convolution(channels: int, taps: int, target: str) -> None:
    image, pad = normal(2, 7, 9, channels), taps // 2
    weight = normal(40, taps * taps * channels)
    statics = {"C": channels, "R": taps, "PAD": pad}
    y = subject("examples/convolution.py", "conv2d", target, **statics).interpret(
        {"X": image, "Filter": weight}, {"Y": (2 * 7 * 9, 40)}
    )["Y"]
    x, f = rounded(image), rounded(weight).reshape(40, taps, taps, channels)
    exact = np.zeros((2, 7, 9, 40))
    for b, h, w, r, s in np.ndindex(2, 7, 9, taps, taps):
        row, column = h + r - pad, w + s - pad
        if 0 <= row < 7 and 0 <= column < 9:
            exact[b, h, w] += f[:, r, s] @ x[b, row, column]
    close(y, exact.reshape(-1, 40))


@pytest.mark.parametrize("schedule", ["random", "in_order"])
def test_turns(schedule: str) -> None:
    a, b = normal(200, 64), normal(150, 64)
    c = subject("examples/turns.py", "gelu_gemm").interpret(
        {"A": a, "B": b}, {"C": (200, 150)}, schedule=schedule
    )["C"]
    x = rounded(a) @ rounded(b).T
    close(c, 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))


@pytest.mark.compiler
@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem
)
def test_every_kernel_builds(path: Path) -> None:
    from argus.lang.kernel import load_kernels

    for name in load_kernels(path).kernels:
        targets = ["sm_90a"] if path.stem == "turns" else TARGETS
        for target in targets:
            usage = subject(str(path), name, target).build().usage
            assert usage.spill_stores == usage.spill_loads == 0
