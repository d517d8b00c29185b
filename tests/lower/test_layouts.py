"""Layouts of register tiles, the conversions between them, and accesses to memory."""

import numpy as np
import pytest
from builder import Builder, ops

from argus.diagnostics import ArgusError
from argus.ir import ops as o
from argus.ir.dtypes import DType, bf16, boolean, f32, i32
from argus.layout import (
    Fragment,
    blocked,
    mma_a_operand,
    mma_b_operand,
    wgmma_accumulator,
)
from argus.lower.defaults import Spread, default_layout
from argus.lower.vectors import matrix_width
from argus.lower.warps import axis_digits, in_one_warp, scannable


def values(*shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 10, shape).astype(np.float32)


# ------------------------------------------------------------------- defaults


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 6, 8, 16])
@pytest.mark.parametrize(
    "shape", [(1,), (3,), (96,), (4096,), (1, 1), (3, 5), (6, 40), (64, 64), (2, 3, 8)]
)
def test_defaults_keep_lanes_and_warps_apart(
    shape: tuple[int, ...], warps: int
) -> None:
    layout = default_layout(shape, warps, 32, 4)
    assert (layout.shape, layout.num_threads) == (shape, 32 * warps)
    for along in range(len(shape)):
        inside = default_layout(shape, warps, 32, 4, in_warp=frozenset({along}))
        assert in_one_warp(inside, along, 32) and scannable(inside, along, 32)
        digits = axis_digits(layout, along, 32)
        assert np.prod([d.size for d in digits], dtype=int) == shape[along]


@pytest.mark.parametrize("warps", [1, 3, 4])
@pytest.mark.parametrize("vector", [1, 2, 8])
@pytest.mark.parametrize("extent", [5, 48, 64])
@pytest.mark.parametrize("step", [1, 2, 3, 8])
def test_threads_keep_the_same_registers_of_what_is_selected(
    step: int, extent: int, vector: int, warps: int
) -> None:
    for first in range(0, extent, 3):
        for last in range(first + 1, extent + 1, 5):  # even and odd lengths
            elements = range(first, last, step)
            for along, shape in enumerate(((extent, 16), (16, extent))):
                spread = {along: Spread.keeping(elements, extent)}
                layout = default_layout(shape, warps, 32, vector, spread=spread)
                assert layout.window(along, elements) is not None


def test_several_selections_share_a_layout() -> None:
    halves, part = range(32, 64), range(8, 24)
    both = Spread.keeping(halves, 64).both(Spread.keeping(part, 64), 64)
    layout = default_layout((16, 64), 4, 32, 8, spread={1: both})
    assert layout.window(1, halves) is not None
    assert layout.window(1, part) is not None
    assert both.reach == 8  # no smaller than it must be


def test_a_digit_that_straddles_warps_is_across() -> None:
    three = blocked((32, 3), 96, 1)  # thread digits: 3 columns, then 32 rows
    assert [d.across for d in axis_digits(three, 1, 32)] == [True]
    assert [d.across for d in axis_digits(three, 0, 32)] == [True]


# ----------------------------------------------------------------- reductions


@pytest.mark.parametrize("warps", [1, 3, 4, 8])
@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("fn", ["sum", "max", "argmax"])
@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 96), (5, 7), (48, 24), (2, 1000), (128, 8), (8, 128), (33, 1)]
)
def test_reductions(shape: tuple[int, int], fn: str, along: int, warps: int) -> None:
    b = Builder(warps=warps)
    tx = b.tensor("X", "M N", fact=1)
    kept = shape[1 - along]
    ty = b.tensor("Y", "K", i32 if fn == "argmax" else f32, 1)
    b.store(ty, b.reduce(b.load(tx, shape, 0, 0), along, fn), 0)
    x = values(*shape)
    start = np.zeros(kept, np.int32 if fn == "argmax" else np.float32)
    arrays = {"X": x, "Y": start}
    b.run(arrays)
    expected = {"sum": np.sum, "max": np.max, "argmax": np.argmax}[fn](x, axis=along)
    np.testing.assert_array_equal(arrays["Y"], expected)
    for op in ops(b.placed(), o.Reduce):
        assert op.src.layout is not None and in_one_warp(op.src.layout, op.axis, 32)


