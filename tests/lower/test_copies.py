"""How copies travel: TMA boxes, cp.async, registers; and what cannot."""

import numpy as np
import pytest
from builder import Builder, ops

from argus.diagnostics import ArgusError
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, Expr, axis
from argus.ir.memory import BarrierAlloc, BarrierRef, GlobalView
from argus.ir.placement import TmaPlan, VectorPlan
from argus.ir.program import CLUSTER_RANK


def through(b: Builder, view: GlobalView, shape: tuple[int, ...]) -> None:
    """A tile through a ring of one slot, then to Y by registers."""
    ring = b.ring(1, x=(view.dtype, shape))
    with b.fill(ring, Const(0)) as slot:
        b.copy(slot["x"], view, ring=ring)
    t = b.lds(b.wait(ring, Const(0))["x"])
    b.release(ring, Const(0))
    ty = b.tensor("Y", " ".join("ABCDE"[: len(shape)]), view.dtype, 1)
    b.store(ty, t, *(0,) * len(shape))


def check(b: Builder, x: np.ndarray, expected: np.ndarray) -> None:
    arrays = {"X": x, "Y": np.full(expected.shape, 99, np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], expected)


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)


def box(b: Builder) -> tuple[tuple[int, ...], int, int]:
    """Box, swizzle and number of boxes of the only TMA copy."""
    (copy,) = ops(b.placed(), o.CopyAsync)
    assert isinstance(copy.plan, TmaPlan)
    return copy.plan.map.box, copy.plan.map.swizzle, len(copy.plan.boxes)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((64, 64), ((64, 64), 128, 1)),
        ((64, 128), ((64, 64), 128, 2)),
        ((512, 64), ((256, 64), 128, 2)),
        ((264, 32), ((88, 32), 64, 3)),
        ((64, 48), ((64, 16), 32, 3)),
        ((4, 128), ((4, 128), 0, 1)),
    ],
)
def test_boxes_of_a_matrix(
    shape: tuple[int, int], wanted: tuple[tuple[int, ...], int, int]
) -> None:
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    through(b, b.view(x, shape, 8, 16), shape)
    assert box(b) == wanted
    m, n = shape
    source = values(m + 16 - m % 16, n + 16 - n % 16 + 16)
    rows, columns = source.shape
    expected = np.zeros(shape, np.float32)
    part = source[8 : 8 + m, 16 : 16 + n]
    expected[: rows - 8, : columns - 16] = part
    check(b, source, expected)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_tensors_of_every_rank_with_fixed_dimensions(rank: int) -> None:
    b = Builder()
    x = b.tensor("X", " ".join("ABCDE"[:rank]), bf16)
    starts = [1] * (rank - 1) + [16] if rank > 1 else [16]
    shape = (64,) if rank == 1 else (16, 64)
    through(b, b.view(x, shape, *starts), shape)
    sizes = [3] * max(rank - 2, 0) + ([24] if rank > 1 else []) + [96]
    source = values(*sizes)
    expected = source[(1,) * (rank - len(shape))]
    for a, start in enumerate(starts[-len(shape) :]):
        expected = np.take(expected, range(start, start + shape[a]), axis=a)
    check(b, source, expected)
    assert len(box(b)[0]) == rank


def test_a_long_vector_is_cut() -> None:
    b = Builder()
    x = b.tensor("X", "N", f32)
    through(b, b.view(x, (1024,), 16), (1024,))
    assert box(b) == ((256,), 0, 4)
    source = values(1040)
    check(b, source, source[16:])


def test_a_tile_of_three_axes() -> None:
    b = Builder()
    x = b.tensor("X", "A B C", bf16)
    shape = (4, 8, 64)
    through(b, b.view(x, shape, 0, 8, 0), shape)
    source = values(4, 16, 64)
    check(b, source, source[:, 8:])


