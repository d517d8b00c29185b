"""Shared memory: ordinary access, ldmatrix, TMA stores, cp.async, and their faults."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from argus.interpret import InterpreterError, bf16_to_f32, run
from argus.ir import ops as o
from argus.ir.access import matrix_elements, vector_shared
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const
from argus.ir.memory import BarrierAlloc, BarrierRef
from argus.ir.placement import (
    MmaPlan,
    MmaStep,
    TensorMap,
    TmaBox,
    TmaPlan,
    VectorPlan,
)
from argus.ir.program import Program
from argus.layout import (
    blocked,
    mma_a_operand,
    mma_accumulator,
    mma_b_operand,
    wgmma_accumulator,
)


def transpose(kit: SimpleNamespace, program: Program) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    y = np.full((32, 32), -1, np.float32)
    run(program, {"X": x, "Y": y})
    return x, y


def kinds(caught: pytest.ExceptionInfo[InterpreterError]) -> list[str]:
    return [fault.kind for fault in caught.value.faults]


def test_a_tile_goes_through_shared_memory(kit: SimpleNamespace) -> None:
    x, y = transpose(kit, kit.through_shared())
    np.testing.assert_array_equal(y, x.T)


def test_a_missing_sync_is_found_although_warps_run_in_lockstep(
    kit: SimpleNamespace,
) -> None:
    with pytest.raises(InterpreterError, match="another warp") as caught:
        transpose(kit, kit.through_shared(sync=False))
    assert kinds(caught) == ["unordered"]


def test_what_was_never_written_is_not_read(kit: SimpleNamespace) -> None:
    program = kit.through_shared()
    del program.body.ops[1]
    with pytest.raises(InterpreterError, match="never written") as caught:
        transpose(kit, program)
    (fault,) = caught.value.faults
    assert (fault.kind, fault.thread) == ("uninitialised", 0)
    assert "kernel.py:5" in str(fault)


def test_an_address_outside_is_a_fault(kit: SimpleNamespace) -> None:
    program = kit.through_shared()
    program.shared_bytes = 4000
    with pytest.raises(InterpreterError, match="the block has 4000") as caught:
        transpose(kit, program)
    assert kinds(caught) == ["bounds"]


def test_a_vector_that_the_layout_tears_apart_is_a_fault(kit: SimpleNamespace) -> None:
    program = kit.through_shared()
    op = program.body.ops[3]
    op.plan = VectorPlan(op.plan.layout, 2, "ld.shared")
    with pytest.raises(InterpreterError, match="not contiguous") as caught:
        transpose(kit, program)
    assert kinds(caught) == ["vector"]


def test_two_values_for_one_place_are_a_fault(kit: SimpleNamespace) -> None:
    program = kit.through_shared()
    view = program.body.ops[1].view
    everywhere_row_0 = replace(view.alloc.layout, digits=(((32, 0),), ((32, 4),)))
    view.alloc.layout = everywhere_row_0
    with pytest.raises(InterpreterError, match="different values") as caught:
        transpose(kit, program)
    assert kinds(caught) == ["unordered"]


# ------------------------------------------------------------------- ldmatrix


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_ldmatrix_moves_what_the_layout_says(
    kit: SimpleNamespace, swizzle: int, width: int
) -> None:
    view = kit.whole(kit.shared("a", bf16, (64, 64), 1024, 2, swizzle), 1)
    plain = VectorPlan(mma_a_operand(64, 64, 4), width, "ldmatrix")
    np.testing.assert_array_equal(
        matrix_elements(plain, view, {}), vector_shared(plain, view, {})
    )
    # K is the row of the buffer: the fragment runs across it.
    layout = mma_b_operand(64, 64, 4).permute((1, 0))
    turned = VectorPlan(layout, width, "ldmatrix.trans")
    np.testing.assert_array_equal(
        matrix_elements(turned, view, {}), vector_shared(turned, view, {})
    )
    # And the wrong form does not.
    wrong = VectorPlan(layout, width, "ldmatrix")
    assert (matrix_elements(wrong, view, {}) != vector_shared(wrong, view, {})).any()


def mma_program(kit: SimpleNamespace) -> Program:
    """C = A @ B.T, (64, 64) with K = 32: cp.async, ldmatrix, mma.sync on 4 warps."""
    a, b = kit.tensor("A", bf16, "M K"), kit.tensor("B", bf16, "N K")
    c = kit.tensor("C", f32, "M N")
    sa = kit.shared("a", bf16, (64, 32), 0, swizzle=64)
    sb = kit.shared("b", bf16, (64, 32), 4096, swizzle=64)
    copied = blocked((64, 32), 128, 8)
    acc_layout = mma_accumulator(64, 64, 2, 2)
    a_layout = mma_a_operand(64, 32, 2, 2)
    b_layout = mma_b_operand(64, 32, 2, 2).permute((1, 0))
    fa, fb = kit.tile("fa", bf16, a_layout), kit.tile("fb", bf16, b_layout)
    acc = kit.tile("acc", f32, acc_layout)
    steps = tuple(
        MmaStep((i * 4 + j) * 4, (i * 2 + s) * 8, (j * 2 + s) * 4)
        for s in range(2)
        for i in range(2)
        for j in range(4)
    )
    ops: list[o.AnyOp] = [
        *(
            o.CopyAsync(
                dst=kit.whole(buffer),
                src=kit.window(source, (64, 32), 0, 0),
                plan=VectorPlan(copied, 8, "cp.async"),
                span=kit.at(2),
            )
            for buffer, source in ((sa, a), (sb, b))
        ),
        o.CpAsyncCommit(span=kit.at(3)),
        o.CpAsyncWait(pending=0, span=kit.at(4)),
        o.Sync(threads=128, barrier=0, span=kit.at(5)),
        o.LoadShared(
            result=fa,
            view=kit.whole(sa),
            plan=VectorPlan(a_layout, 8, "ldmatrix"),
            span=kit.at(6),
        ),
        o.LoadShared(
            result=fb,
            view=kit.whole(sb).transposed,
            plan=VectorPlan(b_layout, 4, "ldmatrix"),
            span=kit.at(7),
        ),
        o.Dot(
            result=acc,
            a=fa,
            b=fb,
            acc=None,
            plan=MmaPlan("argus_mma_m16n8k16_bf16", steps),
            span=kit.at(8),
        ),
        o.StoreGlobal(
            view=kit.window(c, (64, 64), 0, 0),
            src=acc,
            plan=VectorPlan(acc_layout, 2, "st.global"),
            span=kit.at(9),
        ),
    ]
    return kit.program(ops, [a, b, c], buffers=[sa, sb])


def multiply(kit: SimpleNamespace, program: Program, **options: object) -> None:
    a, b = kit.half((60, 24), 1), kit.half((64, 24), 2)
    c = np.full((60, 64), np.nan, np.float32)
    run(program, {"A": a, "B": b, "C": c}, **options)
    np.testing.assert_allclose(
        c, bf16_to_f32(a) @ bf16_to_f32(b).T, rtol=1e-5, atol=1e-5
    )


def test_mma_on_operands_that_cp_async_brought(kit: SimpleNamespace) -> None:
    multiply(kit, mma_program(kit))


@pytest.mark.parametrize("schedule", ["random", "in_order"])
@pytest.mark.parametrize("missing", [2, 3])
def test_cp_async_needs_its_commit_and_its_wait(
    kit: SimpleNamespace, missing: int, schedule: str
) -> None:
    program = mma_program(kit)
    del program.body.ops[missing]
    with pytest.raises(InterpreterError) as caught:
        multiply(kit, program, schedule=schedule)
    assert kinds(caught)[0] in ("in_flight", "uninitialised")


def test_cp_async_needs_a_sync_after_its_wait(kit: SimpleNamespace) -> None:
    program = mma_program(kit)
    del program.body.ops[4]
    with pytest.raises(InterpreterError) as caught:
        multiply(kit, program)
    assert kinds(caught) == ["unordered"]


def test_cp_async_may_arrive_on_a_barrier(kit: SimpleNamespace) -> None:
    program = mma_program(kit)
    barrier = BarrierAlloc("full", 1, 128, kit.at(1), offset=program.shared_bytes)
    program.barriers.append(barrier)
    program.shared_bytes += 8
    ref = BarrierRef(barrier)
    program.body.ops[2:5] = [
        o.CpAsyncArrive(barrier=ref, span=kit.at(3)),
        o.BarrierWait(barrier=ref, n=Const(0), span=kit.at(4)),
    ]
    for seed in range(3):
        multiply(kit, program, seed=seed)
    del program.body.ops[3]
    with pytest.raises(InterpreterError):
        multiply(kit, program)


# ------------------------------------------------------------------ TMA stores


def stored(kit: SimpleNamespace, leave_out: type[o.Op] | None = None) -> Program:
    """Y = X twice through one swizzled buffer and TMA stores, by 128 threads."""
    x, y = kit.tensor("X", bf16, "M N"), kit.tensor("Y", bf16, "M N")
    buffer = kit.shared("buffer", bf16, (64, 64), swizzle=128)
    tensor_map = TensorMap(y, (64, 64), 128)
    layout = wgmma_accumulator(64, 64)
    ops: list[o.AnyOp] = []
    for row in (0, 64):
        value = kit.tile("x", bf16, layout)
        ops += [
            o.LoadGlobal(
                result=value,
                view=kit.window(x, (64, 64), row, 0),
                plan=VectorPlan(layout, 2, "ld.global"),
                span=kit.at(2),
            ),
            o.StoreShared(
                view=kit.whole(buffer),
                src=value,
                plan=VectorPlan(layout, 8, "stmatrix"),
                span=kit.at(3),
            ),
            o.Fence(kind="proxy.async", span=kit.at(4)),
            o.Sync(threads=128, barrier=0, span=kit.at(5)),
            o.CopyOut(
                dst=kit.window(y, (64, 64), row, 0),
                src=kit.whole(buffer),
                plan=TmaPlan(
                    tensor_map, (TmaBox((Const(row), Const(0)), Const(0)),), 8192
                ),
                span=kit.at(6),
            ),
            o.CopyOutCommit(span=kit.at(7)),
            o.CopyOutWait(pending=0, span=kit.at(8)),
            o.Sync(threads=128, barrier=0, span=kit.at(9)),
        ]
    if leave_out is not None:
        ops = [op for op in ops if not isinstance(op, leave_out)]
    return kit.program(ops, [x, y], buffers=[buffer], maps=[tensor_map])


def copy(kit: SimpleNamespace, program: Program, **options: object) -> None:
    x = kit.half((100, 40), 3)
    y = np.zeros((100, 40), np.uint16)
    run(program, {"X": x, "Y": y}, **options)
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_buffer_is_stored_by_tma(kit: SimpleNamespace, seed: int) -> None:
    copy(kit, stored(kit), seed=seed)


@pytest.mark.parametrize(
    ("missing", "kind"),
    [
        (o.Fence, "proxy_fence"),
        (o.Sync, "unordered"),
        (o.CopyOutWait, "in_flight"),
        (o.CopyOutCommit, "in_flight"),
    ],
)
@pytest.mark.parametrize("schedule", ["random", "in_order"])
def test_a_tma_store_needs(
    kit: SimpleNamespace, missing: type[o.Op], kind: str, schedule: str
) -> None:
    with pytest.raises(InterpreterError) as caught:
        copy(kit, stored(kit, missing), schedule=schedule)
    assert kinds(caught) == [kind]


def test_a_block_waits_for_its_last_store(kit: SimpleNamespace) -> None:
    program = stored(kit)
    del program.body.ops[-2:]
    with pytest.raises(InterpreterError, match="before a wait") as caught:
        copy(kit, program)
    assert kinds(caught) == ["unfinished"]


def test_a_swizzled_buffer_lies_at_a_multiple_of_its_pattern(
    kit: SimpleNamespace,
) -> None:
    program = stored(kit)
    program.shared[0].offset = 128
    program.shared_bytes += 128
    with pytest.raises(InterpreterError, match="multiple of 1024") as caught:
        copy(kit, program)
    assert kinds(caught) == ["alignment"]


def relayed(kit: SimpleNamespace, *, fence: bool, late: bool) -> Program:
    """Y = X: cp.async by one role, a TMA store of the same bytes by another."""
    x, y = kit.tensor("X", bf16, "M N"), kit.tensor("Y", bf16, "M N")
    buffer = kit.shared("buffer", bf16, (64, 64), swizzle=128)
    tensor_map = TensorMap(y, (64, 64), 128)
    full = BarrierAlloc("full", 1, 128, kit.at(1))
    guard: list[o.AnyOp] = [o.Fence(kind="proxy.async", span=kit.at(3))]
    load: list[o.AnyOp] = [
        o.CopyAsync(
            dst=kit.whole(buffer),
            src=kit.window(x, (64, 64), 0, 0),
            plan=VectorPlan(blocked((64, 64), 128, 8), 8, "cp.async"),
            span=kit.at(2),
        ),
        o.CpAsyncCommit(span=kit.at(2)),
        o.CpAsyncWait(pending=0, span=kit.at(2)),
        *(guard if fence and not late else []),
        o.BarrierArrive(barrier=BarrierRef(full), per="thread", span=kit.at(4)),
    ]
    box = TmaBox((Const(0), Const(0)), Const(0))
    store: list[o.AnyOp] = [
        o.BarrierWait(barrier=BarrierRef(full), n=Const(0), span=kit.at(6)),
        *(guard if fence and late else []),
        o.CopyOut(
            dst=kit.window(y, (64, 64), 0, 0),
            src=kit.whole(buffer),
            plan=TmaPlan(tensor_map, (box,), 8192),
            span=kit.at(7),
        ),
        o.CopyOutCommit(span=kit.at(7)),
        o.CopyOutWait(pending=0, span=kit.at(8)),
    ]
    roles = [
        o.Role("load", 4, None, o.Block(load), kit.at(2), 0),
        o.Role("store", 1, None, o.Block(store), kit.at(5), 4),
    ]
    return kit.program(
        [o.Roles(roles=roles, span=kit.at(1))],
        [x, y],
        buffers=[buffer],
        barriers=[full],
        maps=[tensor_map],
        warps=5,
    )


@pytest.mark.parametrize("late", [False, True])
def test_a_fence_of_the_writer_or_of_the_reader_will_do(
    kit: SimpleNamespace, late: bool
) -> None:
    x = kit.half((64, 64), 3)
    y = np.zeros((64, 64), np.uint16)
    run(relayed(kit, fence=True, late=late), {"X": x, "Y": y})
    np.testing.assert_array_equal(x, y)


def test_cp_async_writes_by_the_generic_proxy(kit: SimpleNamespace) -> None:
    program = relayed(kit, fence=False, late=False)
    arrays = {"X": kit.half((64, 64), 3), "Y": np.zeros((64, 64), np.uint16)}
    with pytest.raises(InterpreterError) as caught:
        run(program, arrays)
    assert kinds(caught) == ["proxy_fence"]


def overwritten(kit: SimpleNamespace, *, fence: bool) -> Program:
    """Y = X by TMA, to a buffer in which ordinary stores have left something else."""
    x, y = kit.tensor("X", bf16, "M N"), kit.tensor("Y", bf16, "M N")
    buffer = kit.shared("buffer", bf16, (64, 64))
    tensor_map = TensorMap(x, (64, 64), 0)
    layout = blocked((64, 64), 128, 8)
    full = BarrierAlloc("full", 1, 1, kit.at(1))
    old, new = kit.tile("old", bf16, layout), kit.tile("new", bf16, layout)
    box = TmaBox((Const(0), Const(0)), Const(0))
    ops: list[o.AnyOp] = [
        o.Full(result=old, value=Const(1.0), span=kit.at(2)),
        o.StoreShared(
            view=kit.whole(buffer),
            src=old,
            plan=VectorPlan(layout, 8, "st.shared"),
            span=kit.at(3),
        ),
        o.Fence(kind="proxy.async", span=kit.at(4)),
        o.Sync(threads=128, barrier=0, span=kit.at(5)),
        o.BarrierExpect(barrier=BarrierRef(full), bytes=Const(8192), span=kit.at(6)),
        o.CopyAsync(
            dst=kit.whole(buffer),
            src=kit.window(x, (64, 64), 0, 0),
            barrier=BarrierRef(full),
            via="tma",
            plan=TmaPlan(tensor_map, (box,), 8192),
            span=kit.at(7),
        ),
        o.BarrierWait(barrier=BarrierRef(full), n=Const(0), span=kit.at(8)),
        o.LoadShared(
            result=new,
            view=kit.whole(buffer),
            plan=VectorPlan(layout, 8, "ld.shared"),
            span=kit.at(9),
        ),
        o.StoreGlobal(
            view=kit.window(y, (64, 64), 0, 0),
            src=new,
            plan=VectorPlan(layout, 8, "st.global"),
            span=kit.at(10),
        ),
    ]
    if not fence:
        ops = [op for op in ops if not isinstance(op, o.Fence)]
    return kit.program(
        ops, [x, y], buffers=[buffer], barriers=[full], maps=[tensor_map]
    )


@pytest.mark.parametrize("fence", [True, False])
def test_a_tma_load_may_not_overtake_ordinary_stores(
    kit: SimpleNamespace, fence: bool
) -> None:
    """PTX ISA, "Async proxy": accesses across proxies need a fence; so AG0408."""
    program = overwritten(kit, fence=fence)
    x, y = kit.half((64, 64), 3), np.zeros((64, 64), np.uint16)
    if fence:
        run(program, {"X": x, "Y": y})
        np.testing.assert_array_equal(x, y)
        return
    with pytest.raises(InterpreterError, match="overwrites") as caught:
        run(program, {"X": x, "Y": y})
    assert kinds(caught) == ["proxy_fence"]
