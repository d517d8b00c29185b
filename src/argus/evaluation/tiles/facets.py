"""The ways in which the conditions of a program can turn out, and which were seen.

A *facet* is one way: a branch that is taken, a comparison that holds for some element,
a minimum that is its left side, a quotient that is not 0, a loop that iterates once, an
element outside its tensor. A test that has not seen a facet says nothing of what the
program does then, so facets are what tests are chosen by.

    facets = Facets(program)
    run_blocks(program, ..., watch=facets)
    facets.unseen()

Where a condition follows from sizes, scalars, tables and indices alone, its facet has
``when``: the condition as an expression over the symbols of its ``scope`` and the axes
of its tile, which `search.py` solves.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from argus.evaluation.tiles.collecting import Collected
from argus.evaluation.tiles.decisions import Seen
from argus.evaluation.tiles.facet import Facet, Pair
from argus.interpret.numbers import Array
from argus.ir import ops as o
from argus.ir.program import BLOCK_INDEX, Program

__all__ = ["Facets"]

Env = dict[str, Any]


class Facets:
    """All facets of a typed program. Tell it what runs: it is a watch of blocks."""

    def __init__(self, program: Program) -> None:
        found = Collected(program)
        self._pairs, self._ends, self._views = found.pairs, found.ends, found.views
        self._stored = found.stored
        self._open: dict[tuple[Any, Pair], Seen] = {}
        """What blocks have shown of elements that they may store later."""
        self._seen: set[Facet] = set()
        self._kept: set[Facet] = set()
        self.all = found.all
        self.shares = any(f.shares for f in found.all)
        """Whether blocks take several tiles each: all of them say which are left."""
        self.flips = found.flips
        """Where comparisons flip: they are searched for, and not seen."""

    def before(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """See :class:`argus.evaluation.tiles.execute.Watch`."""
        if self._pairs.get(op):
            self._look(self._pairs, op, tiles, env)

    def ended(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """See :class:`argus.evaluation.tiles.execute.Watch`."""
        if self._ends.get(op):
            self._look(self._ends, op, tiles, env)

    def _look(
        self,
        table: dict[o.AnyOp, list[Pair]],
        op: o.AnyOp,
        tiles: Mapping[o.Tile, Array],
        env: Env,
    ) -> None:
        table[op] = [p for p in table[op] if not self._kept.issuperset(p.facets)]
        for pair in table[op]:
            if self._seen.issuperset(pair.facets):
                continue
            shown = pair.probe(tiles, env)
            if pair.stores is not None:
                self._open[env[BLOCK_INDEX.name], pair] = shown
                continue
            for facet, there in zip(pair.facets, shown, strict=True):
                if there.any():
                    self._seen.add(facet)

    def keep(self, compared: bool) -> None:
        """A run is over: what it has shown counts if all it wrote was compared."""
        self._open.clear()
        if compared:
            self._kept = set(self._seen)
        else:
            self._seen = set(self._kept)

    def existed(self, op: o.AnyOp, exists: Array, env: Env) -> None:
        """See :class:`argus.evaluation.tiles.execute.Watch`."""
        for waiting in self._stored.get(op, ()):
            shown = self._open.get((env[BLOCK_INDEX.name], waiting))
            if shown is not None:
                for facet, there in zip(waiting.facets, shown, strict=True):
                    if np.any(there & exists):
                        self._seen.add(facet)
        pair = self._views.get(op)
        if pair is None or self._seen.issuperset(pair):
            return
        inside, outside = pair
        if exists.any():
            self._seen.add(inside)
        if not exists.all():
            self._seen.add(outside)

    @property
    def seen(self) -> AbstractSet[Facet]:
        """Facets that some block has shown."""
        return self._seen

    def unseen(self) -> list[Facet]:
        """Facets that no block has shown yet, in order of the program."""
        return [f for f in self.all if f not in self._seen]
