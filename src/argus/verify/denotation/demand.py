"""Which elements of a loaded tile anything comes of: those that reach a store.

    needed = Demand(program).of(context, op, op.result)

Element-wise operations take an element of each operand to the same place of their
result, and a store writes what exists. So where a loaded tile goes nowhere but through
such operations into stores of its own block, it matters only where those write, and
what a load fills in elsewhere need not be told apart: a sum of masked windows has two
cases for each window then, not one for each side on which a tile may end, too. What is
made of it is a number of the program only there, and is asked of only there. Whole
numbers may wrap elsewhere: an index ``row * N`` of a row that does not exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks, mentioned, used, walk
from argus.terms import IndexSet, Integer, Unknown, Value, Variable
from argus.verify.denotation.state import Context, integers
from argus.verify.denotation.views import places

__all__ = ["Demand"]

_Axes = tuple[int | None, ...]
"""For each axis of a tile, the axis of the loaded one that it is; None for another."""


@dataclass(frozen=True)
class _Goal:
    """A store that a tile reaches, and which of the tile's axes the store's are."""

    op: o.StoreGlobal
    axes: _Axes


class Demand:
    """The uses of a program's tiles."""

    def __init__(self, program: Program) -> None:
        self._users: dict[o.Tile, list[o.AnyOp]] = defaultdict(list)
        self._block: dict[int, int] = {}
        for op in walk(program.body):
            for tile in (*used(op), *mentioned(op)):
                self._users[tile].append(op)
            for block in blocks(op):
                self._note(block)
        self._note(program.body)

    def _note(self, block: o.Block) -> None:
        self._block |= {id(op): id(block) for op in block.ops}

    def of(self, context: Context, op: o.AnyOp, tile: o.Tile) -> IndexSet:
        """Where elements matter of a tile that an operation has, at its axes.

        Everywhere if in doubt.
        """
        goals = list(self._goals(op, tile))
        if not goals:
            return IndexSet.universe
        found = IndexSet.nothing
        try:
            for goal in goals:
                if goal is None:
                    return IndexSet.universe
                found = found | _written(context, tile, goal)
        except Unknown:
            return IndexSet.universe
        return found

    def cases(self, context: Context, op: o.AnyOp, tile: o.Tile, value: Value) -> Value:
        """What a tile that an operation has is made of, where its elements matter."""
        needed = self.of(context, op, tile)
        return Value(value.kind, tuple((s & needed, x) for s, x in value.cases))

    def _goals(self, beside: o.AnyOp, tile: o.Tile) -> Iterator[_Goal | None]:
        """The stores of its block that a tile reaches; None for any other use."""
        left: list[tuple[o.Tile, _Axes]] = [(tile, tuple(range(len(tile.shape))))]
        seen = set(left)
        while left:
            tile, axes = left.pop()
            for op in self._users[tile]:
                if self._block[id(op)] != self._block[id(beside)]:
                    yield None
                    return
                match op:
                    case o.StoreGlobal() if all(
                        tile is not gather.tile for gather in op.view.gathers
                    ):
                        yield _Goal(op, axes)
                        continue
                    case o.Elementwise() | o.Cast():
                        following = (op.result, axes)
                    case o.Moving():
                        kept = op.axes_of()
                        if op.shifts or kept is None:
                            yield None
                            return
                        there: list[int | None] = [None] * len(op.result.shape)
                        for axis, target in zip(axes, kept, strict=True):
                            if target is not None:
                                there[target] = axis
                        following = (op.result, tuple(there))
                    case (
                        o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                        | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                        | o.Annotation()
                    ):  # fmt: skip
                        yield None
                        return
                    case _:
                        assert_never(op)
                if following not in seen:
                    seen.add(following)
                    left.append(following)


def _written(context: Context, tile: o.Tile, goal: _Goal) -> IndexSet:
    """Where a store writes what comes of an element. Raises Unknown."""
    world, view = context.world, goal.op.view
    own = context.axes(tile.shape)
    there = context.axes(view.shape)
    renamed: dict[Variable, Integer] = {}
    gone: list[Variable] = []
    for i, axis in enumerate(goal.axes):
        if axis is not None:
            renamed[there[i]] = Integer.atom(own[axis])
        else:
            renamed[there[i]] = world.fresh("d", 0, view.shape[i])
            gone.extend(renamed[there[i]].variables())
    found = IndexSet.nothing
    for place in places(context, view, integers(there), IndexSet.universe):
        where = world.substitute(place.where, renamed)
        found = found | (world.project(where, gone) if gone else where)
    return found
