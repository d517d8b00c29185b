"""Second half of layout inference: a Convert wherever two layouts meet.

Every class of tiles has its layout by now. An operation that needs its operand under
another one gets it through a Convert in front, or leaves its result through one behind.
Whether a Convert costs nothing, moves registers or goes through shared memory is
decided in :mod:`argus.lower.converts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.memory import GlobalView
from argus.ir.placement import VectorPlan
from argus.layout import Fragment, refined
from argus.lower.defaults import Spread, default_layout
from argus.lower.dots import accumulator_layout, operand_layouts
from argus.lower.groups import Group, rewrite
from argus.lower.warps import in_one_warp, scannable

_Want = Callable[[o.Tile, Fragment, str], o.Tile]


def insert_converts(group: Group) -> None:
    """Insert a Convert wherever an operation needs another layout than is there.

    Raises ArgusError: AG0213 for a reinterpretation of a different number of registers.
    """

    def rule(op: o.AnyOp) -> list[o.AnyOp] | None:
        return _Repair(group, op).run()

    rewrite(group.block, rule)


def need(tile: o.Tile) -> Fragment:
    """The layout of a tile that has one by now."""
    assert tile.layout is not None, tile
    return tile.layout


class _Repair:
    def __init__(self, group: Group, op: o.AnyOp) -> None:
        self.group = group
        self.op = op
        self.before: list[o.AnyOp] = []
        self.after: list[o.AnyOp] = []

    def run(self) -> list[o.AnyOp] | None:
        """Replacement of the operation, or None."""
        op = self.op
        match op:
            case o.Broadcast():
                layout = need(op.result).along(op.axes)
                op.src = self.want(op.src, layout, "broadcast needs the slice's layout")
            case o.Reduce():
                self._reduce(op)
            case o.Combining():
                self._combine(op)
            case o.Sort():
                if not in_one_warp(need(op.src), op.axis, self.group.lanes):
                    layout = self._default(op.src, in_warp=frozenset({op.axis}))
                    op.src = self.want(op.src, layout, "sorted within a warp")
                    op.result = self.leave(op.result, layout, "sorted within a warp")
            case o.Transpose():
                back = tuple(op.axes.index(i) for i in range(len(op.axes)))
                layout = need(op.result).permute(back)
                op.src = self.want(op.src, layout, "transposed layout")
            case o.Reshape():
                self._reshape(op)
            case o.Convert():
                pass  # it is what stands where layouts meet
            case o.Moving():
                self._move(op)
            case o.Reinterpret():
                _check_reinterpret(op)
            case o.Dot():
                self._dot(op)
            case o.LoadGlobal():
                op.view = _repair_gathers(op.view, need(op.result), self.want)
            case o.StoreGlobal():
                op.view = _repair_gathers(op.view, need(op.src), self.want)
            case o.CopyAsync():
                if isinstance(op.plan, VectorPlan):
                    op.src = _repair_gathers(op.src, op.plan.layout, self.want)
            case (
                o.Structure() | o.Binding() | o.Full() | o.Index() | o.Elementwise()
                | o.Cast() | o.LoadShared()
                | o.StoreShared() | o.CopyOut() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
        if not self.before and not self.after:
            return None
        return [*self.before, op, *self.after]

    def want(self, tile: o.Tile, layout: Fragment, why: str) -> o.Tile:
        """The tile under a layout."""
        if need(tile).same_as(layout):
            return tile
        made = _like(tile, layout)
        self.before.append(
            o.Convert(result=made, src=tile, span=self.op.span, note=why)
        )
        return made

    def leave(self, tile: o.Tile, layout: Fragment, why: str) -> o.Tile:
        """The tile that the operation makes, under a layout, to become ``tile``."""
        if need(tile).same_as(layout):
            return tile
        made = _like(tile, layout)
        self.after.append(o.Convert(result=tile, src=made, span=self.op.span, note=why))
        return made

    def _reduce(self, op: o.Reduce) -> None:
        layout = need(op.src)
        if op.fn in ("argmax", "argmin") and not in_one_warp(
            layout, op.axis, self.group.lanes
        ):
            layout = self._default(op.src, in_warp=frozenset({op.axis}))
            op.src = self.want(op.src, layout, f"{op.fn} within a warp")
        note = "the reduction leaves the slice's layout"
        op.result = self.leave(op.result, layout.slice(op.axis), note)

    def _move(self, op: o.Moving) -> None:
        """Leave the result in the layout that the source's comes to, if it does."""
        made = _left(op, need(op.sources[0]))
        if made is None:
            kept = op.kept()
            assert isinstance(op, o.MovingOne), op
            assert kept is not None, op
            tile, axis, elements = kept
            assert tile is op.src, op
            spread = Spread.keeping(elements, op.src.shape[axis])
            layout = self._default(op.src, spread={axis: spread})
            op.src = self.want(op.src, layout, "the same registers of all threads")
            made = _left(op, layout)
            assert made is not None, op
        op.result = self.leave(op.result, made, "the layout that a move leaves")

    def _reshape(self, op: o.Reshape) -> None:
        layout = need(op.src).reshape(op.result.shape)
        if layout is None:
            back = need(op.result).reshape(op.src.shape)
            if back is None:
                # A layout of the axes that both are made of is one of both.
                parts = refined(op.src.shape, op.result.shape)
                assert parts is not None, op
                made = default_layout(parts, self.group.warps, self.group.lanes, 1)
                back = made.reshape(op.src.shape)
                assert back is not None, op
            op.src = self.want(op.src, back, "axes that can be cut and put together")
            layout = back.reshape(op.result.shape)
            assert layout is not None, op
        op.result = self.leave(op.result, layout, "the reshaped layout")

    def _combine(self, op: o.Combining) -> None:
        layout = need(op.srcs[0])
        why = f"{'fold' if isinstance(op, o.ScanTotal) else 'scan'} within a warp"
        if not scannable(layout, op.axis, self.group.lanes):
            layout = self._default(op.srcs[0], in_warp=frozenset({op.axis}))
            op.srcs = tuple(self.want(x, layout, why) for x in op.srcs)
        if isinstance(op, o.ScanTotal):
            layout = layout.slice(op.axis)
        op.result = self.leave(op.result, layout, why)

    def _default(
        self,
        tile: o.Tile,
        in_warp: frozenset[int] = frozenset(),
        spread: Mapping[int, Spread] | None = None,
    ) -> Fragment:
        warps, lanes = self.group.warps, self.group.lanes
        return default_layout(
            tile.shape, warps, lanes, 1, in_warp=in_warp, spread=spread
        )

    def _dot(self, op: o.Dot) -> None:
        for side, tile, layout in operand_layouts(op, self.group):
            setattr(op, side, self.want(tile, layout, "operand fragment"))
        layout = accumulator_layout(op, self.group)
        if op.acc is not None:
            op.acc = self.want(op.acc, layout, "accumulator fragment")
        op.result = self.leave(op.result, layout, "the result leaves its fragment")


