"""What is to be seen of a counterexample: tiles at each memory level, as plain data.

For each element that took part: the part of its tile around it, in shared memory
(coloured by bank) or in registers (coloured by thread), and the tile's place in its
tensor. Pictures are found from the operation at the line of the counterexample; where
there is none that fits, there is no picture. Drawing is the business of `svg`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.expr import Const, Expr
from argus.ir.memory import GlobalTensor, GlobalView, SharedView
from argus.ir.program import Program
from argus.ir.walk import defined, used, walk
from argus.targets import Target
from argus.verify.evidence import OperandElement
from argus.verify.verdict import Obligation

"""Banks of shared memory, 4 bytes wide (CUDA C++ Programming Guide)."""
ROWS, COLUMNS = 16, 24
"""Most cells of a picture: a part of the tile around the element."""

Cells = NDArray[np.int64]


@dataclass(frozen=True)
class ElementGrid:
    """A part of a tile: ``cells[r][c]`` colours and numbers its elements."""

    level: str
    title: str
    caption: str
    kind: str
    """"bank" or "thread"."""
    cells: Cells
    row: int
    column: int
    """Tile coordinates of the first cell."""
    shape: tuple[int, int]
    """Of the whole tile."""
    marked: tuple[int, int]
    """Tile coordinates of the element."""
    axes: tuple[str, str]
    places: Cells
    """Of each element: byte of its stage, or register of its thread."""
    lanes: int
    """Threads of a warp."""


@dataclass(frozen=True)
class Region:
    """Where a tile lies in its tensor, in elements (two dimensions of it)."""

    title: str
    caption: str
    extent: tuple[int, int]
    at: tuple[int, int]
    size: tuple[int, int]
    marked: tuple[int, int]
    axes: tuple[str, str]


@dataclass(frozen=True)
class Panel:
    """The pictures of one element."""

    label: str
    grids: tuple[ElementGrid, ...]
    regions: tuple[Region, ...]


def panels(program: Program, obligation: Obligation) -> tuple[Panel, ...]:
    """Pictures of the elements of a counterexample, one panel each."""
    found = obligation.counterexample
    if found is None:
        return ()
    ops = list(_at(program, obligation.span))
    made: list[Panel] = []
    for position, operand in enumerate(found.operands):
        value = _value(ops, operand, position)
        if value is None:
            continue
        grid = grid_of(value, operand.coordinate, program.target)
        region = _region(program, value, operand, found.sizes)
        if grid is None and region is None:
            continue
        made.append(
            Panel(
                operand.label,
                () if grid is None else (grid,),
                () if region is None else (region,),
            )
        )
    return tuple(made)


# ------------------------------------------------------------- which tile is it


def _at(program: Program, span: Span) -> Iterable[o.AnyOp]:
    """Operations at a span; those of its line where none has exactly that span."""
    every = [op for op in walk(program.body) if not isinstance(op, o.Structure)]
    exact = [op for op in every if op.span == span]
    if exact:
        return exact
    return [
        op for op in every if (op.span.file, op.span.line) == (span.file, span.line)
    ]


def _value(
    ops: Sequence[o.AnyOp], operand: OperandElement, position: int
) -> o.Tile | SharedView | None:
    """The tile that an operand is an element of: by its label, else by its place."""
    for op in ops:
        if isinstance(op, o.Dot):
            named = {"left": op.a, "right": op.b, "accumulator": op.result}
            value = named.get(operand.label)
            if value is not None and _fits(value, operand.coordinate):
                return value
    candidates = [v for op in ops for v in _values(op)]
    fitting = [v for v in candidates if _fits(v, operand.coordinate)]
    if not fitting:
        return None
    return fitting[min(position, len(fitting) - 1)]


def _values(op: o.AnyOp) -> tuple[o.Tile | SharedView, ...]:
    match op:
        case o.LoadShared():
            views: tuple[SharedView, ...] = (op.view,)
        case o.StoreShared():
            views = (op.view,)
        case o.CopyAsync():
            views = (op.dst,)
        case o.CopyOut():
            views = (op.src,)
        case o.Dot():
            views = tuple(x for x in (op.a, op.b) if isinstance(x, SharedView))
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.LoadGlobal()
            | o.StoreGlobal() | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            views = ()
        case _:
            assert_never(op)
    return (*views, *used(op), *defined(op))


def _fits(value: o.Tile | SharedView, at: tuple[int, ...]) -> bool:
    return (
        len(at) == len(value.shape)
        and len(at) > 0
        and all(0 <= c < n for c, n in zip(at, value.shape, strict=True))
    )


# ------------------------------------------------------------------------- grids


def grid_of(
    value: o.Tile | SharedView, at: tuple[int, ...], target: Target
) -> ElementGrid | None:
    """The part of a tile around the element ``at``; None where it has no layout."""
    shape = (1, *value.shape)[-2:]
    marked = (0, *at)[-2:]
    row, rows = _part(marked[0], shape[0], ROWS, ROWS // 2)
    # Near the left, where a narrow screen shows it without scrolling.
    column, columns = _part(marked[1], shape[1], COLUMNS, 6)
    r, c = np.meshgrid(
        np.arange(row, row + rows), np.arange(column, column + columns), indexing="ij"
    )
    coords: list[Any] = [np.full_like(r, x) for x in at[:-2]]
    coords += [r, c] if len(at) > 1 else [c]
    names = [d or f"axis {i}" for i, d in enumerate(value.dims)]
    axes = (names[-2] if len(names) > 1 else "", names[-1])
    if isinstance(value, SharedView):
        return _shared(value, coords, row, column, shape, marked, axes, target)
    return _registers(value, coords, row, column, shape, marked, axes, target)


def _part(at: int, extent: int, most: int, before: int) -> tuple[int, int]:
    """First cell and number of cells of a part around ``at``."""
    if extent <= most:
        return 0, extent
    start = min(max(at - before, 0), extent - most)
    return start - start % 4, most


def _shared(
    view: SharedView,
    coords: list[Any],
    row: int,
    column: int,
    shape: tuple[int, ...],
    marked: tuple[int, ...],
    axes: tuple[str, str],
    target: Target,
) -> ElementGrid | None:
    layout = view.alloc.layout
    if layout is None:
        return None
    whole: list[Any] = [_constant(x) for x in view.origin]
    for axis, coord in zip(view.axes, coords, strict=True):
        whole[axis] = coord + whole[axis]
    offsets = np.asarray(np.broadcast_to(layout.offset(whole), coords[-1].shape))
    banks = offsets // target.bank_bytes % target.banks
    here = int(offsets[marked[0] - row, marked[1] - column])
    bank = here // target.bank_bytes % target.banks
    swizzle = f"swizzle {layout.swizzle}" if layout.swizzle else "no swizzle"
    stages = f", one of {view.alloc.stages} stages" if view.alloc.stages > 1 else ""
    return ElementGrid(
        "shared memory",
        f"{view.alloc.name} in shared memory",
        f"{swizzle}{stages}; each cell is an element, coloured by its bank; the marked "
        f"one is byte {here} of its stage, bank {bank}",
        "bank",
        banks,
        row,
        column,
        (shape[0], shape[1]),
        (marked[0], marked[1]),
        axes,
        offsets,
        target.warp_threads,
    )


def _registers(
    tile: o.Tile,
    coords: list[Any],
    row: int,
    column: int,
    shape: tuple[int, ...],
    marked: tuple[int, ...],
    axes: tuple[str, str],
    target: Target,
) -> ElementGrid | None:
    if tile.layout is None:
        return None
    table = tile.layout.table().astype(np.int64)
    strides = np.cumprod([1, *reversed(tile.shape[1:])])[::-1]
    flat = (table * strides).sum(axis=2)
    count, each = table.shape[0], table.shape[1]
    threads: Cells = np.repeat(np.arange(count, dtype=np.int64), each)
    registers: Cells = np.tile(np.arange(each, dtype=np.int64), count)
    owner = np.zeros(int(np.prod(tile.shape)), dtype=np.int64)
    register = np.zeros_like(owner)
    # The lowest holder of a replicated element comes last, and stays.
    places: Cells = flat.reshape(-1)[::-1]
    owner[places] = threads[::-1]
    register[places] = registers[::-1]
    index = sum(c * int(s) for c, s in zip(coords, strides, strict=True))
    cells = owner[index]
    here = (marked[0] - row, marked[1] - column)
    thread, reg = int(cells[here]), int(register[index][here])
    warp, lane = divmod(thread, target.warp_threads)
    return ElementGrid(
        "registers",
        f"{tile.name} in registers",
        f"each cell is an element, coloured and numbered by its thread; the marked one "
        f"is in thread {thread} (warp {warp}, lane {lane}), element "
        f"{reg} of its registers",
        "thread",
        cells,
        row,
        column,
        (shape[0], shape[1]),
        (marked[0], marked[1]),
        axes,
        register[index],
        target.warp_threads,
    )


def _constant(e: Expr) -> int:
    """The value of a constant; a part that moves is drawn at its first place."""
    return int(e.value) if isinstance(e, Const) else 0


# ----------------------------------------------------------------------- regions


def _region(
    program: Program,
    value: o.Tile | SharedView,
    operand: OperandElement,
    sizes: dict[str, int],
) -> Region | None:
    view = _source(program, value)
    if view is None or view.tensor.rank < 1:
        return None
    tensor = view.tensor
    dims = tensor.dims[-2:]
    if any(d not in operand.tag for d in dims) or len(view.shape) < len(dims):
        return None
    extents = [_extent(tensor, d, sizes) for d in range(tensor.rank)][-2:]
    if any(e is None for e in extents):
        return None
    extent = tuple(e or 1 for e in extents)
    marked = tuple(operand.tag[d] for d in dims)
    # The element's coordinate in its tile says where the tile begins.
    own = {d: i for i, d in enumerate(value.dims) if d is not None}
    if any(d not in own for d in dims):
        return None
    at = tuple(operand.tag[d] - operand.coordinate[own[d]] for d in dims)
    size = tuple(value.shape[own[d]] for d in dims)
    where = ", ".join(
        f"{d} {a} to {a + n - 1}" for d, a, n in zip(dims, at, size, strict=True)
    )
    two = len(dims) == 2
    return Region(
        f"{tensor.name} in global memory",
        f"the tile is {where}; the element is {tensor.name}"
        f"[{', '.join(str(operand.tag.get(d, '?')) for d in tensor.dims)}]",
        (extent[0], extent[1]) if two else (1, extent[0]),
        (at[0], at[1]) if two else (0, at[0]),
        (size[0], size[1]) if two else (1, size[0]),
        (marked[0], marked[1]) if two else (0, marked[0]),
        (dims[0], dims[1]) if two else ("", dims[0]),
    )


def _source(program: Program, value: o.Tile | SharedView) -> GlobalView | None:
    """The slice of a tensor that a tile was loaded from, if one load brings it."""
    for op in walk(program.body):
        match op:
            case o.CopyAsync(dst=dst, src=src) if (
                isinstance(value, SharedView) and dst.alloc is value.alloc
            ):
                return src
            case o.LoadGlobal(result=result, view=view) if result is value:
                return view
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
    return None


def _extent(tensor: GlobalTensor, axis: int, sizes: dict[str, int]) -> int | None:
    extent = tensor.shape[axis]
    if isinstance(extent, Const):
        return int(extent.value)
    return sizes.get(str(extent))
