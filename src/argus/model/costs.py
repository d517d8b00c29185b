"""What operations cost: instructions and shared-memory wavefronts, from their plans.

Everything is counted from the placed operation: registers per thread from layouts,
atoms and steps from plans of products, wavefronts from addresses. What a record of
`argus.isa` says of an instruction is taken from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, assert_never

import numpy as np

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.access import element_offset, register_coords, vector_global
from argus.ir.dtypes import DType, f64
from argus.ir.expr import Const, evaluate
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import GlobalView, SharedAlloc, SharedView
from argus.ir.numerics import common
from argus.ir.placement import MmaPlan, TmaPlan, VectorPlan, WgmmaPlan
from argus.ir.walk import used, walk
from argus.isa import registry
from argus.isa.effects import effects_of
from argus.layout import SharedLayout
from argus.model.hardware import Hardware
from argus.model.steps import ProductStep, WorkStep
from argus.targets import Target
from argus.verify.performance.bank_conflicts import conflict_at

NOWHERE = Span("", 1, 1, 1, 1)

ACCESS = 6.0
"""Instructions of a thread for a global access: its bounds, its address, itself."""
SHUFFLE_LATENCY = 24.0
"""Cycles from a shuffle to its result (measured on Volta to Hopper: 23 to 25)."""
SHARED_LATENCY = 30.0
"""Cycles of a load from shared memory without conflicts (likewise: 29 to 33)."""
SPECIAL_LATENCY = 20.0
ALU_LATENCY = 5.0
_WIDE_ISSUE = 2.0
"""Slots of an instruction of f64, which half as many lanes have (CUDA Programming
Guide, "Throughput of Native Arithmetic Instructions", 8.0 and 9.0)."""


def fused(block: o.Block) -> set[int]:
    """Products that the compiler joins with the sum that is their only use."""
    uses: Counter[int] = Counter(t.id for op in walk(block) for t in used(op))
    made = {
        op.result.id
        for op in walk(block)
        if isinstance(op, o.Elementwise) and op.fn == "mul"
    }
    return {
        tile.id
        for op in walk(block)
        if isinstance(op, o.Elementwise) and op.fn in ("add", "sub")
        for tile in used(op)[:1]
        if tile.id in made and uses[tile.id] == 1
    }


def registers(tile: o.Tile) -> int:
    """Elements that a thread holds. Raises ValueError for a tile without layout."""
    if tile.layout is None:
        raise ValueError(f"{tile} has no layout: the program is not placed")
    return tile.layout.num_regs


def in_registers(
    op: o.AnyOp, warps: int, joined: set[int], lanes: int
) -> WorkStep | None:
    """Cost of an operation on register tiles; None for another kind of operation."""
    match op:
        case o.Elementwise():
            n = registers(op.result)
            if op.result.id in joined:
                return WorkStep()
            types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
            dtype = common(op.fn, types, op.result.dtype)
            function = FUNCTIONS[op.fn].among(dtype)
            issue = n * function.issue * (_WIDE_ISSUE if dtype == f64 else 1.0)
            special = float(n) if function.special else 0.0
            latency = SPECIAL_LATENCY if special else ALU_LATENCY
            return _work(warps, issue, special, latency)
        case o.Cast():
            return _work(warps, registers(op.result), 0.0, ALU_LATENCY)
        case o.Index():
            return _work(warps, 0.5 * registers(op.result), 0.0, ALU_LATENCY)
        case o.Full() | o.Convert():
            return _work(warps, 0.25 * registers(op.result), 0.0, 0.0)
        case o.Moving() | o.Reinterpret():
            return WorkStep()
        case o.Reduce():
            return _reduction(op.src, op.result, op.axis, warps, lanes)
        case o.Sort():
            return _sort(op, warps, lanes)
        case o.Combining():
            return _combining(op, warps, lanes)
        case (
            o.Structure() | o.Binding() | o.Dot() | o.Access() | o.Copy()
            | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return None
        case _:
            assert_never(op)


def _work(warps: int, issue: float, special: float, latency: float) -> WorkStep:
    """One operation on a tile: its first elements are done when its last are issued."""
    exposed = max(0.0, latency - issue)
    return WorkStep(warps * issue, warps * special, 0.0, issue, exposed)


def added(a: WorkStep, b: WorkStep) -> WorkStep:
    """Both, one after the other."""
    return WorkStep(
        a.issue + b.issue,
        a.special + b.special,
        a.shared + b.shared,
        a.chain + b.chain,
        a.latency + b.latency,
    )


def _reduction(
    src: o.Tile, result: o.Tile, axis: int, warps: int, lanes: int
) -> WorkStep:
    """In each thread, then by shuffles over the lanes that hold the axis."""
    layout = src.layout
    assert layout is not None
    seen, stages = 1, 0
    for mode in layout.threads:
        if seen < lanes and mode.axis == axis:
            stages += max(0, min(mode.size, lanes // seen).bit_length() - 1)
        seen *= mode.size
    shuffles = stages * registers(result)
    inside = registers(src)
    issue = inside + 2.0 * shuffles
    tree = ALU_LATENCY * max(1, inside).bit_length()
    latency = stages * SHUFFLE_LATENCY + max(0.0, tree - inside)
    return WorkStep(warps * issue, 0.0, float(warps * shuffles), issue, latency)


def _combining(op: o.Combining, warps: int, lanes: int) -> WorkStep:
    """In each thread, by shuffles over the lanes, and for a scan back to each element.

    Each number of the state is shuffled; each time two states meet, all steps run.
    """
    source = op.srcs[op.part]
    steps = [FUNCTIONS[step.fn].among(step.dtype) for step in op.combine.steps]
    issue = sum(function.issue for function in steps)
    special = sum(function.special for function in steps)
    once = _reduction(source, op.result, op.axis, warps, lanes)
    if isinstance(op, o.Scan):
        more = _work(warps, registers(op.result), 0.0, ALU_LATENCY)
        once = added(once, more)
    shuffled = once.shared * (len(op.srcs) - 1)
    met = once.issue / warps * max(0.0, issue - 1.0)
    extra = _work(warps, met, special * registers(source), 0.0)
    return added(added(once, extra), WorkStep(shuffled, 0.0, shuffled, 0.0, 0.0))


def _sort(op: o.Sort, warps: int, lanes: int) -> WorkStep:
    """A network of log2(n) * (log2(n) + 1) / 2 stages; some exchange with a lane.

    An element and its index are compared with another pair, and chosen.
    """
    stages = op.src.shape[op.axis].bit_length() - 1
    total = stages * (stages + 1) / 2
    count = registers(op.src)
    inside = count.bit_length() - 1
    across = max(0.0, total - inside * (inside + 1) / 2)
    shuffles = 2.0 * count * across
    issue = 8.0 * count * total + 2.0 * shuffles
    latency = across * SHUFFLE_LATENCY
    return WorkStep(warps * issue, 0.0, float(warps * shuffles), issue, latency)


def shared_access(
    plan: VectorPlan, view: SharedView, warps: int, target: Target
) -> WorkStep:
    """A load from or store to shared memory by all threads of a role."""
    here = (view.alloc.layout, view.alloc.dtype, view.axes, view.shape)
    waves = _wavefronts(plan, *here, view.alloc.stage_bytes, target)
    issue = float(plan.accesses)
    return WorkStep(warps * issue, 0.0, float(waves), issue, SHARED_LATENCY)


@lru_cache(maxsize=4096)
def _wavefronts(
    plan: VectorPlan,
    layout: SharedLayout,
    dtype: DType,
    axes: tuple[int, ...],
    shape: tuple[int, ...],
    _: int,
    target: Target,
) -> int:
    """Of all warps, at the beginning of the buffer: elsewhere they are as many."""
    rank = len(layout.shape)
    alloc = SharedAlloc("", dtype, layout.shape, (None,) * rank, 1, NOWHERE)
    alloc.layout, alloc.offset = layout, 0
    origin = tuple(Const(0) for _ in range(rank))
    view = SharedView(alloc, Const(0), origin, axes, shape, (None,) * len(shape))
    return conflict_at(plan, view, {}, target).all_wavefronts


def requests(
    plan: VectorPlan,
    view: GlobalView,
    env: Mapping[str, Any],
    target: Target,
    *,
    stores: bool = False,
) -> tuple[float, float]:
    """Of one access by all threads: bytes of its sectors, and lines.

    ``lines``: lines of the L1 cache summed over warp requests, which the load/store
    unit does one after the other. Sectors that several loads share count once (L1
    keeps them); stores are written through, each with its own.
    """
    view = replace(view, limits=())  # they depend on tables, which nobody knows here
    coords = register_coords(plan)
    gathered = {g.symbol.name: coords[g.axis] for g in view.gathers}
    place = vector_global(plan, view, env, gathered)
    size = view.dtype.bytes
    addresses = element_offset(view.tensor, place.coords, env) * size
    active = np.broadcast_to(place.exists, addresses.shape)
    if plan.unique:
        active = active & plan.layout.owner_mask().reshape(active.shape)
    first = addresses[:, :, 0]
    some: Any = active.any(axis=2)
    threads = first.shape[0]
    lanes, sector = target.warp_threads, target.sector_bytes
    warps = threads / lanes
    line = target.line_bytes
    lines = _different(first[:lanes] // line, some[:lanes]) * warps
    width = plan.width * size
    if stores:
        sectors = _different(first[:lanes] // sector, some[:lanes]) * warps
    else:
        sectors = float(np.unique((first // sector)[some]).size)
    return sectors * max(sector, width), lines


def _different(values: Any, some: Any) -> float:
    """Different values within each column, where ``some``, summed over columns."""
    column = np.sort(np.where(some, values, -1), axis=0)
    new = np.diff(column, axis=0, prepend=-1) != 0
    return float((new & (column >= 0)).sum())


def straddling(
    view: GlobalView, plan: TmaPlan, env: Mapping[str, Any], line: int
) -> float:
    """Lines that the rows of a box touch, over those of rows that begin with a line."""
    size = view.dtype.bytes
    row = plan.map.box[-1] * size
    if view.tensor.rank < 2:
        return 1.0
    pitch = int(evaluate(view.tensor.strides[-2], env)) * size
    begins = np.arange(line) * pitch % line
    touched = -(-(begins + row) // line)
    return float(touched.mean()) / -(-row // line)


def product(op: o.Dot, warps: int, groups: int, hardware: Hardware) -> ProductStep:
    """A dot of one of ``groups`` thread groups of a role of ``warps`` warps."""
    plan = op.plan
    over = effects_of(op).completes
    # All types take the same bytes per cycle; the rate is of 16 bits.
    rate = hardware.tensor_flops * 2 / op.b.dtype.bytes
    match plan:
        case WgmmaPlan():
            record = registry.lookup(plan.instruction)
            count = plan.m_atoms * plan.n_atoms * plan.k_steps * warps / 4 / groups
            tensor = count * record.cost.flops / rate
            waves = count * record.cost.bytes / hardware.shared_bytes
            return ProductStep(tensor, waves, 4.0 * count, over, count)
        case MmaPlan():
            record = registry.lookup(plan.instruction)
            count = len(plan.steps) * warps / groups
            tensor = count * record.cost.flops / rate
            return ProductStep(tensor, 0.0, count, over, count)
        case None:
            raise ValueError("a dot without a plan: the program is not placed")
        case _:
            assert_never(plan)