def _left(op: o.Moving, source: Fragment) -> Fragment | None:
    """The result's layout where the source's is this one."""
    found = dict(op.implied(None, source))
    return found.get(op.result)


def _check_reinterpret(op: o.Reinterpret) -> None:
    before, after = need(op.src).num_regs, need(op.result).num_regs
    if before != after:
        raise fail(
            "AG0213",
            op.span,
            f"{before} registers per thread cannot be read as {after}",
            help="a reinterpretation keeps the number of registers per thread",
        )


def _like(tile: o.Tile, layout: Fragment) -> o.Tile:
    return o.Tile(
        tile.dtype, tile.shape, tile.dims, tile.span, name=tile.name, layout=layout
    )


def gather_layouts(
    view: GlobalView, layout: Fragment
) -> Iterable[tuple[o.Tile, Fragment]]:
    """Layouts that index tiles must have for a view accessed under ``layout``."""
    for g in view.gathers:
        yield g.tile, layout.along((g.axis,))


def _repair_gathers(view: GlobalView, layout: Fragment, want: _Want) -> GlobalView:
    if not view.gathers:
        return view
    wanted = [slice_ for _, slice_ in gather_layouts(view, layout)]
    gathers = tuple(
        replace(g, tile=want(g.tile, slice_, "gather indices"))
        for g, slice_ in zip(view.gathers, wanted, strict=True)
    )
    return replace(view, gathers=gathers)
