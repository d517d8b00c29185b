"""Floats of eight bits: what they are, where they are refused, that they compile."""

from __future__ import annotations

import numpy as np
import pytest
from support import program

from argus.diagnostics import ArgusError
from argus.ir.codec import numbers, rounded
from argus.ir.dtypes import e4m3
from argus.lang.kernel import load_kernels

HEAD = "import argus as ag\nfrom argus import e4m3, f32\n\n\n"
COPY = HEAD + (
    '@ag.kernel\ndef k(X: e4m3["N"], Y: f32["N"]):\n'
    "    i = ag.block(ag.cdiv(X.shape[0], 128))\n"
    "    Y[i * 128 :] = ag.load(X[i * 128 :], (128,)).to(f32)\n"
)
ENTRY = HEAD + (
    '@ag.kernel\ndef k(X: e4m3["N"], Y: f32["N"]):\n'
    "    i = ag.block(ag.cdiv(X.shape[0], 128))\n"
    "    Y[i * 128 :] = ag.full((128,), X[i], f32)\n"
)
DOT = HEAD + (
    '@ag.kernel\ndef k(X: e4m3["M N"], Y: f32["M N"]):\n'
    "    _ = ag.block(1)\n"
    "    x = ag.load(X[0:, 0:], (64, 64))\n"
    "    Y[0:, 0:] = ag.dot(x, x)\n"
)


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (448.0, 0x7E), (464.0, 0x7E), (1e9, 0x7E), (np.inf, 0x7E), (-np.inf, 0xFE),
        (np.nan, 0x7F), (2.0**-9, 0x01), (2.0**-10, 0x00), (2.0**-10 * 1.5, 0x01),
        (-0.0, 0x80), (2.0**-6, 0x08), (1.0, 0x38), (17.0, 0x58), (19.0, 0x5A),
    ],
)  # fmt: skip
def test_numbers_are_rounded_to_the_nearest_and_saturate(
    value: float, bits: int
) -> None:
    assert int(rounded(np.array([value], np.float32), e4m3)[0]) == bits


def test_every_pattern_is_a_number_that_rounds_to_itself() -> None:
    patterns = np.arange(256, dtype=np.uint8)
    values = numbers(patterns, e4m3)
    assert np.isnan(values).sum() == 2
    held = rounded(values, e4m3)
    assert (held[~np.isnan(values)] == patterns[~np.isnan(values)]).all()


@pytest.mark.parametrize("text", [COPY, ENTRY])
def test_a_target_without_the_conversions_refuses_it(text: str) -> None:
    kernel = load_kernels("<e4m3>", text).kernels["k"]
    assert program(kernel).params
    with pytest.raises(ArgusError, match="sm_80 has no conversions of e4m3") as caught:
        program(kernel, target="sm_80")
    assert caught.value.code == "AG0602"


def test_matrix_products_refuse_it() -> None:
    with pytest.raises(ArgusError, match="e4m3") as caught:
        program(load_kernels("<e4m3>", DOT).kernels["k"])
    assert caught.value.code != "AG0913"
