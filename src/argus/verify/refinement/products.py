"""Matrix products: the instructions together are the sum that the product names.

For an accumulator register that holds element (m, n), the instructions that add to it
must multiply a[m, k] with b[k, n] for each k once. What they read is taken from the
descriptors (`isa/descriptor.py`) and from the instruction's own fragments, whatever
layout the tiles claim to have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.access import descriptor_starts
from argus.ir.memory import SharedView
from argus.ir.placement import MatrixOperand, MmaPlan, WgmmaPlan
from argus.isa import matrix, registry, wgmma
from argus.isa.descriptor import operand_addresses, violations
from argus.layout import (
    Fragment,
    wgmma_a_operand,
    wgmma_accumulator,
)
from argus.verify.refinement.gaps import Gap
from argus.verify.refinement.shared_tiles import base_of, elements_at, fixed_view

__all__ = ["product_gaps"]

Ints = NDArray[np.int64]


class _UnshownError(Exception):
    """Refinement of this product is not shown. ``wrong``: it was shown not to hold."""

    def __init__(self, reason: str, wrong: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.wrong = reason, wrong


def product_gaps(op: o.Dot) -> list[Gap]:
    """What is not shown of a product."""
    try:
        match op.plan:
            case WgmmaPlan():
                _wgmma(op, op.plan)
            case MmaPlan():
                _mma(op, op.plan)
            case None:
                raise _UnshownError("a product without a plan")
    except _UnshownError as why:
        return [Gap(op.span, why.reason, why.wrong)]
    return []


def _need(condition: object, reason: str) -> None:
    if not condition:
        raise _UnshownError(reason, wrong=True)


def _layout(tile: o.Tile) -> Fragment:
    if tile.layout is None:
        raise _UnshownError(f"{tile!r} has no layout")
    return tile.layout


def _depth(op: o.Dot) -> int:
    """K of one instruction."""
    found = matrix.element(op.b.dtype)
    if found is None:
        raise _UnshownError(f"products of {op.b.dtype}")
    return found.depth


# ------------------------------------------------------------------------ wgmma


def _wgmma(op: o.Dot, plan: WgmmaPlan) -> None:
    layout, depth = _layout(op.result), _depth(op)
    if not isinstance(op.b, SharedView) or layout.num_threads % wgmma.THREADS:
        raise _UnshownError("a wgmma without B in shared memory, or without warpgroups")
    groups = layout.num_threads // wgmma.THREADS
    # [groups, row of A or B, k of all steps, (row, k)] as coordinates of the product.
    if isinstance(op.a, SharedView):
        if plan.a is None:
            raise _UnshownError("a plan for A in registers, which is in shared memory")
        a = _from_shared(op.a, plan.a, wgmma.ROWS, depth, groups)
    else:
        a = _from_registers(op.a, plan, depth, groups)
    b = _from_shared(op.b, plan.b, plan.inst_n, depth, groups)[..., ::-1]
    rows, columns = _lines(a, b, op.b.shape[-2])
    atom = wgmma_accumulator(wgmma.ROWS, plan.inst_n).table().astype(np.int64)
    held = (
        layout.table().astype(np.int64).reshape(groups, wgmma.THREADS, -1, layout.rank)
    )
    count = plan.inst_n // 2
    for i in range(plan.m_atoms):
        for j in range(plan.n_atoms):
            first = (i * plan.n_atoms + j) * count
            mine = held[:, :, first : first + count]
            m = rows[:, wgmma.ROWS * i + atom[:, :, 0]]
            n = columns[:, plan.inst_n * j + atom[:, :, 1]]
            same = (mine[..., -2] == m).all() and (mine[..., -1] == n).all()
            _need(same, "an accumulator register is not the element of its product")


def _lines(a: Ints, b: Ints, depth: int) -> tuple[Ints, Ints]:
    """Row of each line of A and column of each line of B, [groups, lines].

    Shows that both run along the same k, each once.
    """
    rows, columns = a[..., 0, 0], b[..., 0, 0]
    _need((a[..., 0] == rows[..., None]).all(), "a line of A leaves its row")
    _need((b[..., 0] == columns[..., None]).all(), "a line of B leaves its column")
    ks = a[0, 0, :, 1]
    _need((a[..., 1] == ks).all() and (b[..., 1] == ks).all(), "A and B differ in k")
    _need(np.array_equal(np.sort(ks), np.arange(depth)), "not each k once")
    return rows, columns


def _from_shared(
    view: SharedView, operand: MatrixOperand, rows: int, depth: int, groups: int
) -> Ints:
    """Coordinates in a view of all that descriptors read, [groups, rows, k, 2]."""
    fixed = fixed_view(view)
    if fixed is None or len(view.shape) != 2:
        raise _UnshownError(f"a view of {view.alloc.name} that is not a fixed matrix")
    base, unit = base_of(view.alloc), max(8 * operand.swizzle, 1)
    if base % unit or (view.alloc.stages > 1 and view.alloc.stage_bytes % unit):
        raise _UnshownError(f"stages of {view.alloc.name} begin inside a swizzle", True)
    starts = descriptor_starts(operand, fixed, {}, groups)
    leading, stride = operand.leading, operand.stride
    lines: list[Ints] = []
    for group in starts:
        atoms: list[Ints] = []
        for atom in group:
            for start in atom:
                wrong = violations(int(start), leading, stride, operand.swizzle)
                _need(not wrong, "; ".join(wrong))
            steps = [
                operand_addresses(
                    int(start), leading, stride, operand.swizzle, operand.mn_major,
                    rows, depth, view.dtype.bytes,
                )
                for start in atom
            ]  # fmt: skip
            atoms.append(np.concatenate(steps, axis=1))
        lines.append(np.concatenate(atoms))
    found = elements_at(fixed, np.stack(lines) - base)
    if found is None:
        raise _UnshownError(
            f"a descriptor reads what is not of {view.alloc.name}", True
        )
    return found


def _from_registers(tile: o.Tile, plan: WgmmaPlan, depth: int, groups: int) -> Ints:
    """The same of an operand A in registers."""
    layout = _layout(tile)
    atom = wgmma_a_operand(wgmma.ROWS, depth, 1, tile.dtype.bytes)
    table, held = atom.table(), layout.table().astype(np.int64)
    _need(layout.num_threads == groups * wgmma.THREADS, "A is held by other threads")
    held = held.reshape(groups, wgmma.THREADS, layout.num_regs, layout.rank)
    shape = (groups, wgmma.ROWS * plan.m_atoms, depth * plan.k_steps, 2)
    found = np.full(shape, -1, np.int64)
    for i in range(plan.m_atoms):
        for k in range(plan.k_steps):
            first = (i * plan.k_steps + k) * atom.num_regs
            mine = held[:, :, first : first + atom.num_regs, -2:]
            found[:, wgmma.ROWS * i + table[..., 0], depth * k + table[..., 1]] = mine
    return found


# ------------------------------------------------------- operands in registers


def _mma(op: o.Dot, plan: MmaPlan) -> None:
    if isinstance(op.a, SharedView) or isinstance(op.b, SharedView):
        raise _UnshownError(f"{plan.instruction} with an operand in shared memory")
    layout, does = _layout(op.result), registry.register_product(plan.instruction)
    _need(does.element == matrix.element(op.b.dtype), "the types are others")
    size = does.d.num_regs
    firsts = sorted({step.acc for step in plan.steps})
    whole = list(range(0, layout.num_regs, size))
    _need(firsts == whole, "the steps do not add to each accumulator")
    steps = np.array([(s.acc, s.a, s.b) for s in plan.steps])
    acc = _matrices(op.result, steps[:, 0], does.d)
    a = _matrices(op.a, steps[:, 1], does.a)
    b = _matrices(op.b, steps[:, 2], does.b)
    rows = (a[..., 0] == acc[..., :1, 0]).all()
    _need(rows and (acc[..., 0] == acc[..., :1, 0]).all(), "A is of other rows")
    # B is read as [n, k] and its tile is (K, N).
    column = acc[..., 0, :, 1]
    _need((acc[..., 1] == column[..., None, :]).all(), "accumulators are no matrix")
    _need((b[..., 1] == column[..., None]).all(), "B is of other columns")
    ks = a[..., 0, :, 1]
    same = (a[..., 1] == ks[..., None, :]).all() and (
        b[..., 0] == ks[..., None, :]
    ).all()
    _need(same, "A and B differ in k")
    for first in firsts:
        mine = ks[:, steps[:, 0] == first]
        every = np.sort(mine.reshape(len(mine), -1), axis=1)
        _need((every == np.arange(op.b.shape[-2])).all(), "not each k once")


def _matrices(tile: o.Tile, first: Ints, fragment: Fragment) -> Ints:
    """Coordinates in the tile of what each step reads: [warps, steps, *fragment, 2]."""
    layout = _layout(tile)
    held = layout.table().astype(np.int64)[..., -2:]
    held = held.reshape(-1, fragment.num_threads, layout.num_regs, 2)
    registers = first[:, None] + np.arange(fragment.num_regs)
    inside = registers.min() >= 0 and registers.max() < layout.num_regs
    _need(inside, f"steps outside the registers of {tile!r}")
    table = fragment.table()
    found = np.full((len(held), len(first), *fragment.shape, 2), -1, np.int64)
    mine = held[:, :, registers].transpose(0, 2, 1, 3, 4)
    found[:, :, table[..., 0], table[..., 1]] = mine
    return found
