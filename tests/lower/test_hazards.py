"""Syncs, fences and store waits: where one is needed, and only there."""

from collections.abc import Callable

import numpy as np
import pytest
from builder import Builder, ops

from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, binary
from argus.ir.program import GRID_SIZE


def names(block: o.Block) -> list[str]:
    return [
        f"{type(x).__name__} {x.pending}"
        if isinstance(x, o.CopyOutWait)
        else type(x).__name__
        for x in block.ops
    ]


def square(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, (64, 64)).astype(np.float32)


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_a_read_after_a_write_and_a_write_after_a_read(target: str) -> None:
    b = Builder(target)
    tx, ty, tz = (b.tensor(x, "M N", bf16) for x in "XYZ")
    s = b.shared((64, 64))
    b.sts(b.part(s), b.load(tx, (64, 64), 0, 0))
    first = b.lds(b.part(s))
    b.sts(b.part(s), b.load(ty, (64, 64), 0, 0))
    second = b.transpose(b.lds(b.part(s)))
    b.store(tz, b.apply("add", first, b.transpose(second)), 0, 0)
    arrays = {"X": square(0), "Y": square(1), "Z": square(2)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Z"], arrays["X"] + arrays["Y"])
    notes = [x.note or "" for x in ops(b.placed(), o.Sync)]
    assert ["read next" in n for n in notes[:1]] == [True]
    assert "overwritten next" in notes[1]
    assert not ops(b.placed(), o.Fence)


def test_two_reads_need_one_sync() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    b.sts(b.part(s), b.load(tx, (64, 64), 0, 0))
    b.store(ty, b.apply("add", b.lds(b.part(s)), b.lds(b.part(s))), 0, 0)
    assert len(ops(b.placed(), o.Sync)) == 1


def test_an_authors_sync_counts() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    b.sts(b.part(s), b.load(tx, (64, 64), 0, 0))
    b.emit(o.Sync(128, span=b.program.span))
    b.copy_out(b.view(ty, (64, 64), 0, 0), b.part(s))
    assert len(ops(b.placed(), o.Sync)) == 1
    # The fence that the author left out goes before the author's sync.
    assert names(b.body).index("Fence") < names(b.body).index("Sync")
    b.run({"X": square(), "Y": square()})


def test_parts_of_a_buffer_are_told_apart() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    halves = [b.part(s, 0, (0, c), (64, 32)) for c in (0, 32)]
    for c, half in zip((0, 32), halves, strict=True):
        b.sts(half, b.load(tx, (64, 32), 0, c))
    b.store(ty, b.lds(b.part(s)), 0, 0)
    assert len(ops(b.placed(), o.Sync)) == 1
    arrays = {"X": square(), "Y": square(1)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], arrays["X"])


def test_a_write_after_a_write_under_another_layout() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    x = b.load(tx, (64, 64), 0, 0)
    b.sts(b.part(s), x)
    b.sts(b.part(s), b.apply("add", b.transpose(x), 1.0))
    b.store(ty, b.lds(b.part(s)), 0, 0)
    assert len(ops(b.placed(), o.Sync)) == 2
    arrays = {"X": square(), "Y": square(1)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], arrays["X"].T + 1)


@pytest.mark.parametrize("roles", [False, True])
def test_a_tma_store_is_fenced_and_waited_for(roles: bool) -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))

    def body() -> None:
        with b.loop(2, 1) as loop:
            row = loop.op.var * 64
            b.sts(b.part(s), b.load(tx, (64, 64), row, 0))
            b.copy_out(b.view(ty, (64, 64), row, 0), b.part(s))

    if roles:
        with b.role("idle", 1):
            pass
        with b.role("math", 4):
            body()
    else:
        body()
    (loop,) = ops(b.placed(), o.For)
    assert names(loop.body) == [
        "LoadGlobal", "CopyOutWait 0", "Sync", "StoreShared", "Fence", "Sync",
        "CopyOut", "CopyOutCommit",
    ]  # fmt: skip
    barrier = {x.barrier for x in ops(b.placed(), o.Sync)}
    assert barrier == ({1} if roles else {0})
    x = np.concatenate([square(0), square(1)])[:100]
    arrays = {"X": x, "Y": np.zeros_like(x)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], x)
    # Its shared memory must outlive the last store.
    ends = ops(b.placed(), o.CopyOutWait)
    assert "outlive" in (ends[-1].note or "")


