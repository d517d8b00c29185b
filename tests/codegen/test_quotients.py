"""Quotients of floats are printed as what costs least and is the same number."""

from pathlib import Path

import pytest

from argus.codegen import emit
from argus.ir.dtypes import DTYPES
from argus.lang.frontend import specialise
from argus.lang.kernel import load_kernels
from argus.lower import place
from argus.targets import TARGETS

KERNEL = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["N"], Y: f32["N"]):
    x = ag.load(X[0:], (256,))
    Y[0:] = {}
"""


@pytest.mark.parametrize(
    ("quotient", "printed"),
    [
        ("x / 2.0", " * 0.5f"),
        ("x / 0.25", " * 4.0f"),
        ("x / 3.0", "argus_div("),
        ("2.0 / x", "argus_div("),
        ("x / 1e-38", "argus_div("),
    ],
)
def test_a_quotient(tmp_path: Path, quotient: str, printed: str) -> None:
    """Of a power of two, of which the inverse is a number, a product."""
    path = tmp_path / "k.py"
    path.write_text(KERNEL.format(quotient), encoding="utf-8")
    types = dict.fromkeys("XY", DTYPES["f32"])
    program = specialise(
        load_kernels(path).kernels["k"],
        dtypes=types,
        statics={},
        target=TARGETS["sm_90a"],
        present=dict.fromkeys(types, True),
        facts={},
    )
    text = emit(place(program)).text
    assert printed in text
    assert ("argus_div(" in text) == (printed == "argus_div(")