def test_a_reduction_within_warps_needs_no_memory() -> None:
    b = Builder(warps=4)
    tx, ty = b.tensor("X", "M N"), b.tensor("Y", "M")
    b.store(ty, b.reduce(b.load(tx, (4, 1024), 0, 0), 1), 0)
    b2 = Builder(warps=1)
    tx2, ty2 = b2.tensor("X", "M N"), b2.tensor("Y", "M")
    b2.store(ty2, b2.reduce(b2.load(tx2, (4, 1024), 0, 0), 1), 0)
    assert not b2.placed().shared
    (scratch,) = b.placed().shared
    # One number for each row and warp crosses.
    assert scratch.scratch and np.prod(scratch.shape) == 16


@pytest.mark.parametrize("fact", [1, 16])
@pytest.mark.parametrize("shape", [(1, 4096), (2, 8192), (4, 2048)])
def test_a_thread_reduces_what_it_has_before_it_shuffles(
    shape: tuple[int, int], fact: int
) -> None:
    """One chain of shuffles for each row, however a row is spread over registers."""
    b = Builder(warps=8)
    tx, ty = b.tensor("X", "M N", fact=fact), b.tensor("Y", "M", fact=1)
    b.store(ty, b.reduce(b.load(tx, shape, 0, 0), 1), 0)
    shuffled = [
        op
        for op in ops(b.placed(), o.Reduce)
        if op.src.layout is not None
        and not all(d.register for d in axis_digits(op.src.layout, op.axis, 32))
    ]
    assert shuffled
    for op in shuffled:
        assert op.result.layout is not None
        assert op.result.layout.num_regs == op.result.layout.shape[0]


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("shape", [(1, 64), (64, 1), (16, 96), (40, 6)])
def test_prefix_sums(shape: tuple[int, int], along: int, warps: int) -> None:
    b = Builder(warps=warps)
    tx, ty = b.tensor("X", "M N", fact=1), b.tensor("Y", "M N", fact=1)
    b.store(ty, b.scan(b.load(tx, shape, 0, 0), along), 0, 0)
    x = values(*shape)
    arrays = {"X": x, "Y": np.zeros_like(x)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], np.cumsum(x, axis=along))


def test_a_prefix_sum_along_both_axes() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N"), b.tensor("Y", "M N")
    b.store(ty, b.scan(b.scan(b.load(tx, (64, 64), 0, 0), 0), 1), 0, 0)
    x = values(64, 64)
    arrays = {"X": x, "Y": np.zeros_like(x)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], x.cumsum(0).cumsum(1))


def test_a_prefix_sum_of_an_accumulator() -> None:
    """The accumulator's layout is nothing that shuffles can sum along: converted."""
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N")
    s = b.shared((64, 64))
    b.sts(b.part(s), b.load(tx, (64, 64), 0, 0))
    b.store(ty, b.scan(b.dot(b.part(s), b.part(s)), 0), 0, 0)
    x = np.clip(values(64, 64), -2, 2)
    arrays = {"X": x, "Y": np.zeros_like(x)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], np.cumsum(x @ x, axis=0))


# ------------------------------------------------------------------ inference


def test_slices_follow_their_tile() -> None:
    """Softmax over rows: nothing is converted, the vectors are slices."""
    b = Builder(warps=4)
    tx, ty = b.tensor("X", "M N"), b.tensor("Y", "M N")
    x = b.load(tx, (32, 128), 0, 0)
    top = b.broadcast(b.reduce(x, 1, "max"), (32, 128), (0,))
    b.store(ty, b.apply("sub", x, top), 0, 0)
    assert not ops(b.placed(), o.Convert)
    assert not b.placed().shared
    value = values(32, 128)
    arrays = {"X": value, "Y": np.zeros_like(value)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], value - value.max(1, keepdims=True))


