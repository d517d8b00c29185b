"""Pass: which tiles share registers.

A dot updates its accumulator in place, and a loop-carried tile keeps its registers from
one iteration to the next. Tiles joined that way get one ``storage`` number. Tiles that
are alive at the same time are never joined: an accumulator that something else still
needs is copied before the dot, and a carry that cannot stay in place is copied by the
code generator at the end of the loop body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import defined, used
from argus.lower.groups import groups, rewrite, walk_group


@dataclass
class LiveRange:
    """Alive from ``start`` to before ``end``.

    Operation number p reads at time 2p and writes at time 2p + 1, so that a result may
    take the registers of an operand that is read for the last time. A tile that nobody
    reads still occupies its registers while it is written.
    """

    start: int
    end: int

    def overlaps(self, other: LiveRange) -> bool:
        """True when both are alive at some time."""
        return self.start < other.end and other.start < self.end


def assign_storage(program: Program) -> None:
    """Set ``storage`` of accumulators and carries; copy accumulators still in use."""
    next_storage = 0
    for group in groups(program):
        _copy_live_accumulators(group.block)
        sharing = _Sharing(live_ranges(group.block))
        for acc, dot in _accumulators(group.block):
            joined = sharing.join(acc, dot.result)
            assert joined, dot
        _join_carries(group.block, sharing)
        for tiles in sharing.shared():
            for tile in tiles:
                tile.storage = next_storage
            next_storage += 1


def live_ranges(block: o.Block) -> dict[int, LiveRange]:
    """Live range of every tile of a group, by tile id."""
    ranges = _Ranges()
    ranges.run(block)
    return ranges.found


class _Ranges:
    """A walk in program order; loops keep alive what they read from outside."""

    def __init__(self) -> None:
        self.position = 0
        self.found: dict[int, LiveRange] = {}

    def run(self, block: o.Block) -> None:
        for op in block.ops:
            self.position += 1
            match op:
                case o.Roles():
                    pass
                case o.For():
                    self._loop(op)
                case o.If():
                    self._branch(op)
                case (
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    for tile in used(op):
                        self._use(tile)
                    for tile in defined(op):
                        self._define(tile)
                case _:
                    assert_never(op)

    def _define(self, tile: o.Tile) -> None:
        start = 2 * self.position + 1
        self.found[tile.id] = LiveRange(start, start + 1)

    def _use(self, tile: o.Tile) -> None:
        if tile.id in self.found:
            self._until(tile.id, 2 * self.position + 1)

    def _until(self, tile: int, end: int) -> None:
        self.found[tile].end = max(self.found[tile].end, end)

    def _loop(self, op: o.For) -> None:
        for c in op.tiles:
            self._use(c.init)
        begin = 2 * self.position + 1
        outer = set(self.found)
        for c in op.tiles:
            self._define(c.arg)
        self.run(op.body)
        self.position += 1
        for c in op.tiles:
            self._use(c.yielded)
        for tile in outer:
            # Read inside: the next iteration reads it again.
            if self.found[tile].end > begin:
                self._until(tile, 2 * self.position + 2)
        for c in op.tiles:
            self._define(c.result)

    def _branch(self, op: o.If) -> None:
        for inner, tiles in (
            (op.then, [m.then for m in op.tiles]),
            (op.other, [m.other for m in op.tiles]),
        ):
            self.run(inner)
            self.position += 1
            for tile in tiles:
                self._use(tile)
        for m in op.tiles:
            self._define(m.result)


class _Sharing:
    """Sets of tiles with one storage, joined only where no two are alive together."""

    def __init__(self, ranges: dict[int, LiveRange]) -> None:
        self.ranges = ranges
        self.members: dict[int, list[o.Tile]] = {}

    def _of(self, tile: o.Tile) -> list[o.Tile]:
        return self.members.setdefault(tile.id, [tile])

    def join(self, a: o.Tile, b: o.Tile) -> bool:
        """Give both one storage if that is possible; True when they have one now."""
        left, right = self._of(a), self._of(b)
        if left is right:
            return True
        assert a.layout is not None and b.layout is not None
        if a.dtype != b.dtype or not a.layout.same_as(b.layout):
            return False
        ranges = self.ranges
        if any(ranges[x.id].overlaps(ranges[y.id]) for x in left for y in right):
            return False
        left += right
        for tile in right:
            self.members[tile.id] = left
        return True

    def shared(self) -> list[list[o.Tile]]:
        """The sets of more than one tile."""
        unique = {id(m): m for m in self.members.values()}
        return [m for m in unique.values() if len(m) > 1]


def _accumulators(block: o.Block) -> Iterator[tuple[o.Tile, o.Dot]]:
    for op in walk_group(block):
        if isinstance(op, o.Dot) and op.acc is not None:
            yield op.acc, op


def _copy_live_accumulators(block: o.Block) -> None:
    """Copy accumulators that are alive after their dot, or in two dots' chains.

    What a loop's body reads from outside is alive until the loop ends, so that a dot in
    a loop copies an accumulator that it does not carry.
    """
    sharing = _Sharing(live_ranges(block))
    copied = {
        id(dot)
        for acc, dot in _accumulators(block)
        if not sharing.join(acc, dot.result)
    }

    def rule(op: o.AnyOp) -> list[o.AnyOp] | None:
        if not isinstance(op, o.Dot) or id(op) not in copied or op.acc is None:
            return None
        acc = op.acc
        copy = o.Tile(
            acc.dtype, acc.shape, acc.dims, acc.span, name=acc.name, layout=acc.layout
        )
        note = "the accumulator is used again: updated in a copy"
        op.acc = copy
        return [o.Convert(result=copy, src=acc, span=op.span, note=note), op]

    rewrite(block, rule)


def _join_carries(block: o.Block, sharing: _Sharing) -> None:
    """Join what loops carry, where nothing else needs the registers."""
    for op in walk_group(block):
        if isinstance(op, o.For):
            for c in op.tiles:
                sharing.join(c.arg, c.result)
                sharing.join(c.yielded, c.arg)
                sharing.join(c.init, c.arg)
