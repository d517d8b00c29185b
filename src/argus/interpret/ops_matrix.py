"""Matrix products: wgmma through descriptors, others through register fragments.

A wgmma reads its shared operands at some time between its issue and the wait that
covers it; its accumulator is an :class:`Accumulator` until a wait names the tile. The
steps of one product are taken together, and mean what `MatrixElement.product` says.
"""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

import numpy as np

from argus.interpret.events import Accumulator, AsyncOperation, storage_key
from argus.interpret.machine import ThreadGroup
from argus.interpret.memory import SharedAccess
from argus.interpret.numbers import Array, compute, from_bits, storage
from argus.ir import ops as o
from argus.ir.access import Ints, descriptor_starts
from argus.ir.dtypes import DType
from argus.ir.memory import SharedView
from argus.ir.placement import MatrixOperand, MmaPlan, WgmmaPlan
from argus.isa import registry, wgmma
from argus.isa.descriptor import operand_addresses, violations
from argus.isa.effects import effects_of
from argus.isa.matrix import MatrixElement, element
from argus.layout import (
    Fragment,
    wgmma_a_operand,
    wgmma_accumulator,
)

__all__ = ["MatrixOp", "run"]

MatrixOp = o.Dot | o.WgmmaCommit | o.WgmmaWait
Shape = tuple[int, ...]


def run(group: ThreadGroup, op: MatrixOp) -> None:
    """Execute one operation."""
    match op:
        case o.Dot():
            match op.plan:
                case WgmmaPlan():
                    _wgmma(group, op, op.plan)
                case MmaPlan():
                    _mma(group, op, op.plan)
                case None:
                    raise ValueError(f"line {op.span.line}: a dot has no plan")
                case _:
                    assert_never(op.plan)
        case o.WgmmaCommit():
            group.commit(effects_of(op))
        case o.WgmmaWait():
            _wait(group, op)
        case _:
            assert_never(op)


# ---------------------------------------------------------------------- wgmma


@lru_cache(maxsize=256)
def _relative(
    operand: MatrixOperand,
    rows: int,
    depth: int,
    itemsize: int,
    shape: Shape,
    starts: bytes,
) -> Ints:
    """Addresses [warpgroups, rows of all atoms, K] for descriptor start addresses."""
    table = np.frombuffer(starts, np.int64).reshape(shape)

    def read(start: int) -> Ints:
        leading, stride, swizzle = operand.leading, operand.stride, operand.swizzle
        major = operand.mn_major
        return operand_addresses(
            start, leading, stride, swizzle, major, rows, depth, itemsize
        )

    result = np.stack(
        [
            np.concatenate(
                [np.concatenate([read(int(k)) for k in atom], axis=1) for atom in group]
            )
            for group in table
        ]
    )
    result.setflags(write=False)
    return result


def _operand(
    group: ThreadGroup, operand: MatrixOperand, view: SharedView, rows: int, depth: int
) -> Ints:
    """Byte addresses read for an operand, [warpgroups, rows of all atoms, K].

    ``rows`` and ``depth`` are those of one instruction. One warpgroup stands for all
    when they read the same.
    """
    warpgroups = group.threads // wgmma.THREADS if operand.warpgroup_stride else 1
    starts = descriptor_starts(operand, view, group.env, warpgroups)
    for start in (int(starts.min()), int(starts.max())):
        broken = violations(start, operand.leading, operand.stride, operand.swizzle)
        if broken:
            group.fault("alignment", f"matrix descriptor: {broken[0]}")
    # Addresses repeat with the swizzle's largest period, 1024 bytes.
    whole = int(starts.min()) // 1024 * 1024
    inside = (starts - whole) // 16 * 16
    itemsize = view.dtype.bytes
    relative = _relative(operand, rows, depth, itemsize, inside.shape, inside.tobytes())
    return relative + whole


def _spread(values: Array, fragment: Fragment) -> Array:
    """Matrices [groups, rows, columns] as registers [groups * threads, registers]."""
    table = fragment.table()
    registers = values[:, table[:, :, 0], table[:, :, 1]]
    return registers.reshape(-1, fragment.num_regs)


def _gather(registers: Array, fragment: Fragment, groups: int) -> Array:
    """Registers [groups * threads, registers] as matrices [groups, rows, columns]."""
    table = fragment.table()
    result = np.zeros((groups, *fragment.shape), registers.dtype)
    per_group = registers.reshape(groups, fragment.num_threads, fragment.num_regs)
    result[:, table[:, :, 0], table[:, :, 1]] = per_group
    return result