@pytest.mark.parametrize("unrolled", [False, True])
def test_double_buffered_staging_leaves_a_store_in_flight(unrolled: bool) -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    stages = [b.shared((64, 64)), b.shared((64, 64))]

    def step(row: object, j: int) -> None:
        b.sts(b.part(stages[j]), b.load(tx, (64, 64), row, 0))  # type: ignore[arg-type]
        b.copy_out(b.view(ty, (64, 64), row, 0), b.part(stages[j]))  # type: ignore[arg-type]

    if unrolled:
        for j in range(4):
            step(64 * j, j % 2)
    else:
        with b.loop(2) as loop:
            for j in range(2):
                step(loop.op.var * 128 + 64 * j, j)
    waits = [w.pending for w in ops(b.placed(), o.CopyOutWait)]
    assert waits == [1, 1, 0]
    x = np.random.default_rng(0).integers(-9, 9, (256, 64)).astype(np.float32)
    arrays = {"X": x, "Y": np.zeros_like(x)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], x)


def test_an_authors_store_wait_is_enough() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    stages = [b.shared((64, 64)), b.shared((64, 64))]
    with b.loop(2) as loop:
        for j in range(2):
            row = loop.op.var * 128 + 64 * j
            b.emit(o.CopyOutWait(1, span=b.program.span))
            b.sts(b.part(stages[j]), b.load(tx, (64, 64), row, 0))
            b.copy_out(b.view(ty, (64, 64), row, 0), b.part(stages[j]))
    assert [w.pending for w in ops(b.placed(), o.CopyOutWait)] == [1, 1, 0]
    x = np.random.default_rng(0).integers(-9, 9, (256, 64)).astype(np.float32)
    b.run({"X": x, "Y": np.zeros_like(x)})


def test_many_stores_between_two_of_one_buffer() -> None:
    """A store further back than the analysis counts is still waited for."""
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    once, often = b.shared((64, 64)), b.shared((64, 64))
    b.sts(b.part(often), b.load(tx, (64, 64), 0, 0))
    b.sts(b.part(once), b.load(tx, (64, 64), 0, 0))
    b.copy_out(b.view(ty, (64, 64), 64, 0), b.part(once))
    with b.loop(12) as loop:
        b.copy_out(b.view(ty, (64, 64), loop.op.var * 64 + 128, 0), b.part(often))
    b.sts(b.part(once), b.load(tx, (64, 64), 64, 0))
    b.copy_out(b.view(ty, (64, 64), 0, 0), b.part(once))
    x = np.random.default_rng(0).integers(-9, 9, (128, 64)).astype(np.float32)
    arrays = {"X": x, "Y": np.zeros((64 * 14, 64), np.float32)}
    b.run(arrays, seeds=(0, 1, 2, 3))
    expected = [x[64:], *[x[:64]] * 13]
    np.testing.assert_array_equal(arrays["Y"], np.concatenate(expected))


def test_a_product_reads_what_registers_wrote() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N")
    s = b.shared((64, 64))
    acc = b.full((64, 64))
    with b.loop(3, tiles=[acc]) as loop:
        b.sts(b.part(s), b.load(tx, (64, 64), loop.op.var * 64, 0))
        loop.carry(b.dot(b.part(s), b.part(s), loop.args[0]))
    b.store(ty, loop.results[0], 0, 0)
    (loop_op,) = ops(b.placed(), o.For)
    assert names(loop_op.body) == [
        "LoadGlobal", "WgmmaWait", "Sync", "StoreShared", "Fence", "Sync", "Dot",
        "WgmmaCommit",
    ]  # fmt: skip
    x = np.random.default_rng(0).integers(-3, 3, (192, 64)).astype(np.float32)
    arrays = {"X": x, "Y": square()}
    b.run(arrays)
    parts = x.reshape(3, 64, 64)
    np.testing.assert_array_equal(arrays["Y"], (parts @ parts).sum(0))


@pytest.mark.parametrize("taken", [False, True])
def test_a_write_under_a_branch_is_seen_after_it(taken: bool) -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    x = b.load(tx, (64, 64), 0, 0)
    b.sts(b.part(s), x)

    def write() -> list[o.Tile]:
        b.sts(b.part(s), b.apply("add", x, 1.0))
        return []

    b.branch(binary("==", GRID_SIZE, 1 if taken else 2), write, list)
    b.store(ty, b.transpose(b.lds(b.part(s))), 0, 0)
    arrays = {"X": square(), "Y": square(1)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], (arrays["X"] + taken).T)


