"""Mutations of placed programs: one function per operator.

    operator(program, rng) -> Program | None

Each returns a deep copy with one change of its kind, at a place chosen by ``rng``, or
None where the program has no such place. A mutant may be equivalent to the program;
whether it is, is for the interpreter to say. Nothing here checks the result.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TypeVar

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.ir.placement import MatrixOperand, MmaPlan, TmaPlan, WgmmaPlan
from argus.ir.program import Program
from argus.ir.walk import blocks, walk

Operator = Callable[[Program, Random], Program | None]
T = TypeVar("T")


def _copy(program: Program) -> Program:
    return copy.deepcopy(program)


def _ops(program: Program, kind: type[T]) -> list[T]:
    return [op for op in walk(program.body) if isinstance(op, kind)]


def _pick(rng: Random, items: list[T]) -> T | None:
    return rng.choice(items) if items else None


# --------------------------------------------------------------- data: descriptors


def _wgmma(program: Program, rng: Random) -> o.Dot | None:
    return _pick(
        rng, [d for d in _ops(program, o.Dot) if isinstance(d.plan, WgmmaPlan)]
    )


def _operand(
    program: Program, rng: Random, change: Callable[[MatrixOperand], MatrixOperand]
) -> Program | None:
    made = _copy(program)
    dot = _wgmma(made, rng)
    if dot is None:
        return None
    assert isinstance(dot.plan, WgmmaPlan)
    if dot.plan.a is not None and rng.random() < 0.5:
        dot.plan = replace(dot.plan, a=change(dot.plan.a))
    else:
        dot.plan = replace(dot.plan, b=change(dot.plan.b))
    return made


def descriptor_offset(program: Program, rng: Random) -> Program | None:
    """A matrix descriptor begins 32 bytes further on in one step."""

    def change(x: MatrixOperand) -> MatrixOperand:
        rows = [list(r) for r in x.offsets]
        row = rng.randrange(len(rows))
        rows[row][rng.randrange(len(rows[row]))] += 32
        return replace(x, offsets=tuple(tuple(r) for r in rows))

    return _operand(program, rng, change)


def descriptor_stride(program: Program, rng: Random) -> Program | None:
    """A matrix descriptor has half the stride."""
    return _operand(program, rng, lambda x: replace(x, stride=x.stride // 2))


def descriptor_swizzle(program: Program, rng: Random) -> Program | None:
    """A matrix descriptor names another swizzle than the buffer has."""
    return _operand(
        program, rng, lambda x: replace(x, swizzle=64 if x.swizzle != 64 else 32)
    )


def descriptor_major(program: Program, rng: Random) -> Program | None:
    """A matrix descriptor takes the operand for the transposed one."""
    return _operand(program, rng, lambda x: replace(x, mn_major=not x.mn_major))


def warpgroup_stride(program: Program, rng: Random) -> Program | None:
    """All warpgroups read the rows of the first one."""

    def change(x: MatrixOperand) -> MatrixOperand:
        return replace(x, warpgroup_stride=0)

    made = _copy(program)
    dots = [
        d
        for d in _ops(made, o.Dot)
        if isinstance(d.plan, WgmmaPlan) and d.plan.a and d.plan.a.warpgroup_stride
    ]
    dot = _pick(rng, dots)
    if dot is None:
        return None
    assert isinstance(dot.plan, WgmmaPlan) and dot.plan.a is not None
    dot.plan = replace(dot.plan, a=change(dot.plan.a))
    return made


# ------------------------------------------------------------------- data: copies


def _box(
    program: Program, rng: Random, kind: type[o.CopyAsync] | type[o.CopyOut], by: int
) -> Program | None:
    made = _copy(program)
    copies = [c for c in _ops(made, kind) if isinstance(c.plan, TmaPlan)]
    op = _pick(rng, copies)
    if op is None:
        return None
    assert isinstance(op.plan, TmaPlan)
    boxes = list(op.plan.boxes)
    at = rng.randrange(len(boxes))
    coords = list(boxes[at].coords)
    d = rng.randrange(len(coords))
    coords[d] = binary("+", coords[d], by)
    boxes[at] = replace(boxes[at], coords=tuple(coords))
    op.plan = replace(op.plan, boxes=tuple(boxes))
    return made


def load_coordinate(program: Program, rng: Random) -> Program | None:
    """One TMA load begins 8 elements further on along one dimension."""
    return _box(program, rng, o.CopyAsync, 8)


def store_coordinate(program: Program, rng: Random) -> Program | None:
    """One TMA store begins 8 elements further on along one dimension."""
    return _box(program, rng, o.CopyOut, 8)


def map_swizzle(program: Program, rng: Random) -> Program | None:
    """TMA writes one operand without the swizzle that its readers expect."""
    made = _copy(program)
    op = _pick(
        rng,
        [
            c
            for c in _ops(made, o.CopyAsync)
            if isinstance(c.plan, TmaPlan) and c.plan.map.swizzle
        ],
    )
    if op is None:
        return None
    assert isinstance(op.plan, TmaPlan)
    op.plan = replace(op.plan, map=replace(op.plan.map, swizzle=0))
    return made


def buffer_swizzle(program: Program, rng: Random) -> Program | None:
    """A register store or load takes a shared buffer to have no swizzle."""
    made = _copy(program)
    accesses: list[o.StoreShared | o.LoadShared] = [
        x
        for x in (*_ops(made, o.StoreShared), *_ops(made, o.LoadShared))
        if x.view.alloc.layout and x.view.alloc.layout.swizzle
    ]
    op = _pick(rng, accesses)
    if op is None or op.view.alloc.layout is None:
        return None
    alloc = copy.copy(op.view.alloc)
    alloc.layout = replace(op.view.alloc.layout, swizzle=0)
    op.view = replace(op.view, alloc=op.view.alloc)
    # Only what this access believes changes: all others keep the buffer's layout.
    others = [
        x
        for x in walk(made.body)
        if isinstance(x, o.StoreShared | o.LoadShared) and x is not op
    ]
    same = [x for x in others if x.view.alloc is op.view.alloc]
    if not same and not any(
        isinstance(x, o.CopyOut | o.CopyAsync | o.Dot) for x in walk(made.body)
    ):
        return None
    op.view.alloc.layout = alloc.layout
    return made


# --------------------------------------------------------------- data: expressions


def _views(program: Program) -> list[o.LoadGlobal | o.StoreGlobal]:
    return [*_ops(program, o.LoadGlobal), *_ops(program, o.StoreGlobal)]


def global_coordinate(program: Program, rng: Random) -> Program | None:
    """A load or store to registers is off by one tile width along one dimension."""
    made = _copy(program)
    op = _pick(rng, _views(made))
    if op is None:
        return None
    coords = list(op.view.coords)
    d = rng.randrange(len(coords))
    coords[d] = binary("+", coords[d], 16)
    op.view = replace(op.view, coords=tuple(coords))
    return made


def loop_start(program: Program, rng: Random) -> Program | None:
    """A loop begins one step later."""
    made = _copy(program)
    op = _pick(rng, _ops(made, o.For))
    if op is None:
        return None
    op.start = binary("+", op.start, op.step)
    return made


def loop_stop(program: Program, rng: Random) -> Program | None:
    """A loop ends one step earlier."""
    made = _copy(program)
    op = _pick(rng, _ops(made, o.For))
    if op is None:
        return None
    op.stop = binary("-", op.stop, op.step)
    return made


def stage_shift(program: Program, rng: Random) -> Program | None:
    """One operand of a product is read from the next stage of its ring."""
    made = _copy(program)
    found: list[tuple[o.Dot, str]] = []
    for d in _ops(made, o.Dot):
        for side in ("a", "b"):
            x = getattr(d, side)
            if not isinstance(x, o.Tile) and x.alloc.stages > 1:
                found.append((d, side))
    picked = _pick(rng, found)
    if picked is None:
        return None
    dot, side = picked
    view = getattr(dot, side)
    stage = _next(view.stage, view.alloc.stages)
    setattr(dot, side, replace(view, stage=stage))
    return made


def _next(stage: Expr, stages: int) -> Expr:
    match stage:
        case Const(value=int(v)):
            return Const((v + 1) % stages)
        case o.Expr() if getattr(stage, "op", "") == "%":
            return binary("%", binary("+", stage.left, 1), stages)  # type: ignore[attr-defined]
        case _:
            return binary("%", binary("+", stage, 1), stages)


# ----------------------------------------------------------------- data: registers


def mma_step(program: Program, rng: Random) -> Program | None:
    """One mma.sync takes its A from the next step's registers."""
    made = _copy(program)
    dot = _pick(rng, [d for d in _ops(made, o.Dot) if isinstance(d.plan, MmaPlan)])
    if dot is None:
        return None
    assert isinstance(dot.plan, MmaPlan)
    steps = list(dot.plan.steps)
    at = rng.randrange(len(steps))
    other = (at + 1) % len(steps)
    if steps[at].a == steps[other].a:
        steps[at] = replace(steps[at], b=steps[other].b)
    else:
        steps[at] = replace(steps[at], a=steps[other].a)
    dot.plan = replace(dot.plan, steps=tuple(steps))
    return made


