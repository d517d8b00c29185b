"""Sorts in the interpreter are numpy's stable ones; padding must come last."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.evaluation.requests import default_dtypes
from argus.interpret import run
from argus.ir.dtypes import f32, i32
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

KERNEL = """
import argus as ag
from argus import f32, i32


@ag.kernel
def k(X: f32["M N"], V: f32["M N"], I: i32["M N"], T: f32["M 4"], J: i32["M 4"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 8))
    x = ag.load(X[i * 8 :, 0:], (8, 64), fill={fill})
    v, index = ag.sort(x, "N", descending={descending})
    V[i * 8 :, 0:] = v
    I[i * 8 :, 0:] = index
    t, at = ag.topk(x, 4, "N")
    T[i * 8 :, 0:4] = t
    J[i * 8 :, 0:4] = at
"""


def _program(folder: Path, **options: object):
    path = folder / "k.py"
    path.write_text(KERNEL.format(**options))
    kernel = load_kernels(path).kernels["k"]
    types = {"X": f32, "V": f32, "I": i32, "T": f32, "J": i32}
    return placed_program(Request(kernel, types, {}, "sm_90a", {"T_s0": 4, "J_s0": 4}))


@pytest.mark.parametrize("descending", [False, True])
def test_sorts_are_stable(descending: bool, tmp_path: Path) -> None:
    program = _program(tmp_path, fill="0.0", descending=descending)
    x = np.random.default_rng(1).integers(-3, 4, (16, 64)).astype(np.float32)
    x[3, 5] = x[3, 9] = np.nan
    x[4, 7], x[4, 8] = -0.0, np.inf
    v, t = np.zeros_like(x), np.zeros((16, 4), np.float32)
    index, at = np.zeros(x.shape, np.int32), np.zeros((16, 4), np.int32)
    run(program, {"X": x, "V": v, "I": index, "T": t, "J": at})
    key = np.where(np.isnan(x), np.inf, x)
    # NaN after infinity, then by value, then by place.
    place = np.broadcast_to(np.arange(64), x.shape)
    keys = (np.isnan(x), key)
    largest = np.lexsort((place, -key, ~np.isnan(x)), axis=1)
    exact = largest if descending else np.lexsort((place, keys[1], keys[0]), axis=1)
    assert np.array_equal(index, exact)
    assert np.array_equal(v, np.take_along_axis(x, exact, 1), equal_nan=True)
    assert np.array_equal(at, largest[:, :4])
    assert np.array_equal(t, np.take_along_axis(x, at, 1), equal_nan=True)


@pytest.mark.parametrize(
    ("fill", "proved"), [("-ag.inf", True), ("0.0", False), ("ag.inf", False)]
)
def test_padding_comes_last(fill: str, proved: bool, tmp_path: Path) -> None:
    program = _program(tmp_path, fill=fill, descending=True)
    found = [
        x for x in verify(program, only=["tags"]).obligations if x.rule == "AG0310"
    ]
    assert any("sorted" in x.claim for x in found)
    assert all(x.verdict is Verdict.PROVED for x in found) == proved


ROWS = """
import argus as ag
from argus import f32, i8, i32


@ag.kernel
def k(X: {dtype}["M N"], V: {dtype}["M {most}"], I: i32["M {most}"]):
    M, N = X.shape
    ag.require({required}, "a row is a tile")
    i = ag.block(ag.cdiv(M, 4))
    x = ag.load({read}, (4, 64), fill={fill})
    v, at = {sorted}
    V[i * 4 :, 0:{most}] = v
    I[i * 4 :, 0:{most}] = at
"""
FIRST = "ag.topk(x, 8, 'N')"
ALL = "ag.sort(x, 'N')"
LATE = "X.view('M N', shape=(M, N + 1), at=lambda m, n: (m, n - 1))[i * 4 :, 0:]"


def _verdicts(folder: Path, **options: object) -> set[Verdict]:
    """Of everything that is said of the elements of a sort of rows."""
    given = {
        "dtype": "i32",
        "required": "(N >= 8) & (N <= 64)",
        "read": "X[i * 4 :, 0:]",
        "sorted": FIRST,
        "most": 8,
        **options,
    }
    path = folder / "k.py"
    path.write_text(ROWS.format(**given))
    kernel = load_kernels(path).kernels["k"]
    types, facts = default_dtypes(kernel, {}), {"N": 1, "X_s0": 1}
    program = placed_program(Request(kernel, types, {}, "sm_90a", facts))
    found = verify(program, only=["tags"]).obligations
    return {x.verdict for x in found if x.rule in ("AG0305", "AG0310")}


@pytest.mark.parametrize(
    ("dtype", "fill", "proved"),
    [
        ("i32", -(2**31), True),
        ("i32", 1 - 2**31, False),
        ("i8", -128, True),
        ("i8", -127, False),
        ("f32", "-ag.inf", True),
        ("f32", "-1.0", False),
    ],
)
def test_the_last_number_of_a_type_comes_last(
    dtype: str, fill: object, proved: bool, tmp_path: Path
) -> None:
    found = _verdicts(tmp_path, dtype=dtype, fill=fill)
    assert (found == {Verdict.PROVED}) == proved


def test_absolute_values_come_before_zeros(tmp_path: Path) -> None:
    largest = "ag.topk(ag.abs(x), 8, 'N')"
    assert _verdicts(tmp_path, dtype="f32", fill=0.0, sorted=largest) == {
        Verdict.PROVED
    }


def test_padding_that_begins_a_row_is_not_last_among_equal_numbers(
    tmp_path: Path,
) -> None:
    required = "(N >= 8) & (N <= 63)"
    for read, proved in (("X[i * 4 :, 0:]", True), (LATE, False)):
        found = _verdicts(tmp_path, fill=-(2**31), required=required, read=read)
        assert (found == {Verdict.PROVED}) == proved


@pytest.mark.parametrize("least", [7, 8])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_padding_is_among_the_first_of_too_few_elements(
    least: int, dtype: str, tmp_path: Path
) -> None:
    """Of a row of seven elements, the eighth largest number is padding."""
    fill = "-ag.inf" if dtype == "f32" else -(2**31)
    required = f"(N >= {least}) & (N <= 64)"
    found = _verdicts(tmp_path, dtype=dtype, fill=fill, required=required)
    assert (found == {Verdict.PROVED}) == (least >= 8)


def test_a_sorted_row_ends_where_it_did(tmp_path: Path) -> None:
    options = {"sorted": ALL, "most": "N", "required": "N <= 64"}
    given = {"fill": 2**31 - 1, **options}
    text = ROWS.replace("0:{most}", "0:")
    path = tmp_path / "k.py"
    path.write_text(text.format(dtype="i32", read="X[i * 4 :, 0:]", **given))
    kernel = load_kernels(path).kernels["k"]
    types, facts = default_dtypes(kernel, {}), {"N": 1, "X_s0": 1}
    program = placed_program(Request(kernel, types, {}, "sm_90a", facts))
    found = verify(program, only=["tags"]).obligations
    rules = ("AG0305", "AG0310")
    assert {x.verdict for x in found if x.rule in rules} == {Verdict.PROVED}
