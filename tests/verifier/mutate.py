"""Mutations of placed programs that put elements in the wrong place.

    sites(program) -> places where a change of this kind can be made

A site is the line of the source that changes and a function that changes the program in
place; ``at(program, sites, k)`` of `mutate_order.py` copies the program and makes the
k-th change. A mutant may be equivalent to the program; whether it is, is for the
interpreter to say. Nothing here checks the result. Changes of when things happen are in
`mutate_order.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, binary
from argus.ir.memory import GlobalView
from argus.ir.placement import MatrixOperand, MmaPlan, TmaPlan, WgmmaPlan
from argus.ir.program import Program
from argus.ir.walk import blocks, walk
from argus.isa.wgmma import function_name
from verifier.mutate_order import Change, Operator, Site, Sites, at, places

T = TypeVar("T")


def _ops(program: Program, kind: type[T]) -> Iterator[T]:
    return (op for op in walk(program.body) if isinstance(op, kind))


def _set(op: object, **values: object) -> Change:
    def change() -> None:
        for name, value in values.items():
            setattr(op, name, value)

    return change


def _all(*changes: Change) -> Change:
    def change() -> None:
        for one in changes:
            one()

    return change


# ------------------------------------------------------------------- matrix operands


def _operands(
    program: Program, change: Callable[[MatrixOperand], MatrixOperand | None]
) -> Iterator[Site]:
    """A change of each descriptor for which ``change`` gives another one."""
    for dot in _ops(program, o.Dot):
        plan = dot.plan
        if not isinstance(plan, WgmmaPlan):
            continue
        for side in ("a", "b"):
            operand = getattr(plan, side)
            made = None if operand is None else change(operand)
            if made is not None and made != operand:
                values: dict[str, Any] = {side: made}
                yield dot.span.line, _set(dot, plan=replace(plan, **values))


def descriptor_offset(program: Program) -> Iterator[Site]:
    """A matrix descriptor begins 32 bytes further on in one step."""
    for atom, step in ((0, 0), (0, -1), (-1, 0), (-1, -1)):

        def change(x: MatrixOperand, atom: int = atom, step: int = step):
            rows = [list(r) for r in x.offsets]
            rows[atom][step] += 32
            return replace(x, offsets=tuple(tuple(r) for r in rows))

        yield from _operands(program, change)


def descriptor_steps(program: Program) -> Iterator[Site]:
    """A matrix descriptor takes two steps of K in the other order."""

    def change(x: MatrixOperand) -> MatrixOperand:
        rows = tuple((r[1], r[0], *r[2:]) if len(r) > 1 else r for r in x.offsets)
        return replace(x, offsets=rows)

    return _operands(program, change)


def descriptor_stride(program: Program) -> Iterator[Site]:
    """A matrix descriptor has half the stride."""
    return _operands(program, lambda x: replace(x, stride=x.stride // 2))


def descriptor_leading(program: Program) -> Iterator[Site]:
    """A matrix descriptor has twice the leading offset."""
    return _operands(program, lambda x: replace(x, leading=x.leading * 2))


def descriptor_swizzle(program: Program) -> Iterator[Site]:
    """A matrix descriptor names another swizzle than the buffer has."""
    return _operands(
        program, lambda x: replace(x, swizzle=64 if x.swizzle != 64 else 32)
    )


def descriptor_major(program: Program) -> Iterator[Site]:
    """The instruction takes an operand for the transposed one."""
    for dot in _ops(program, o.Dot):
        plan = dot.plan
        if not isinstance(plan, WgmmaPlan):
            continue
        for side in ("a", "b"):
            operand: MatrixOperand | None = getattr(plan, side)
            if operand is None:
                continue
            turned = replace(operand, mn_major=not operand.mn_major)
            values: dict[str, Any] = {side: turned}
            made = replace(plan, **values)
            majors = (int(made.a is not None and made.a.mn_major), int(made.b.mn_major))
            name = function_name(made.inst_n, dot.a.dtype.name, made.a is None, *majors)
            yield dot.span.line, _set(dot, plan=replace(made, instruction=name))


def warpgroup_stride(program: Program) -> Iterator[Site]:
    """All warpgroups read the rows of the first one."""
    return _operands(program, lambda x: replace(x, warpgroup_stride=0))


def mma_step(program: Program) -> Iterator[Site]:
    """One mma.sync reads the registers of another step."""
    for dot in _ops(program, o.Dot):
        plan = dot.plan
        if not isinstance(plan, MmaPlan) or len(plan.steps) < 2:
            continue
        for first, second in ((0, 1), (0, -1), (-1, 0)):
            for side in ("a", "b", "acc"):
                steps = list(plan.steps)
                other = getattr(steps[second], side)
                if other == getattr(steps[first], side):
                    continue
                values: dict[str, Any] = {side: other}
                steps[first] = replace(steps[first], **values)
                made = replace(plan, steps=tuple(steps))
                yield dot.span.line, _set(dot, plan=made)


def no_accumulator(program: Program) -> Iterator[Site]:
    """A product begins at zero instead of going on."""
    for dot in _ops(program, o.Dot):
        if dot.acc is not None:
            yield dot.span.line, _set(dot, acc=None)


# --------------------------------------------------------------------------- copies


def _boxes(program: Program, kind: type[o.CopyAsync] | type[o.CopyOut]):
    for op in _ops(program, kind):
        plan = op.plan
        if not isinstance(plan, TmaPlan):
            continue
        for i in sorted({0, len(plan.boxes) - 1}):
            yield op, plan, i


def _moved(program: Program, kind: type[o.CopyAsync] | type[o.CopyOut], by: int):
    for op, plan, i in _boxes(program, kind):
        for d in range(len(plan.boxes[i].coords)):
            boxes = list(plan.boxes)
            coords = list(boxes[i].coords)
            coords[d] = binary("+", coords[d], by)
            boxes[i] = replace(boxes[i], coords=tuple(coords))
            yield op.span.line, _set(op, plan=replace(plan, boxes=tuple(boxes)))


def load_coordinate(program: Program) -> Iterator[Site]:
    """One TMA load begins 8 elements further on along one dimension."""
    return _moved(program, o.CopyAsync, 8)


def store_coordinate(program: Program) -> Iterator[Site]:
    """One TMA store begins 8 elements further on along one dimension."""
    return _moved(program, o.CopyOut, 8)


def copy_offset(program: Program) -> Iterator[Site]:
    """One TMA copy begins 1024 bytes further on in shared memory."""
    for kind in (o.CopyAsync, o.CopyOut):
        for op, plan, i in _boxes(program, kind):
            boxes = list(plan.boxes)
            boxes[i] = replace(boxes[i], offset=binary("+", boxes[i].offset, 1024))
            yield op.span.line, _set(op, plan=replace(plan, boxes=tuple(boxes)))


def map_swizzle(program: Program) -> Iterator[Site]:
    """TMA writes or reads a buffer without the swizzle that the others expect."""
    for op in walk(program.body):
        if isinstance(op, o.CopyAsync | o.CopyOut) and isinstance(op.plan, TmaPlan):
            if not op.plan.map.swizzle:
                continue
            plan = replace(op.plan, map=replace(op.plan.map, swizzle=0))
            maps = [*program.tensor_maps, plan.map]
            both = (_set(op, plan=plan), _set(program, tensor_maps=maps))
            yield op.span.line, _all(*both)


def buffer_swizzle(program: Program) -> Iterator[Site]:
    """Loads and stores of registers take a shared buffer to have no swizzle."""
    seen: set[int] = set()
    for op in walk(program.body):
        if not isinstance(op, o.StoreShared | o.LoadShared):
            continue
        alloc = op.view.alloc
        if alloc.layout and alloc.layout.swizzle and id(alloc) not in seen:
            seen.add(id(alloc))
            layout = replace(alloc.layout, swizzle=0)
            yield op.span.line, _set(alloc, layout=layout)


def buffer_overlaps(program: Program) -> Iterator[Site]:
    """A shared buffer begins inside the one before it."""
    placed = sorted(
        (a for a in program.shared if a.offset is not None), key=lambda a: a.offset or 0
    )
    for before, alloc in itertools.pairwise(placed):
        if before.offset != alloc.offset:
            yield alloc.span.line, _set(alloc, offset=before.offset)


def delete_store(program: Program) -> Iterator[Site]:
    """A store, to shared or to global memory, is not made."""

    def visit(block: o.Block) -> Iterator[Site]:
        for op in list(block.ops):
            if isinstance(op, o.StoreShared | o.StoreGlobal | o.CopyOut):
                yield op.span.line, lambda b=block, x=op: b.ops.remove(x)
            for inner in blocks(op):
                yield from visit(inner)

    return visit(program.body)


# ---------------------------------------------------------------------------- views


def _views(program: Program) -> Iterator[tuple[o.LoadGlobal | o.StoreGlobal, Any]]:
    for op in walk(program.body):
        if isinstance(op, o.LoadGlobal | o.StoreGlobal):
            yield op, op.view


def _cp_async(program: Program) -> Iterator[tuple[o.CopyAsync, GlobalView]]:
    for op in _ops(program, o.CopyAsync):
        if not isinstance(op.plan, TmaPlan):
            yield op, op.src


def global_coordinate(program: Program) -> Iterator[Site]:
    """A load, store or cp.async is off by 16 elements along one dimension."""
    for op, view in _views(program):
        for d in range(len(view.coords)):
            yield op.span.line, _set(op, view=_shift(view, d))
    for op, view in _cp_async(program):
        for d in range(len(view.coords)):
            yield op.span.line, _set(op, src=_shift(view, d))


def _shift(view: GlobalView, d: int) -> GlobalView:
    coords = list(view.coords)
    coords[d] = binary("+", coords[d], 16)
    return replace(view, coords=tuple(coords))


def limit_forgotten(program: Program) -> Iterator[Site]:
    """A ragged end is not looked at."""
    for op, view in _views(program):
        for i in range(len(view.limits)):
            limits = view.limits[:i] + view.limits[i + 1 :]
            yield op.span.line, _set(op, view=replace(view, limits=limits))


def limit_later(program: Program) -> Iterator[Site]:
    """A ragged end is one element later."""
    for op, view in _views(program):
        for i, limit in enumerate(view.limits):
            limits = list(view.limits)
            limits[i] = replace(limit, extent=binary("+", limit.extent, 1))
            yield op.span.line, _set(op, view=replace(view, limits=tuple(limits)))


def shared_origin(program: Program) -> Iterator[Site]:
    """A part of a shared tile begins 8 elements further on."""
    for op in walk(program.body):
        if isinstance(op, o.LoadShared | o.StoreShared):
            yield from _origins(op, "view")
        elif isinstance(op, o.Dot):
            for side in ("a", "b"):
                if not isinstance(getattr(op, side), o.Tile):
                    yield from _origins(op, side)


def _origins(op: Any, name: str) -> Iterator[Site]:
    view = getattr(op, name)
    for d in range(len(view.origin)):
        origin = list(view.origin)
        origin[d] = binary("+", origin[d], 8)
        yield op.span.line, _set(op, **{name: replace(view, origin=tuple(origin))})


def scalar_coordinate(program: Program) -> Iterator[Site]:
    """An entry of a table is read one further on."""
    for op in _ops(program, o.LoadScalar):
        for d in range(len(op.coords)):
            coords = list(op.coords)
            coords[d] = binary("+", coords[d], 1)
            yield op.span.line, _set(op, coords=tuple(coords))


# -------------------------------------------------------------- scalars, loops, grid


def loop_start(program: Program) -> Iterator[Site]:
    """A loop begins one step later."""
    for op in _ops(program, o.For):
        yield op.span.line, _set(op, start=binary("+", op.start, op.step))


def loop_step(program: Program) -> Iterator[Site]:
    """A loop takes every other step."""
    for op in _ops(program, o.For):
        yield op.span.line, _set(op, step=binary("*", op.step, 2))


def named_scalar(program: Program) -> Iterator[Site]:
    """An integer that is computed and named is one more.

    Not numbers of floating point: tags do not know what a factor should be.
    """
    for op in _ops(program, o.Let):
        if op.sym.type == "int":
            yield op.span.line, _set(op, value=binary("+", op.value, 1))


def rounded_down(program: Program) -> Iterator[Site]:
    """A number of tiles is rounded down instead of up: in the grid, or in a loop."""
    if (made := _down(program.grid)) is not None:
        yield program.span.line, _set(program, grid=made)
    for op in _ops(program, o.For):
        if (made := _down(op.stop)) is not None:
            yield op.span.line, _set(op, stop=made)


def _down(e: Expr) -> Expr | None:
    """``e`` with its first (x + c - 1) // c replaced by x // c."""
    if not isinstance(e, Binary):
        return None
    inner = e.left
    if (
        e.op == "//"
        and isinstance(e.right, Const)
        and isinstance(inner, Binary)
        and inner.op == "+"
        and inner.right == Const(int(e.right.value) - 1)
    ):
        return binary("//", inner.left, e.right)
    for side in ("left", "right"):
        if (made := _down(getattr(e, side))) is not None:
            return replace(e, **{side: made})
    return None


