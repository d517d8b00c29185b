"""The text of programs: golden, and independent of what was made before."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.ir.ops import Tile
from argus.ir.printer import print_op, print_program
from argus.ir.program import Program

GoldenCheck = Callable[[str, str], None]


def test_an_unplaced_program(unplaced_program: Program, golden: GoldenCheck) -> None:
    golden("unplaced.txt", print_program(unplaced_program))


def test_a_placed_program(make: Callable[[], Any], golden: GoldenCheck) -> None:
    golden("placed.txt", print_program(make().program))


def test_the_text_does_not_depend_on_earlier_tiles(make: Callable[[], Any]) -> None:
    first = make()
    text = print_program(first.program)
    second = make()  # other tile ids
    assert isinstance(first.sums[0], Tile) and first.sums[0].id != second.sums[0].id
    assert print_program(second.program) == text


def test_no_path_of_this_machine_is_printed(make: Callable[[], Any]) -> None:
    program = make().program
    text = print_program(program)
    program.span = replace(program.span, file=f"/some/where/{program.file}")
    assert print_program(program) == text


def test_one_operation_for_messages(make: Callable[[], Any]) -> None:
    sample = make()
    assert print_op(sample.math[0]) == "wait full[m % 2] completion m // 2"
