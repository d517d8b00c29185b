"""A tile copy as TMA boxes: whether it can be one, and the plan.

The rules are those of the instruction (`isa.tma.broken`); here they are asked with what
the specialisation knows of the tensor, and answered in the words of the kernel's
author. Which copies go by TMA at all is decided in `copies.py`.
"""

from dataclasses import dataclass
from math import prod
from typing import assert_never

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.divisors import Facts, ask
from argus.ir.expr import Const, Expr, binary, divisor, nonnegative
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import TensorMap, TmaBox, TmaPlan
from argus.ir.program import CLUSTER_RANK, LaunchRequirement, PointerAlignment, Program
from argus.isa import registry, tma
from argus.lower.views import BoxAxis, box_axes


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule of TMA that a copy breaks: its code, and ``text`` to follow a colon."""

    code: str
    text: str
    help: str | None = None


def why_not_tma(
    program: Program, view: GlobalView, dst: SharedView, *, store: bool = False
) -> BrokenRule | None:
    """The rule of TMA that the copy breaks, or None."""
    if not registry.has_family("tma", program.target.name):
        return BrokenRule("AG0602", f"{program.target.name} has no TMA")
    if view.gathers:
        return BrokenRule("AG0603", "its rows are gathered through an index tile")
    if view.limits:
        return BrokenRule("AG0603", "it is a map, or has a run-time end of its own")
    tensor = view.tensor
    if tensor.dtype.tensor_map is None:
        return BrokenRule("AG0611", f"TMA has no element type {tensor.dtype}")
    axes = box_axes(view)
    if axes is None:
        why = "a coordinate is not a start plus a tile axis, or a digit of one"
        return BrokenRule("AG0603", why)
    if dst.axes != tuple(range(len(dst.alloc.shape))) or dst.shape[1:] != tuple(
        dst.alloc.shape[1:]
    ):
        return BrokenRule("AG0603", "it does not fill whole rows of its shared tile")
    order = [a.axis for a in axes if a.axis is not None]
    if order != sorted(order) or {*order} != {*range(len(view.shape))}:
        why = "its axes are in another order than the tensor's dimensions"
        return BrokenRule("AG0603", why)
    if order.count(len(view.shape) - 1) > 1:
        return BrokenRule("AG0603", "its rows run along several dimensions")
    layout = dst.alloc.layout
    assert layout is not None
    facts, itemsize = program.facts, tensor.dtype.bytes
    box = _box(view, dst, axes, dst.shape[0])
    swizzle, starts = layout.swizzle, [a.start for a in axes]

    def rules(known: Facts) -> list[tma.Violation]:
        return tma.broken(
            box,
            itemsize,
            swizzle,
            dims=[divisor(extent, known) for extent in tensor.shape],
            strides=[divisor(stride, known) * itemsize for stride in tensor.strides],
            start=[
                divisor(first, known) * (1 if nonnegative(first) else -1)
                for first in starts
            ],
            steps=_steps(axes),
            store=store,
        )[:1]

    broken = ask(facts, rules)
    if broken:
        return _in_words(broken[0], view, box, axes, store)
    pitch, unit = layout.digits[0][0][1], tma.box_alignment(layout.swizzle)
    origin = dst.origin[0]
    if not ask(facts, lambda known: divisor(origin, known) * pitch % unit == 0):
        why = f"it is not known to begin at a multiple of {unit} bytes in shared memory"
        return BrokenRule("AG0608", why)
    return None


def _in_words(
    broken: tma.Violation,
    view: GlobalView,
    box: tuple[int, ...],
    axes: list[BoxAxis],
    store: bool,
) -> BrokenRule:
    """A rule of the instruction in the words of the kernel's author."""
    tensor = view.tensor
    dim = 0 if broken.dim is None else broken.dim
    named, unit = tensor.dims[dim], f"a multiple of {tma.CHUNK} bytes"
    most = tma.MAX_BOX_DIM
    match broken.rule:
        case "rank":
            why = f"TMA has at most {tma.MAX_RANK} dimensions"
            return BrokenRule("AG0611", f"{why}; `{tensor.name}` has {tensor.rank}")
        case "stride":
            why = f"the stride of `{tensor.name}` along `{named}`"
            return BrokenRule("AG0611", f"{why} is not known to be {unit}")
        case "row":
            row = box[-1] * tensor.dtype.bytes
            return BrokenRule(
                "AG0609", f"rows of {row} bytes are not a multiple of {tma.CHUNK}"
            )
        case "start":
            return BrokenRule("AG0608", f"its first column is not known to be {unit}")
        case "box" if axes[dim].axis == 0:
            why = f"{box[dim]} rows do not divide into boxes of up to {most}"
            return BrokenRule("AG0609", why)
        case "box" if axes[dim].axis == len(view.shape) - 1:
            why = f"an unswizzled row of {box[dim]} elements exceeds {most}"
            return BrokenRule("AG0609", why)
        case "box":
            why = f"a box has at most {most} elements along each dimension"
            return BrokenRule("AG0609", why)
        case "step":
            why = f"along `{named}` its elements are not 1 to {tma.MAX_STEP} apart"
            if store:
                why = f"along `{named}` its elements are no neighbours"
            elif dim == tensor.rank - 1:
                why = "elements of its rows are no neighbours"
            return BrokenRule("AG0603", why)
        case "store row":
            return BrokenRule(
                "AG0603",
                f"rows of `{tensor.name}` are not known to be {unit} long, and it "
                "would write behind their end",
                "store the register tile instead: `C[m:, n:] = tile`",
            )
        case "store start":
            return BrokenRule(
                "AG0603",
                f"its start along `{named}` may be negative",
                "a scalar read from memory may be; clamp it: `ag.max(x, 0)`",
            )
        case "swizzle" | "extent" | "address":
            raise AssertionError(f"placing made a box that breaks: {broken.text}")
        case _:
            assert_never(broken.rule)


