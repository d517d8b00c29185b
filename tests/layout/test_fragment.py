"""The laws of fragments, on random ones, each against a plain enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.layout import Fragment, Mode, refined, wgmma_accumulator


@st.composite
def fragments(draw: st.DrawFn, max_rank: int = 3) -> Fragment:
    """Each axis a chain of digits, dealt to threads and registers in any order."""
    rank = draw(st.integers(0, max_rank))
    shape: list[int] = []
    threads = [Mode(size) for size in draw(st.lists(st.integers(1, 3), max_size=2))]
    regs: list[Mode] = []
    for axis in range(rank):
        step = 1
        for size in draw(st.lists(st.integers(1, 4), max_size=3)):
            target = threads if draw(st.booleans()) else regs
            target.append(Mode(size, axis, step))
            step *= size
        shape.append(step)
    threads = draw(st.permutations(threads))
    return Fragment(tuple(shape), tuple(threads), tuple(draw(st.permutations(regs))))


def enumerate_part(modes: tuple[Mode, ...], rank: int) -> list[tuple[int, ...]]:
    """Contributions of every index, by counting digits one by one."""
    parts: list[tuple[int, ...]] = []
    for reversed_digits in itertools.product(*(range(m.size) for m in modes[::-1])):
        part = [0] * rank
        for mode, value in zip(modes, reversed_digits[::-1], strict=True):
            if mode.axis is not None:
                part[mode.axis] += value * mode.step
        parts.append(tuple(part))
    return parts


def holders(fragment: Fragment) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for t, r in itertools.product(
        range(fragment.num_threads), range(fragment.num_regs)
    ):
        found.setdefault(tuple(fragment.table()[t, r].tolist()), []).append((t, r))
    return found


@given(fragments())
def test_coordinates_count_the_digits(fragment: Fragment) -> None:
    by_thread = enumerate_part(fragment.threads, fragment.rank)
    by_reg = enumerate_part(fragment.regs, fragment.rank)
    assert len(by_thread) == fragment.num_threads
    assert len(by_reg) == fragment.num_regs
    for t, r in itertools.product(range(len(by_thread)), range(len(by_reg))):
        expected = tuple(a + b for a, b in zip(by_thread[t], by_reg[r], strict=True))
        assert fragment.coord(t, r) == expected
        assert tuple(fragment.table()[t, r].tolist()) == expected
        assert fragment.thread_part(t) == by_thread[t]
        assert fragment.reg_part(r) == by_reg[r]


@given(fragments())
def test_each_element_is_held_replication_times_and_owned_once(f: Fragment) -> None:
    found = holders(f)
    assert sorted(found) == sorted(itertools.product(*map(range, f.shape)))
    for where in found.values():
        assert len(where) == f.replication
        owners = [(t, r) for t, r in where if f.owner_mask()[t, r]]
        assert owners == [min(where)]
        assert [f.replica(t) for t, _ in where] == list(range(f.replication))


@given(fragments())
def test_canonical_is_the_same_function_and_minimal(fragment: Fragment) -> None:
    canonical = fragment.canonical()
    assert np.array_equal(canonical.table(), fragment.table())
    assert canonical.canonical() == canonical
    assert canonical.same_as(fragment)
    assert len(canonical.threads) <= len(fragment.threads)
    # Splitting any digit in two is undone.
    for group in (fragment.threads, fragment.regs):
        for i, mode in enumerate(group):
            if mode.size % 2 == 0:
                low = Mode(2, mode.axis, mode.step)
                high = Mode(mode.size // 2, mode.axis, 2 * mode.step)
                split = (*group[:i], low, high, *group[i + 1 :])
                threads = split if group is fragment.threads else fragment.threads
                regs = split if group is fragment.regs else fragment.regs
                assert Fragment(fragment.shape, threads, regs).canonical() == canonical


@given(fragments(max_rank=2), fragments(max_rank=2))
def test_same_as_is_equality_of_canonical_forms(a: Fragment, b: Fragment) -> None:
    assert a.same_as(b) == (a.canonical() == b.canonical())


@given(fragments(), st.data())
def test_slice_drops_an_axis(fragment: Fragment, data: st.DataObject) -> None:
    if fragment.rank == 0:
        return
    axis = data.draw(st.integers(0, fragment.rank - 1))
    sliced = fragment.slice(axis)
    kept = [a for a in range(fragment.rank) if a != axis]
    assert sliced.shape == tuple(fragment.shape[a] for a in kept)
    assert sliced.num_threads == fragment.num_threads
    for t in range(fragment.num_threads):
        held = {tuple(c) for c in fragment.table()[t][:, kept].tolist()}
        assert held == {tuple(c) for c in sliced.table()[t].tolist()}
    mapping = fragment.register_map(sliced, tuple(kept))
    assert mapping is not None
    assert np.array_equal(sliced.table()[:, mapping], fragment.table()[:, :, kept])


@given(fragments(), st.data())
def test_a_window_is_found_where_threads_keep_the_same_registers(
    fragment: Fragment, data: st.DataObject
) -> None:
    if fragment.rank == 0:
        return
    axis = data.draw(st.integers(0, fragment.rank - 1))
    extent = fragment.shape[axis]
    first = data.draw(st.integers(0, extent - 1))
    last = data.draw(st.integers(first + 1, extent))
    elements = range(first, last, data.draw(st.integers(1, extent)))
    where = fragment.table()[:, :, axis]
    selected = (where[:, :, None] == np.array(elements)).any(2)
    window = fragment.window(axis, elements)
    assert (window is not None) == bool((selected == selected[0]).all())
    if window is None:
        return
    made, held = window
    assert made.shape[axis] == len(elements)
    needed = made.table().copy()
    needed[:, :, axis] = np.array(elements)[needed[:, :, axis]]
    assert np.array_equal(fragment.table()[:, held], needed)


def test_a_window_outside_is_none() -> None:
    fragment = Fragment((8,), (Mode(2, 0, 4),), (Mode(4, 0, 1),))
    for elements in (range(8, 9), range(-2, 2), range(7, 10, 2), range(3, 3)):
        assert fragment.window(0, elements) is None
    assert fragment.window(0, range(7, -1, -1)) is None


def test_every_other_column_of_an_accumulator() -> None:
    """Interleaved pairs: each thread has both of a pair, and keeps one of them."""
    window = wgmma_accumulator(64, 32).window(1, range(1, 32, 2))
    assert window is not None
    made, held = window
    assert (made.shape, held.tolist()) == ((64, 16), [1, 3, 5, 7, 9, 11, 13, 15])
    assert wgmma_accumulator(64, 32).window(1, range(0, 32, 4)) is None


@given(fragments(), st.data())
def test_permute_moves_axes(fragment: Fragment, data: st.DataObject) -> None:
    axes = tuple(data.draw(st.permutations(range(fragment.rank))))
    moved = fragment.permute(axes)
    assert moved.shape == tuple(fragment.shape[axis] for axis in axes)
    assert np.array_equal(moved.table(), fragment.table()[:, :, list(axes)])


def _parted(data: st.DataObject, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with other axes: factors of its sizes, put together at will."""
    factors = [f for n in shape for f in _factors(n)]
    made = [1]
    for factor in factors:
        if data.draw(st.booleans()):
            made.append(factor)
        else:
            made[-1] *= factor
    return tuple(made)


