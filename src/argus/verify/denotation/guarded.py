"""Results that nothing is made of but where a condition chooses them.

    y = ag.where(n > 0.0, s / n, 0.0)

The quotient is s / n only where n is above 0: elsewhere it does not matter that it is
no number. Such a result is an operand of one choice, and of nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import defined, mentioned, used, walk
from argus.terms import IndexSet, Unknown
from argus.verify.denotation.state import Context

__all__ = ["Guards"]


class Guards:
    """The choices between results of a program."""

    def __init__(self, program: Program) -> None:
        self._users: dict[o.Tile, list[o.AnyOp]] = defaultdict(list)
        self._place: dict[o.Tile, int] = {}
        """Where a tile is made, in the order of the text."""
        for place, op in enumerate(walk(program.body)):
            self._place |= dict.fromkeys(defined(op), place)
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