def test_a_box_with_a_row_of_each_batch() -> None:
    """The tile's rows run along an outer dimension; the one between is fixed."""
    b = Builder()
    x = b.tensor("X", "A B C", bf16)
    coords = (axis(0), Const(2), axis(1))
    view = GlobalView(x, (16, 64), (None, None), coords)
    through(b, view, (16, 64))
    source = values(16, 4, 64)
    check(b, source, source[:, 2])
    assert box(b)[0] == (16, 1, 64)


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize(("stride", "width"), [(64, 8), (66, 2), (68, 4), (65, 0)])
def test_rows_that_tma_cannot_address(target: str, stride: int, width: int) -> None:
    """What the strides allow: 16, 8 or 4 bytes by cp.async, 2 through registers."""
    b = Builder(target)
    x = b.tensor("X", "M N", bf16, fact=1 if stride % 2 else stride & -stride)
    b.program.facts["X_N"] = b.program.facts["X_s0"]
    through(b, b.view(x, (32, 32), 0, 0), (32, 32))
    if target == "sm_90a" and stride == 64:
        assert isinstance(ops(b.placed(), o.CopyAsync)[0].plan, TmaPlan)
    elif width:
        (copy,) = ops(b.placed(), o.CopyAsync)
        assert isinstance(copy.plan, VectorPlan)
        assert copy.plan.width == width
    else:
        assert not ops(b.placed(), o.CopyAsync)
    source = values(40, stride)
    check(b, source, source[:32, :32])


def test_cp_async_into_a_narrow_part_of_a_buffer() -> None:
    """Rows of 20 elements are 40 bytes apart: 16-byte copies would be misaligned."""
    b = Builder("sm_80")
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((32, 20))
    part = b.part(s, 0, (0, 0), (32, 16))
    b.copy(part, b.view(x, (32, 16), 0, 0))
    b.emit(o.CpAsyncCommit(span=b.program.span))
    b.emit(o.CpAsyncWait(0, span=b.program.span))
    b.store(y, b.lds(part), 0, 0)
    source = values(32, 32)
    arrays = {"X": source, "Y": np.zeros((32, 16), np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], source[:, :16])


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("dtype", [bf16, f32])
def test_gathered_rows(target: str, dtype: object) -> None:
    b = Builder(target)
    x = b.tensor("X", "M N", dtype)  # type: ignore[arg-type]
    rows = b.apply("mod", b.apply("mul", b.index((64,), 0), 7), 50)
    through(b, b.gather(x, rows, (64, 32)), (64, 32))
    source = values(48, 32)
    expected = np.zeros((64, 32), np.float32)
    at = np.arange(64) * 7 % 50
    expected[at < 48] = source[at[at < 48]]
    check(b, source, expected)


@pytest.mark.parametrize("n", [2, 4])
def test_multicast_splits_the_rows(n: int) -> None:
    b = Builder(cluster=n)
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "B M N", bf16)
    ring = b.ring(2, x=(bf16, (64, 64)))
    with b.role("load", 1), b.loop(x.shape[0], 64, scalars=[0]) as loop:
        (i,) = loop.counters
        with b.fill(ring, i) as slot:
            src = b.view(x, (64, 64), loop.op.var, 0)
            b.copy(slot["x"], src, ring=ring, multicast=n)
        loop.carry(scalars=[i + 1])
    with b.role("use", 4), b.loop(x.shape[0], 64, scalars=[0]) as loop:
        (i,) = loop.counters
        t = b.lds(b.wait(ring, i)["x"])
        b.release(ring, i)
        b.store(y, t, CLUSTER_RANK, loop.op.var, 0)
        loop.carry(scalars=[i + 1])
    source = values(192, 64)
    arrays = {"X": source, "Y": np.zeros((n, 192, 64), np.float32)}
    b.run(arrays, seeds=(0, 1, 2))
    np.testing.assert_array_equal(arrays["Y"], np.stack([source] * n))
    (copy,) = ops(b.placed(), o.CopyAsync)
    assert isinstance(copy.plan, TmaPlan)
    assert copy.plan.map.box == (64 // n, 64)
    assert copy.plan.bytes == 64 * 64 * 2
    empty = next(x for x in b.placed().barriers if x.role == "ring empty")
    assert empty.arrivals == 4 * n
    assert len(ops(b.placed(), o.ClusterSync)) == 2


def test_multicast_within_the_block_waits_for_the_cluster() -> None:
    """A slot may be overwritten only when the other block has read its copy, too."""
    b = Builder(cluster=2)
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "B M N", bf16)
    ring = b.ring(2, x=(bf16, (64, 64)))

    def fill(n: Expr, row: Expr) -> None:
        with b.fill(ring, n) as slot:
            b.copy(slot["x"], b.view(x, (64, 64), row, 0), ring=ring, multicast=2)

    fill(Const(0), Const(0))
    with b.loop(x.shape[0], 64, scalars=[0, 1]) as loop:
        i, ahead = loop.counters
        fill(ahead, loop.op.var + 64)
        t = b.lds(b.wait(ring, i)["x"])
        b.store(y, t, CLUSTER_RANK, loop.op.var, 0)
        b.release(ring, i)
        loop.carry(scalars=[i + 1, ahead + 1])
    (loop_op,) = ops(b.placed(), o.For)
    assert any(isinstance(op, o.ClusterSync) for op in loop_op.body.ops)
    source = values(256, 64)
    arrays = {"X": source, "Y": np.zeros((2, 256, 64), np.float32)}
    b.run(arrays, seeds=(0, 1, 2, 3))
    np.testing.assert_array_equal(arrays["Y"], np.stack([source] * 2))


