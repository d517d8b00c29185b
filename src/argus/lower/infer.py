"""Pass: give every register tile a layout, moving data only where two layouts meet.

Tiles that must agree register for register (element-wise operands, casts, loop carries)
form classes. A class's layout comes from, in this order: a layout the author wrote, a
dot's accumulator, a neighbouring class across a reduction or broadcast (its slice), or
the coalesced default for the largest tile of the class. Where an operation then needs
another layout than its operand has, a Convert is inserted.

Register order inside a dot operand matters to the instruction; everywhere else any
layout works, so conversions are rare: a vector that meets the slice of another dot, or
an operand that was computed under another layout.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import prod

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.memory import GlobalView
from argus.ir.program import Program
from argus.layout import Fragment
from argus.lower.defaults import copy_layout, default_layout
from argus.lower.dots import operand_layouts
from argus.lower.groups import Group, groups, rewrite, walk_group
from argus.lower.views import contiguous_axis

_Want = Callable[[o.Tile, Fragment, str], o.Tile]


@dataclass(eq=False)
class _Class:
    """Tiles with one layout. ``source`` says where the layout came from."""

    tiles: list[o.Tile] = field(default_factory=list[o.Tile])
    layout: Fragment | None = None
    vector_bits: int = 128
    """Widest access any global view of the class can use is at most this."""
    order: tuple[int, ...] | None = None
    in_warp: set[int] = field(default_factory=set[int])
    """Axes that must stay within one warp (scan, argmax)."""


class _Classes:
    """Union-find over tiles."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._tiles: dict[int, o.Tile] = {}

    def add(self, tile: o.Tile) -> None:
        self._parent.setdefault(tile.id, tile.id)
        self._tiles[tile.id] = tile

    def find(self, tile: o.Tile) -> int:
        self.add(tile)
        root = tile.id
        while self._parent[root] != root:
            root = self._parent[root]
        self._parent[tile.id] = root
        return root

    def join(self, tiles: Iterable[o.Tile]) -> None:
        first: o.Tile | None = None
        for tile in tiles:
            if first is None:
                first = tile
                self.add(tile)
            elif tile.shape == first.shape:
                self._parent[self.find(tile)] = self.find(first)

    def classes(self) -> dict[int, _Class]:
        found: dict[int, _Class] = defaultdict(_Class)
        for tile in self._tiles.values():
            found[self.find(tile)].tiles.append(tile)
        return dict(found)


def infer_layouts(program: Program) -> None:
    """Set ``layout`` of every tile of every group; insert Convert operations.

    Raises ArgusError AG0607 when the author's layout does not fit its tile or two of
    them contradict each other.
    """
    for group in groups(program):
        _Inference(program, group).run()