def _box(
    view: GlobalView, shared: SharedView, axes: list[BoxAxis], rows: int
) -> tuple[int, ...]:
    """Extents of the largest boxes that cut ``rows`` rows of a tile evenly.

    ``rows`` elements of a tile with one axis. All of them where none does: more than a
    box has.
    """
    layout = shared.alloc.layout
    assert layout is not None
    inner, itemsize = len(view.shape) - 1, view.dtype.bytes
    counts = list(view.shape)
    counts[inner] = layout.swizzle // itemsize if layout.swizzle else view.shape[-1]
    pitch, unit = layout.digits[0][0][1], tma.box_alignment(layout.swizzle)
    chunks = (c for c in range(rows, 0, -1) if rows % c == 0)
    whole = [1 if a.axis is None else a.extent for a in axes]
    for chunk in chunks:
        counts[0] = chunk
        box = [
            1 if a.axis is None else _part(a, counts[a.axis], view.shape) for a in axes
        ]
        if None in box or (chunk < rows and chunk * pitch % unit):
            continue
        found = [n for n in box if n is not None]
        long = [n * a.step for n, a in zip(found, axes, strict=True) if a.axis == 0]
        if max(long, default=1) <= tma.MAX_BOX_DIM:
            return tuple(found)
        whole = found if chunk == rows else whole
    return tuple(whole)


def _part(along: BoxAxis, count: int, shape: tuple[int, ...]) -> int | None:
    """What ``count`` neighbours along an axis of the tile are of a digit of it.

    None where they are no box.
    """
    below, rest = divmod(count, along.inner)
    if not below:  # all neighbours lie in later digits
        return 1 if along.inner % count == 0 else None
    if rest:
        return None
    if below >= along.extent:
        return along.extent if below % along.extent == 0 else None
    return below if along.extent % below == 0 else None