def tma_store(b: Builder, *starts: int, swizzle: int | None = None) -> None:
    y = b.tensor("Y", "M N", bf16)
    s = b.shared((32, 64), swizzle=swizzle)
    b.sts(b.part(s), b.full((32, 64), 1.0, bf16))
    b.copy_out(b.view(y, (32, 64), *starts), b.part(s))


@pytest.mark.parametrize("swizzle", [None, 0, 32, 64, 128])
def test_tma_store(swizzle: int | None) -> None:
    b = Builder()
    tma_store(b, 8, 16, swizzle=swizzle)
    y = values(48, 80)
    expected = y.copy()
    expected[8:40, 16:80] = 1
    arrays = {"Y": y}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], expected)


def test_a_tma_store_needs_tma() -> None:
    b = Builder("sm_80")
    tma_store(b, 0, 0)
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0602"


def one_copy(b: Builder, view: GlobalView, **options: object) -> str:
    """Code of the error that a copy with an explicit barrier gives."""
    s = b.shared(view.shape, view.dtype)
    bar = BarrierAlloc("bar", 1, 1, b.program.span)
    b.program.barriers.append(bar)
    b.copy(b.part(s), view, barrier=BarrierRef(bar), **options)
    with pytest.raises(ArgusError) as error:
        b.placed()
    return error.value.code


