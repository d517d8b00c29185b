"""Fragment constructors against the formulas of the PTX ISA, written out by element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.layout import (
    Fragment,
    blocked,
    mma_a_operand,
    mma_accumulator,
    mma_b_operand,
    row_major_default,
    wgmma_a_operand,
    wgmma_accumulator,
    wgmma_inst_n,
)


def assert_table(
    fragment: Fragment, expected: dict[tuple[int, int], list[int]]
) -> None:
    assert len(expected) == fragment.num_threads * fragment.num_regs
    for (t, r), coordinate in expected.items():
        assert fragment.table()[t, r].tolist() == coordinate, (t, r)


@pytest.mark.parametrize(
    ("m", "n", "warpgroups", "inst_n"),
    [
        (64, 8, 1, None),
        (64, 24, 1, None),
        (64, 40, 1, 8),
        (128, 256, 2, None),
        (192, 48, 3, 24),
        (256, 96, 2, 48),
        (128, 64, 1, 64),
    ],
)
def test_wgmma_accumulator(m: int, n: int, warpgroups: int, inst_n: int | None) -> None:
    fragment = wgmma_accumulator(m, n, warpgroups, inst_n)
    width = inst_n or n
    per_instruction = width // 2
    expected: dict[tuple[int, int], list[int]] = {}
    for t in range(128 * warpgroups):
        group, lane, warp = t // 128, t % 32, t % 128 // 32
        registers = 0
        for atom in range(m // warpgroups // 64):
            for instruction in range(n // width):
                for i in range(per_instruction):
                    row = lane // 4 if i % 4 < 2 else lane // 4 + 8
                    column = i // 4 * 8 + lane % 4 * 2 + i % 2
                    expected[t, registers] = [
                        group * (m // warpgroups) + atom * 64 + warp * 16 + row,
                        instruction * width + column,
                    ]
                    registers += 1
    assert_table(fragment, expected)
    assert fragment.replication == 1


@pytest.mark.parametrize(
    ("m", "k", "warpgroups"), [(64, 16, 1), (64, 48, 1), (128, 64, 2), (256, 32, 2)]
)
def test_wgmma_a_operand(m: int, k: int, warpgroups: int) -> None:
    expected: dict[tuple[int, int], list[int]] = {}
    for t in range(128 * warpgroups):
        group, lane, warp = t // 128, t % 32, t % 128 // 32
        registers = 0
        for atom, step in itertools.product(
            range(m // warpgroups // 64), range(k // 16)
        ):
            for i in range(8):
                row = lane // 4 if i in (0, 1, 4, 5) else lane // 4 + 8
                column = lane % 4 * 2 + i % 2 + (8 if i >= 4 else 0)
                expected[t, registers] = [
                    group * (m // warpgroups) + atom * 64 + warp * 16 + row,
                    step * 16 + column,
                ]
                registers += 1
    assert_table(wgmma_a_operand(m, k, warpgroups), expected)


@pytest.mark.parametrize(
    ("m", "k", "warpgroups"), [(64, 16, 1), (128, 128, 2), (256, 48, 2), (128, 320, 1)]
)
def test_accumulator_is_the_next_a_operand(m: int, k: int, warpgroups: int) -> None:
    accumulator = wgmma_accumulator(m, k, warpgroups)
    operand = wgmma_a_operand(m, k, warpgroups)
    assert operand.same_as(accumulator)
    mapping = operand.register_map(accumulator, (0, 1))
    assert mapping is not None
    assert mapping.tolist() == list(range(operand.num_regs))


WARPS = [(16, 8, 16, 1, 1), (64, 32, 32, 2, 2), (96, 48, 48, 3, 2), (32, 64, 16, 1, 4)]


@pytest.mark.parametrize(("m", "n", "k", "warps_m", "warps_n"), WARPS)
def test_mma_fragments(m: int, n: int, k: int, warps_m: int, warps_n: int) -> None:
    block_m, block_n = m // warps_m, n // warps_n
    c: dict[tuple[int, int], list[int]] = {}
    a: dict[tuple[int, int], list[int]] = {}
    b: dict[tuple[int, int], list[int]] = {}
    for t in range(32 * warps_m * warps_n):
        warp, group, member = t // 32, t % 32 // 4, t % 4
        first_m = warp % warps_m * block_m
        first_n = warp // warps_m * block_n
        atoms = itertools.product(range(block_m // 16), range(block_n // 8), range(4))
        for register, (i, j, e) in enumerate(atoms):
            row = group if e < 2 else group + 8
            column = member * 2 + e % 2
            c[t, register] = [first_m + i * 16 + row, first_n + j * 8 + column]
        atoms = itertools.product(range(block_m // 16), range(k // 16), range(8))
        for register, (i, j, e) in enumerate(atoms):
            row = group if e < 2 or 4 <= e < 6 else group + 8
            column = member * 2 + e % 2 if e < 4 else member * 2 + e % 2 + 8
            a[t, register] = [first_m + i * 16 + row, j * 16 + column]
        atoms = itertools.product(range(block_n // 8), range(k // 16), range(4))
        for register, (i, j, e) in enumerate(atoms):
            deep = member * 2 + e % 2 if e < 2 else member * 2 + e % 2 + 8
            b[t, register] = [first_n + i * 8 + group, j * 16 + deep]
    accumulator = mma_accumulator(m, n, warps_m, warps_n)
    operand_a = mma_a_operand(m, k, warps_m, warps_n)
    operand_b = mma_b_operand(n, k, warps_m, warps_n)
    assert_table(accumulator, c)
    assert_table(operand_a, a)
    assert_table(operand_b, b)
    assert accumulator.replication == 1
    assert operand_a.replication == warps_n
    assert operand_b.replication == warps_m


@pytest.mark.parametrize("itemsize", [1, 4])
def test_operands_of_other_sizes(itemsize: int) -> None:
    """PTX ISA, fragments of .m16n8k32, .m16n8k8, .m64nNk32 and .m64nNk8."""
    a = mma_a_operand(16, 32 // itemsize, 1, 1, itemsize).table()
    b = mma_b_operand(8, 32 // itemsize, 1, 1, itemsize).table()
    wide = wgmma_a_operand(64, 32 // itemsize, 1, itemsize).table()
    for lane in range(32):
        group, member = lane // 4, lane % 4
        if itemsize == 1:
            rows = [group + 8 * (not (i < 4 or 8 <= i < 12)) for i in range(16)]
            columns = [member * 4 + i % 4 + 16 * (i >= 8) for i in range(16)]
            deep = [member * 4 + i % 4 + 16 * (i >= 4) for i in range(8)]
        else:
            rows = [group + 8 * (i in (1, 3)) for i in range(4)]
            columns = [member + 4 * (i in (2, 3)) for i in range(4)]
            deep = [member + 4 * i for i in range(2)]
        assert a[lane].tolist() == [list(x) for x in zip(rows, columns, strict=True)]
        assert b[lane].tolist() == [[group, k] for k in deep]
        for warp in range(4):
            moved = [[r + 16 * warp, c] for r, c in zip(rows, columns, strict=True)]
            assert wide[32 * warp + lane].tolist() == moved
    with pytest.raises(ValueError, match="elements of 8 bytes"):
        wgmma_a_operand(64, 16, 1, 8)
    with pytest.raises(ValueError, match="depth of an mma tile"):
        mma_a_operand(16, 16 // itemsize, 1, 1, itemsize)


def test_blocked_by_hand() -> None:
    # Rows of 16: two threads of 8 elements each; 16 threads: 8 rows at a time.
    fragment = blocked((16, 16), threads=16, vector=8)
    for t, r in itertools.product(range(16), range(16)):
        expected = [t // 2 + 8 * (r // 8), t % 2 * 8 + r % 8]
        assert fragment.table()[t, r].tolist() == expected
    assert fragment.vector_width(1, 8) == 8


def test_blocked_small_tile_is_replicated() -> None:
    fragment = blocked((4, 8), threads=128, vector=8)
    assert fragment.num_regs == 8
    assert fragment.replication == 32
    assert fragment.owner_mask().sum() == 32
    assert fragment.owner_mask()[:4].all()


@given(
    st.lists(st.integers(1, 24), max_size=3),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 32, 96, 128]),
    st.data(),
)
def test_blocked_is_coalesced(
    sizes: list[int], vector: int, threads: int, data: st.DataObject
) -> None:
    order = tuple(data.draw(st.permutations(range(len(sizes)))))
    if sizes:
        sizes[order[0]] *= vector
    else:
        vector = 1
    fragment = blocked(tuple(sizes), threads, vector, order)
    assert fragment.num_threads == threads
    if sizes:
        assert fragment.vector_width(order[0], vector) == vector
    # In the order of memory, distinct threads hold distinct vectors, increasing and,
    # as long as they are on one row, without a gap.
    weight, memory = 1, np.zeros(threads, dtype=np.int64)
    for axis in order:
        memory += fragment.table()[:, 0, axis] * weight
        weight *= sizes[axis]
    distinct = memory[: threads // fragment.replication]
    assert (np.diff(distinct) > 0).all()
    on_first_row = fragment.table()[: len(distinct), 0]
    same_row = [(row == 0).all() for row in np.delete(on_first_row, order[:1], axis=1)]
    first = distinct[np.array(same_row, dtype=bool)]
    assert (np.diff(first) == vector).all()


def test_row_major_default_lowers_the_vector() -> None:
    assert row_major_default((8, 12), 8, 8).vector_width(1, 8) == 4
    assert row_major_default((8, 7), 8, 8).vector_width(1, 8) == 1
    assert row_major_default((), 32, 8).replication == 32


@pytest.mark.parametrize("n", [8, 24, 40, 96, 192, 256])
def test_one_instruction_up_to_256(n: int) -> None:
    assert wgmma_inst_n(n) == n


def test_wider_than_one_instruction() -> None:
    assert wgmma_inst_n(512) == 256
    assert wgmma_inst_n(384) == 192
    assert wgmma_inst_n(264) == 88


def test_sizes_that_do_not_fit_are_refused() -> None:
    cases = [
        lambda: wgmma_accumulator(64, 12),
        lambda: wgmma_accumulator(96, 16),
        lambda: wgmma_accumulator(64, 64, 2),
        lambda: wgmma_accumulator(64, 512, 1, 512),
        lambda: wgmma_accumulator(64, 64, 1, 48),
        lambda: wgmma_accumulator(64, 64, 0),
        lambda: wgmma_a_operand(64, 24),
        lambda: mma_accumulator(16, 8, 2, 1),
        lambda: mma_a_operand(16, 8),
        lambda: mma_b_operand(8, 8),
        lambda: blocked((4, 6), 32, 4),
        lambda: blocked((4, 6), 32, 1, (0, 0)),
        lambda: blocked((4,), 0),
    ]
    for case in cases:
        with pytest.raises(ValueError, match=r"."):
            case()