def tma_plan(
    program: Program,
    op: o.CopyAsync | o.CopyOut,
    view: GlobalView,
    shared: SharedView,
    multicast: int,
) -> TmaPlan:
    """Plan a copy between ``view`` and ``shared``; record its map and requirements.

    Raises ArgusError AG0602, AG0603, AG0608, AG0609 or AG0611 for what TMA cannot do.
    """
    store = isinstance(op, o.CopyOut)
    why = why_not_tma(program, view, shared, store=store)
    if why is not None:
        verb = "store" if store else "copy"
        text = f"TMA cannot {verb} this tile: {why.text}"
        raise fail(why.code, op.span, text, help=why.help)
    layout = shared.alloc.layout
    assert layout is not None
    axes = box_axes(view)
    assert axes is not None
    inner = len(view.shape) - 1
    rows = view.shape[0] if inner > 0 else 1
    period = tma.SWIZZLE_ROWS
    # What runs slowest along the rows; blocks of a cluster take parts of it.
    lead = next((a.inner for a in axes if a.axis == 0 and a.extent > 1), 1)
    part = rows // multicast
    if multicast > 1 and (inner == 0 or rows % (period * multicast) or part % lead):
        raise fail(
            "AG0609",
            op.span,
            f"{rows} rows cannot be shared by {multicast} blocks in multiples of "
            f"{max(period, lead)}",
        )
    box = _box(view, shared, axes, part if inner > 0 else view.shape[0])
    (width,) = (n for n, a in zip(box, axes, strict=True) if a.axis == inner)
    chunk = prod(n for n, a in zip(box, axes, strict=True) if a.axis == 0 < inner)
    rank_rows: Expr = CLUSTER_RANK * part if multicast > 1 else Const(0)
    boxes: list[TmaBox] = []
    for column in range(0, view.shape[-1], width):
        for row in range(0, part, chunk):
            first = {0: row} | {inner: column}
            coords = [_first(a, first.get(a.axis or 0, 0)) for a in axes]
            if multicast > 1:
                coords = [
                    c + CLUSTER_RANK * (part // lead * a.step)
                    if a.axis == 0 and a.inner == lead and a.extent > 1
                    else c
                    for c, a in zip(coords, axes, strict=True)
                ]
            where: list[Expr] = list(shared.origin)
            if inner > 0:
                where[0] = where[0] + rank_rows + row
            where[inner] = where[inner] + column
            boxes.append(TmaBox(tuple(coords), layout.linear(where)))
    found = TensorMap(view.tensor, box, layout.swizzle, _steps(axes))
    if found not in program.tensor_maps:
        program.tensor_maps.append(found)
        _require(program, view, op)
    total = view.dtype.bytes
    for extent in view.shape:
        total *= extent
    return TmaPlan(found, tuple(boxes), total, multicast)


def _first(along: BoxAxis, number: int) -> Expr:
    """The coordinate of an element along an axis of the tile, first of all others."""
    behind = number // along.inner % along.extent * along.step
    return binary("+", along.start, behind)


def _steps(axes: list[BoxAxis]) -> tuple[int, ...]:
    """Steps of a map; () where all are 1."""
    found = tuple(a.step for a in axes)
    return found if any(step != 1 for step in found) else ()


def _require(program: Program, view: GlobalView, op: o.AnyOp) -> None:
    tensor = view.tensor
    need = PointerAlignment(tensor.name, tma.CHUNK)
    if need not in program.alignments:
        program.alignments.append(need)
    for d, stride in enumerate(tensor.strides[:-1]):
        cond = binary("==", stride * tensor.dtype.bytes % tma.CHUNK, 0)
        if isinstance(cond, Const):
            continue
        name = f"{tensor.name} {tensor.dims[d]}"
        why = f"TMA needs the stride of {name} in {tma.CHUNK}-byte steps"
        if all(r.cond != cond for r in program.requirements):
            program.requirements.append(LaunchRequirement(cond, why, op.span))
