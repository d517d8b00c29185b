"""At which block of the problem each condition of a kernel turns out in each way.

A persistent kernel is searched for as many multiprocessors as tiles, so that a block
does one of them; what that does not show, for fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from argus.evaluation.judge.settings import Setting
from argus.evaluation.tiles import Facet, Place, places
from argus.ir.expr import evaluate, symbols
from argus.ir.program import GRID_SIZE, SM_COUNT, Program
from argus.ir.walk import expressions, walk

__all__ = ["TILES", "Places", "asks_for_device"]

TILES = 3
"""Tiles that a persistent block goes through, for each candidate that is persistent."""
_DEVICE = 132
"""Multiprocessors of the device whose persistent blocks are searched (H100, H200)."""


@dataclass
class Places:
    """Where facets are to be found at the problem's own sizes.

    ``counts``: multiprocessors, for those that not every number of them shows.
    """

    known: dict[Facet, Place] = field(default_factory=dict[Facet, Place])
    counts: dict[Facet, int] = field(default_factory=dict[Facet, int])

    def search(
        self,
        program: Program,
        facets: Sequence[Facet],
        setting: Setting,
        deadline: float,
    ) -> None:
        """Look for facets of a program until ``deadline`` (of `argus.clock`)."""
        env, tensors = setting.env(program), setting.tensors()
        self.known |= places(program, facets, tensors, env, deadline)
        if not asks_for_device(program):
            return
        tiles = int(evaluate(program.grid, env))
        for count in dict.fromkeys((-(-tiles // TILES), _DEVICE)):
            left = [
                f
                for f in facets
                if f.decides and self.known.get(f) in ("never", "unknown")
            ]
            fewer = replace(setting, multiprocessors=count).env(program)
            found = places(program, left, tensors, fewer, deadline)
            for facet in left:
                place = found.get(facet, "unknown")
                if place != "never":
                    self.known[facet] = place
                if isinstance(place, int):
                    self.counts[facet] = count


def asks_for_device(program: Program) -> bool:
    """Whether it depends on the number of multiprocessors: a persistent grid."""
    own = (e for op in walk(program.body) for e in expressions(op))
    every = (s for e in (program.grid, *own) for s in symbols(e))
    return any(s.name in (SM_COUNT.name, GRID_SIZE.name) for s in every)
