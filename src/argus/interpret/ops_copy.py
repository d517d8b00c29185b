"""Asynchronous copies: TMA loads and stores, cp.async, and their groups.

A TMA load reads global memory and writes shared memory when it completes, which may be
long after it was issued, and then counts its bytes on the barrier. A TMA store reads
shared memory late, and writes global memory later still. cp.async data arrive at any
time up to the wait (or arrival) that covers them.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from argus.interpret.events import AsyncOperation, ClockedBarrier
from argus.interpret.machine import ThreadBlock, ThreadGroup, Visit
from argus.interpret.memory import GlobalArray, SharedAccess
from argus.interpret.numbers import Array, from_bits, to_bits
from argus.interpret.ops_memory import check_vectors, global_access
from argus.ir import ops as o
from argus.ir.access import box_address, box_coords, vector_shared
from argus.ir.memory import SharedView
from argus.ir.placement import TensorMap, TmaBox, TmaPlan, VectorPlan
from argus.isa import boxes, cp_async
from argus.isa.effects import effects_of

__all__ = ["CopyOp", "run"]

CopyOp = (
    o.CopyAsync | o.CopyOut | o.CopyOutCommit | o.CopyOutWait | o.CpAsyncCommit
    | o.CpAsyncWait | o.CpAsyncArrive
)  # fmt: skip


def run(group: ThreadGroup, op: CopyOp) -> None:
    """Execute one operation."""
    match op:
        case o.CopyAsync():
            match op.plan:
                case TmaPlan():
                    _tma_load(group, op, op.plan)
                case VectorPlan():
                    _cp_async(group, op, op.plan)
                case _:
                    raise ValueError(f"line {op.span.line}: a copy has no plan")
        case o.CopyOut():
            _tma_store(group, op)
        case o.CopyOutCommit() | o.CpAsyncCommit():
            group.commit(effects_of(op))
        case o.CopyOutWait() | o.CpAsyncWait():
            group.wait_for_groups(effects_of(op), op.pending)
        case o.CpAsyncArrive():
            _cp_async_arrive(group, op)
        case _:
            assert_never(op)


# ----------------------------------------------------------------------- TMA


def _box(
    group: ThreadGroup, tensor_map: TensorMap, box: TmaBox, view: SharedView
) -> SharedAccess:
    """Shared addresses of a box, shape `tensor_map.box`."""
    itemsize = tensor_map.tensor.dtype.bytes
    address = int(box_address(box, view, group.env))
    unit = boxes.box_alignment(tensor_map.swizzle)
    if address % unit:
        group.fault("alignment", f"a TMA box at {address}, no multiple of {unit}")
    offsets = boxes.box_offsets(tensor_map.box, itemsize, tensor_map.swizzle)
    return SharedAccess(offsets + address, itemsize)


def _tensor(group: ThreadGroup, tensor_map: TensorMap) -> GlobalArray:
    held = group.cluster.arrays[tensor_map.tensor.name]
    broken = boxes.violations(
        tensor_map.box,
        held.array.itemsize,
        tensor_map.swizzle,
        steps=tensor_map.steps,
        dims=held.array.shape,
        strides=held.array.strides,
        address=held.base,
    )
    if broken:
        group.fault("alignment", f"tensor map of {held.tensor.name}: {broken[0]}")
    return held


def _inside(
    shape: tuple[int, ...], start: tuple[int, ...], tensor_map: TensorMap
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The part of a box inside a tensor: slices of the tensor, and of the box."""
    tensor: list[slice] = []
    part: list[slice] = []
    for extent, first, size, step in zip(
        shape, start, tensor_map.box, tensor_map.all_steps, strict=True
    ):
        before = min(max(0, -(first // step)), size)
        count = min(max(0, -((first - extent) // step)), size)
        part.append(slice(before, max(before, count)))
        low = first + before * step
        tensor.append(slice(low, low + max(0, count - before) * step, step))
    return tuple(tensor), tuple(part)


def _tma_load(group: ThreadGroup, op: o.CopyAsync, plan: TmaPlan) -> None:
    if op.barrier is None:
        raise ValueError(f"line {op.span.line}: a TMA copy needs a barrier")
    held = _tensor(group, plan.map)
    blocks = group.cluster.blocks
    receivers = blocks[: plan.multicast] if plan.multicast > 1 else [group.block]
    does = effects_of(op)
    (touch,) = does.writes
    counted = 0
    for box in plan.boxes:
        access = _box(group, plan.map, box, op.dst)
        start = tuple(int(c) for c in box_coords(box, group.env))
        counted += boxes.box_bytes(plan.map.box, access.itemsize)
        targets: list[tuple[ThreadBlock, ClockedBarrier]] = []
        for block in receivers:
            barrier = group.barrier(op.barrier, block)
            if barrier is not None:
                block.shared.begin_write(
                    group, access, does.scope == "thread", touch.proxy
                )
                targets.append((block, barrier))

        def arrive(
            access: SharedAccess = access,
            start: tuple[int, ...] = start,
            targets: list[tuple[ThreadBlock, ClockedBarrier]] = targets,
        ) -> None:
            data = np.zeros(plan.map.box, held.array.dtype)
            source, part = _inside(held.array.shape, start, plan.map)
            data[part] = held.array[source]
            bits = to_bits(data, plan.map.tensor.dtype)
            for block, barrier in targets:
                block.shared.put(access, bits, touch.proxy)
                phase = barrier.completed + 1
                block.shared.end_write(access, barrier.agent, phase, per_thread=False)
                block.visits.append(
                    Visit(group, op, ((barrier.agent, phase),), "a TMA copy")
                )
                nbytes = boxes.box_bytes(plan.map.box, access.itemsize)
                barrier.complete_bytes(group, nbytes)

        group.issue(AsyncOperation(op, group, arrive), touch.over)
    if counted * plan.multicast != plan.bytes:
        group.fault(
            "barrier",
            f"the plan says {plan.bytes} bytes; its boxes have {counted}"
            f" in each of {plan.multicast} blocks",
        )


def _tma_store(group: ThreadGroup, op: o.CopyOut) -> None:
    plan = op.plan
    if plan is None:
        raise ValueError(f"line {op.span.line}: a TMA store has no plan")
    held = _tensor(group, plan.map)
    does = effects_of(op)
    (touch,) = does.reads
    shared = group.block.shared
    for box in plan.boxes:
        access = _box(group, plan.map, box, op.src)
        start = tuple(int(c) for c in box_coords(box, group.env))
        group.store_count += 1
        count = group.store_count
        shared.begin_read(group, access, group.known.stores, count, touch.proxy)
        taken: list[Array] = []

        def read(access: SharedAccess = access, taken: list[Array] = taken) -> None:
            taken.append(shared.peek(access))

        def covered(access: SharedAccess = access, count: int = count) -> None:
            shared.end_read(access)
            group.known.clock[group.known.stores] = count

        def write(start: tuple[int, ...] = start, taken: list[Array] = taken) -> None:
            target, part = _inside(held.array.shape, start, plan.map)
            held.array[target] = from_bits(taken[0], plan.map.tensor.dtype)[part]

        reading = AsyncOperation(op, group, read, covered)
        group.issue(reading, touch.over)
        group.issue(AsyncOperation(op, group, write, first=(reading,)), does.completes)


# ------------------------------------------------------------------ cp.async


def _cp_async(group: ThreadGroup, op: o.CopyAsync, plan: VectorPlan) -> None:
    held, coords, exists = global_access(group, plan, op.src)
    itemsize = op.src.dtype.bytes
    size = plan.width * itemsize
    if size not in cp_async.SIZES:
        group.fault("vector", f"cp.async copies {cp_async.SIZES} bytes, not {size}")
    check_vectors(group, held.address(coords), exists, itemsize)
    addresses = vector_shared(plan, op.dst, group.env)
    everywhere = np.ones(addresses.shape, np.bool_)
    check_vectors(group, addresses, everywhere, itemsize)
    threads = np.arange(group.threads)
    if plan.unique:
        threads = np.flatnonzero(plan.layout.owner_mask()[:, 0])
    access = SharedAccess(addresses[threads], itemsize, threads)
    active = exists[threads]
    places = tuple(c[threads] for c in coords)
    shared = group.block.shared
    does = effects_of(op)
    (touch,) = does.writes
    per_thread = does.scope == "thread"
    shared.begin_write(group, access, per_thread, touch.proxy)

    def arrive() -> None:
        data = held.read(places, active)
        shared.put(access, to_bits(data, op.src.dtype), touch.proxy)

    def covered() -> None:
        known = group.known
        shared.end_write(access, known.agent, known.now, per_thread)

    def counted(agent: int, phase: int) -> None:
        shared.end_write(access, agent, phase, per_thread=False)

    # A warp's cp.async end before the warp does: none outlives its block.
    group.issue(AsyncOperation(op, group, arrive, covered, counted=counted), touch.over)


def _cp_async_arrive(group: ThreadGroup, op: o.CpAsyncArrive) -> None:
    """All threads arrive when all of their earlier copies have completed."""
    barrier = group.barrier(op.barrier)
    if barrier is None:
        return
    # Copies that an earlier arrival covers are counted by that one.
    copies = group.queues["cp_async_group"]
    earlier = tuple(e for e in copies.in_flight() if not e.handed_on)
    for event in earlier:
        event.handed_on = True
        event.covered = _nothing
    copies.open = [e for e in copies.open if not e.handed_on]
    given = group.known.release()

    def arrive() -> None:
        for event in earlier:
            event.counted(barrier.agent, barrier.completed + 1)
        barrier.arrive(group, group.threads, given)

    group.cluster.issue(AsyncOperation(op, group, arrive, first=earlier))


def _nothing() -> None:
    """A wait has nothing more to do for copies that a barrier counts."""