def pixels(b: Builder, m: int, sides: tuple[int, int], step: int) -> GlobalView:
    """Pixels of two lines and more as rows of a tile of m x 64, ``step`` apart."""
    x = b.tensor("X", "I H W C", bf16)
    high, wide = sides
    row = axis(0)
    coords = (
        row // (high * wide) + 1,
        (row // wide % high) * step - 1,
        (row % wide) * step - 2,
        axis(1),
    )
    return GlobalView(x, (m, 64), (None, None), coords)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_pixels_of_lines_and_images_are_a_box(step: int) -> None:
    b = Builder()
    through(b, pixels(b, 32, (4, 4), step), (32, 64))
    assert box(b) == ((2, 4, 4, 64), 128, 1)
    source = values(3, 9, 7, 64)
    wide = np.pad(source, ((0, 0), (1, 9), (2, 9), (0, 0)))
    part = wide[1:3, : 4 * step : step, : 4 * step : step]
    check(b, source, part.reshape(32, 64))


def test_pixels_that_are_no_box() -> None:
    b = Builder()
    assert one_copy(b, pixels(b, 32, (4, 4), 9), via="tma") == "AG0603"
    b = Builder()
    assert one_copy(b, pixels(b, 32, (3, 4), 1), via="tma") == "AG0603"
    b = Builder()
    view = pixels(b, 32, (4, 4), 1)
    mixed = (*view.coords[:1], axis(0) % 16 // 4 + axis(0) % 4, *view.coords[2:])
    other = GlobalView(view.tensor, view.shape, view.dims, mixed)
    assert one_copy(b, other, via="tma") == "AG0603"
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    rows = GlobalView(x, (16, 64), (None, None), (axis(0), axis(1) * 2))
    assert one_copy(b, rows, via="tma") == "AG0603"


def test_a_store_writes_neighbours() -> None:
    b = Builder()
    y = b.tensor("Y", "M N", bf16)
    s = b.shared((16, 64))
    b.sts(b.part(s), b.full((16, 64), 1.0, bf16))
    b.copy_out(GlobalView(y, (16, 64), (None, None), (axis(0) * 2, axis(1))), b.part(s))
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0603"


def test_blocks_of_a_cluster_take_parts_of_what_runs_slowest() -> None:
    b = Builder(cluster=2)
    view = pixels(b, 64, (4, 4), 1)
    ring = b.ring(1, x=(bf16, (64, 64)))
    with b.fill(ring, Const(0)) as slot:
        b.copy(slot["x"], view, ring=ring, multicast=2)
    t = b.lds(b.wait(ring, Const(0))["x"])
    b.release(ring, Const(0))
    b.store(b.tensor("Y", "A B", bf16, 1), t, 0, 0)
    (copy,) = ops(b.placed(), o.CopyAsync)
    assert isinstance(copy.plan, TmaPlan)
    assert copy.plan.map.box == (2, 4, 4, 64)
    (first,) = copy.plan.boxes
    assert first.coords[0] == Const(1) + CLUSTER_RANK * 2


def test_what_tma_cannot_do() -> None:
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    strided = GlobalView(x, (64, 64), (None, None), (axis(0) * 9, axis(1)))
    assert one_copy(b, strided, via="tma") == "AG0603"
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    turned = GlobalView(x, (64, 64), (None, None), (axis(1), axis(0)))
    assert one_copy(b, turned, via="tma") == "AG0603"
    b = Builder()
    x = b.tensor("X", "M N", bf16, fact=4)
    assert one_copy(b, b.view(x, (64, 64), 0, 0), via="tma") == "AG0611"
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    rows = b.index((64,), 0)
    assert one_copy(b, b.gather(x, rows, (64, 64)), via="tma") == "AG0603"
    b = Builder(cluster=2)
    x = b.tensor("X", "M N", bf16)
    assert one_copy(b, b.view(x, (8, 64), 0, 0), multicast=2) == "AG0609"


def test_a_shared_part_that_begins_between_swizzle_periods() -> None:
    """Rows 4.. of a swizzled tile: TMA would swizzle them by their address."""
    b = Builder()
    x, y = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    part = b.part(b.shared((64, 64)), 0, (4, 0), (32, 64))
    b.copy(part, b.view(x, (32, 64), 0, 0))
    b.emit(o.CpAsyncCommit(span=b.program.span))
    b.emit(o.CpAsyncWait(0, span=b.program.span))
    b.store(y, b.lds(part), 0, 0)
    (copy,) = ops(b.placed(), o.CopyAsync)
    assert isinstance(copy.plan, VectorPlan)
    source = values(32, 64)
    arrays = {"X": source, "Y": np.zeros((32, 64), np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], source)


def test_tma_on_a_target_without_it() -> None:
    b = Builder("sm_80")
    x = b.tensor("X", "M N", bf16)
    assert one_copy(b, b.view(x, (64, 64), 0, 0), via="tma") == "AG0602"


def test_a_role_does_not_fall_back_silently() -> None:
    b = Builder()
    x = b.tensor("X", "M N", bf16, fact=2)
    ring = b.ring(2, x=(bf16, (64, 64)))
    with b.role("load", 1), b.fill(ring, Const(0)) as slot:
        b.copy(slot["x"], b.view(x, (64, 64), 0, 0), ring=ring)
    with b.role("use", 4):
        b.lds(b.wait(ring, Const(0))["x"])
        b.release(ring, Const(0))
    with pytest.raises(ArgusError) as error:
        b.placed()
    assert error.value.code == "AG0611"
    assert "cp_async" in str(error.value)


def test_launches_check_what_tma_relies_on() -> None:
    b = Builder()
    x = b.tensor("X", "M N", bf16)
    through(b, b.view(x, (64, 64), 0, 0), (64, 64))
    program = b.placed()
    assert any(a.tensor == "X" and a.bytes == 16 for a in program.alignments)
    assert any("16-byte steps" in r.why for r in program.requirements)
