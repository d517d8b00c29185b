"""Pass: choose the access of every register-to-memory move and cp.async copy.

The widest vector that the layout offers and that is proved aligned: the row strides,
the uniform starts and the extents must be multiples of it (facts of the
specialisation), and the base pointer too (checked at launch). 16-bit tiles in a tensor
core fragment go through ldmatrix and stmatrix.
"""

from collections.abc import Sequence
from functools import partial
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from argus.diagnostics import ArgusError, fail
from argus.ir import ops as o
from argus.ir.divisors import Facts, ask
from argus.ir.expr import Expr, divisor
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import VectorPlan
from argus.ir.program import PointerAlignment, Program
from argus.isa import cp_async, ldmatrix, memory, registry
from argus.layout import WARP_LANES, Fragment
from argus.lower.defaults import copy_layout
from argus.lower.groups import groups, walk_group
from argus.lower.views import axis_start, contiguous_axis, uses_axis

_MAX_BYTES = memory.VECTOR_SIZES[-1]


def select_accesses(program: Program) -> None:
    """Set the plan of LoadGlobal, StoreGlobal, LoadShared and StoreShared."""
    for group in groups(program):
        for op in walk_group(group.block):
            match op:
                case o.LoadGlobal():
                    layout = _need(op.result)
                    width = 1 if op.mask else global_width(program, op.view, layout)
                    op.plan = VectorPlan(layout, width, "ld.global")
                    _align(program, op.view, width)
                case o.StoreGlobal():
                    layout = _need(op.src)
                    width = 1 if op.mask else global_width(program, op.view, layout)
                    kind = "st.global"
                    if op.atomic:
                        old = isinstance(op, o.Atomic)
                        form = memory.reduction(op.view.dtype, op.atomic, old=old)
                        most = 1 if form is None else form.width
                        if width < most:
                            raise _in_pairs(op)
                        width = most
                        kind = "atom.global" if old else "red.global"
                    unique = layout.replication > 1
                    op.plan = VectorPlan(layout, width, kind, unique)
                    _align(program, op.view, width)
                case o.LoadShared():
                    op.plan = shared_plan(program, op.view, _need(op.result), True)
                case o.StoreShared():
                    op.plan = shared_plan(program, op.view, _need(op.src), False)
                case (
                    o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    pass
                case _:
                    assert_never(op)


def _in_pairs(op: o.StoreGlobal) -> ArgusError:
    """Of an atomic function that changes two elements, of which one is alone."""
    name, dtype = op.view.tensor.name, op.view.dtype
    why = f"pairs of `{name}` are not known to begin at even elements, and to be held"
    if op.mask:
        why = "a mask chooses single elements"
    return fail(
        "AG0603",
        op.span,
        f"atomic additions of {dtype} change two elements that lie next to each other",
        notes=(why,),
        help="add to a tensor of f32, or require that the extents and strides are even",
    )


def _need(tile: o.Tile) -> Fragment:
    assert tile.layout is not None, tile
    return tile.layout


def _align(program: Program, view: GlobalView, width: int) -> None:
    bytes_ = width * view.dtype.bytes
    if bytes_ > view.dtype.bytes:
        need = PointerAlignment(view.tensor.name, bytes_)
        if need not in program.alignments:
            program.alignments.append(need)


def global_alignment(program: Program, view: GlobalView, most: int) -> int:
    """Most elements, up to ``most``, of one aligned access along contiguous memory.

    What starts, strides, extents and limits allow, whatever the layout; 1 where no tile
    axis is contiguous.
    """
    contiguous = contiguous_axis(view)
    if contiguous is None or most == 1:
        return 1
    tensor = view.tensor
    start = axis_start(view.coords[-1], contiguous)
    assert start is not None
    terms = [start, tensor.shape[-1], *tensor.strides[:-1]]
    for limit in view.limits:
        if uses_axis(limit.value, contiguous):
            inner = axis_start(limit.value, contiguous)
            if inner is None:
                return 1
            terms += [inner, limit.extent]
    return ask(program.facts, partial(_aligned, terms, most))


def _aligned(terms: Sequence[Expr], most: int, known: Facts) -> int:
    return min(most, *(divisor(term, known) for term in terms))


def global_width(program: Program, view: GlobalView, layout: Fragment) -> int:
    """Elements per access that the layout offers and the view allows."""
    contiguous = contiguous_axis(view)
    if contiguous is None:
        return 1
    # No more is asked than what makes a difference to this layout.
    most = layout.vector_width(contiguous, _MAX_BYTES // view.dtype.bytes)
    return global_alignment(program, view, most)


def shared_alignment(program: Program, view: SharedView) -> int:
    """Most elements, up to 16 bytes, of one aligned access along the buffer's rows."""
    layout = view.alloc.layout
    assert layout is not None
    inner = len(view.alloc.shape) - 1
    width = _MAX_BYTES // view.dtype.bytes
    width = ask(program.facts, partial(_aligned, [view.origin[inner]], width))
    # A panel's width, or the row's where there are none: also the pitch of the rows.
    while layout.digits[inner][0][0] % width:
        width //= 2
    return width


def copy_plan(
    program: Program, view: GlobalView, dst: SharedView, warps: int
) -> VectorPlan | None:
    """cp.async distribution, or None where no size of cp.async is aligned."""
    lanes = program.target.warp_threads
    wide = copy_layout(view, warps, lanes)
    width = global_width(program, view, wide)
    if width > 1:
        rows_meet = contiguous_axis(view) == _row_axis(dst)
        width = min(width, shared_alignment(program, dst)) if rows_meet else 1
    if width * view.dtype.bytes not in cp_async.SIZES:
        return None
    layout = copy_layout(view, warps, lanes, width)
    _align(program, view, width)
    return VectorPlan(layout, width, "cp.async", unique=layout.replication > 1)


def _row_axis(view: SharedView) -> int | None:
    """The view's axis along the buffer's rows, None where it has none."""
    inner = len(view.alloc.shape) - 1
    return view.axes.index(inner) if inner in view.axes else None


def shared_plan(
    program: Program, view: SharedView, layout: Fragment, load: bool
) -> VectorPlan:
    """Ldmatrix or stmatrix where the layout is a matrix fragment, else vectors."""
    unique = not load and layout.replication > 1
    axis = _row_axis(view)
    if axis is None:
        return VectorPlan(layout, 1, _plain(load), unique)
    aligned = shared_alignment(program, view)
    matrix = view.dtype.packed and view.dtype.bits == ldmatrix.ELEMENT_BITS
    if matrix and aligned * view.dtype.bytes == ldmatrix.ROW_BYTES and not unique:
        for trans in (False, True):
            width = matrix_width(layout, axis, trans)
            if width and _has_matrices(program, width, load, trans):
                name = ("ldmatrix" if load else "stmatrix") + ".trans" * trans
                return VectorPlan(layout, width, name)
    width = layout.vector_width(axis, aligned)
    return VectorPlan(layout, width, _plain(load), unique)


def _has_matrices(program: Program, width: int, load: bool, trans: bool) -> bool:
    function = ldmatrix.function_name(width // 2, load=load, trans=trans)
    return registry.supports(function, program.target.name)


def _plain(load: bool) -> str:
    return "ld.shared" if load else "st.shared"


def matrix_width(layout: Fragment, axis: int, trans: bool) -> int:
    """Registers per ldmatrix/stmatrix access, two a matrix, or 0 where none fits.

    Tests on the layout's table that each 8x8 matrix has rows of 8 neighbouring elements
    along ``axis``, starting at a multiple of 8, held as the instruction deals them out
    (PTX ISA, ldmatrix: lane L has columns 2*(L%4), +1 of row L/4; transposed: rows
    2*(L%4), +1 of column L/4).
    """
    if layout.num_threads % WARP_LANES or layout.num_regs % 2:
        return 0
    table = layout.table()
    widths = (2 * count for count in ldmatrix.COUNTS)
    width = max((w for w in widths if _same_shape(table[0], w)), default=0)
    lane = np.arange(layout.num_threads) % WARP_LANES
    base = np.arange(layout.num_threads) - lane
    for e in range(2):
        held = table[:, e]
        if trans:
            row = 2 * (lane % 4) + e
            head = table[base + row // 2, row % 2]
            offset = lane // 4
        else:
            head = table[base + lane // 4 * 4, 0]
            offset = 2 * (lane % 4) + e
        wanted = head.copy()
        wanted[:, axis] += offset
        if not np.array_equal(held, wanted) or (head[:, axis] % 8).any():
            return 0
    # Coordinates are a thread's part plus a register's: every other pair is the first
    # one moved, by whole matrices along the axis.
    moved = table[0].reshape(-1, 2, layout.rank) - table[0, :2]
    same = np.array_equal(moved[:, 0], moved[:, 1])
    return width if same and not (moved[:, 0, axis] % 8).any() else 0


def _same_shape(registers: NDArray[np.int32], width: int) -> bool:
    """Whether each ``width`` registers hold the elements of the first ones, moved."""
    if len(registers) % width:
        return False
    accesses = registers.reshape(-1, width, registers.shape[1])
    inside = accesses - accesses[:, :1]
    return bool((inside == inside[0]).all())
