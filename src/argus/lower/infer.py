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

from collections.abc import Iterable
from math import prod
from typing import assert_never

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.memory import GlobalView
from argus.ir.placement import VectorPlan
from argus.ir.program import Program
from argus.ir.walk import defined
from argus.isa import memory, registers
from argus.layout import Fragment
from argus.lower.classes import Classes, TileClass
from argus.lower.defaults import default_layout
from argus.lower.dots import operand_layouts
from argus.lower.groups import Group, groups, walk_group
from argus.lower.repair import gather_layouts, insert_converts
from argus.lower.vectors import global_alignment
from argus.lower.views import contiguous_axis


def infer_layouts(program: Program) -> None:
    """Set ``layout`` of every tile of every group; insert Convert operations.

    Raises ArgusError: AG0607 when the author's layout does not fit its tile or two of
    them contradict each other, AG0502 for a tile far too large for its threads.
    """
    for group in groups(program):
        _Inference(program, group).run()


def _check_registers(tile: o.Tile, most: int) -> None:
    """Raises ArgusError AG0502 for a tile that takes the registers of two threads.

    A smaller one may still be too large beside others; that is for ptxas to say.
    """
    assert tile.layout is not None
    needed = tile.layout.num_regs * tile.dtype.bits // 32
    if needed > 2 * registers.BUDGETS[-1]:
        raise fail(
            "AG0502",
            tile.span,
            f"this tile takes {needed} registers of each of {tile.layout.num_threads} "
            f"threads, which have {most}",
            help="make the tile smaller, or spread it over more warps: "
            "`ag.launch(warps=...)`",
        )


_RUN = 4
"""Elements of a scan that a thread combines before lanes shuffle, at least.

It is worth more than accesses of which neighbours are in neighbouring lanes: rows that
are not aligned take more of the first cache, and a quarter of the shuffles.
"""


