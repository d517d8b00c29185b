"""Tiles that share registers: none is read after another has taken its place.

The printer gives tiles with one `storage` number one array of registers. Going through
the program in order, an array belongs to the tile that was written last; a tile is read
only while the array is its own. A body of a loop is gone through twice, the second time
with what the first has left, which is what every later iteration begins with.
"""

from __future__ import annotations

from typing import assert_never

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.walk import defined, used
from argus.verify.refinement.gaps import Gap

__all__ = ["storage_gaps"]


def storage_gaps(body: o.Block) -> list[Gap]:
    """Reads of tiles whose registers another tile has taken."""
    walk = _Walk()
    walk.block(body)
    return list(walk.found.values())


class _Walk:
    def __init__(self) -> None:
        self.owner: dict[int, int] = {}  # storage -> id of the tile that is in it
        self.found: dict[tuple[int, Span], Gap] = {}

    def read(self, tile: o.Tile, span: Span) -> None:
        if tile.storage is None or self.owner.get(tile.storage) == tile.id:
            return
        text = f"{tile!r} is read after its registers were given to another tile"
        self.found.setdefault((tile.id, span), Gap(span, text, wrong=True))

    def write(self, tile: o.Tile) -> None:
        if tile.storage is not None:
            self.owner[tile.storage] = tile.id

    def block(self, block: o.Block) -> None:
        for op in block.ops:
            match op:
                case o.For():
                    self.loop(op)
                case o.If():
                    self.branch(op)
                case o.Roles():
                    before = dict(self.owner)
                    for role in op.roles:
                        self.owner = dict(before)
                        self.block(role.body)
                case (
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    for tile in used(op):
                        self.read(tile, op.span)
                    for tile in defined(op):
                        self.write(tile)
                case _:
                    assert_never(op)

    def loop(self, op: o.For) -> None:
        """All that is carried moves at once: read before any of it is written."""
        for carry in op.tiles:
            self.read(carry.init, op.span)
        for _ in range(2):
            for carry in op.tiles:
                self.write(carry.arg)
            self.block(op.body)
            for carry in op.tiles:
                self.read(carry.yielded, op.span)
        # The loop may not have run: what it would write was not, but is lost to those
        # that are not carried, and a result is in the place of its argument.
        for carry in op.tiles:
            self.write(carry.arg)
            self.write(carry.result)

    def branch(self, op: o.If) -> None:
        before = dict(self.owner)
        self.block(op.then)
        for merge in op.tiles:
            self.read(merge.then, op.span)
        after = self.owner
        self.owner = before
        self.block(op.other)
        for merge in op.tiles:
            self.read(merge.other, op.span)
        # What only one side left in its place is there on neither path for sure.
        self.owner = {
            storage: tile if after.get(storage) == tile else -1
            for storage, tile in self.owner.items()
        }
        for merge in op.tiles:
            self.write(merge.result)