def _factors(n: int) -> list[int]:
    for f in range(2, n):
        if n % f == 0:
            return [f, *_factors(n // f)]
    return [n]


@given(fragments(), st.data())
def test_reshape_keeps_the_row_major_order(f: Fragment, data: st.DataObject) -> None:
    shape = _parted(data, f.shape)
    made = f.reshape(shape)
    before = np.ravel_multi_index(tuple(np.moveaxis(f.table(), 2, 0)), f.shape)
    if f.rank == 0:
        before = np.zeros((f.num_threads, f.num_regs), int)
    wanted = np.stack(np.unravel_index(before, shape), 2)
    if made is not None:
        assert np.array_equal(made.table(), wanted)
        back = made.reshape(f.shape)
        assert back is not None and back.same_as(f)
        return
    # No digits say where elements are: one of them goes through two axes.
    digits = [
        (m, m.axis) for m in (*f.threads, *f.regs) if m.axis is not None and m.size > 1
    ]
    strides = [math.prod(f.shape[a + 1 :]) for a in range(f.rank)]
    ends = [math.prod(shape[a:]) for a in range(len(shape))]
    assert any(
        m.step * strides[a] < end < m.step * m.size * strides[a]
        and (end % (m.step * strides[a]) or m.step * m.size * strides[a] % end)
        for m, a in digits
        for end in ends
    )


def test_axes_of_one_element_come_and_go() -> None:
    f = Fragment(
        (4, 1, 6), (Mode(2, 0, 2), Mode(3, 2, 2)), (Mode(2, 2, 1), Mode(2, 0, 1))
    )
    flat = f.reshape((1, 24, 1))
    assert flat is not None
    assert flat.table()[1, 2].tolist() == [0, 18, 0]
    with pytest.raises(ValueError, match="has not the elements"):
        f.reshape((23,))


@given(fragments(), st.integers(1, 3), st.data())
def test_joined_tiles_keep_their_registers(
    f: Fragment, count: int, data: st.DataObject
) -> None:
    if f.rank == 0:
        return
    axis = data.draw(st.integers(0, f.rank - 1))
    made, part, own = f.join(axis, count)
    assert made.num_threads == f.num_threads
    wanted = f.table()[:, own].copy()
    wanted[:, :, axis] += part * f.shape[axis]
    assert np.array_equal(made.table(), wanted)
    for number in range(count):
        window = range(number * f.shape[axis], (number + 1) * f.shape[axis])
        assert made.window(axis, window) is not None


def test_shapes_that_cut_each_other() -> None:
    assert refined((6, 4), (4, 6)) is None
    assert refined((8, 4), (2, 16)) == (2, 4, 4)
    assert refined((1, 8), (8,)) == (8,)
    assert refined((1,), (1, 1)) == ()


@given(fragments(), st.data())
def test_register_map_to_reordered_registers(f: Fragment, data: st.DataObject) -> None:
    reordered = Fragment(f.shape, f.threads, tuple(data.draw(st.permutations(f.regs))))
    mapping = f.register_map(reordered, tuple(range(f.rank)))
    assert mapping is not None
    assert sorted(mapping.tolist()) == list(range(f.num_regs))
    assert np.array_equal(reordered.table()[:, mapping], f.table())


@given(fragments(max_rank=2), fragments(max_rank=2))
def test_register_map_exists_exactly_when_enumeration_finds_one(
    target: Fragment, source: Fragment
) -> None:
    if target.shape != source.shape or target.num_threads != source.num_threads:
        return
    check_map_by_enumeration(target, source)


@given(st.permutations([Mode(2, 0, 1), Mode(2, 0, 2), Mode(2, 1, 1), Mode(2, 1, 2)]))
def test_register_map_between_deals_of_one_tile(modes: list[Mode]) -> None:
    shape = (4, 4)
    source = Fragment(
        shape, (Mode(2, 0, 1), Mode(2, 1, 2)), (Mode(2, 0, 2), Mode(2, 1, 1))
    )
    check_map_by_enumeration(Fragment(shape, (*modes[:2],), (*modes[2:],)), source)


def check_map_by_enumeration(target: Fragment, source: Fragment) -> None:
    expected: list[int] = []
    for r in range(target.num_regs):
        fitting = [
            s
            for s in range(source.num_regs)
            if np.array_equal(source.table()[:, s], target.table()[:, r])
        ]
        expected += fitting[:1]
    found = target.register_map(source, tuple(range(source.rank)))
    if len(expected) == target.num_regs:
        assert found is not None
        assert found.tolist() == expected
    else:
        assert found is None


def test_register_map_broadcasts() -> None:
    matrix = Fragment((4, 6), (Mode(4, 0, 1),), (Mode(6, 1, 1),))
    column = Fragment((4,), (Mode(4, 0, 1),), ())
    row = Fragment((6,), (Mode(4),), (Mode(6, 0, 1),))
    one = Fragment((4, 1), (Mode(4, 0, 1),), ())
    scalar = Fragment((), (Mode(4),), ())
    assert found(matrix, column, (0,)) == [0] * 6
    assert found(matrix, row, (1,)) == list(range(6))
    assert found(matrix, one, (0, None)) == [0] * 6
    assert found(matrix, one, (0, 1)) == [0] * 6
    assert found(matrix, scalar, ()) == [0] * 6
    # Each thread would need the element of another thread.
    spread = Fragment((6,), (Mode(2, 0, 3), Mode(2)), (Mode(3, 0, 1),))
    assert matrix.register_map(spread, (1,)) is None


def found(target: Fragment, source: Fragment, axes: tuple[int | None, ...]) -> object:
    mapping = target.register_map(source, axes)
    return None if mapping is None else mapping.tolist()


def test_register_map_refuses_what_does_not_correspond() -> None:
    a = Fragment((4,), (Mode(4, 0, 1),), ())
    b = Fragment((4,), (Mode(2, 0, 1),), (Mode(2, 0, 2),))
    with pytest.raises(ValueError, match="threads"):
        a.register_map(b, (0,))
    with pytest.raises(ValueError, match="source axis 0, extent 4: no axis"):
        a.register_map(a, (None,))
    with pytest.raises(ValueError, match="axes given"):
        a.register_map(a, (0, 0))


@given(fragments(), st.integers(1, 8))
def test_vector_width_is_the_widest_aligned_run(fragment: Fragment, most: int) -> None:
    for axis in range(fragment.rank):
        table = fragment.table()

        def runs(width: int, axis: int = axis, table: np.ndarray = table) -> bool:
            if table.shape[1] % width != 0:
                return False
            groups = table.reshape(table.shape[0], -1, width, table.shape[2])
            step = np.zeros((width, table.shape[2]), dtype=int)
            step[:, axis] = np.arange(width)
            first = groups[:, :, :1]
            return bool(
                np.all(groups == first + step) and np.all(first[..., axis] % width == 0)
            )

        widths = [w for w in (1, 2, 4, 8) if w <= most and runs(w)]
        assert fragment.vector_width(axis, most) == max(widths)


@pytest.mark.parametrize(
    ("shape", "threads", "regs", "message"),
    [
        ((8,), (Mode(4, 0, 1),), (), "coordinate 4 is held by no thread"),
        ((8,), (Mode(4, 0, 2),), (), "coordinate 1 is held by no thread"),
        ((6,), (Mode(4, 0, 2),), (), "coordinate 6 is outside"),
        ((4,), (Mode(4, 0, 1),), (Mode(2, 0, 1),), "coordinate 4 is outside"),
        ((5,), (Mode(4, 0, 1),), (Mode(2, 0, 1),), "coordinate 1 is held more than"),
        ((4,), (Mode(4, 1, 1),), (), "names no axis"),
        ((4,), (Mode(4, 0, 1),), (Mode(2),), "register mode must have an axis"),
        ((0,), (), (), "positive extents"),
    ],
)
def test_wrong_fragments_are_refused(
    shape: tuple[int, ...],
    threads: tuple[Mode, ...],
    regs: tuple[Mode, ...],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        Fragment(shape, threads, regs)


def test_wrong_modes_are_refused() -> None:
    for arguments in ((0, 0, 1), (2, 0, 0), (2, None, 1)):
        with pytest.raises(ValueError, match="mode"):
            Mode(*arguments)


def test_tables_are_read_only_and_cached() -> None:
    fragment = Fragment((4,), (Mode(2, 0, 1),), (Mode(2, 0, 2),))
    twin = Fragment((4,), (Mode(2, 0, 1),), (Mode(2, 0, 2),))
    assert fragment.table() is twin.table()
    with pytest.raises(ValueError, match="read-only"):
        fragment.table()[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        fragment.owner_mask()[0, 0] = False