class _Inference:
    def __init__(self, program: Program, group: Group) -> None:
        self.program = program
        self.group = group
        self.union = Classes()
        self.ops = list(walk_group(group.block))

    def run(self) -> None:
        for op in self.ops:
            self._collect(op)
        self.table = self.union.classes()
        for op in self.ops:
            self._hints(op)
        while sum(self._shared_hints(op) for op in self.ops):
            pass
        self._anchors()
        while self._propagate() or self._default():
            pass
        for cls in self.table.values():
            for tile in cls.tiles:
                tile.layout = cls.layout
                _check_registers(tile, self.program.target.thread_registers)
        insert_converts(self.group)

    def _of(self, tile: o.Tile) -> TileClass:
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
            case o.Cast():
                join((op.result, op.src))
            case o.Moving():
                join(op.sources)
                self.union.add(op.result)
            case o.Sort():
                join((op.result, op.src))
            case o.Scan():
                join((op.result, *op.srcs))
            case o.ScanTotal():
                join(op.srcs)
                self.union.add(op.result)
            case o.Dot():
                join((op.result, op.acc) if op.acc else (op.result,))
                for x in (op.a, op.b):
                    if isinstance(x, o.Tile):
                        self.union.add(x)
            case o.LoadGlobal():
                join((op.result, op.mask) if op.mask else (op.result,))
            case o.StoreGlobal():
                join((*defined(op), op.src, *([op.mask] if op.mask else [])))
                if isinstance(op, o.Atomic) and op.expected is not None:
                    join((op.src, op.expected))
            case o.Full() | o.Index() | o.LoadShared():
                self.union.add(op.result)
            case o.StoreShared():
                self.union.add(op.src)
            case o.Reduce() | o.Reinterpret():
                self.union.add(op.result)
                self.union.add(op.src)
            case (
                o.Roles() | o.Binding() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    def _hints(self, op: o.AnyOp) -> None:
        match op:
            case o.LoadGlobal():
                self._memory_hint(self._of(op.result), op.view, op.mask)
            case o.StoreGlobal():
                self._memory_hint(self._of(op.src), op.view, op.mask)
            case o.Combining():
                self._of(op.srcs[0]).in_warp.add(op.axis)
                if isinstance(op, o.Scan):
                    self._of(op.srcs[0]).runs.add(op.axis)
            case o.Sort():
                self._of(op.src).in_warp.add(op.axis)
            case o.Reduce(fn="argmax" | "argmin"):
                self._of(op.src).in_warp.add(op.axis)
            case o.Moving():
                if (kept := op.kept()) is not None:
                    tile, axis, elements = kept
                    self._of(tile).keep(axis, elements)
            case (
                o.Structure() | o.Binding() | o.Full() | o.Index() | o.Elementwise()
                | o.Cast() | o.Reduce() | o.Reinterpret() | o.Dot() | o.LoadShared()
                | o.StoreShared() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    def _shared_hints(self, op: o.AnyOp) -> bool:
        """What selections ask of a tile holds for what it is a renaming of."""
        if not isinstance(op, o.Transpose | o.Reshape):
            return False
        changed = False
        for one, other in ((op.src, op.result), (op.result, op.src)):
            for axis, spread in list(self._of(one).spread.items()):
                if isinstance(op, o.Transpose):
                    forth = one is op.src
                    target = op.axes.index(axis) if forth else op.axes[axis]
                    found = target, spread
                else:
                    found = spread.reshaped(one.shape, other.shape, axis)
                if found is not None:
                    changed |= self._of(other).limit(*found)
        return changed

    def _memory_hint(
        self, cls: TileClass, view: GlobalView, mask: o.Tile | None
    ) -> None:
        contiguous = contiguous_axis(view)
        if contiguous is None or mask is not None:
            cls.vector_bits = min(cls.vector_bits, view.dtype.bits)
            return
        cls.views.append(view)
        rank = len(view.shape)
        others = tuple(a for a in reversed(range(rank)) if a != contiguous)
        cls.order = cls.order or (contiguous, *others)

    # -- solving

    def _anchors(self) -> None:
        """Layouts that are given: the author's, then those of accumulators."""
        for cls in self.table.values():
            for tile in cls.tiles:
                layout = tile.required
                if layout is None:
                    continue
                self._check_required(tile, layout)
                if cls.layout is None:
                    cls.layout = layout
                elif not cls.layout.same_as(layout):
                    raise fail(
                        "AG0607",
                        tile.span,
                        "this tile has two layouts: it is joined, element by element, "
                        "with another that the author laid out differently",
                        help="give both the same layout, or convert one of them "
                        "through shared memory",
                    )
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
            case o.Moving():
                yield from op.implied(known(op.result), known(op.sources[0]))
            case o.Reduce():
                if (layout := known(op.src)) is not None:
                    yield op.result, layout.slice(op.axis)
            case o.ScanTotal():
                if (layout := known(op.srcs[0])) is not None:
                    yield op.result, layout.slice(op.axis)
            case o.Dot():
                for _, tile, layout in operand_layouts(op, self.group):
                    yield tile, layout
            case o.LoadGlobal():
                if (layout := known(op.result)) is not None:
                    yield from gather_layouts(op.view, layout)
            case o.StoreGlobal():
                if (layout := known(op.src)) is not None:
                    yield from gather_layouts(op.view, layout)
            case o.CopyAsync():
                if isinstance(op.plan, VectorPlan):
                    yield from gather_layouts(op.src, op.plan.layout)
            case (
                o.Structure() | o.Binding() | o.Full() | o.Index() | o.Elementwise()
                | o.Cast() | o.Scan() | o.Sort() | o.Reinterpret()
                | o.LoadShared() | o.StoreShared() | o.CopyOut()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                return
            case _:
                assert_never(op)

    def _default(self) -> bool:
        """Lay out the largest class that still has no layout."""
        open_classes = [c for c in self.table.values() if c.layout is None]
        if not open_classes:
            return False
        # A tile under a broadcast or reduction is larger than its slices: taking the
        # largest first lets the slices follow. Of several, one that meets memory knows
        # how its accesses are widest.
        cls = max(open_classes, key=lambda c: (prod(c.tiles[0].shape), bool(c.views)))
        shape = cls.tiles[0].shape
        data = [t.dtype.bits for t in cls.tiles if t.dtype.kind != "bool"]
        smallest = min(data, default=32)
        widest = 8 * memory.VECTOR_SIZES[-1]
        bits = min(widest, cls.vector_bits)
        for view in cls.views:
            most = max(1, bits // view.dtype.bits)
            aligned = global_alignment(self.program, view, most)
            bits = min(bits, aligned * view.dtype.bits)
        vector = max(1, bits // smallest)
        fastest = cls.order[0] if cls.order else len(shape) - 1
        if fastest in cls.runs:
            vector = max(vector, min(_RUN, shape[fastest]))
        plain, spread = (
            default_layout(
                shape,
                self.group.warps,
                self.group.lanes,
                vector,
                cls.order,
                frozenset(cls.in_warp),
                limits,
            )
            for limits in (None, cls.spread)
        )
        # Copies in more threads would cost more than the conversions that they save.
        cls.layout = spread if spread.num_regs == plain.num_regs else plain
        return True
