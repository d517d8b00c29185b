"""Pass: choose how each asynchronous copy travels: TMA, cp.async, or registers.

TMA where the target has it and every tensor dimension is either fixed or one tile axis
(no gathers, no affine views); cp.async otherwise; plain loads and stores where not even
4-byte accesses are aligned. An author's ``via=`` is honoured or an error.
"""

from dataclasses import dataclass

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary, divisor, nonnegative
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import TensorMap, TmaBox, TmaPlan
from argus.ir.program import CLUSTER_RANK, PointerAlignment, Program, Requirement
from argus.lower.groups import Group, groups, rewrite
from argus.lower.vectors import copy_plan
from argus.lower.views import axis_start, is_uniform

_BOX_MAX = 256


def select_copies(program: Program) -> None:
    """Set the plan of CopyAsync and CopyOut.

    Raises ArgusError: AG0602 (target has no TMA), AG0603, AG0608, AG0609, AG0611 (what
    of the copy TMA or cp.async cannot do: its form, alignment, box, tensor).
    """
    for group in groups(program):

        def rule(op: o.AnyOp, group: Group = group) -> list[o.AnyOp] | None:
            match op:
                case o.CopyAsync():
                    return _copy_in(program, group, op)
                case o.CopyOut():
                    _check_store(program, op)
                    op.plan = _tma(program, op, op.dst, op.src, 1)
                    return None
                case _:
                    return None

        rewrite(group.block, rule)


def _check_store(program: Program, op: o.CopyOut) -> None:
    """Two rules of TMA stores, as seen on an H200.

    One that begins below 0 is an illegal instruction. One that reaches over the end of
    a row writes up to the next 16-byte boundary behind it.
    """
    tensor = op.dst.tensor
    if divisor(tensor.shape[-1], program.facts) * tensor.dtype.bytes % 16:
        raise fail(
            "AG0603",
            op.span,
            f"TMA cannot store this tile: rows of `{tensor.name}` are not known to be "
            "a multiple of 16 bytes long, and it would write behind their end",
            help="store the register tile instead: `C[m:, n:] = tile`",
        )
    for coord, dim in zip(op.dst.coords, tensor.dims, strict=True):
        if not nonnegative(coord):
            raise fail(
                "AG0603",
                op.span,
                f"TMA cannot store this tile: its start along `{dim}` may be negative",
                help="a scalar read from memory may be; clamp it: `ag.max(x, 0)`",
            )


