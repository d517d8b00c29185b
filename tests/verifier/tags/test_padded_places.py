"""Places of extremes in rows that are padded by the last number of a type."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

ROWS = """
import argus as ag
from argus import f32, i8, i32


@ag.kernel
def k(X: {dtype}["M N"], I: i32["M"]):
    M, N = X.shape
    ag.require((N > 0) & (N <= 255), "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    late = X.view("M N", shape=(M, N + 1), at=lambda m, n: (m, n - 1))
    x = ag.load({source}[i * 4 :, 0:], (4, 256), fill={fill})
    I[i * 4 :] = ag.{place}(x, "N")
"""


@pytest.mark.parametrize(
    ("dtype", "place", "fill", "source", "proved"),
    [
        ("i8", "argmax", -128, "X", True),
        ("i8", "argmax", -128, "late", False),
        ("i32", "argmin", 2**31 - 1, "X", True),
        ("i32", "argmin", 2**31 - 1, "late", False),
        ("f32", "argmax", "-ag.inf", "late", True),
        ("i8", "argmax", -127, "X", False),
    ],
)
def test_padding_is_in_no_place_where_it_comes_last_or_is_infinite(
    dtype: str, place: str, fill: object, source: str, proved: bool, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    path.write_text(ROWS.format(dtype=dtype, place=place, fill=fill, source=source))
    kernel = load_kernels(path).kernels["k"]
    types, facts = default_dtypes(kernel, {}), {"N": 1, "X_s0": 1}
    program = placed_program(Request(kernel, types, {}, "sm_90a", facts))
    found = verify(program, only=["tags"]).obligations
    padding = {x.verdict for x in found if x.rule == "AG0310"}
    assert (padding == {Verdict.PROVED}) == proved