class _Inference:
    def __init__(self, program: Program, group: Group) -> None:
        self.program = program
        self.group = group
        self.union = _Classes()
        self.ops = list(walk_group(group.block))

    def run(self) -> None:
        for op in self.ops:
            self._collect(op)
        self.table = self.union.classes()
        for op in self.ops:
            self._hints(op)
        self._anchors()
        while self._propagate() or self._default():
            pass
        for cls in self.table.values():
            for tile in cls.tiles:
                tile.layout = cls.layout
        rewrite(self.group.block, self._repair)

    def _of(self, tile: o.Tile) -> _Class:
        return self.table[self.union.find(tile)]

    # -- collecting

    def _collect(self, op: o.AnyOp) -> None:
        join = self.union.join
        match op:
            case o.For():
                for c in op.tiles:
                    join((c.arg, c.init, c.yielded, c.result))
            case o.If():
                for m in op.tiles:
                    join((m.result, m.then, m.other))
            case o.Elementwise():
                tiles = [a for a in op.args if isinstance(a, o.Tile)]
                join((op.result, *tiles))
            case o.Cast() | o.Scan():
                join((op.result, op.src))
            case o.Dot():
                join((op.result, op.acc) if op.acc else (op.result,))
                for x in (op.a, op.b):
                    if isinstance(x, o.Tile):
                        self.union.add(x)
            case o.LoadGlobal():
                join((op.result, op.mask) if op.mask else (op.result,))
            case o.StoreGlobal():
                join((op.src, op.mask) if op.mask else (op.src,))
            case o.Full() | o.Index() | o.LoadShared():
                self.union.add(op.result)
            case o.StoreShared():
                self.union.add(op.src)
            case (
                o.Broadcast() | o.Transpose() | o.Reduce() | o.Reinterpret()
                | o.Convert() | o.Split()
            ):  # fmt: skip
                self.union.add(op.result)
                self.union.add(op.src)
            case _:
                pass

    def _hints(self, op: o.AnyOp) -> None:
        match op:
            case o.LoadGlobal():
                self._memory_hint(self._of(op.result), op.view, op.mask)
            case o.StoreGlobal():
                self._memory_hint(self._of(op.src), op.view, op.mask)
            case o.Scan():
                self._of(op.src).in_warp.add(op.axis)
            case o.Reduce(fn="argmax" | "argmin"):
                self._of(op.src).in_warp.add(op.axis)
            case _:
                pass

    def _memory_hint(self, cls: _Class, view: GlobalView, mask: o.Tile | None) -> None:
        bits = view.dtype.bits
        contiguous = contiguous_axis(view)
        if contiguous is None or mask is not None:
            cls.vector_bits = min(cls.vector_bits, bits)
            return
        rank = len(view.shape)
        others = tuple(a for a in reversed(range(rank)) if a != contiguous)
        cls.order = cls.order or (contiguous, *others)

    # -- solving

    def _anchors(self) -> None:
        for cls in self.table.values():
            required = [t for t in cls.tiles if t.required is not None]
            for tile in required:
                layout = tile.required
                assert layout is not None
                self._check_required(tile, layout)
                if cls.layout is None:
                    cls.layout = layout
            if cls.layout is None:
                placed = [t.layout for t in cls.tiles if t.layout is not None]
                cls.layout = placed[0] if placed else None

    def _check_required(self, tile: o.Tile, layout: Fragment) -> None:
        if layout.shape != tile.shape or layout.num_threads != self.group.threads:
            raise fail(
                "AG0607",
                tile.span,
                f"the layout is for a {layout.shape} tile over {layout.num_threads} "
                f"threads; the tile is {tile.shape} over {self.group.threads}",
            )

    def _propagate(self) -> bool:
        changed = False
        for op in self.ops:
            for target, layout in self._implied(op):
                cls = self._of(target)
                if cls.layout is None:
                    cls.layout = layout
                    changed = True
        return changed

    def _implied(self, op: o.AnyOp) -> Iterable[tuple[o.Tile, Fragment]]:
        """Layouts that an operation implies for a neighbouring class."""

        def known(tile: o.Tile) -> Fragment | None:
            return self._of(tile).layout

        match op:
            case o.Broadcast():
                if (layout := known(op.result)) is not None:
                    yield op.src, _sliced(layout, op.axes, op.src.shape)
            case o.Reduce():
                if (layout := known(op.src)) is not None:
                    yield op.result, layout.slice(op.axis)
            case o.Transpose():
                if (layout := known(op.src)) is not None:
                    yield op.result, layout.permute(op.axes)
                if (layout := known(op.result)) is not None:
                    back = tuple(op.axes.index(i) for i in range(len(op.axes)))
                    yield op.src, layout.permute(back)
            case o.Dot():
                for _, tile, layout in operand_layouts(op, self.group):
                    yield tile, layout
            case o.LoadGlobal():
                if (layout := known(op.result)) is not None:
                    yield from _gather_layouts(op.view, layout)
            case o.StoreGlobal():
                if (layout := known(op.src)) is not None:
                    yield from _gather_layouts(op.view, layout)
            case o.CopyAsync():
                if op.src.gathers:
                    layout = copy_layout(op.src, self.group.threads)
                    yield from _gather_layouts(op.src, layout)
            case _:
                return

    def _default(self) -> bool:
        """Lay out the largest class that still has no layout."""
        open_classes = [c for c in self.table.values() if c.layout is None]
        if not open_classes:
            return False
        # A tile under a broadcast or reduction is larger than its slices: taking the
        # largest first lets the slices follow.
        cls = max(open_classes, key=lambda c: prod(c.tiles[0].shape))
        shape = cls.tiles[0].shape
        smallest = min(t.dtype.bits for t in cls.tiles if t.dtype.name != "bool")
        vector = max(1, min(128 // smallest, cls.vector_bits // smallest))
        cls.layout = default_layout(
            shape, self.group.threads, vector, cls.order, frozenset(cls.in_warp)
        )
        return True

    # -- repairing

    def _repair(self, op: o.AnyOp) -> list[o.AnyOp] | None:
        before: list[o.AnyOp] = []
        after: list[o.AnyOp] = []

        def want(tile: o.Tile, layout: Fragment, why: str) -> o.Tile:
            if tile.layout is not None and tile.layout.same_as(layout):
                return tile
            made = _like(tile, layout)
            before.append(o.Convert(result=made, src=tile, span=op.span, note=why))
            return made

        match op:
            case o.Broadcast():
                assert op.result.layout is not None
                layout = _sliced(op.result.layout, op.axes, op.src.shape)
                op.src = want(op.src, layout, "broadcast needs the slice's layout")
            case o.Reduce():
                assert op.src.layout is not None and op.result.layout is not None
                layout = op.src.layout.slice(op.axis)
                if not op.result.layout.same_as(layout):
                    made = _like(op.result, layout)
                    note = "the reduction leaves the slice's layout"
                    after.append(
                        o.Convert(result=op.result, src=made, span=op.span, note=note)
                    )
                    op.result = made
            case o.Transpose():
                assert op.src.layout is not None and op.result.layout is not None
                back = tuple(op.axes.index(i) for i in range(len(op.axes)))
                layout = op.result.layout.permute(back)
                op.src = want(op.src, layout, "transposed layout")
            case o.Dot():
                for side, tile, layout in operand_layouts(op, self.group):
                    setattr(op, side, want(tile, layout, "operand fragment"))
            case o.LoadGlobal():
                assert op.result.layout is not None
                op.view = _repair_gathers(op.view, op.result.layout, want)
            case o.StoreGlobal():
                assert op.src.layout is not None
                op.view = _repair_gathers(op.view, op.src.layout, want)
            case o.CopyAsync():
                if op.src.gathers:
                    op.src = _repair_gathers(
                        op.src, copy_layout(op.src, self.group.threads), want
                    )
            case _:
                pass
        return [*before, op, *after] if before or after else None


def _like(tile: o.Tile, layout: Fragment) -> o.Tile:
    return o.Tile(
        tile.dtype, tile.shape, tile.dims, tile.span, name=tile.name, layout=layout
    )


def _sliced(
    layout: Fragment, axes: tuple[int, ...], shape: tuple[int, ...]
) -> Fragment:
    """Layout of a broadcast's source: drop the new axes, then order the rest."""
    kept = sorted(axes)
    for axis in reversed(range(layout.rank)):
        if axis not in axes:
            layout = layout.slice(axis)
    order = tuple(kept.index(a) for a in axes)
    layout = layout.permute(order) if order != tuple(range(len(order))) else layout
    assert layout.shape == shape
    return layout


def _gather_layouts(
    view: GlobalView, layout: Fragment
) -> Iterable[tuple[o.Tile, Fragment]]:
    for g in view.gathers:
        yield g.tile, _sliced(layout, (g.axis,), g.tile.shape)


def _repair_gathers(view: GlobalView, layout: Fragment, want: _Want) -> GlobalView:
    gathers = tuple(
        replace(
            g,
            tile=want(
                g.tile, _sliced(layout, (g.axis,), g.tile.shape), "gather indices"
            ),
        )
        for g in view.gathers
    )
    return replace(view, gathers=gathers) if gathers != view.gathers else view
