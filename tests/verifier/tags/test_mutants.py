"""Placed programs with one element map changed: refuted, at the line of the change."""

from __future__ import annotations

from functools import lru_cache
from random import Random

import pytest

from argus.compiler import placed_program
from argus.evaluation.requests import request_for
from argus.ir.program import Program
from argus.kernels.library import LIBRARY
from argus.verify.verdict import Verdict
from verifier import mutate
from verifier.tags.check_tags import failing, told

CASES = {
    "gemm": ("gemm", 3, "sm_90a"),
    "epilogue": ("gemm", 1, "sm_90a"),
    "ampere": ("gemm_sm80", 1, "sm_80"),
    "softmax": ("softmax", 1, "sm_90a"),
    "rmsnorm": ("rmsnorm", 2, "sm_90a"),
    "attention": ("attention", 1, "sm_90a"),
    "grouped": ("grouped", 1, "sm_90a"),
}
EQUIVALENT = {
    ("gemm", "fill_value", 0),
    # Fill of the bias, the residual and the weight: their padding is never stored.
    ("epilogue", "fill_value", 0),
    ("epilogue", "fill_value", 1),
    ("ampere", "fill_value", 0),
    ("ampere", "fill_value", 1),
    ("rmsnorm", "fill_value", 0),
    # The buffer's layout changes for all of its accesses, none of which is TMA.
    ("ampere", "buffer_swizzle", 0),
    ("ampere", "buffer_swizzle", 1),
}


OPERATORS = (
    "descriptor_offset", "descriptor_stride", "descriptor_swizzle", "descriptor_major",
    "warpgroup_stride", "load_coordinate", "store_coordinate", "map_swizzle",
    "buffer_swizzle", "global_coordinate", "loop_start", "mma_step", "fill_value",
    "drop_where",
)  # fmt: skip
"""Those that nearly always make a program wrong; the report of mutations has all."""


@lru_cache
def program(name: str) -> Program:
    entry, case, target = CASES[name]
    found = LIBRARY[entry]
    chosen = (*found.small, *found.large)[case]
    return placed_program(request_for(found, chosen, target)[0])


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", CASES)
def test_mutant(name: str, operator: str, seed: int) -> None:
    mutant = mutate.DATA[operator](program(name), Random(seed))
    if mutant is None:
        pytest.skip("the program has no such place")
    bad = failing(mutant)
    refuted = [o for o in bad if o.verdict is Verdict.REFUTED]
    if (name, operator, seed) in EQUIVALENT:
        assert not refuted, told(bad)
        return
    assert refuted, told(bad) or "proved"
