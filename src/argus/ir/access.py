"""Which elements and bytes a placed access touches: plan + scalars -> arrays.

The one place where a plan, a view and the values of uniform scalars become addresses.
The interpreter executes what these functions return and the verifier checks it, so a
formula that is wrong here is wrong for both; the GPU tests compare it with hardware.

Every function is pure. `env` gives the value of each symbol by name. Addresses are in
bytes from the beginning of the block's shared memory; global places are coordinates per
tensor dimension. Arrays are indexed [thread, access, element] as in
:class:`~argus.ir.placement.VectorPlan`. What depends on layouts only is cached.

Not here: what a matrix descriptor or a TMA box reads relative to its start (`isa/`),
alignment rules, and whether a byte may be touched at that moment (the readers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.expr import evaluate
from argus.ir.memory import GlobalTensor, GlobalView, SharedView
from argus.ir.placement import MatrixOperand, TmaBox, VectorPlan
from argus.layout import WARP_LANES, Fragment, SharedLayout

__all__ = [
    "Env",
    "GlobalPlace",
    "Ints",
    "box_address",
    "box_coords",
    "descriptor_starts",
    "element_offset",
    "global_place",
    "matrix_elements",
    "matrix_rows",
    "register_coords",
    "stage_base",
    "vector_global",
    "vector_shared",
]

Env = Mapping[str, Any]
Ints = NDArray[np.int64]


# ------------------------------------------------------------ shared memory


def stage_base(view: SharedView, env: Env) -> Any:
    """Byte address of the stage that a view is in. Raises ValueError when unplaced."""
    if view.alloc.offset is None:
        raise ValueError(f"shared buffer {view.alloc.name} has no offset yet")
    return evaluate(view.stage, env) * view.alloc.stage_bytes + view.alloc.offset


def vector_shared(plan: VectorPlan, view: SharedView, env: Env) -> Ints:
    """Byte address of every element, shape [threads, accesses, width].

    For "ldmatrix" and "stmatrix" this is where each element should be; which bytes the
    instruction touches is :func:`matrix_elements`.
    """
    table = _shared_table(plan.layout, _layout(view), view.axes, _origin(view, env))
    base = stage_base(view, env)
    return (table + base).reshape(table.shape[0], plan.accesses, plan.width)


def matrix_rows(plan: VectorPlan, view: SharedView, env: Env) -> Ints:
    """Row addresses that the lanes supply, shape [warps, accesses, matrices, 8].

    Row i of matrix j comes from lane 8*j + i (PTX ISA, "ldmatrix", "stmatrix").
    """
    elements = vector_shared(plan, view, env)
    warps = elements.shape[0] // WARP_LANES
    per_warp = elements.reshape(warps, WARP_LANES, plan.accesses, plan.width // 2, 2)
    row = np.arange(8)
    if plan.instruction.endswith(".trans"):
        rows = per_warp[:, row // 2, :, :, row % 2]
    else:
        rows = per_warp[:, 4 * row, :, :, 0 * row]
    # Two index arrays with slices between them: numpy puts their axis first.
    return rows.transpose(1, 2, 3, 0)


def matrix_elements(plan: VectorPlan, view: SharedView, env: Env) -> Ints:
    """Bytes that ldmatrix or stmatrix moves, shape [threads, accesses, width].

    Lane l and half h of the register pair of a matrix hold row l/4, column 2*(l%4) + h
    of it, or with .trans row 2*(l%4) + h, column l/4; a row is 8 consecutive 16-bit
    elements from its address on (PTX ISA, "ldmatrix").
    """
    rows = matrix_rows(plan, view, env)
    lane, half = np.arange(WARP_LANES)[:, None], np.arange(2)[None, :]
    row, column = lane // 4 + 0 * half, 2 * (lane % 4) + half
    if plan.instruction.endswith(".trans"):
        row, column = column, row
    # [warps, accesses, matrices, lane, half]
    found = rows[:, :, :, row] + 2 * column
    return found.transpose(0, 3, 1, 2, 4).reshape(-1, plan.accesses, plan.width)


def descriptor_starts(
    operand: MatrixOperand, view: SharedView, env: Env, warpgroups: int
) -> Ints:
    """Start addresses (bytes) of an operand's matrix descriptors, before any swizzle.

    Shape [warpgroups, atoms, steps]. The view's base is where its origin would be
    without the swizzle: the hardware swizzles the addresses it computes.
    """
    base = stage_base(view, env) + _layout(view).linear(_origin(view, env))
    offsets = np.array(operand.offsets, dtype=np.int64)
    groups = np.arange(warpgroups, dtype=np.int64) * operand.warpgroup_stride
    return base + groups[:, None, None] + offsets[None]


def box_address(box: TmaBox, view: SharedView, env: Env) -> Any:
    """Shared address (bytes) of a TMA box, before any swizzle."""
    return stage_base(view, env) + evaluate(box.offset, env)


def box_coords(box: TmaBox, env: Env) -> tuple[Any, ...]:
    """Tensor coordinates of the first element of a TMA box, outermost first."""
    return tuple(evaluate(c, env) for c in box.coords)


def _layout(view: SharedView) -> SharedLayout:
    if view.alloc.layout is None:
        raise ValueError(f"shared buffer {view.alloc.name} has no layout yet")
    return view.alloc.layout


def _origin(view: SharedView, env: Env) -> tuple[int, ...]:
    return tuple(int(evaluate(x, env)) for x in view.origin)


@lru_cache(maxsize=1024)
def _shared_table(
    fragment: Fragment,
    layout: SharedLayout,
    axes: tuple[int, ...],
    origin: tuple[int, ...],
) -> Ints:
    """Byte offset in its stage of each (thread, register) element of a view."""
    table = fragment.table().astype(np.int64)
    coords: list[Any] = list(origin)
    for view_axis, axis in enumerate(axes):
        coords[axis] = table[:, :, view_axis] + origin[axis]
    found = np.broadcast_to(layout.offset(coords), table.shape[:2])
    result = np.ascontiguousarray(found, dtype=np.int64)
    result.setflags(write=False)
    return result


# ------------------------------------------------------------ global memory


@dataclass(frozen=True)
class GlobalPlace:
    """Elements of a tensor: a coordinate array per dimension, and which exist.

    Coordinates of elements that do not exist may lie outside the tensor.
    """

    coords: tuple[Any, ...]
    exists: Any


def global_place(view: GlobalView, tile_coord: Sequence[Any], env: Env) -> GlobalPlace:
    """Where elements of a view are; `tile_coord` has an array per axis of the view.

    `env` also holds the values of the view's gather symbols. All arrays have axes as
    the tile has, of extent 1 where a coordinate is the same along one: a tile of
    128 by 256 elements has 384 coordinates, and mostly exists as a whole.
    """
    values = {**env, **{f"%{i}": c for i, c in enumerate(tile_coord)}}
    coords = tuple(np.asarray(evaluate(c, values), np.int64) for c in view.coords)
    exists = np.ones((), dtype=np.bool_)
    inside = [
        (coord, evaluate(extent, env))
        for coord, extent in zip(coords, view.tensor.shape, strict=True)
    ]
    for limit in view.limits:
        value, extent = evaluate(limit.value, values), evaluate(limit.extent, values)
        inside.append((np.asarray(value), extent))
    for value, extent in inside:
        there = (value >= 0) & (value < extent)
        if not there.all():
            exists = exists & there
    return GlobalPlace(coords, exists)


def _place(
    view: GlobalView, tile_coord: Sequence[Any], env: Env, shape: tuple[int, ...]
) -> GlobalPlace:
    """The same as arrays of ``shape``, also of a tile that has no axes."""
    values = {**env, **{f"%{i}": c for i, c in enumerate(tile_coord)}}
    coords: list[Ints] = []
    exists = np.ones(shape, dtype=np.bool_)
    for formula, extent in zip(view.coords, view.tensor.shape, strict=True):
        coord = np.asarray(evaluate(formula, values), dtype=np.int64)
        _leave_out(exists, coord, evaluate(extent, env))
        # Most are the same number everywhere: filling is faster than broadcasting.
        coords.append(coord if coord.shape == shape else np.full(shape, coord))
    for limit in view.limits:
        value = np.asarray(evaluate(limit.value, values))
        _leave_out(exists, value, evaluate(limit.extent, values))
    return GlobalPlace(tuple(coords), exists)


def _leave_out(exists: Any, value: Any, extent: Any) -> None:
    """What is not from 0 to an extent does not exist, in place."""
    if value.ndim or np.ndim(extent):
        exists &= (value >= 0) & (value < extent)
    elif not 0 <= value < extent:
        exists[...] = False


def vector_global(
    plan: VectorPlan, view: GlobalView, env: Env, gathered: Env | None = None
) -> GlobalPlace:
    """Where each element of a vector access is, arrays [threads, accesses, width].

    `gathered` gives each gather symbol its values, shape [threads, registers].
    """
    shape = (plan.layout.num_threads, plan.accesses, plan.width)
    values = {k: np.reshape(v, shape) for k, v in (gathered or {}).items()}
    return _place(view, register_coords(plan), {**env, **values}, shape)


def register_coords(plan: VectorPlan) -> tuple[Ints, ...]:
    """Tile coordinates of each element, per axis [threads, accesses, width]."""
    return _register_coords(plan.layout, plan.width)


@lru_cache(maxsize=64)
def _register_coords(layout: Fragment, width: int) -> tuple[Ints, ...]:
    table = layout.table()
    shape = (table.shape[0], layout.num_regs // width, width)
    found = [table[:, :, axis].astype(np.int64) for axis in range(table.shape[2])]
    for coords in found:
        coords.setflags(write=False)
    return tuple(coords.reshape(shape) for coords in found)


def element_offset(tensor: GlobalTensor, coords: Sequence[Any], env: Env) -> Any:
    """Offset in elements from the first element of a tensor."""
    total: Any = 0
    for coord, stride in zip(coords, tensor.strides, strict=True):
        total = total + coord * evaluate(stride, env)
    return total