def grid_short(program: Program) -> Iterator[Site]:
    """One block (or cluster) less than there are tiles."""
    grid = binary("-", program.grid, program.cluster)
    yield program.span.line, _set(program, grid=grid)


def branch_always(program: Program) -> Iterator[Site]:
    """A branch is taken whatever its condition says."""
    for op in _ops(program, o.If):
        yield op.span.line, _set(op, cond=Const(True))


# ---------------------------------------------------------------------- register tiles


def fill_value(program: Program) -> Iterator[Site]:
    """Elements outside a loaded tensor are 1 instead of the neutral element."""
    for op in _ops(program, o.LoadGlobal):
        if op.result.dtype.is_float:
            yield op.span.line, _set(op, fill=Const(1.0))


def mask_bound(program: Program) -> Iterator[Site]:
    """A mask at the end of a tensor lets one more element through.

    Only `<`: the `<=` of the library is the causal mask, which is what the kernel is
    to compute; nothing else in it says so.
    """
    for op in _ops(program, o.Elementwise):
        if op.fn == "lt":
            yield op.span.line, _set(op, fn="le")


def drop_where(program: Program) -> Iterator[Site]:
    """A mask is not applied: the masked tile is used as it is."""
    for op in _ops(program, o.Elementwise):
        if op.fn == "where" and isinstance(op.args[1], o.Tile):
            kept = op.args[1]
            yield op.span.line, _set(op, fn="maximum", args=(kept, kept))


