"""Two elements of 16 bits in a register: what is printed computes each by itself."""

from __future__ import annotations

import emulator
import numpy as np
import pytest
from emulator import from_bf16, to_bf16
from test_language import source

from argus.ir.functions import FUNCTIONS

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]
N = 496
HALVES = pytest.mark.parametrize("half", ["bf16", "f16"])
E2M1 = np.array([0, 1, 2, 3, 4, 6, 8, 12])


def drawn(seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**16, N, np.uint16)


def to_half(values: np.ndarray, half: str) -> np.ndarray:
    single = np.asarray(values, np.float32)
    with np.errstate(over="ignore"):
        short = single.astype(np.float16)
    return to_bf16(single) if half == "bf16" else short.view(np.uint16)


def from_half(bits: np.ndarray, half: str) -> np.ndarray:
    return from_bf16(bits) if half == "bf16" else bits.view(np.float16)


@HALVES
def test_numbers_of_few_bits_are_floats_by_their_bits(half: str) -> None:
    kernel = source("words.py", "numbers", {"X": "u16", "Y": half}, "sm_90a")
    # A cast and the sum after it are one function; no other conversion is left.
    assert kernel.text.count(f"= argus_small_{half}(") == 6
    assert f"= argus_pack_{half}(" not in kernel.text
    x, y = drawn(), np.zeros((6, N), np.uint16)
    emulator.launch(kernel, {"N": N, "P": 6}, {"X": x, "Y": y})
    whole = x.astype(int)
    want = [(whole >> 4 * j & 15) - 8 for j in range(4)]
    want += [whole & 127, (whole >> 7 & 127) + 3]
    assert np.array_equal(from_half(y, half), np.array(want))


@HALVES
def test_bytes_are_floats_by_their_bits(half: str) -> None:
    kernel = source("words.py", "signed_bytes", {"X": "i8", "Y": half}, "sm_90a")
    assert f"= argus_pack_{half}(" not in kernel.text
    x = np.resize(np.arange(-128, 128), N).astype(np.int8)
    y = np.zeros((2, N), np.uint16)
    emulator.launch(kernel, {"N": N, "P": 2}, {"X": x, "Y": y})
    assert np.array_equal(from_half(y, half), np.array([x, x >> 4]))
    assert not (y == 0x8000).any(), "a whole number has one zero"


@HALVES
def test_numbers_of_e2m1(half: str) -> None:
    kernel = source("words.py", "mx_numbers", {"X": "u16", "Y": half}, "sm_90a")
    assert kernel.text.count(f"= argus_e2m1_{half}(") == 5
    x, y = drawn(), np.zeros((5, N), np.uint16)
    emulator.launch(kernel, {"N": N, "P": 5}, {"X": x, "Y": y})

    def numbers(codes: np.ndarray) -> np.ndarray:
        return np.where(codes & 8, -1, 1) * E2M1[codes & 7]

    whole = x.astype(int)
    want = [numbers(whole >> 4 * j) for j in range(4)]
    want.append(numbers(whole >> 3) + 1)
    assert np.array_equal(from_half(y, half), np.array(want))
    assert not (y == 0x8000).any(), "a whole number has one zero"
    for kind in (np.uint8, np.int16, np.uint16, np.int32):
        made = FUNCTIONS["twice_e2m1"].numpy(np.arange(16).astype(kind))
        assert made.dtype == kind
        assert np.array_equal(made, numbers(np.arange(16)).astype(kind))


@HALVES
def test_sums_and_products_of_floats(half: str) -> None:
    """Every bit is that of a sum in f32 that is rounded once, subnormal ones too."""
    dtypes = {"X": half, "Y": half, "Z": half}
    kernel = source("words.py", "sums", dtypes, "sm_90a")
    x, y, z = drawn(6), drawn(7), np.zeros((6, N), np.uint16)
    x[:4], y[:4] = (0, 0x8000, 0x8000, 0), (0x8000, 0x8000, 0, 0)
    emulator.launch(kernel, {"N": N, "P": 6}, {"X": x, "Y": y, "Z": z})
    a, b = (from_half(v, half).astype(np.float32) for v in (x, y))
    with np.errstate(all="ignore"):
        want = [a + b, a - b, a * b, a * 0.5, a + np.float32(0.1), np.float32(1) - a]
        wanted = np.array([to_half(w, half) for w in want])
    nan = np.isnan(from_half(wanted, half).astype(np.float32))
    assert np.array_equal(np.isnan(from_half(z, half).astype(np.float32)), nan)
    assert np.array_equal(z[~nan], wanted[~nan])
    # A constant that the type does not have is added in f32.
    assert kernel.text.count(f"= argus_pack_{half}(") == 1


def test_bits_of_whole_numbers() -> None:
    dtypes = {"X": "i16", "U": "u16", "Y": "i16", "V": "u16"}
    kernel = source("words.py", "bits", dtypes, "sm_90a")
    x, u = drawn(8).view(np.int16), drawn(9)
    y, v = np.zeros((6, N), np.int16), np.zeros((6, N), np.uint16)
    arrays = {"X": x, "U": u, "Y": y, "V": v}
    emulator.launch(kernel, {"N": N, "P": 6}, arrays)

    def wanted(a: np.ndarray, mask: int, other: np.ndarray, sign: int) -> np.ndarray:
        w = a.astype(int)
        rows = [(w & 255) | 7, w ^ mask, w >> 3, w % 8, w * 3 + sign * (w // 5), other]
        return np.array([r.astype(int) & 0xFFFF for r in rows])

    assert np.array_equal(y.astype(int) & 0xFFFF, wanted(x, -30584, u, -1))
    assert np.array_equal(v.astype(int), wanted(u, 0x8888, x, 1))
