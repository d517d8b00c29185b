"""Passes: reductions across warps, and conversions that move data between threads.

Registers can only be combined within a warp (shuffles). What crosses warps goes through
scratch shared memory: a conversion becomes a store, and a load under the other layout.
The syncs between them are inserted with all others, by :mod:`argus.lower.hazards`.
"""

from dataclasses import dataclass
from itertools import groupby
from math import prod

from argus.diagnostics import Span, fail
from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.program import Program
from argus.layout import Fragment, Mode
from argus.lower.groups import groups, rewrite
from argus.lower.warps import WarpDigit, axis_digits


def split_reductions(program: Program) -> None:
    """Split every reduction whose axis is spread over several warps.

    The axis is split into the part that warps hold and the rest (Reshape renames
    elements, registers stay); the rest is reduced in place, what a thread holds before
    what takes shuffles; the warps' part is brought into each thread by a conversion and
    reduced there.
    """
    lanes = program.target.warp_threads
    for group in groups(program):
        rewrite(
            group.block,
            lambda op: _split(op, lanes) if isinstance(op, o.Reduce) else None,
        )


def _split(op: o.Reduce, lanes: int) -> list[o.AnyOp] | None:
    layout = op.src.layout
    assert layout is not None
    digits = axis_digits(layout, op.axis, lanes)
    if not any(d.across for d in digits):
        return None
    if op.fn in ("argmax", "argmin"):
        raise fail(
            "AG0603",
            op.span,
            f"`{op.fn}` along an axis that is spread over several warps",
            help="give the role fewer warps, or the tile more rows than warps",
        )
    span, note = op.span, "reduction across warps"
    ops: list[o.AnyOp] = []
    tile = op.src
    # Runs of digits that are all across warps or all within one, fastest first.
    grouped = (list(run) for _, run in groupby(digits, lambda d: d.across))
    runs = [_Run(tuple(run)) for run in grouped]
    axis = op.axis
    for size in (run.size for run in runs[:-1]):
        # Peel the fastest run off as its own axis behind the remaining one.
        shape = tile.shape
        parts = (*shape[:axis], shape[axis] // size, size, *shape[axis + 1 :])
        split = _need(tile).reshape(parts)
        assert split is not None, "a run of digits ends where a digit does"
        made = _tile(tile, split, "part")
        ops.append(o.Reshape(result=made, src=tile, span=span, note=note))
        tile = made
    # Axes are now: axis = slowest run, ..., axis + len - 1 = fastest run.
    left = runs[::-1]
    for run in sorted((run for run in runs if not run.across), key=_Run.shuffled):
        at = axis + left.index(run)
        left.remove(run)
        made = _tile(tile, _need(tile).slice(at), "part")
        ops.append(
            o.Reduce(result=made, src=tile, axis=at, fn=op.fn, span=span, note=note)
        )
        tile = made
    for index in reversed(range(len(left))):
        at = axis + index
        gathered = _tile(tile, _in_thread(_need(tile), at), "warps")
        ops.append(o.Convert(result=gathered, src=tile, span=span, note=note))
        result = op.result if index == 0 else None
        layout = gathered.layout
        assert layout is not None
        made = _tile(gathered, layout.slice(at), "part")
        ops.append(
            o.Reduce(result=made, src=gathered, axis=at, fn=op.fn, span=span, note=note)
        )
        tile = made
        if result is not None:
            ops.append(
                o.Convert(result=result, src=tile, span=span, note="the slice's layout")
            )
    return ops


@dataclass(frozen=True, eq=False)
class _Run:
    """Digits of an axis next to each other, all across warps or all within one."""

    digits: tuple[WarpDigit, ...]

    @property
    def size(self) -> int:
        return prod(d.size for d in self.digits)

    @property
    def across(self) -> bool:
        return self.digits[0].across

    def shuffled(self) -> bool:
        """Whether it takes shuffles: one for each register that is still there."""
        return not all(d.register for d in self.digits)


def _need(tile: o.Tile) -> Fragment:
    assert tile.layout is not None
    return tile.layout


def _tile(like: o.Tile, layout: Fragment, name: str) -> o.Tile:
    dims = (None,) * layout.rank
    return o.Tile(like.dtype, layout.shape, dims, like.span, name=name, layout=layout)


def _in_thread(layout: Fragment, axis: int) -> Fragment:
    """The layout with all of ``axis`` in each thread's registers."""
    threads = tuple(Mode(m.size) if m.axis == axis else m for m in layout.threads)
    regs = tuple(m for m in layout.regs if m.axis != axis)
    return Fragment(layout.shape, threads, (Mode(layout.shape[axis], axis, 1), *regs))


def expand_converts(program: Program) -> None:
    """Send conversions between threads through scratch shared memory.

    A conversion that only renames a thread's own registers stays a Convert; one
    between equal layouts does too (it costs nothing).
    """
    for group in groups(program):

        def rule(op: o.AnyOp) -> list[o.AnyOp] | None:
            if isinstance(op, o.Atomic):
                return _handed_on(program, op)
            return _through_shared(program, op) if isinstance(op, o.Convert) else None

        rewrite(group.block, rule)


def _through_shared(program: Program, op: o.Convert) -> list[o.AnyOp] | None:
    source, target = _need(op.src), _need(op.result)
    axes = tuple(range(source.rank))
    if target.register_map(source, axes) is not None:
        return None
    note = f"{op.note}: through shared memory"
    return _exchanged(program, op.src, op.result, op.span, note)


def _handed_on(program: Program, op: o.Atomic) -> list[o.AnyOp] | None:
    """Old values that one thread of several gets are for all that hold the element."""
    if _need(op.result).replication == 1:
        return None
    every = op.result
    op.result = o.Tile(
        every.dtype, every.shape, every.dims, every.span, "old", every.layout
    )
    note = "old values are handed on to all threads that hold the element"
    return [op, *_exchanged(program, op.result, every, op.span, note)]


def _exchanged(
    program: Program, src: o.Tile, result: o.Tile, span: Span, note: str
) -> list[o.AnyOp]:
    """A store to scratch shared memory by those that own elements, and a load."""
    number = sum(s.scratch for s in program.shared)
    buffer = SharedAlloc(
        f"scratch{number}",
        src.dtype,
        src.shape or (1,),
        src.dims or (None,),
        1,
        span,
        scratch=True,
    )
    program.shared.append(buffer)
    axes, zero = tuple(range(len(src.shape))), Const(0)
    origin = (zero,) * len(buffer.shape)
    view = SharedView(buffer, zero, origin, axes, src.shape, src.dims)
    return [
        o.StoreShared(view=view, src=src, span=span, note=note),
        o.LoadShared(result=result, view=view, span=span, note=note),
    ]
