"""A small program in both forms, to print and to break; stated by its text."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from argus.ir import ops as o
from argus.ir.parser import parse_program
from argus.ir.program import Program

GOLDEN = Path(__file__).parent / "golden"


@dataclass
class Sample:
    """A program and the parts that tests change."""

    program: Program
    load: list[o.AnyOp]
    math: list[o.AnyOp]
    loop: o.For
    sums: list[o.Tile]


def placed() -> Sample:
    """Placed: Y = row-wise running sums, in f32, of X; load and math roles."""
    program = parse_program((GOLDEN / "placed.txt").read_text(encoding="utf-8"))
    (roles,) = program.body.ops
    assert isinstance(roles, o.Roles)
    load, math = (role.body.ops for role in roles.roles)
    filling, loop = load[0], math[1]
    assert isinstance(filling, o.For) and isinstance(loop, o.For)
    (carry,) = loop.tiles
    sums = [carry.init, carry.arg, carry.yielded, carry.result]
    return Sample(program, filling.body.ops, loop.body.ops, loop, sums)


@pytest.fixture
def unplaced_program() -> Program:
    """Column sums of blocks of rows, through a ring."""
    return parse_program((GOLDEN / "unplaced.txt").read_text(encoding="utf-8"))


@pytest.fixture
def make() -> Callable[[], Sample]:
    return placed
