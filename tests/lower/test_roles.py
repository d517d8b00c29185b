"""Warps and registers of roles, shared-memory layouts and budgets."""

from itertools import pairwise

import pytest
from builder import Builder, ops

from argus.diagnostics import ArgusError
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const
from argus.lower.buffers import lay_out_buffers
from argus.verify.order import obligations
from argus.verify.verdict import Verdict


def code(b: Builder) -> str:
    with pytest.raises(ArgusError) as error:
        b.placed()
    return error.value.code


def roles(*sizes: tuple[int, int | None]) -> Builder:
    b = Builder()
    for i, (warps, registers) in enumerate(sizes):
        with b.role(f"r{i}", warps, registers):
            b.full((32,))
    return b


@pytest.mark.parametrize(
    ("sizes", "firsts", "warps"),
    [
        ([(1, 40), (8, 232)], [0, 4], 12),
        ([(1, None), (8, None)], [0, 4], 12),
        ([(1, None), (2, None), (4, None)], [0, 1, 4], 8),
        ([(4, None), (1, None), (1, None)], [0, 4, 5], 6),
        ([(1, 24), (1, None), (4, 240)], [0, 4, 8], 12),
    ],
)
def test_warpgroups_begin_at_multiples_of_four(
    sizes: list[tuple[int, int | None]], firsts: list[int], warps: int
) -> None:
    b = roles(*sizes)
    (op,) = ops(b.placed(), o.Roles)
    assert [r.first_warp for r in op.roles] == firsts
    assert b.program.warps == warps


def test_budgets_grow_or_shrink_from_the_entry() -> None:
    b = roles((1, 40), (8, 232))
    sets = ops(b.placed(), o.SetMaxRegisters)
    # 65536 / 384 threads = 170, 168 in steps of eight.
    assert [(s.count, s.grow) for s in sets] == [(40, False), (232, True)]


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ([(1, 20), (4, 240)], "AG0503"),
        ([(1, 44), (4, 240)], "AG0503"),
        ([(4, 264)], "AG0503"),
        ([(4, 240), (8, 240), (4, 240)], "AG0503"),
        # 65536 registers in all, of which a block of 384 threads gets 64512.
        ([(4, 80), (8, 216)], "AG0503"),
        ([(1, None), (4, 176), (4, 168)], "AG0503"),
        # Nine warps are dealt out like twelve.
        ([(4, 104), (4, 240), (1, None)], "AG0503"),
        ([(0, None), (4, None)], "AG0505"),
        ([(16, None), (20, None)], "AG0504"),
    ],
)
def test_impossible_roles(sizes: list[tuple[int, int | None]], wanted: str) -> None:
    assert code(roles(*sizes)) == wanted


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        ([(4, 72), (8, 216)], [72, 216]),
        ([(1, None), (4, 168), (4, 168)], []),
        ([(1, None), (4, 176), (4, 160)], [176, 160]),
        ([(4, 96), (4, 240), (1, None)], [96, 240]),
        ([(4, 256), (4, 248)], [248]),
        ([(4, 24), (4, 152), (4, 208), (4, 128)], [24, 152, 208]),
    ],
)
def test_budgets_share_out_what_the_block_is_launched_with(
    sizes: list[tuple[int, int | None]], counts: list[int]
) -> None:
    """What a role has already needs no instruction. The verifier agrees."""
    program = roles(*sizes).placed()
    assert [s.count for s in ops(program, o.SetMaxRegisters)] == counts
    assert all(x.verdict is Verdict.PROVED for x in obligations(program))


def test_the_budgets_that_fit_are_named() -> None:
    with pytest.raises(ArgusError) as error:
        roles((4, 80), (8, 216)).placed()
    (found,) = error.value.diagnostics
    assert found.help is not None
    assert "`registers=72` for `r0`, or `registers=208` for `r1`" in found.help
    roles((4, 72), (8, 216)).placed()
    roles((4, 80), (8, 208)).placed()


