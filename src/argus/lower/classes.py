"""Classes of register tiles that must agree register for register (union-find).

Which tiles belong together is the business of :mod:`argus.lower.infer`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from argus.ir import ops as o
from argus.ir.memory import GlobalView
from argus.layout import Fragment
from argus.lower.defaults import Spread


@dataclass(eq=False)
class TileClass:
    """Tiles with one layout, and what is known of it before it is chosen."""

    tiles: list[o.Tile] = field(default_factory=list[o.Tile])
    layout: Fragment | None = None
    vector_bits: int = 128
    """Widest access that each global view can use that no vectors run along."""
    views: list[GlobalView] = field(default_factory=list[GlobalView])
    """The other global views; how they are aligned is asked where it counts."""
    order: tuple[int, ...] | None = None
    in_warp: set[int] = field(default_factory=set[int])
    """Axes that must stay within one warp (scan, argmax)."""
    runs: set[int] = field(default_factory=set[int])
    """Axes along which a thread should hold elements that follow each other (scan)."""
    spread: dict[int, Spread] = field(default_factory=dict[int, Spread])
    """What threads may hold of axes along which elements are selected."""

    def keep(self, axis: int, elements: range) -> None:
        """Elements that are to be the same registers of all threads."""
        self.limit(axis, Spread.keeping(elements, self.tiles[0].shape[axis]))

    def limit(self, axis: int, made: Spread) -> bool:
        """What threads may hold of an axis at most; whether that is news."""
        extent, before = self.tiles[0].shape[axis], self.spread.get(axis)
        self.spread[axis] = made if before is None else made.both(before, extent)
        return self.spread[axis] != before


class Classes:
    """Union-find over tiles."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._tiles: dict[int, o.Tile] = {}

    def add(self, tile: o.Tile) -> None:
        """A tile that may be alone."""
        self._parent.setdefault(tile.id, tile.id)
        self._tiles[tile.id] = tile

    def find(self, tile: o.Tile) -> int:
        """The representative of a tile's class, by id."""
        self.add(tile)
        parent, at = self._parent, tile.id
        while parent[at] != at:
            # Halve the way up: a class of n tiles costs no more than n log n.
            parent[at] = at = parent[parent[at]]
        return at

    def join(self, tiles: Iterable[o.Tile]) -> None:
        """These tiles have one layout."""
        first: o.Tile | None = None
        for tile in tiles:
            if first is None:
                first = tile
                self.add(tile)
            elif tile.shape == first.shape:
                self._parent[self.find(tile)] = self.find(first)

    def classes(self) -> dict[int, TileClass]:
        """All classes, by their representative."""
        found: dict[int, TileClass] = defaultdict(TileClass)
        for tile in self._tiles.values():
            found[self.find(tile)].tiles.append(tile)
        return dict(found)