def test_a_transposed_tile_is_a_renaming() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N"), b.tensor("Y", "M N")
    b.store(ty, b.transpose(b.load(tx, (32, 64), 0, 0)), 0, 0)
    assert not ops(b.placed(), o.Convert)
    x = values(32, 64)
    arrays = {"X": x, "Y": np.zeros((64, 32), np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], x.T)


def test_a_tile_plus_its_transpose_goes_through_memory() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N"), b.tensor("Y", "M N")
    x = b.load(tx, (64, 64), 0, 0)
    b.store(ty, b.apply("add", x, b.transpose(x)), 0, 0)
    assert [s.scratch for s in b.placed().shared] == [True]
    value = values(64, 64)
    arrays = {"X": value, "Y": np.zeros_like(value)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], value + value.T)


def test_two_broadcasts_of_one_vector() -> None:
    """Rows and columns of it: one slice at most can be where the load left it."""
    b = Builder()
    tx, ty = b.tensor("X", "N"), b.tensor("Y", "M N")
    x = b.load(tx, (64,), 0)
    rows, columns = (b.broadcast(x, (64, 64), (i,)) for i in (0, 1))
    b.store(ty, b.apply("sub", rows, columns), 0, 0)
    value = values(64)
    arrays = {"X": value, "Y": np.zeros((64, 64), np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], value[:, None] - value[None])


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_gather_and_scatter(target: str) -> None:
    b = Builder(target)
    tx, ti = b.tensor("X", "M N", bf16), b.tensor("I", "P", i32)
    ty = b.tensor("Y", "M N", bf16)
    rows = b.load(ti, (64,), 0)
    x = b.load_view(b.gather(tx, rows, (64, 32)))
    b.store_view(b.gather(ty, rows, (64, 32)), b.apply("add", x, 1.0))
    at = np.random.default_rng(0).permutation(64).astype(np.int32)
    value = values(64, 32)
    arrays = {"X": value, "I": at, "Y": np.zeros_like(value)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], value + 1)


def test_only_bool_tiles_in_a_class() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "N", boolean), b.tensor("Y", "N", boolean)
    b.store(ty, b.load(tx, (256,), 0), 0)
    x = np.arange(256) % 3 == 0
    arrays = {"X": x, "Y": np.zeros(256, np.bool_)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], x)


def test_masks() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "N"), b.tensor("Y", "N")
    even = b.apply("eq", b.apply("mod", b.index((256,), 0), 2), 0)
    b.store(ty, b.load(tx, (256,), 0, mask=even, fill=7), 0, mask=b.apply("not", even))
    arrays = {"X": values(256), "Y": np.full(256, 99, np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], np.where(np.arange(256) % 2, 7, 99))


@pytest.mark.parametrize("layout", [blocked((64, 32), 128, 1, (0, 1)), None])
def test_the_authors_layout_is_honoured(layout: Fragment | None) -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N"), b.tensor("Y", "M N")
    x = b.load(tx, (64, 32), 0, 0, required=layout)
    b.store(ty, b.apply("mul", x, 2.0), 0, 0)
    b.placed()
    assert x.layout is not None
    if layout is not None:
        assert x.layout.same_as(layout)
    value = values(64, 32)
    arrays = {"X": value, "Y": np.zeros_like(value)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], 2 * value)


def sliced(
    b: Builder, source: o.Tile, elements: range, *others: range
) -> dict[str, np.ndarray]:
    """Stores a slice of rows of 64, and others; runs that."""
    arrays: dict[str, np.ndarray] = {}
    for i, kept in enumerate((elements, *others)):
        out = b.tensor(f"Y{i}", f"M K{i}", source.dtype, fact=1)
        part = b.tile(source.dtype, (source.shape[0], len(kept)))
        where = b.program.span
        if kept.step == 1:
            b.emit(o.Slice(part, source, 1, kept.start, span=where))
        else:
            step = kept.step
            b.emit(o.StridedSlice(part, source, 1, kept.start, step, span=where))
        b.store(out, part, 0, 0)
        arrays[f"Y{i}"] = np.zeros(part.shape, np.float32)
    return arrays


