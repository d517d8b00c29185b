"""One formula, several readers: symbolic and array evaluation equal ints."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pytest

from argus.layout import (
    SWIZZLE_128B,
    Fragment,
    Layout,
    Mode,
    Swizzled,
    blocked,
    mma_a_operand,
    mma_b_operand,
    wgmma_accumulator,
)


@dataclass(frozen=True, eq=False)
class Symbol:
    """An expression of one variable; knows `+ - * // % ^` on its left, nothing else."""

    text: str
    value: Callable[[int], int]

    def _apply(self, sign: str, other: Symbol | int) -> Symbol:
        function = {
            "+": operator.add,
            "-": operator.sub,
            "*": operator.mul,
            "//": operator.floordiv,
            "%": operator.mod,
            "^": operator.xor,
        }[sign]

        def value(x: int) -> int:
            right = other.value(x) if isinstance(other, Symbol) else other
            return function(self.value(x), right)

        right = other.text if isinstance(other, Symbol) else str(other)
        return Symbol(f"({self.text} {sign} {right})", value)

    def __add__(self, other: Symbol | int) -> Symbol:
        return self._apply("+", other)

    def __sub__(self, other: Symbol | int) -> Symbol:
        return self._apply("-", other)

    def __mul__(self, other: Symbol | int) -> Symbol:
        return self._apply("*", other)

    def __floordiv__(self, other: Symbol | int) -> Symbol:
        return self._apply("//", other)

    def __mod__(self, other: Symbol | int) -> Symbol:
        return self._apply("%", other)

    def __xor__(self, other: Symbol | int) -> Symbol:
        return self._apply("^", other)

    def __bool__(self) -> NoReturn:
        raise AssertionError("the truth of a symbolic expression was asked for")

    def __eq__(self, other: object) -> NoReturn:
        raise AssertionError("a symbolic expression was compared")

    __hash__ = None  # type: ignore[assignment]


def value_of(expression: Symbol | int, x: int) -> int:
    return expression.value(x) if isinstance(expression, Symbol) else expression


X = Symbol("x", lambda x: x)

FRAGMENTS = [
    wgmma_accumulator(128, 40, 2),
    mma_a_operand(32, 32, 2, 2),
    mma_b_operand(16, 32, 2, 2),
    blocked((24, 40), 96, 4),
    blocked((3, 5, 8), 32, 8, (2, 0, 1)),
    wgmma_accumulator(64, 24).slice(1),
    wgmma_accumulator(64, 24).slice(0).permute((0,)),
    Fragment((), (Mode(32),), ()),
]


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_fragments(fragment: Fragment) -> None:
    table = fragment.table()
    threads, regs = np.arange(fragment.num_threads), np.arange(fragment.num_regs)
    grid = fragment.coord(threads[:, None], regs[None, :])
    for axis in range(fragment.rank):
        assert np.array_equal(
            np.broadcast_to(grid[axis], table.shape[:2]), table[:, :, axis]
        )
    last = fragment.num_regs - 1
    by_thread = fragment.coord(X, last)
    by_reg = fragment.reg_part(X)
    replica = fragment.replica(X)
    for t in range(fragment.num_threads):
        assert [value_of(c, t) for c in by_thread] == table[t, last].tolist()
        owner = value_of(replica, t) == 0
        assert fragment.owner_mask()[t].tolist() == [owner] * fragment.num_regs
    for r in range(fragment.num_regs):
        assert [value_of(c, r) for c in by_reg] == table[0, r].tolist()


@pytest.mark.parametrize(
    "layout",
    [
        Layout((2, 4), (4, 1)),
        Layout(((2, 3), (4, 1)), ((12, 1), (3, 0))),
        Layout((2, 2, 3), (0, 5, 10)),
        Layout(7, 3),
        Layout((), ()),
    ],
)
def test_layouts(layout: Layout) -> None:
    expected = [layout(i) for i in range(layout.size)]
    assert [value_of(layout(X), i) for i in range(layout.size)] == expected
    assert layout.table().tolist() == expected
    swizzled = Swizzled(SWIZZLE_128B, 16, Layout.join((layout, Layout(64, 32))))
    for i in range(swizzled.size):
        assert value_of(swizzled(X), i) == swizzled(i)
        assert value_of(swizzled.layout(0, X), i % 64) == 32 * (i % 64)


def test_symbolic_swizzle_and_location() -> None:
    tile = Swizzled(SWIZZLE_128B, 0, Layout.row_major((8, 128)))
    expression = tile.locate(X)
    for place in range(1024):
        assert value_of(expression, place) == tile.locate(place)
        assert tile(tile.locate(place)) == place


def test_printed_forms_are_short() -> None:
    """Nothing is multiplied by 1, added to 0 or reduced at the slowest digit."""
    row, column = wgmma_accumulator(64, 16).thread_part(X)
    assert isinstance(row, Symbol)
    assert isinstance(column, Symbol)
    assert row.text == "(((x // 4) % 8) + ((x // 32) * 16))"
    assert column.text == "((x % 4) * 2)"
    assert SWIZZLE_128B(X).text == "(x ^ (((x // 128) % 8) * 16))"
    layout = Layout((2, 2, 8), (1, 8, 16))(X)
    assert isinstance(layout, Symbol)
    assert layout.text == "(((x % 2) + (((x // 2) % 2) * 8)) + ((x // 4) * 16))"
