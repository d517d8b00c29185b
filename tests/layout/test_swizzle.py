"""The laws of swizzles, and what they are for: columns without bank conflicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.layout import (
    SWIZZLE_32B,
    SWIZZLE_64B,
    SWIZZLE_128B,
    SWIZZLE_NONE,
    Layout,
    Swizzle,
    Swizzled,
    composition,
    swizzle_mode,
)

MODES = {0: SWIZZLE_NONE, 32: SWIZZLE_32B, 64: SWIZZLE_64B, 128: SWIZZLE_128B}


@st.composite
def swizzles(draw: st.DrawFn) -> Swizzle:
    bits = draw(st.integers(0, 3))
    return Swizzle(bits, draw(st.integers(0, 4)), draw(st.integers(bits, bits + 2)))


def by_bits(swizzle: Swizzle, offset: int) -> int:
    """The definition, bit by bit."""
    result = offset
    for bit in range(swizzle.bits):
        if offset >> (swizzle.base + swizzle.shift + bit) & 1:
            result ^= 1 << (swizzle.base + bit)
    return result


@given(swizzles(), st.integers(0, 1 << 14))
def test_swizzle_is_an_involution(swizzle: Swizzle, offset: int) -> None:
    assert swizzle(offset) == by_bits(swizzle, offset)
    assert swizzle(swizzle(offset)) == offset
    assert swizzle.inverse()(swizzle(offset)) == offset


@given(swizzles())
def test_swizzle_permutes_each_period(swizzle: Swizzle) -> None:
    first = np.arange(swizzle.period)
    assert sorted(swizzle(first).tolist()) == first.tolist()
    second = first + swizzle.period
    assert np.array_equal(swizzle(second), swizzle(first) + swizzle.period)


@given(swizzles(), st.integers(0, 1 << 10))
def test_units_stay_together(swizzle: Swizzle, unit: int) -> None:
    start = unit * swizzle.unit
    inside = np.arange(swizzle.unit)
    assert np.array_equal(swizzle(start + inside), swizzle(start) + inside)


@given(swizzles(), swizzles(), st.integers(0, 1 << 14))
def test_swizzles_with_one_geometry_commute(a: Swizzle, b: Swizzle, x: int) -> None:
    """Same base and shift, sources above both targets: the xors add up."""
    shift = max(a.shift, b.shift, a.bits, b.bits)
    a, b = Swizzle(a.bits, a.base, shift), Swizzle(b.bits, a.base, shift)
    assert a(b(x)) == b(a(x))


@pytest.mark.parametrize("row_bytes", [0, 32, 64, 128])
def test_modes_xor_the_chunk_with_the_row_of_128_bytes(row_bytes: int) -> None:
    """Chunk c of 16 bytes in 128-byte line l moves to c ^ (l mod row_bytes/16)."""
    swizzle = swizzle_mode(row_bytes)
    assert swizzle == MODES[row_bytes]
    for line in range(16):
        for chunk in range(8):
            moved = chunk ^ (line % max(1, row_bytes // 16))
            assert swizzle(line * 128 + chunk * 16) == line * 128 + moved * 16
    assert swizzle.unit == 16
    assert swizzle.period == (8 * row_bytes or 1)


def chunks_of_a_column(row_bytes: int, swizzle: Swizzle, column: int) -> set[int]:
    """16-byte bank groups (8 of them) that 8 rows of one 16-byte column fall into."""
    rows = np.arange(8)
    return set((swizzle(rows * row_bytes + column * 16) // 16 % 8).tolist())


@pytest.mark.parametrize("row_bytes", [32, 64, 128])
def test_a_column_of_8_rows_hits_8_distinct_bank_groups(row_bytes: int) -> None:
    # What ldmatrix and wgmma read at once: 8 rows of 16 bytes, 128 bytes over 32 banks.
    for column in range(row_bytes // 16):
        assert len(chunks_of_a_column(row_bytes, MODES[row_bytes], column)) == 8
        without = chunks_of_a_column(row_bytes, SWIZZLE_NONE, column)
        assert len(without) == 128 // row_bytes


def test_other_swizzles_and_modes_are_refused() -> None:
    for arguments in ((3, 4, 2), (-1, 4, 3), (1, -1, 3), (2, 0, -2)):
        with pytest.raises(ValueError, match="not a swizzle"):
            Swizzle(*arguments)
    with pytest.raises(ValueError, match="no swizzle of 96 bytes"):
        swizzle_mode(96)
    with pytest.raises(ValueError, match="negative offset"):
        Swizzled(SWIZZLE_32B, -1, Layout(4, 1))


tiles = st.sampled_from(
    [Layout.row_major((8, 64)), Layout.compact((16, 24)), Layout((3, 5, 8), (40, 8, 1))]
)


@given(swizzles(), st.integers(0, 100), tiles)
def test_swizzled_layout_is_the_composition(
    swizzle: Swizzle, offset: int, layout: Layout
) -> None:
    swizzled = Swizzled(swizzle, offset, layout)
    expected = [swizzle(offset + layout(i)) for i in range(layout.size)]
    assert swizzled.table().tolist() == expected
    assert [swizzled(i) for i in range(swizzled.size)] == expected
    assert [swizzled.locate(place) for place in expected] == list(range(swizzled.size))
    last = tuple(mode.size - 1 for mode in layout.modes())
    assert swizzled(*last) == expected[-1]


@given(swizzles(), st.integers(0, 100))
def test_composition_passes_through_a_swizzle(swizzle: Swizzle, offset: int) -> None:
    """(swizzle . A) . B == swizzle . (A . B)."""
    tile, rows = Layout.row_major((8, 64)), Layout((8, 4), (1, 16))
    swizzled = Swizzled(swizzle, offset, tile)
    composed = swizzled.compose(rows)
    assert composed == Swizzled(swizzle, offset, composition(tile, rows))
    assert [composed(i) for i in range(32)] == [swizzled(rows(i)) for i in range(32)]
