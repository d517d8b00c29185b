"""What is known while a role is walked: values of tiles, scalars, the last waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary, evaluate, symbols
from argus.ir.memory import BarrierAlloc, GlobalTensor, SharedAlloc, SharedView
from argus.layout import Fragment
from argus.verify.tags.compare import agree
from argus.verify.tags.loops import number_of
from argus.verify.tags.memory import Memory
from argus.verify.tags.place import WalkPlace
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shared_tags import Tagged
from argus.verify.tags.values import (
    UNNAMED,
    AbstractValue,
    Compare,
    Coord,
    Ints,
    Shape,
    Tag,
    Vague,
)
from argus.verify.verdict import Verdict

__all__ = ["Stored", "WalkState"]


@dataclass(frozen=True, eq=False)
class Stored:
    """A store to global memory: coordinates of its elements, for coverage."""

    op: o.StoreGlobal | o.CopyOut
    tensor: GlobalTensor
    coords: tuple[Tag, ...]
    limits: tuple[tuple[Tag, Expr], ...]
    scope: PathScope
    role: str
    atomic: bool
    value: AbstractValue
    indices: tuple[AbstractValue, ...] = ()
    """Elements of the index tiles that chose the rows."""
    mask: tuple[Compare, ...] | None = None
    """Conditions under which an element is stored; () where they are not known."""


@dataclass(eq=False)
class WalkState(WalkPlace):
    """A place, and what is known of values there."""

    memory: Memory = field(default_factory=Memory)
    values: dict[o.Tile, AbstractValue] = field(
        default_factory=dict[o.Tile, AbstractValue]
    )
    tagged: list[Tagged] = field(default_factory=list[Tagged])
    """Components that this role gave to shared tiles of which others wrote the data."""
    waits: dict[BarrierAlloc, Expr] = field(default_factory=dict[BarrierAlloc, Expr])
    stores: dict[tuple[int, int], Stored] = field(
        default_factory=dict[tuple[int, int], Stored]
    )
    """By the operation's id and the number of its box."""
    full_of: Mapping[SharedAlloc, BarrierAlloc] = field(
        default_factory=dict[SharedAlloc, BarrierAlloc]
    )
    empty_of: Mapping[SharedAlloc, BarrierAlloc] = field(
        default_factory=dict[SharedAlloc, BarrierAlloc]
    )
    tensor_tags: dict[str, tuple[tuple[str, Expr], ...]] = field(
        default_factory=dict[str, tuple[tuple[str, Expr], ...]]
    )

    # ------------------------------------------------------------------- tiles

    def get(self, tile: o.Tile) -> AbstractValue:
        """What is known of a tile."""
        return self.values[tile]

    def layout(self, tile: o.Tile) -> Fragment:
        """Layout of a placed tile. Raises ValueError where it has none."""
        if tile.layout is None:
            raise ValueError(f"{tile!r} has no layout: the program is not placed")
        return tile.layout

    def table(self, tile: o.Tile) -> Ints:
        """Coordinates of a tile's registers, [threads, registers, rank]."""
        return self.layout(tile).table()  # type: ignore[return-value]

    def coordinate(self, tile: o.Tile, element: tuple[int, ...]) -> tuple[int, ...]:
        """Tile coordinate of a (thread, register)."""
        if len(element) != 2:
            return ()
        return tuple(int(x) for x in self.table(tile)[element])

    def shape(self, tile: o.Tile) -> Shape:
        """[threads, registers]."""
        layout = self.layout(tile)
        return (layout.num_threads, layout.num_regs)

    def vague(self, tile: o.Tile, reason: str) -> AbstractValue:
        """A tile of which nothing is known: each of its dimensions for the reason."""
        names = [d for d in tile.dims if d is not None]
        return AbstractValue(self.shape(tile), dict.fromkeys(names, Vague(reason)))

    def renamed(
        self,
        value: AbstractValue,
        source: o.Tile,
        result: o.Tile,
        axes: Sequence[int | None],
        span: Span,
    ) -> AbstractValue:
        """Components under the names that the result's axes have.

        ``axes``: the result's axis that an axis of the source is; None: none is.

        A renamed axis may begin at another whole tile: its coordinate is known up to a
        multiple of its extent (`ag.rename` is that claim). One along which the old
        coordinate goes by k counts every k-th. An axis that loses its name keeps its
        coordinate, which nothing then claims.
        """
        tags, extents = dict(value.tags), dict(value.extents)
        sets, loose = dict(value.sets), dict(value.loose)
        for axis, target in enumerate(axes):
            if target is None:
                continue
            old, new = source.dims[axis], result.dims[target]
            if old is None or old == new or old not in value.tags:
                continue
            if new is None:
                loose[old] = UNNAMED
                continue
            step, first, tag = self._counted(value.tags[old], result, target)
            if new in value.tags:
                self.report(
                    "AG0315",
                    f"the elements renamed to {new} have that {new}",
                    span,
                    agree(tag, value.tags[new], self.scope),
                )
            tags.pop(old, None)
            tags[new] = tag
            if old in extents:
                rest = binary("-", extents.pop(old), Const(first - step + 1))
                extents[new] = binary("//", rest, Const(step))
            if old in sets:
                sets[new] = sets.pop(old)
            loose[new] = result.shape[target]
        return replace(value, tags=tags, extents=extents, sets=sets, loose=loose)

    def _counted(self, tag: Tag, tile: o.Tile, axis: int) -> tuple[int, int, Tag]:
        """By how much a coordinate goes along an axis, from where, and it, counted."""
        if not isinstance(tag, Coord) or tile.shape[axis] == 1:
            return 1, 0, tag
        at = self.table(tile)[:, :, axis]
        step = int(tag.offs[at == 1][0] - tag.offs[at == 0][0])
        begin = tag.offs - step * at
        if step < 2 or (begin != begin.flat[0]).any():
            return 1, 0, tag
        begins = binary("+", tag.base, Const(int(begin.flat[0])))
        model = self.scope.some_point()
        if all(x.name in model for x in symbols(begins)):
            first = int(evaluate(begins, model)) % step
            start = binary("-", begins, Const(first))
            whole = binary("==", binary("%", start, Const(step)), Const(0))
            if self.scope.decide(whole).verdict is Verdict.PROVED:
                base = binary("//", start, Const(step))
                return step, first, Coord(base, at.astype(np.int64))
        return 1, 0, Vague(f"one element of {step} was renamed, and which is not known")

    # --------------------------------------------------------------- shared views

    def fill_number(self, view: SharedView) -> Expr | None:
        """Which fill a write to this view belongs to."""
        return self._number(view, self.empty_of, 1)

    def drain_number(self, view: SharedView) -> Expr | None:
        """Which fill a read of this view sees."""
        return self._number(view, self.full_of, 0)

    def _number(
        self, view: SharedView, barriers: Mapping[SharedAlloc, BarrierAlloc], lag: int
    ) -> Expr | None:
        stage, stages = self.stage(view), view.alloc.stages
        found = number_of(stage, stages)
        if found is not None and not isinstance(found, Const):
            return found
        barrier = barriers.get(view.alloc)
        if barrier is not None and barrier in self.waits:
            completion = self.waits[barrier]
            lap = binary("*", binary("+", completion, lag), stages)
            return binary("+", lap, stage)
        return found
