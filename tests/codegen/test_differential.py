"""Printed text computes what the interpreter does, over all operations and types."""

from __future__ import annotations

from pathlib import Path

import differential
import emulator
import operation_cases
import pytest

from argus.codegen import emit
from argus.requests import placed_program
from few import EVERY

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]

FEW = """
functions_f32 functions_f64 elementwise_f64 casts_f64 reductions_f64_4_n scans_f64
combined_f64_4_n transpose_f64_64x64 widths_f64 fills_f64 selections_f64
elementwise_u8 elementwise_i64 elementwise_bf16 casts_f32 casts_i64
casts_bf16 casts_e4m3 casts_e5m2 elementwise_u16 casts_i16 moves_u16
reductions_i8_1_n reductions_bf16_1_m
reductions_i64_4_n scans_u8_1 combined_f32_4_n combined_f32_1_m combined_i64_4_n
reverse_f32
reverse_i64_4 transpose_f32_32x32
sorts_f32_4_n sorts_f32_1_m sorts_u8_4_m sorts_bf16_1_m
transpose_bf16_16x64 transpose_bool_16x64 transpose_u16_64x64 selections_bf16
mapped_f32 mapped_bf16 mapped_u8 mapped_f64 moves_u8 widths_i16 reductions_i16_1_n
axes_f32 axes_bf16 axes_u8 axes_i64 axes_bool
flips_f32 flips_bf16 flips_u8
widths_bf16 widths_bool fills_i8 scalars atomics_bf16 atomic_ searches votes_ old_values
product_
"""
"""Beginnings of the names of cases that are tried by default."""


def _chosen() -> list[differential.Case]:
    found = list(operation_cases.cases())
    if EVERY:
        return found
    return [case for case in found if case.name.startswith(tuple(FEW.split()))]


@pytest.mark.parametrize("sizes", ["all", "known"])
def test_the_text_computes_what_the_interpreter_does(
    tmp_path: Path, sizes: str
) -> None:
    launches: list[emulator.Launch] = []
    pairs: list[tuple[differential.Case, dict, dict]] = []
    for case in _chosen():
        program = placed_program(case.request(tmp_path))
        arrays = case.arrays()
        text = emit(program, case.values() if sizes == "known" else None)
        launches.append(emulator.bound(text, case.sizes(), arrays))
        pairs.append((case, arrays, case.interpreted(program)))
    emulator.run_all(launches)
    wrong = [x for case, found, exact in pairs for x in case.differ(found, exact)]
    assert not wrong, "\n".join(wrong)


def test_the_comparison_sees_a_difference() -> None:
    case = next(c for c in operation_cases.cases() if c.name == "casts_f32")
    before, after = case.arrays(), case.arrays()
    assert case.differ(before, after) == []
    for name in case.outputs:
        after[name].flat[7] = 0
    assert len(case.differ(before, after)) == len(case.outputs)
