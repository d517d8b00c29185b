"""Floats of eight bits: what they are, where they are refused, that they compile."""

from __future__ import annotations

import numpy as np
import pytest
from support import program

from argus.diagnostics import ArgusError
from argus.ir.codec import numbers, rounded
from argus.ir.dtypes import DTYPES, e4m3, e5m2
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


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (57344.0, 0x7B), (61440.0, 0x7B), (1e9, 0x7B), (-np.inf, 0xFB),
        (np.nan, 0x7F), (2.0**-16, 0x01), (2.0**-17, 0x00), (-0.0, 0x80), (1.0, 0x3C),
        (1.125, 0x3C), (1.375, 0x3E),
    ],
)  # fmt: skip
def test_e5m2_is_rounded_and_saturates(value: float, bits: int) -> None:
    """PTX ISA, cvt.rn.satfinite.e5m2x2.f32; OCP OFP8, table 1."""
    assert int(rounded(np.array([value], np.float32), e5m2)[0]) == bits


@pytest.mark.parametrize(
    ("name", "nans", "infinities"), [("e4m3", 2, 0), ("e5m2", 6, 2)]
)
def test_every_pattern_is_a_number_that_rounds_to_itself(
    name: str, nans: int, infinities: int
) -> None:
    dtype = DTYPES[name]
    patterns = np.arange(256, dtype=np.uint8)
    values = numbers(patterns, dtype)
    assert np.isnan(values).sum() == nans
    assert np.isinf(values).sum() == infinities
    held = rounded(values, dtype)
    finite = np.isfinite(values)
    assert (held[finite] == patterns[finite]).all()


@pytest.mark.parametrize("text", [COPY, ENTRY])
def test_a_target_without_the_conversions_refuses_it(text: str) -> None:
    kernel = load_kernels("<e4m3>", text).kernels["k"]
    assert program(kernel).params
    with pytest.raises(ArgusError, match="sm_80 has no conversions of e4m3") as caught:
        program(kernel, target="sm_80")
    assert caught.value.code == "AG0602"
