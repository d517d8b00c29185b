"""The kernels of the library, small, without a GPU."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import argus.kernels
from argus.evaluation.requests import contiguous_facts
from argus.interpret import bf16_to_f32, f32_to_bf16, run
from argus.ir.dtypes import DType, bf16, f32, i32
from argus.ir.program import Program
from argus.lang.frontend import specialise
from argus.lang.kernel import load_kernels
from argus.lower import place
from argus.targets import TARGETS

Arrays = dict[str, np.ndarray]
FOLDER = Path(argus.kernels.__file__).parent


def placed(
    file: str,
    kernel: str,
    dtypes: Mapping[str, DType],
    statics: Mapping[str, object],
    arrays: Arrays,
    target: str = "sm_90a",
    present: tuple[str, ...] = (),
) -> Program:
    """The kernel, specialised for arrays of these shapes."""
    handle = load_kernels(FOLDER / file / "kernel.py").kernels[kernel]
    facts = contiguous_facts(handle, {n: a.shape for n, a in arrays.items()})
    optional = dict.fromkeys(present, True)
    return place(specialise(handle, dtypes, statics, TARGETS[target], optional, facts))


def random(shape: tuple[int, ...], seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return f32_to_bf16(values)


def poison(shape: tuple[int, ...]) -> np.ndarray:
    return np.full(shape, 0x7FFF, np.uint16)


def close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(bf16_to_f32(found), expected, rtol=2e-2, atol=1e-2)


GEMMS = {
    "wgmma": ("gemm_sm90", "sm_90a", {"BN": 128, "STAGES": 3, "CLUSTER": 1}),
    "cluster": ("gemm_sm90", "sm_90a", {"BN": 128, "STAGES": 2, "CLUSTER": 2}),
    "one warpgroup": (
        "gemm_sm90",
        "sm_90a",
        {"BM": 64, "BN": 64, "WARPGROUPS": 1, "CLUSTER": 1},
    ),
    "mma": ("gemm_sm80", "sm_80", {"BM": 64, "BN": 64, "BK": 32}),
    "mma on Hopper": ("gemm_sm80", "sm_90a", {"BM": 64, "BN": 128, "BK": 32}),
}


@pytest.mark.parametrize("name", GEMMS)
@pytest.mark.parametrize("extras", [False, True])
def test_gemm(name: str, extras: bool) -> None:
    kernel, target, statics = GEMMS[name]
    m, n, k = 208, 144, 176
    arrays: Arrays = {"A": random((m, k), 0), "B": random((n, k), 1)}
    arrays["C"] = poison((m, n))
    dtypes = dict.fromkeys("ABC", bf16)
    expected = bf16_to_f32(arrays["A"]) @ bf16_to_f32(arrays["B"]).T
    present: tuple[str, ...] = ()
    if extras:
        present = ("Bias", "Residual")
        dtypes |= {"Bias": f32, "Residual": bf16}
        arrays["Bias"] = np.linspace(-1, 1, n, dtype=np.float32)
        arrays["Residual"] = random((m, n), 2)
        expected += arrays["Bias"] + bf16_to_f32(arrays["Residual"])
    program = placed("gemm", kernel, dtypes, statics, arrays, target, present)
    run(program, arrays, sm_count=2)
    close(arrays["C"], expected)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    b, h, g, s, t, d = 1, 4, 2, 72, 136, 64
    arrays: Arrays = {
        "Q": random((b, h, s, d), 0),
        "K": random((b, g, t, d), 1),
        "V": random((b, g, t, d), 2),
        "O": poison((b, h, s, d)),
    }
    statics = {"D": d, "BQ": 64, "BT": 64, "WARPGROUPS": 1, "CAUSAL": causal}
    dtypes = dict.fromkeys("QKVO", bf16)
    program = placed("attention", "attention", dtypes, statics, arrays)
    run(program, arrays, {"scale": 0.125})
    q, k, v = (bf16_to_f32(arrays[x]) for x in "QKV")
    k, v = np.repeat(k, h // g, axis=1), np.repeat(v, h // g, axis=1)
    scores = q @ k.transpose(0, 1, 3, 2) * 0.125
    if causal:
        scores[..., np.arange(t) > np.arange(s)[:, None]] = -np.inf
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    close(arrays["O"], e / e.sum(axis=-1, keepdims=True) @ v)


def test_softmax() -> None:
    arrays: Arrays = {"X": random((10, 976), 0), "Y": poison((10, 976))}
    statics = {"BN": 1024, "ROWS": 4, "WARPS": 4}
    dtypes = dict.fromkeys("XY", bf16)
    run(placed("norms", "softmax", dtypes, statics, arrays), arrays)
    x = bf16_to_f32(arrays["X"])
    e = np.exp(x - x.max(axis=1, keepdims=True))
    close(arrays["Y"], e / e.sum(axis=1, keepdims=True))


def test_rmsnorm() -> None:
    arrays: Arrays = {"X": random((5, 480), 0), "W": random((480,), 1)}
    arrays["Y"] = poison((5, 480))
    statics = {"BN": 512, "ROWS": 2, "WARPS": 4}
    dtypes = dict.fromkeys("XWY", bf16)
    program = placed("norms", "rmsnorm", dtypes, statics, arrays)
    run(program, arrays, {"eps": 1e-6})
    x, w = bf16_to_f32(arrays["X"]), bf16_to_f32(arrays["W"])
    close(arrays["Y"], x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * w)


@pytest.mark.parametrize("indexed", [False, True])
def test_grouped_gemm(indexed: bool) -> None:
    counts, n, k, bm = (70, 0, 30), 128, 128, 64
    pairs, rows = sum(counts), 40 if indexed else sum(counts)
    tiles: list[tuple[int, int, int]] = []
    owner = np.repeat(np.arange(3), counts)
    for expert, count in enumerate(counts):
        first = sum(counts[:expert])
        tiles += [(expert, first + i, first + count) for i in range(0, count, bm)]
    tiles.append((-1, 0, 0))
    table = np.array(tiles, np.int32).T.copy()
    arrays: Arrays = {"X": random((rows, k), 0), "W": random((3, n, k), 1)}
    arrays |= {"Y": poison((pairs, n)), "Expert": table[0].copy()}
    arrays |= {"Start": table[1].copy(), "End": table[2].copy()}
    rng = np.random.default_rng(3)
    source = np.arange(pairs, dtype=np.int32)
    target = source
    if indexed:
        source = rng.integers(0, rows, pairs).astype(np.int32)
        target = rng.permutation(pairs).astype(np.int32)
        arrays |= {"Rows": source, "Out": target}
    program = placed(
        "grouped",
        "grouped_gemm",
        dict.fromkeys("XWY", bf16),
        {"BM": bm, "BN": 128, "WARPGROUPS": 1},
        arrays,
        present=("Rows", "Out") if indexed else (),
    )
    run(program, arrays)
    x, w = bf16_to_f32(arrays["X"]), bf16_to_f32(arrays["W"])
    expected = np.zeros((pairs, n), np.float32)
    expected[target] = np.einsum("pk,pnk->pn", x[source], w[owner])
    close(arrays["Y"], expected)


@pytest.mark.parametrize(
    "counts",
    [
        (70, 0, 30),
        (1,),
        (0, 0, 0),
        (128, 64, 65, 0, 0, 63, 1, 192),
        tuple(37 * e % 101 for e in range(70)),
    ],
)
@pytest.mark.parametrize("tiles", [8, 128])
def test_tile_table(counts: tuple[int, ...], tiles: int) -> None:
    """Against a loop over experts; there are more tiles than any split may need."""
    bm, positions = 64, sum(counts)
    ends = np.cumsum(counts).astype(np.int32)
    room = positions // bm + len(counts) + 3
    want: list[tuple[int, int, int]] = []
    for expert, (end, count) in enumerate(zip(ends, counts, strict=True)):
        want += [(expert, p, end) for p in range(end - count, end, bm)]
    want += [(-1, 0, 0)] * (room - len(want))
    names = ("Expert", "Start", "End")
    arrays: Arrays = {"Ends": ends}
    arrays |= {name: np.full(room, -9, np.int32) for name in names}
    dtypes = dict.fromkeys(arrays, i32)
    statics = {"BM": bm, "TILES": tiles}
    run(placed("grouped", "tile_table", dtypes, statics, arrays), arrays)
    assert list(zip(*(arrays[name] for name in names), strict=True)) == want
