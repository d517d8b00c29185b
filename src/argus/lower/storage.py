"""Pass: which tiles share registers.

A dot updates its accumulator in place, and a loop-carried tile keeps its registers from
one iteration to the next. Tiles joined that way get one ``storage`` number; where two
of them are alive at the same time they cannot be joined: the accumulator is copied
first, or the code generator copies the carry at the end of the loop body.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks, defined, used
from argus.lower.groups import groups


@dataclass
class _Range:
    """Live from the operation that defines the tile to its last use (positions)."""

    start: int
    end: int


def assign_storage(program: Program) -> None:
    """Set ``storage`` of accumulators and carries; copy accumulators still in use."""
    next_storage = 0
    for group in groups(program):
        ranges = _Ranges()
        _copy_used_accumulators(group.block)
        ranges.run(group.block)
        sharing = _Sharing(ranges.found)
        _join(group.block, sharing)
        for tiles in sharing.shared():
            for tile in tiles:
                tile.storage = next_storage
            next_storage += 1


class _Ranges:
    """Live ranges by position in a linear walk; loops keep outer tiles alive."""

    def __init__(self) -> None:
        self.position = 0
        self.found: dict[int, _Range] = {}

    def run(self, block: o.Block) -> None:
        for op in block.ops:
            self.position += 1
            if isinstance(op, o.Roles):
                continue
            match op:
                case o.For():
                    self._loop(op)
                case o.If():
                    self._branch(op)
                case _:
                    for tile in used(op):
                        self._use(tile)
                    for tile in defined(op):
                        self.found[tile.id] = _Range(self.position, self.position)

    def _use(self, tile: o.Tile) -> None:
        if tile.id in self.found:
            self.found[tile.id].end = max(self.found[tile.id].end, self.position)

    def _loop(self, op: o.For) -> None:
        for c in op.tiles:
            self._use(c.init)
        begin = self.position
        outer = set(self.found)
        for c in op.tiles:
            self.found[c.arg.id] = _Range(begin, begin)
        self.run(op.body)
        self.position += 1
        for c in op.tiles:
            self._use(c.yielded)
        for tile in outer:
            if self.found[tile].end > begin:
                self.found[tile].end = self.position
        for c in op.tiles:
            self.found[c.result.id] = _Range(self.position, self.position)

    def _branch(self, op: o.If) -> None:
        for inner in blocks(op):
            self.run(inner)
            self.position += 1
            for m in op.tiles:
                self._use(m.then)
                self._use(m.other)
        for m in op.tiles:
            self.found[m.result.id] = _Range(self.position, self.position)


class _Sharing:
    """Sets of tiles with one storage, joined only where no two are alive together."""

    def __init__(self, ranges: dict[int, _Range]) -> None:
        self.ranges = ranges
        self.members: dict[int, list[o.Tile]] = {}

    def _of(self, tile: o.Tile) -> list[o.Tile]:
        return self.members.setdefault(tile.id, [tile])

    def join(self, a: o.Tile, b: o.Tile) -> None:
        left, right = self._of(a), self._of(b)
        if left is right or a.layout != b.layout or a.dtype != b.dtype:
            return
        if any(self._overlap(x, y) for x in left for y in right):
            return
        left += right
        for tile in right:
            self.members[tile.id] = left

    def _overlap(self, a: o.Tile, b: o.Tile) -> bool:
        x, y = self.ranges.get(a.id), self.ranges.get(b.id)
        if x is None or y is None:
            return False
        return (x.start < y.end and y.start < x.end) or (
            x.start == y.start and x.end > x.start and y.end > y.start
        )

    def shared(self) -> list[list[o.Tile]]:
        unique = {id(m): m for m in self.members.values()}
        return [m for m in unique.values() if len(m) > 1]


def _copy_used_accumulators(block: o.Block) -> None:
    """Copy accumulators that something other than the dot still needs afterwards."""
    uses: dict[int, int] = {}
    _count(block, uses)

    def visit(inner: o.Block) -> None:
        result: list[o.AnyOp] = []
        for op in inner.ops:
            if isinstance(op, o.Roles):
                result.append(op)
                continue
            for nested in blocks(op):
                visit(nested)
            if isinstance(op, o.Dot) and op.acc and uses[op.acc.id] > 1:
                acc = op.acc
                copy = o.Tile(
                    acc.dtype,
                    acc.shape,
                    acc.dims,
                    acc.span,
                    name=acc.name,
                    layout=acc.layout,
                )
                note = "the accumulator is used again: updated in a copy"
                result.append(o.Convert(result=copy, src=acc, span=op.span, note=note))
                op.acc = copy
            result.append(op)
        inner.ops = result

    visit(block)


def _count(block: o.Block, uses: dict[int, int]) -> None:
    for op in block.ops:
        for tile in used(op):
            uses[tile.id] = uses.get(tile.id, 0) + 1
        if not isinstance(op, o.Roles):
            for inner in blocks(op):
                _count(inner, uses)


def _join(block: o.Block, sharing: _Sharing) -> None:
    """Join dots with their accumulators first (required), then carries."""
    for op in _all(block):
        if isinstance(op, o.Dot) and op.acc is not None:
            sharing.join(op.acc, op.result)
    for op in _all(block):
        if isinstance(op, o.For):
            for c in op.tiles:
                sharing.join(c.arg, c.result)
                sharing.join(c.yielded, c.arg)
                sharing.join(c.init, c.arg)


def _all(block: o.Block) -> list[o.AnyOp]:
    found: list[o.AnyOp] = []
    for op in block.ops:
        found.append(op)
        if not isinstance(op, o.Roles):
            for inner in blocks(op):
                found += _all(inner)
    return found