def _copy_in(program: Program, group: Group, op: o.CopyAsync) -> list[o.AnyOp] | None:
    asked = op.via is not None
    why = _why_not_tma(program, op.src, op.dst)
    if op.ring is None:
        _check_completion(op, why)
    if op.via == "tma" or op.multicast > 1 or (op.via is None and why is None):
        op.plan = _tma(program, op, op.src, op.dst, op.multicast)
        op.via = "tma"
        return None
    if group.role is not None and op.via is None and not op.src.gathers:
        assert why is not None
        raise fail(
            why.code,
            op.span,
            f"TMA cannot load this tile: {why.text}",
            help='write `via="cp_async"` if the role has enough threads to copy it',
        )
    op.via = "cp_async"
    plan = copy_plan(program, op.src, op.dst, group.threads)
    if plan is not None:
        op.plan = plan
        return None
    if asked or (op.ring is not None and group.role is not None):
        raise fail(
            "AG0608",
            op.span,
            "the rows are not 4-byte aligned: no asynchronous copy can load this tile",
            help="pad the tensor, or leave `via=` out in a kernel without roles",
        )
    note = "rows are not 4-byte aligned: copied through registers"
    tile = o.Tile(op.src.dtype, op.src.shape, op.src.dims, op.span, name="copied")
    return [
        o.LoadGlobal(result=tile, view=op.src, span=op.span, note=note),
        o.StoreShared(view=op.dst, src=tile, span=op.span, note=note),
    ]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of TMA that a copy breaks: its code, and ``text`` to follow a colon."""

    code: str
    text: str


def _check_completion(op: o.CopyAsync, why: _Rule | None) -> None:
    """Settle how a copy outside of rings completes: on a barrier by TMA, or as a group.

    Raises ArgusError: a TMA copy without a barrier, or a cp.async copy with one
    (AG0613); a copy with a barrier that TMA cannot do (the code of ``why``).
    """
    if op.barrier is None:
        if op.via == "tma" or op.multicast > 1:
            raise fail(
                "AG0613",
                op.span,
                "a copy by TMA completes on a barrier, and none is given",
                help="make one with `ag.barriers()` and give `bar[i]`",
            )
        op.via = "cp_async"
    elif op.via == "cp_async":
        raise fail(
            "AG0613",
            op.span,
            "a cp.async copy completes with its group, not on a barrier",
            help="leave the barrier out: `ag.cp_async_wait` waits, "
            "`ag.cp_async_arrive(bar[i])` arrives",
        )
    elif why is not None:
        raise fail(
            why.code,
            op.span,
            f"a barrier waits for a copy by TMA, which cannot do this one: {why.text}",
            help='copy without a barrier: `via="cp_async"` and `ag.cp_async_wait`',
        )


def _why_not_tma(program: Program, view: GlobalView, dst: SharedView) -> _Rule | None:
    """The rule of TMA that the copy breaks, or None."""
    if not program.target.has_tma:
        return _Rule("AG0602", f"{program.target.name} has no TMA")
    if view.gathers:
        return _Rule("AG0603", "its rows are gathered through an index tile")
    if view.limits:
        return _Rule("AG0603", "it is a map, or has a run-time end of its own")
    tensor = view.tensor
    if tensor.dtype.tma is None:
        return _Rule("AG0611", f"TMA has no element type {tensor.dtype}")
    if tensor.rank > 5:
        why = f"TMA has at most 5 dimensions; `{tensor.name}` has {tensor.rank}"
        return _Rule("AG0611", why)
    axes = _axes(view)
    if axes is None:
        return _Rule("AG0603", "a coordinate is not a start plus one tile axis")
    if dst.axes != tuple(range(len(dst.alloc.shape))) or dst.shape[1:] != tuple(
        dst.alloc.shape[1:]
    ):
        return _Rule("AG0603", "it does not fill whole rows of its shared tile")
    order = [a for a in axes if a is not None]
    if order != sorted(order) or len(order) != len(view.shape):
        why = "its axes are in another order than the tensor's dimensions"
        return _Rule("AG0603", why)
    itemsize = tensor.dtype.bytes
    for d, stride in enumerate(tensor.strides[:-1]):
        if divisor(stride, program.facts) * itemsize % 16:
            why = f"the stride of `{tensor.name}` along `{tensor.dims[d]}`"
            return _Rule("AG0611", f"{why} is not known to be a multiple of 16 bytes")
    layout = dst.alloc.layout
    assert layout is not None
    inner = view.shape[-1] * itemsize
    if axes[-1] is None or inner % 16:
        return _Rule("AG0609", f"rows of {inner} bytes are not a multiple of 16")
    # Seen on an H200: a box that begins elsewhere in a row is an illegal instruction.
    first = axis_start(view.coords[-1], axes[-1])
    assert first is not None
    if divisor(first, program.facts) * itemsize % 16:
        why = "its first column is not known to be a multiple of 16 bytes"
        return _Rule("AG0608", why)
    return _why_no_boxes(program, dst)


def _why_no_boxes(program: Program, dst: SharedView) -> _Rule | None:
    """Why the shared tile cannot be cut into boxes, or None."""
    layout = dst.alloc.layout
    assert layout is not None
    rank = len(dst.shape)
    if rank > 1 and not layout.swizzle and dst.shape[-1] > _BOX_MAX:
        why = f"an unswizzled row of {dst.shape[-1]} elements exceeds {_BOX_MAX}"
        return _Rule("AG0609", why)
    if any(extent > _BOX_MAX for extent in dst.shape[1:-1]):
        why = f"a box has at most {_BOX_MAX} elements along each dimension"
        return _Rule("AG0609", why)
    if _chunk(dst, dst.shape[0]) is None:
        why = f"{dst.shape[0]} rows do not divide into boxes of up to {_BOX_MAX}"
        return _Rule("AG0609", why)
    pitch, unit = layout.digits[0][0][1], _box_alignment(dst)
    if divisor(dst.origin[0], program.facts) * pitch % unit:
        why = f"it is not known to begin at a multiple of {unit} bytes in shared memory"
        return _Rule("AG0608", why)
    return None


def _box_alignment(dst: SharedView) -> int:
    """Bytes that the shared address of a box is a multiple of.

    128, and with a swizzle its period of 8 rows, since the hardware swizzles addresses
    (PTX ISA, "Tensor swizzling modes").
    """
    assert dst.alloc.layout is not None
    return max(8 * dst.alloc.layout.swizzle, 128)


def _chunk(dst: SharedView, rows: int) -> int | None:
    """Most rows (elements of a tile with one axis) of a box, of ``rows`` in all."""
    assert dst.alloc.layout is not None
    pitch, unit = dst.alloc.layout.digits[0][0][1], _box_alignment(dst)
    return next(
        (
            c
            for c in range(min(rows, _BOX_MAX), 0, -1)
            if rows % c == 0 and (c == rows or c * pitch % unit == 0)
        ),
        None,
    )


def _axes(view: GlobalView) -> list[int | None] | None:
    """Tile axis of each tensor dimension (None: fixed), or None if not of that form."""
    found: list[int | None] = []
    for coord in view.coords:
        if is_uniform(coord):
            found.append(None)
            continue
        fits = [i for i in range(len(view.shape)) if axis_start(coord, i) is not None]
        if len(fits) != 1:
            return None
        found.append(fits[0])
    return found


def _tma(
    program: Program,
    op: o.CopyAsync | o.CopyOut,
    view: GlobalView,
    shared: SharedView,
    multicast: int,
) -> TmaPlan:
    why = _why_not_tma(program, view, shared)
    if why is not None:
        raise fail(why.code, op.span, f"TMA cannot copy this tile: {why.text}")
    layout = shared.alloc.layout
    assert layout is not None
    axes = _axes(view)
    assert axes is not None
    itemsize = view.dtype.bytes
    inner = len(view.shape) - 1
    width = layout.swizzle // itemsize if layout.swizzle else view.shape[-1]
    rows = view.shape[0] if inner > 0 else 1
    if multicast > 1 and (inner == 0 or rows % (8 * multicast)):
        raise fail(
            "AG0609",
            op.span,
            f"{rows} rows cannot be shared by {multicast} blocks in multiples of 8",
        )
    part = rows // multicast
    chunk = _chunk(shared, part if inner > 0 else view.shape[0])
    assert chunk is not None
    if inner == 0:
        width, chunk = chunk, 1
    box: list[int] = []
    for axis in axes:
        if axis is None:
            box.append(1)
        elif axis == inner:
            box.append(width)
        else:
            box.append(chunk if axis == 0 else view.shape[axis])
    starts: list[Expr] = [
        c if a is None else _start(c, a) for c, a in zip(view.coords, axes, strict=True)
    ]
    rank_rows: Expr = CLUSTER_RANK * part if multicast > 1 else Const(0)
    boxes: list[TmaBox] = []
    for column in range(0, view.shape[-1], width):
        for row in range(0, part, chunk):
            coords = [
                binary("+", s, column)
                if a == inner
                else binary("+", binary("+", s, rank_rows), row)
                if a == 0 and inner > 0
                else s
                for s, a in zip(starts, axes, strict=True)
            ]
            where: list[Expr] = list(shared.origin)
            if inner > 0:
                where[0] = where[0] + rank_rows + row
            where[inner] = where[inner] + column
            boxes.append(TmaBox(tuple(coords), layout.linear(where)))
    found = TensorMap(view.tensor, tuple(box), layout.swizzle)
    if found not in program.tensor_maps:
        program.tensor_maps.append(found)
        _require(program, view, op)
    total = itemsize
    for extent in view.shape:
        total *= extent
    return TmaPlan(found, tuple(boxes), total, multicast)


def _start(coord: Expr, axis: int) -> Expr:
    start = axis_start(coord, axis)
    assert start is not None
    return start


def _require(program: Program, view: GlobalView, op: o.AnyOp) -> None:
    tensor = view.tensor
    need = PointerAlignment(tensor.name, 16)
    if need not in program.alignments:
        program.alignments.append(need)
    for d, stride in enumerate(tensor.strides[:-1]):
        cond = binary("==", stride * tensor.dtype.bytes % 16, 0)
        if isinstance(cond, Const):
            continue
        why = f"TMA needs the stride of {tensor.name} {tensor.dims[d]} in 16-byte steps"
        if all(r.cond != cond for r in program.requirements):
            program.requirements.append(Requirement(cond, why, op.span))