@pytest.mark.parametrize(
    ("elements", "warps", "converted"),
    [
        (range(32, 64), 1, False), (range(32, 64), 4, False),
        (range(4, 8), 1, False), (range(1, 64), 1, False),
        (range(4, 8), 4, True), (range(1, 64), 4, True),
        (range(1, 64, 2), 4, False), (range(3, 64, 16), 4, True),
        (range(0, 64, 5), 4, True),
    ],
)  # fmt: skip
def test_a_load_is_laid_out_for_its_slices(
    elements: range, warps: int, converted: bool
) -> None:
    """Threads hold what all slices take whole, unless 64 rows are too few for them."""
    b = Builder(warps=warps)
    x = b.load(b.tensor("X", "M N"), (64, 64), 0, 0)
    arrays = sliced(b, x, elements, range(8, 16))
    given = values(64, 64)
    b.run({"X": given, **arrays})
    np.testing.assert_array_equal(arrays["Y0"], given[:, elements])
    np.testing.assert_array_equal(arrays["Y1"], given[:, 8:16])
    assert bool(ops(b.placed(), o.LoadShared)) == converted


@pytest.mark.parametrize(
    "elements",
    [range(2, 6), range(8, 16), range(63, 64), range(1, 64, 2), range(2, 64, 16)],
)
@pytest.mark.parametrize(
    "required", [blocked((64, 64), 128, 8), wgmma_accumulator(64, 64)]
)
def test_a_slice_of_a_given_layout_is_converted(
    required: Fragment, elements: range
) -> None:
    """Where the layout lets threads keep other registers, the data moves first."""
    b = Builder()
    x = b.load(b.tensor("X", "M N"), (64, 64), 0, 0, required=required)
    arrays = sliced(b, x, elements)
    given = values(64, 64)
    b.run({"X": given, **arrays})
    np.testing.assert_array_equal(arrays["Y0"], given[:, elements])
    moved = bool(ops(b.placed(), o.LoadShared))
    assert moved == (required.window(1, elements) is None)


def code(b: Builder) -> str:
    with pytest.raises(ArgusError) as error:
        b.placed()
    return error.value.code


def test_a_layout_for_another_tile_or_group() -> None:
    for layout in (blocked((32, 32), 128), blocked((64, 32), 64)):
        b = Builder()
        tx = b.tensor("X", "M N")
        b.load(tx, (64, 32), 0, 0, required=layout)
        assert code(b) == "AG0607"


def test_two_layouts_for_one_class() -> None:
    b = Builder()
    tx = b.tensor("X", "M N")
    first = b.load(tx, (64, 32), 0, 0, required=blocked((64, 32), 128))
    second = b.load(tx, (64, 32), 0, 0, required=blocked((64, 32), 128, 1, (0, 1)))
    b.apply("add", first, second)
    assert code(b) == "AG0607"


def reinterpreted(result: Fragment) -> Builder:
    b = Builder()
    tx, ty = b.tensor("X", "M N"), b.tensor("Y", "M N")
    x = b.load(tx, (64, 32), 0, 0, required=wgmma_accumulator(64, 32))
    t = b.tile(f32, result.shape, result)
    b.emit(o.Reinterpret(t, x, span=b.program.span))
    b.store(ty, t, 0, 0)
    return b


def test_registers_under_another_name() -> None:
    turned = wgmma_accumulator(64, 32).permute((1, 0))
    b = reinterpreted(turned)
    x = values(64, 32)
    arrays = {"X": x, "Y": np.zeros((32, 64), np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], x.T)


def test_more_registers_than_there_are() -> None:
    assert code(reinterpreted(blocked((64, 64), 128))) == "AG0213"


# ------------------------------------------------------------------- accesses


