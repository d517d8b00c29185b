"""Which of the elements that a program computes it stores."""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import used, walk


def _placing(op: o.StoreGlobal) -> list[o.Tile]:
    """Tiles that say where, or whether, a store writes."""
    indices = [gather.tile for gather in op.view.gathers]
    return indices if op.mask is None else [*indices, op.mask]


class StoreReader:
    """Which stores the elements of a tile reach, each of them at its own place.

    What a kernel computes beside a tensor is not stored. A condition that held there
    alone has shown nothing of what the kernel does where it holds.
    """

    def __init__(self, program: Program) -> None:
        self._users: dict[o.Tile, list[o.AnyOp]] = {}
        for op in walk(program.body):
            for tile in used(op):
                self._users.setdefault(tile, []).append(op)

    def of(self, tile: o.Tile) -> frozenset[o.AnyOp] | None:
        """The stores that it reaches element by element; None if it is used otherwise.

        Elements beside a tensor may enter a sum, or move to where they are stored.
        """
        found: set[o.AnyOp] = set()
        left, seen = [tile], {tile}
        while left:
            here = left.pop()
            for op in self._users.get(here, ()):
                after: list[o.Tile] = []
                if isinstance(op, o.Elementwise | o.Cast):
                    after = [op.result]
                elif isinstance(op, o.If):
                    after = [m.result for m in op.tiles if here in (m.then, m.other)]
                elif isinstance(op, o.StoreGlobal) and here not in _placing(op):
                    found.add(op)
                else:
                    return None
                left += [t for t in after if t not in seen]
                seen.update(after)
        return frozenset(found) or None
