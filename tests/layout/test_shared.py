"""Shared-memory tiles: panels, their swizzle, and no byte used twice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from argus.layout import SWIZZLE_128B, Layout, SharedLayout, Swizzled
from argus.layout.shared import panels, swizzled

CASES = [
    ((128, 128), 2, 128),
    ((24, 64), 2, 128),
    ((40, 96), 2, 64),
    ((3, 16, 32), 2, 32),
    ((8, 32), 4, 128),
    ((16, 128), 1, 64),
    ((7, 20), 4, 0),
    ((48,), 2, 0),
]


@pytest.mark.parametrize(("shape", "itemsize", "swizzle"), CASES)
def test_panels_by_element(shape: tuple[int, ...], itemsize: int, swizzle: int) -> None:
    tile = panels(shape, itemsize, swizzle)
    row_bytes = swizzle or shape[-1] * itemsize
    rows = int(np.prod(shape[:-1]))
    seen: set[int] = set()
    outer = itertools.product(*map(range, shape[:-1]))
    for where, column in itertools.product(outer, range(shape[-1])):
        row = 0
        for extent, index in zip(shape[:-1], where, strict=True):
            row = row * extent + index
        panel, inside = divmod(column * itemsize, row_bytes)
        plain = panel * rows * row_bytes + row * row_bytes + inside
        chunk, line = plain // 16 % 8, plain // 128
        moved = chunk ^ (line % max(1, swizzle // 16))
        expected = plain - chunk * 16 + moved * 16
        assert tile.linear((*where, column)) == plain
        assert tile.offset((*where, column)) == expected
        seen.add(expected)
    assert len(seen) == rows * shape[-1]
    assert all(place % itemsize == 0 for place in seen)


def test_one_panel_is_a_swizzled_layout() -> None:
    tile = panels((64, 64), 2, 128)
    layout = Swizzled(SWIZZLE_128B, 0, Layout((64, 64), (128, 2)))
    rows, columns = np.arange(64)[:, None], np.arange(64)[None, :]
    expected = layout.table().reshape(64, 64).T
    assert np.array_equal(tile.offset((rows, columns)), expected)


def test_alignment_is_the_period_of_the_swizzle() -> None:
    for swizzle, alignment in ((0, 16), (32, 256), (64, 512), (128, 1024)):
        tile = panels((8, 128), 2, swizzle)
        assert tile.alignment == alignment
        assert swizzled(5 + alignment * 3, swizzle) == swizzled(5, swizzle) + (
            alignment * 3
        )


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fill panels"):
        panels((8, 96), 2, 128)
    with pytest.raises(ValueError, match="0, 32, 64 or 128"):
        SharedLayout((8,), (((8, 2),),), 16)
    with pytest.raises(ValueError, match="do not cover"):
        SharedLayout((8,), (((4, 2),),))