def slice_start(program: Program) -> Iterator[Site]:
    """A window of registers begins one window further on, or before."""
    for op in _ops(program, o.Slice):
        n, size = op.result.shape[op.axis], op.src.shape[op.axis]
        if n < size:
            start = op.start + n if op.start + 2 * n <= size else op.start - n
            yield op.span.line, _set(op, start=start)
    for op in _ops(program, o.StridedSlice):
        start = op.start + 1 if (op.start + 1) % op.step else op.start - op.step + 1
        if op.step > 1:
            yield op.span.line, _set(op, start=start)


def index_axis(program: Program) -> Iterator[Site]:
    """Coordinates are counted along the other axis."""
    for op in _ops(program, o.Index):
        if len(op.result.shape) > 1:
            yield op.span.line, _set(op, axis=len(op.result.shape) - 1 - op.axis)


def broadcast_axis(program: Program) -> Iterator[Site]:
    """A vector is repeated along the other axis of a square tile."""
    for op in _ops(program, o.Broadcast):
        shape = op.result.shape
        if len(shape) == 2 and len(op.axes) == 1 and shape[0] == shape[1]:
            yield op.span.line, _set(op, axes=(1 - op.axes[0],))


def carried_back(program: Program) -> Iterator[Site]:
    """What a loop computes for the next iteration is dropped.

    Not a running maximum: which one is subtracted is a matter of numbers.
    """
    largest = {
        x.result for x in _ops(program, o.Elementwise) if x.fn in ("maximum", "minimum")
    }
    for op in _ops(program, o.For):
        for carry in op.tiles:
            # An accumulator that is updated in place stays updated.
            in_place = carry.yielded.storage == carry.arg.storage is not None
            if carry.yielded in largest:
                continue
            if carry.yielded is not carry.arg and not in_place:
                yield op.span.line, _set(carry, yielded=carry.arg)