def _wgmma(group: ThreadGroup, op: o.Dot, plan: WgmmaPlan) -> None:
    if group.threads % wgmma.THREADS:
        group.fault("layout", f"wgmma by {group.threads} threads, not by warpgroups")
        return
    if group.lanes * group.first % wgmma.THREADS:
        group.fault("layout", f"wgmma from warp {group.first} on, not by warpgroups")
        return
    if not isinstance(op.b, SharedView):
        raise ValueError(f"line {op.span.line}: B of wgmma is in shared memory")
    warpgroups = group.threads // wgmma.THREADS
    of = _element(op)
    shape = registry.lookup(plan.instruction).constraints
    m, n, depth = (shape.extent(name) for name in ("m", "n", "k"))
    dtype = op.b.dtype
    shared = group.block.shared
    accesses = [SharedAccess(_operand(group, plan.b, op.b, n, depth), dtype.bytes)]
    registers: Array | None = None
    if isinstance(op.a, SharedView):
        if plan.a is None:
            raise ValueError(f"line {op.span.line}: the plan has A in registers")
        addresses = _operand(group, plan.a, op.a, m, depth)
        accesses.append(SharedAccess(addresses, dtype.bytes))
    else:
        registers = group.get(op.a)
    group.product_count += 1
    count = group.product_count
    does = effects_of(op)
    for access, touch in zip(accesses, reversed(does.reads), strict=True):
        shared.begin_read(group, access, group.known.products, count, touch.proxy)
    before = None if op.acc is None else group.held(op.acc)
    after = Accumulator(op)
    previous = tuple(group.queues["wgmma_group"].in_flight()[-1:])

    def multiply() -> None:
        b = _numbers(shared.peek(accesses[0]), dtype)
        if registers is None:
            a = _numbers(shared.peek(accesses[1]), dtype)
        else:
            fragment = wgmma_a_operand(
                m * plan.m_atoms, depth * plan.k_steps, 1, dtype.bytes
            )
            a = compute(_gather(registers, fragment, warpgroups), dtype)
        # One two-dimensional product for each B: numpy hands only those to BLAS.
        rows = np.broadcast_to(a, (warpgroups, *a.shape[1:]))
        groups = rows.reshape(b.shape[0], -1, a.shape[2])
        product = np.stack([of.product(x, y) for x, y in zip(groups, b, strict=True)])
        product = product.reshape(warpgroups, a.shape[1], -1)
        columns = plan.n_atoms * n
        fragment = wgmma_accumulator(m * plan.m_atoms, columns, 1, n)
        value = _spread(product, fragment)
        base = before.value if isinstance(before, Accumulator) else before
        after.value = value if base is None else base + value

    key = None if registers is None else storage_key(op.a)  # type: ignore[arg-type]

    def covered() -> None:
        for access in accesses:
            shared.end_read(access)
        group.known.clock[group.known.products] = count
        after.waited = True
        if key is not None and group.operands.get(key) is event:
            del group.operands[key]

    event = AsyncOperation(op, group, multiply, covered, first=previous)
    group.put(op.result, after)
    if key is not None and does.later:
        group.operands[key] = event
    group.issue(event, does.completes)
    if not does.later:
        after.readable = True


def _element(op: o.Dot) -> MatrixElement:
    of = element(op.a.dtype)
    if of is None:
        raise ValueError(f"line {op.span.line}: a product of {op.a.dtype}")
    return of


def _numbers(bits: Array, dtype: DType) -> Array:
    return compute(from_bits(bits, dtype), dtype)


def _wait(group: ThreadGroup, op: o.WgmmaWait) -> None:
    group.wait_for_groups(effects_of(op), op.pending)
    for tile in op.tiles:
        held = group.held(tile)
        if isinstance(held, Accumulator):
            if not held.waited:
                group.fault(
                    "accumulator",
                    f"the wait names {tile!r}, but does not cover the wgmma of line"
                    f" {held.op.span.line}",
                )
            held.readable = True


# ------------------------------------------------- operands in registers


def _mma(group: ThreadGroup, op: o.Dot, plan: MmaPlan) -> None:
    if isinstance(op.a, SharedView) or isinstance(op.b, SharedView):
        raise ValueError(f"line {op.span.line}: {plan.instruction} takes registers")
    warps = group.warps
    a, b = group.get(op.a), group.get(op.b)
    layout = op.result.layout
    if layout is None:
        raise ValueError(f"line {op.span.line}: the result has no layout")
    if op.acc is None:
        acc = np.zeros((group.threads, layout.num_regs), storage(op.result.dtype))
    else:
        acc = group.get(op.acc).copy()
    does = registry.register_product(plan.instruction)
    of = does.element
    if of != _element(op):
        raise ValueError(f"line {op.span.line}: {plan.instruction} of {op.a.dtype}")
    one_d, one_a, one_b = does.d, does.a, does.b
    for step in plan.steps:
        left = _gather(a[:, step.a : step.a + one_a.num_regs], one_a, warps)
        right = _gather(b[:, step.b : step.b + one_b.num_regs], one_b, warps)
        product = of.product(compute(left, op.a.dtype), compute(right, op.b.dtype))
        acc[:, step.acc : step.acc + one_d.num_regs] += _spread(product, one_d)
    group.put(op.result, acc)