def test_more_resident_blocks_than_threads() -> None:
    b = Builder(warps=32)
    b.program.min_blocks = 3
    assert code(b) == "AG0510"


def test_setmaxnreg_needs_hopper() -> None:
    b = Builder("sm_80")
    with b.role("math", 4, 128):
        pass
    assert code(b) == "AG0602"


def test_too_many_warps_without_roles() -> None:
    assert code(Builder(warps=33)) == "AG0504"


@pytest.mark.parametrize(
    ("shape", "dtype", "swizzle"),
    [
        ((64, 64), bf16, 128), ((64, 128), bf16, 128), ((64, 32), bf16, 64),
        ((64, 16), bf16, 32), ((64, 8), bf16, 0), ((64, 24), bf16, 0),
        ((4, 64), bf16, 0), ((2, 4, 64), bf16, 128), ((64,), bf16, 0),
        ((64, 32), f32, 128), ((64, 48), bf16, 32),
    ],
)  # fmt: skip
def test_the_widest_swizzle_of_the_rows(
    shape: tuple[int, ...], dtype: object, swizzle: int
) -> None:
    b = Builder()
    s = b.shared(shape, dtype)  # type: ignore[arg-type]
    lay_out_buffers(b.program)
    assert s.layout is not None and s.layout.swizzle == swizzle
    assert s.alignment >= max(8 * swizzle, 128)


def test_an_authors_swizzle() -> None:
    b = Builder()
    s = b.shared((64, 64), swizzle=32)
    lay_out_buffers(b.program)
    assert s.layout is not None and s.layout.swizzle == 32
    b = Builder()
    b.shared((64, 48), swizzle=128)
    assert code(b) == "AG0606"


def test_offsets_do_not_overlap_and_stages_are_aligned() -> None:
    b = Builder()
    made = [b.shared((3, 5)), b.shared((64, 64), stages=3), b.shared((7,), f32)]
    program = b.placed()
    ends: list[tuple[int, int]] = []
    for s in made:
        assert s.offset is not None
        assert s.offset % s.alignment == 0 and s.stage_bytes % s.alignment == 0
        ends.append((s.offset, s.offset + s.stages * s.stage_bytes))
    ends.sort()
    assert all(a[1] <= c[0] for a, c in pairwise(ends))
    assert program.shared_bytes >= ends[-1][1]


def test_more_shared_memory_than_there_is() -> None:
    b = Builder()
    b.shared((128, 128), stages=8)
    assert code(b) == "AG0501"
    b = Builder("sm_80")
    b.shared((128, 128), stages=6)
    assert code(b) == "AG0501"


def test_more_named_barriers_than_there_are() -> None:
    b = Builder()
    for i in range(16):
        b.emit(o.Sync(128, name=f"n{i}", span=b.program.span))
    assert code(b) == "AG0507"


def test_the_same_name_is_the_same_barrier() -> None:
    b = Builder()
    with b.role("one", 4):
        b.emit(o.Sync(256, name="turn", arrive_only=True, span=b.program.span))
    with b.role("two", 4):
        b.emit(o.Sync(256, name="turn", span=b.program.span))
        b.emit(o.Sync(128, span=b.program.span))
    numbers = [s.barrier for s in ops(b.placed(), o.Sync)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert 0 not in numbers
    b.run({})


def test_facts_about_loops_reach_the_copies() -> None:
    b = Builder("sm_80")
    x = b.tensor("X", "M N", bf16)
    y = b.tensor("Y", "M N", bf16)
    with b.loop(x.shape[1], 64, scalars=[0]) as loop:
        t = b.load(x, (16, 64), 0, loop.op.var)
        b.store(y, t, 0, loop.counters[0])
        loop.carry(scalars=[loop.counters[0] + Const(4)])
    load, store = ops(b.placed(), o.LoadGlobal)[0], ops(b.placed(), o.StoreGlobal)[0]
    assert load.plan is not None and store.plan is not None
    # One class has one vector: the narrower of what both places allow.
    assert (load.plan.width, store.plan.width) == (4, 4)