def fill_value(program: Program, rng: Random) -> Program | None:
    """Elements outside a loaded tensor are 1 instead of the neutral element."""
    made = _copy(program)
    loads = [x for x in _ops(made, o.LoadGlobal) if x.result.dtype.is_float]
    op = _pick(rng, loads)
    if op is None:
        return None
    op.fill = Const(1.0)
    return made


def mask_bound(program: Program, rng: Random) -> Program | None:
    """A comparison lets one more element through."""
    made = _copy(program)
    op = _pick(rng, [e for e in _ops(made, o.Elementwise) if e.fn == "lt"])
    if op is None:
        return None
    op.fn = "le"
    return made


def drop_where(program: Program, rng: Random) -> Program | None:
    """A mask is not applied: the masked tile is used as it is."""
    made = _copy(program)
    op = _pick(
        rng,
        [
            e
            for e in _ops(made, o.Elementwise)
            if e.fn == "where" and isinstance(e.args[1], o.Tile)
        ],
    )
    if op is None:
        return None
    kept = op.args[1]
    op.fn, op.args = "maximum", (kept, kept)
    return made


def delete_fill(program: Program, rng: Random) -> Program | None:
    """One copy into shared memory is not made."""
    made = _copy(program)
    places: list[tuple[o.Block, o.AnyOp]] = []

    def visit(block: o.Block) -> None:
        for op in block.ops:
            if isinstance(op, o.CopyAsync | o.StoreShared):
                places.append((block, op))
            for inner in blocks(op):
                visit(inner)

    visit(made.body)
    picked = _pick(rng, places)
    if picked is None:
        return None
    block, op = picked
    block.ops.remove(op)
    return made


DATA: dict[str, Operator] = {
    f.__name__: f
    for f in (
        descriptor_offset, descriptor_stride, descriptor_swizzle, descriptor_major,
        warpgroup_stride, load_coordinate, store_coordinate, map_swizzle,
        buffer_swizzle, global_coordinate, loop_start, loop_stop, stage_shift,
        mma_step, fill_value, mask_bound, drop_where, delete_fill,
    )
}  # fmt: skip
"""Operators that put elements in the wrong place."""