def transposed_view(program: Program) -> Iterator[Site]:
    """A load or store takes rows for columns."""
    for op, view in _views(program):
        if len(view.coords) >= 2 and len(view.shape) >= 2:
            coords = (*view.coords[:-2], view.coords[-1], view.coords[-2])
            yield op.span.line, _set(op, view=replace(view, coords=coords))


SITES: tuple[Sites, ...] = (
    descriptor_offset, descriptor_steps, descriptor_stride, descriptor_leading,
    descriptor_swizzle, descriptor_major, warpgroup_stride, mma_step, no_accumulator,
    load_coordinate, store_coordinate, copy_offset, map_swizzle, buffer_swizzle,
    buffer_overlaps, delete_store, global_coordinate, limit_forgotten, limit_later,
    shared_origin, scalar_coordinate, loop_start, loop_step, named_scalar, rounded_down,
    grid_short, branch_always, fill_value, mask_bound, drop_where, slice_start,
    index_axis, broadcast_axis, carried_back, transposed_view,
)  # fmt: skip
"""Every kind of change, by the places that it has in a program."""


def _operator(sites: Sites) -> Operator:
    def mutate(program: Program, rng: Random) -> Program | None:
        count = places(program, sites)
        return at(program, sites, rng.randrange(count))[0] if count else None

    mutate.__name__ = sites.__name__
    mutate.__doc__ = sites.__doc__
    return mutate


DATA: dict[str, Operator] = {s.__name__: _operator(s) for s in SITES}
"""The same, each at a place chosen by the random numbers."""
