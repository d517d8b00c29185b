"""What each matrix instruction reads: its operands as matrices.

A matrix here is a value of shape [groups, rows, k]: one per warpgroup (or, of operands
in registers, per step and warp). Operands in shared memory are read through the
descriptor exactly as `isa.descriptor` says the hardware does; those in registers
through the instruction's own fragment, whatever layout the tile claims to have.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from argus.ir import ops as o
from argus.ir.access import descriptor_starts
from argus.ir.expr import Const, evaluate
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.placement import MatrixOperand
from argus.isa import wgmma
from argus.isa.descriptor import operand_addresses, violations
from argus.layout import Fragment, wgmma_a_operand
from argus.verify.tags.compare import Agreement, within
from argus.verify.tags.moving import moved
from argus.verify.tags.shared_tags import with_components
from argus.verify.tags.slots import at_stage_zero, gather, leaving
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import AbstractValue, Ints
from argus.verify.verdict import Verdict

__all__ = [
    "operand_offsets", "read_stage", "register_matrices", "wgmma_registers",
    "wgmma_shared",
]  # fmt: skip


def wgmma_shared(
    state: WalkState,
    op: o.Dot,
    operand: MatrixOperand,
    view: SharedView,
    rows: int,
    depth: int,
    warpgroups: int,
) -> AbstractValue | None:
    """A shared operand as [warpgroups, rows of all atoms, k]; None: not known.

    An instruction reads ``rows`` by ``depth`` elements.
    """
    read = operand_offsets(operand, view, rows, depth, warpgroups)
    if read is None or read[0]:
        return None
    return read_stage(state, op, view, read[1])


def read_stage(
    state: WalkState, op: o.AnyOp, view: SharedView, offsets: Ints
) -> AbstractValue | None:
    """The elements at these byte offsets of a view's stage; None: reported.

    Shows that something has been written there (AG0311), and which fill it was.
    """
    alloc = view.alloc
    if leaving(alloc, offsets).any():
        return None
    source = state.memory.read(
        alloc, state.stage(view), state.drain_number(view), state.scope, state.role
    )
    outcome = Agreement(source.verdict, "normal form", source.reason, source.model)
    state.report(
        source.rule if source.verdict is not Verdict.PROVED else "AG0402",
        f"what is read from {alloc.name} is known",
        op.span,
        outcome,
        f"what is read from {alloc.name} was not written for this use",
        source.reason,
    )
    if source.content is None:
        return None
    slots = offsets // alloc.dtype.bytes
    content = source.content
    if content.written is not None:
        missing = ~content.written[slots]
        initialised(state, op, alloc, missing)
    found = gather(content, slots).with_step(f"read from {alloc.name}", op.span)
    if state.tagged:
        found = with_components(
            state.tagged,
            view,
            slots,
            found,
            state.stage(view),
            state.drain_number(view),
            state.scope,
        )
    # What may be outside for some fill need not be for this one.
    holes = tuple(
        h for h in found.holes if not within(h.where, h.extent, state.scope).proved
    )
    return replace(found, holes=holes)


def initialised(
    state: WalkState, op: o.AnyOp, alloc: SharedAlloc, missing: np.ndarray
) -> None:
    """Report whether all bytes that are read were written (AG0311)."""
    outcome = Agreement(Verdict.PROVED, "enumeration")
    if missing.any():
        at = np.unravel_index(int(np.argmax(missing)), missing.shape)
        element = tuple(int(i) for i in at)
        model = state.scope.some_point()
        outcome = Agreement(Verdict.REFUTED, "enumeration", "", model, element)
    state.report(
        "AG0311",
        f"every byte read from {alloc.name} was written",
        op.span,
        outcome,
        f"bytes of {alloc.name} are read that nothing has written",
        "read before it is written",
    )


def operand_offsets(
    operand: MatrixOperand, view: SharedView, rows: int, depth: int, warpgroups: int
) -> tuple[str, Ints] | None:
    """What descriptors break, and which byte offsets of the stage they read.

    The offsets are [warpgroups, rows of all atoms, k]. None where the view has no
    constant origin.
    """
    flat = at_stage_zero(view)
    if flat is None:
        return None
    groups = warpgroups if operand.warpgroup_stride else 1
    origin = tuple(int(evaluate(x, {})) for x in flat.origin)
    key = (flat.axes, origin, flat.shape, flat.dims)
    return _addresses(operand, flat.alloc, key, rows, depth, groups)


_Key = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[str | None, ...]]


@lru_cache(maxsize=256)
def _addresses(
    operand: MatrixOperand,
    alloc: SharedAlloc,
    key: _Key,
    rows: int,
    depth: int,
    groups: int,
) -> tuple[str, Ints]:
    """What the descriptors break, and byte offsets [groups, rows of atoms, k]."""
    axes, origin, shape, dims = key
    fixed = tuple(Const(x) for x in origin)
    view = SharedView(alloc, Const(0), fixed, axes, shape, dims)
    starts = descriptor_starts(operand, view, {}, groups)
    unit = 8 * operand.swizzle
    base = alloc.offset or 0
    if unit and (base % unit or (alloc.stages > 1 and alloc.stage_bytes % unit)):
        return f"a stage that is not aligned to {unit} bytes", starts
    broken: list[str] = []

    def read(start: int) -> Ints:
        leading, stride, swizzle = operand.leading, operand.stride, operand.swizzle
        wrong = violations(start, leading, stride, swizzle)
        if wrong:
            broken.extend(wrong)
            return np.zeros((rows, depth), np.int64)
        major, itemsize = operand.mn_major, alloc.dtype.bytes
        return operand_addresses(
            start, leading, stride, swizzle, major, rows, depth, itemsize
        )

    found = np.stack(
        [
            np.concatenate(
                [np.concatenate([read(int(k)) for k in atom], axis=1) for atom in group]
            )
            for group in starts
        ]
    )
    result = found - base
    result.setflags(write=False)
    return (broken[0] if broken else ""), result


def wgmma_registers(
    state: WalkState, tile: o.Tile, m_atoms: int, depth: int
) -> AbstractValue:
    """A register operand as [warpgroups, rows, k], with the depth of all steps."""
    value = state.get(tile)
    fragment = wgmma_a_operand(wgmma.ROWS * m_atoms, depth, 1, tile.dtype.bytes)
    table = fragment.table()
    groups = value.shape[0] // fragment.num_threads
    shape = (groups, *fragment.shape)

    def move(a: Ints) -> Ints:
        result = np.zeros(shape, np.int64)
        per_group = np.broadcast_to(a, value.shape).reshape(
            groups, fragment.num_threads, fragment.num_regs
        )
        result[:, table[:, :, 0], table[:, :, 1]] = per_group
        return result

    return moved(value, shape, move)


def register_matrices(
    state: WalkState, tile: o.Tile, first: Ints, fragment: Fragment
) -> AbstractValue:
    """A register operand as [steps * warps, rows, k].

    ``first``: the first register of each step, ``fragment``: that of the instruction.
    """
    value = state.get(tile)
    regs = first[:, None] + np.arange(fragment.num_regs)[None, :]
    table = fragment.table()
    lanes = fragment.num_threads
    warps = value.shape[0] // lanes
    shape = (len(first) * warps, *fragment.shape)

    def move(a: Ints) -> Ints:
        full = np.broadcast_to(a, value.shape)
        # [threads, steps, registers of one step] -> [steps, warps, lanes, registers]
        held = full[:, regs].reshape(warps, lanes, len(first), -1).transpose(2, 0, 1, 3)
        result = np.zeros((len(first), warps, *fragment.shape), np.int64)
        result[:, :, table[:, :, 0], table[:, :, 1]] = held
        return result.reshape(shape)

    return replace(moved(value, shape, move), mask=None)
