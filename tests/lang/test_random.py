"""Philox4x32-10: its published answers, and what kernels compute with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.interpret import run
from argus.ir.dtypes import f32, i64
from argus.ir.philox import philox, word
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program

ALL = 0xFFFFFFFF
# kat_vectors of Random123, "philox4x32 10": counter, key, words.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ALL,) * 4, (ALL,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
KERNEL = """
import argus as ag
from argus import f32, i64


@ag.kernel
def k(X: f32["M N"], U: f32["M N"], B: i64["M N"], seed: i64):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load(X[i * 4 :, 0:], (4, 64))
    place = ag.broadcast((ag.index(x, "M") + i * 4) * N, x) + ag.index(x, "N")
    U[i * 4 :, 0:] = ag.random(seed, place)
    B[i * 4 :, 0:] = ag.philox(seed, place, 3)
"""


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_the_published_answers(counter, key, words) -> None:
    found = philox([np.uint64(c) for c in counter], [np.uint64(k) for k in key])
    assert tuple(map(int, found)) == words


def test_a_kernel_has_the_numbers_of_its_places(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(KERNEL)
    kernel = load_kernels(path).kernels["k"]
    types = {"X": f32, "U": f32, "B": i64}
    program = placed_program(Request(kernel, types, {}, "sm_90a", {}))
    m, n, seed = 16, 64, -(2**40) + 17
    u, b = np.zeros((m, n), np.float32), np.zeros((m, n), np.int64)
    arguments = {"X": np.zeros((m, n), np.float32), "U": u, "B": b}
    run(program, arguments, {"seed": seed})
    place = np.arange(m * n).reshape(m, n)
    exact = (word(seed, place, 0) >> 8).astype(np.float32) * np.float32(2.0**-24)
    assert np.array_equal(u, exact)
    assert np.array_equal(b, word(seed, place, 3))
    assert exact.min() >= 0 and exact.max() < 1 and abs(exact.mean() - 0.5) < 0.1
