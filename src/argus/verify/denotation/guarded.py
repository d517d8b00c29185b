"""Results that nothing is made of but where a condition chooses them.

    y = ag.where(n > 0.0, s / n, 0.0)

The quotient is s / n only where n is above 0: elsewhere it does not matter that it is
no number. Such a result is an operand of one choice, and of nothing else. So is, of
rows beside a tensor, all that is made of a maximum over no number in

    e = ag.exp(x - ag.max(x, "N"))
    loss = ag.where(row < M, ag.log(ag.sum(e, "N")), 0.0)

Whatever is made of a result passes through that choice: what the result needs to be a
number is held until the choice is read, and then needed where it takes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from math import inf

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks, defined, mentioned, used, walk
from argus.terms import IndexSet, Unknown
from argus.verify.denotation.state import Context

__all__ = ["Guards"]


_Choice = tuple[o.Elementwise, bool]
"""A choice, and whether a result is what it takes where the condition holds."""


class Guards:
    """The choices between results of a program."""

    def __init__(self, program: Program) -> None:
        self._block: dict[int, int] = {}
        """The block of each operation, both by identity."""
        self._passed: dict[o.Tile, frozenset[_Choice]] = {}
        self._last: dict[int, list[frozenset[_Choice]]] = {}
        """Sets of choices, by the last of each, that something is held for."""
        self._number(program.body)
        self._users: dict[o.Tile, list[o.AnyOp]] = defaultdict(list)
        self._place: dict[o.Tile, int] = {}
        """Where a tile is made, in the order of the text."""
        self._made: dict[o.Tile, o.AnyOp] = {}
        """The operation that makes a tile."""
        for place, op in enumerate(walk(program.body)):
            self._place |= dict.fromkeys(defined(op), place)
            self._made |= dict.fromkeys(defined(op), op)
            for tile in (*used(op), *mentioned(op)):
                self._users[tile].append(op)

    def of(self, context: Context, op: o.AnyRegisterOp) -> IndexSet:
        """Where a result matters, at the axes of its shape; everywhere if in doubt."""
        users = self._users.get(op.result, [])
        chosen = users[0] if len(users) == 1 else None
        if not isinstance(chosen, o.Elementwise) or not chosen.args:
            return IndexSet.universe
        at = [n for n, arg in enumerate(chosen.args) if arg is op.result]
        condition = chosen.args[0]
        if chosen.fn != "where" or len(at) != 1 or not isinstance(condition, o.Tile):
            return IndexSet.universe
        if not self._place.get(condition, inf) < self._place[op.result]:
            return IndexSet.universe  # of an iteration before, perhaps
        try:
            truth = context.own(condition, context.axes(op.result.shape))
        except Unknown:
            return IndexSet.universe
        if truth.kind != "truth" or at[0] == 0:
            return IndexSet.universe
        return truth.where if at[0] == 1 else ~truth.where

    @contextmanager
    def holding(self, context: Context, op: o.AnyRegisterOp) -> Generator[None]:
        """Hold what a result needs until all choices are read that it passes through.

        Only choices whose conditions are along its own first axes, or along none: an
        element of the result is part of the elements of the choice that are at the same
        places there.
        """
        shape = op.result.shape
        found = frozenset(
            choice
            for choice in self._choices(op.result)
            if choice[0].result.shape[: (rank := self._rank(choice))] == shape[:rank]
        )
        if not found:
            yield
            return
        last = max((c for c, _ in found), key=lambda c: self._place[c.result])
        sets = self._last.setdefault(id(last), [])
        if found not in sets:
            sets.append(found)
        with context.world.obligations.held(found):
            yield

    def read(self, context: Context, op: o.AnyOp) -> None:
        """A choice was read: what was held for it is needed where it takes it."""
        for choices in self._last.get(id(op), ()):
            where = IndexSet.universe
            for choice in choices:
                where = where & self._taken(context, choice)
            context.world.obligations.release(choices, where)

    def _taken(self, context: Context, choice: _Choice) -> IndexSet:
        chosen, first = choice
        condition = chosen.args[0]
        assert isinstance(condition, o.Tile)
        try:
            truth = context.own(condition, context.axes(chosen.result.shape))
        except Unknown:
            return IndexSet.universe
        if truth.kind != "truth":
            return IndexSet.universe
        return truth.where if first else ~truth.where

    def _choices(self, tile: o.Tile) -> frozenset[_Choice]:
        """The choices that all that is made of a tile passes through, in its block."""
        found = self._passed.get(tile)
        if found is None:
            each = [self._beyond(tile, user) for user in self._users.get(tile, ())]
            found = frozenset[_Choice]().union(*each[:1]).intersection(*each[1:])
            self._passed[tile] = found
        return found

    def _beyond(self, tile: o.Tile, user: o.AnyOp) -> frozenset[_Choice]:
        """The choices that what one operation makes of a tile passes through."""
        at = self._block[id(self._made[tile])] if tile in self._made else None
        if not isinstance(user, o.RegisterOp) or self._block[id(user)] != at:
            return frozenset()
        found = frozenset(
            c for c in self._choices(user.result) if user.is_along(self._rank(c))
        )
        if isinstance(user, o.Elementwise) and user.fn == "where":
            own = [n for n, arg in enumerate(user.args) if arg is tile]
            if len(own) == 1 and own[0] and isinstance(user.args[0], o.Tile):
                found = found | {(user, own[0] == 1)}
        return found

    def _number(self, block: o.Block) -> None:
        for op in block.ops:
            self._block[id(op)] = id(block)
            for inner in blocks(op):
                self._number(inner)

    def _rank(self, choice: _Choice) -> int:
        """How many first axes of a choice its condition may depend on."""
        condition = choice[0].args[0]
        return self._depends(condition) if isinstance(condition, o.Tile) else 0

    def _depends(self, tile: o.Tile) -> int:
        """How many first axes of a tile its elements differ along, at most."""
        made = self._made.get(tile)
        if isinstance(made, o.MovingOne) and not made.shifts:
            axes = (made.axes_of() or (None,))[: self._depends(made.src)]
            known = [axis for axis in axes if axis is not None]
            if len(known) == len(axes):
                return max(known, default=-1) + 1
        if isinstance(made, o.Elementwise) and made.args:
            tiles = [x for x in made.args if isinstance(x, o.Tile)]
            return max(map(self._depends, tiles), default=0)
        return len(tile.shape)