@pytest.mark.parametrize(
    ("dtype", "fact", "width"),
    [
        (f32, 16, 4),
        (bf16, 16, 8),
        (bf16, 4, 4),
        (bf16, 2, 2),
        (bf16, 1, 1),
        (i32, 2, 2),
    ],
)
def test_vector_widths_follow_the_facts(dtype: DType, fact: int, width: int) -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", dtype, fact), b.tensor("Y", "M N", dtype, fact)
    b.store(ty, b.load(tx, (16, 128), 0, 0), 0, 0)
    for op in (*ops(b.placed(), o.LoadGlobal), *ops(b.placed(), o.StoreGlobal)):
        assert op.plan is not None
        assert (op.plan.width, op.plan.unique) == (width, False)
    needed = width * dtype.bytes
    aligned = {a.bytes for a in b.program.alignments if a.tensor == "X"}
    assert aligned == ({needed} if width > 1 else set())


def test_a_start_that_is_not_aligned() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "N"), b.tensor("Y", "N")
    b.store(ty, b.load(tx, (512,), 2), 0)
    (load,) = ops(b.placed(), o.LoadGlobal)
    assert load.plan is not None and load.plan.width == 2
    x = values(512)
    arrays = {"X": x, "Y": np.zeros(512, np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], np.append(x[2:], [0, 0]))


def test_copies_of_an_element_are_stored_once() -> None:
    b = Builder()
    ty = b.tensor("Y", "N")
    b.store(ty, b.full((32,), 1.0), 0, atomic="add")
    (store,) = ops(b.placed(), o.StoreGlobal)
    assert store.plan is not None and store.plan.unique
    arrays = {"Y": np.zeros(32, np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], np.ones(32))


def test_matrix_fragments() -> None:
    a = mma_a_operand(32, 32)
    assert matrix_width(a, 1, False) == 8 and matrix_width(a, 1, True) == 0
    assert matrix_width(a, 0, True) == 8 and matrix_width(a, 0, False) == 0
    # Four lanes hold eight neighbours in any layout with vectors of two.
    assert matrix_width(blocked((32, 32), 32, 2), 1, False) == 8
    assert matrix_width(blocked((32, 32), 32, 4), 1, False) == 0
    assert matrix_width(wgmma_accumulator(64, 8), 1, False) == 4


@pytest.mark.parametrize("turned", [False, True])
def test_stmatrix_and_back(turned: bool) -> None:
    """A fragment to shared memory and back by matrices, also transposed."""
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    layout = wgmma_accumulator(64, 64)
    x = b.load(tx, (64, 64), 0, 0, required=layout)
    s = b.shared((64, 64))
    where = b.part(s).transposed if turned else b.part(s)
    b.sts(where, x)
    back = b.tile(bf16, (64, 64), layout)
    b.emit(o.LoadShared(back, where, span=b.program.span))
    b.store(ty, back, 0, 0)
    (store,), (load,) = ops(b.placed(), o.StoreShared), ops(b.placed(), o.LoadShared)
    assert store.plan is not None and load.plan is not None
    trans = ".trans" if turned else ""
    assert store.plan.instruction == "stmatrix" + trans
    assert load.plan.instruction == "ldmatrix" + trans
    value = values(64, 64)
    arrays = {"X": value, "Y": np.zeros_like(value)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], value)


@pytest.mark.parametrize("columns", [8, 20, 24, 40, 64])
@pytest.mark.parametrize("origin", [0, 4, 8])
def test_shared_accesses_are_aligned(columns: int, origin: int) -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16, 4), b.tensor("Y", "M N", bf16, 4)
    part = b.part(b.shared((16, columns + 16)), 0, (0, origin), (16, columns))
    b.sts(part, b.load(tx, (16, columns), 0, 0))
    b.store(ty, b.lds(part), 0, 0)
    x = values(16, columns)
    arrays = {"X": x, "Y": np.zeros_like(x)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], x)


def test_accesses_of_matrices_have_one_shape() -> None:
    """Three steps of a depth of 16: eight registers would end inside the second one."""
    b = mma_b_operand(64, 48)
    assert matrix_width(b, 1, False) == 4
    assert matrix_width(mma_b_operand(64, 32), 1, False) == 8