@pytest.mark.parametrize("depth", [1, 2])
def test_hazards_across_the_back_edge(depth: int) -> None:
    """The read at the end of one iteration, the write at the start of the next."""
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N")
    s = b.shared((64, 64))
    total = b.full((64, 64))

    def body(sum_: o.Tile, row: object) -> o.Tile:
        b.sts(b.part(s), b.load(tx, (64, 64), row, 0))  # type: ignore[arg-type]
        read = b.cast(b.transpose(b.lds(b.part(s))), f32)
        return b.apply("add", sum_, read)

    with b.loop(2, tiles=[total]) as outer:
        if depth == 1:
            outer.carry(body(outer.args[0], outer.op.var * 64))
        else:
            with b.loop(2, tiles=[outer.args[0]]) as inner:
                row = outer.op.var * 128 + inner.op.var * 64
                inner.carry(body(inner.args[0], row))
            outer.carry(inner.results[0])
    b.store(ty, outer.results[0], 0, 0)
    count = 2**depth
    assert len(ops(b.placed(), o.Sync)) == 2
    x = np.random.default_rng(0).integers(-3, 3, (64 * count, 64)).astype(np.float32)
    arrays = {"X": x, "Y": square()}
    b.run(arrays, seeds=(0, 1, 2))
    expected = x.reshape(count, 64, 64).sum(0).T
    np.testing.assert_array_equal(arrays["Y"], expected)


@pytest.mark.parametrize("by", ["loads", "tma", "wgmma"])
def test_roles_see_what_common_code_wrote(by: str) -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    b.program.warps = 8
    b.sts(b.part(s), b.load(tx, (64, 64), 0, 0))
    reads: dict[str, Callable[[], None]] = {
        "loads": lambda: b.store(ty, b.lds(b.part(s)), 0, 0),
        "tma": lambda: b.copy_out(b.view(ty, (64, 64), 0, 0), b.part(s)),
        "wgmma": lambda: b.store(ty, b.cast(b.dot(b.part(s), b.part(s)), bf16), 0, 0),
    }
    with b.role("one", 4):
        reads[by]()
    with b.role("two", 4):
        pass
    arrays = {"X": np.minimum(square(), 2), "Y": square(1)}
    b.run(arrays)
    x = arrays["X"]
    product = (x @ x).astype(np.float32)
    if by != "wgmma":
        np.testing.assert_array_equal(arrays["Y"], x)
    else:
        np.testing.assert_allclose(arrays["Y"], product, rtol=1e-2)
    kinds = names(b.placed().body)
    assert kinds[-2:] == ["Sync", "Roles"]
    assert ("Fence" in kinds) == (by != "loads")


def test_scratch_in_a_role_and_in_common_code() -> None:
    """Reductions across warps sync the block outside roles, and the role inside."""
    b = Builder()
    b.program.warps = 8
    tx, ty, tz = (b.tensor(x, "N", fact=8) for x in "XYZ")

    def summed() -> o.Tile:
        x = b.load(tx, (1024,), 0)
        return b.broadcast(b.reduce(b.broadcast(x, (1, 1024), (1,)), 1), (1, 8), (0,))

    common = b.reduce(summed(), 0)
    b.store(ty, common, 0)
    with b.role("one", 4):
        b.store(tz, b.reduce(summed(), 0), 0)
    with b.role("two", 4):
        pass
    numbers = {x.barrier for x in ops(b.placed(), o.Sync)}
    assert numbers == {0, 1}
    x = np.arange(1024, dtype=np.float32) % 7
    arrays = {"X": x, "Y": np.zeros(8, np.float32), "Z": np.zeros(8, np.float32)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], np.full(8, x.sum()))
    np.testing.assert_array_equal(arrays["Z"], np.full(8, x.sum()))


def test_explicit_cp_async_is_synced() -> None:
    b = Builder("sm_80")
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    b.copy(b.part(s), b.view(tx, (64, 64), 0, 0))
    b.emit(o.CpAsyncCommit(span=b.program.span))
    b.emit(o.CpAsyncWait(0, span=b.program.span))
    b.store(ty, b.lds(b.part(s)), 0, 0)
    assert len(ops(b.placed(), o.Sync)) == 1
    arrays = {"X": square(), "Y": square(1)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], arrays["X"])


def test_stores_that_nobody_committed_are() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64))
    b.sts(b.part(s), b.load(tx, (64, 64), 0, 0))
    b.emit(o.CopyOut(b.view(ty, (64, 64), 0, 0), b.part(s), span=b.program.span))
    b.program.outputs.append("Y")
    assert names(b.placed().body)[-3:] == ["CopyOut", "CopyOutCommit", "CopyOutWait 0"]
    arrays = {"X": square(), "Y": square(1)}
    b.run(arrays)
    np.testing.assert_array_equal(arrays["Y"], arrays["X"])


def test_stage_constants_are_told_apart() -> None:
    b = Builder()
    tx, ty = b.tensor("X", "M N", bf16), b.tensor("Y", "M N", bf16)
    s = b.shared((64, 64), stages=2)
    b.sts(b.part(s, 0), b.load(tx, (64, 64), 0, 0))
    first = b.lds(b.part(s, Const(0)))
    b.sts(b.part(s, 1), first)
    b.store(ty, b.lds(b.part(s, 1)), 0, 0)
    assert len(ops(b.placed(), o.Sync)) == 2
    b.run({"X": square(), "Y": square(1)})
