"""Registers per thread of a placed program, where no machine code says.

The most that is live at once: tiles from where they are made to their last use, those
that loops carry throughout the loop, a tile that shares storage once. Addresses and
counters are a constant. An estimate: the compiler reorders and rematerialises.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import blocks, defined, used
from argus.isa.registers import at_launch

OVERHEAD = 26
"""Registers for addresses, counters and predicates (of library kernels: 20 to 40)."""


def estimate(program: Program) -> int:
    """Registers per thread, at most what launch bounds leave."""
    bound = at_launch(program.warps, program.min_blocks, program.target)
    most = max(16, bound)
    roles = [op for op in program.body.ops if isinstance(op, o.Roles)]
    if any(r.registers is not None for op in roles for r in op.roles):
        return most  # setmaxnreg shares out what the block was launched with
    bodies = [program.body, *(r.body for op in roles for r in op.roles)]
    peak = max(_peak(body, {}) for body in bodies)
    return min(int(peak) + OVERHEAD, most)


def _size(tile: o.Tile) -> float:
    """32-bit registers of a tile; 16-bit elements share one."""
    if tile.layout is None:
        return 0.0
    return tile.layout.num_regs * max(tile.dtype.bytes, 1) / 4


def _key(tile: o.Tile) -> int:
    return tile.id if tile.storage is None else -1 - tile.storage


def _peak(block: o.Block, outside: dict[int, float]) -> float:
    """The most that is live within a block, with what is live around it."""
    last: dict[int, int] = {}
    for at, op in enumerate(block.ops):
        for tile in _reads(op):
            last[_key(tile)] = at
    live = dict(outside)
    peak = sum(live.values())
    for at, op in enumerate(block.ops):
        for inner in blocks(op):
            if isinstance(op, o.Roles):
                continue
            around = dict(live)
            if isinstance(op, o.For):
                around |= {_key(c.arg): _size(c.arg) for c in op.tiles}
            peak = max(peak, _peak(inner, around))
        for tile in defined(op):
            # A move names registers that are live already, but for a conversion.
            if not isinstance(op, o.Moving) or isinstance(op, o.Convert):
                live[_key(tile)] = _size(tile)
        peak = max(peak, sum(live.values()))
        for key in [k for k in live if k not in outside and last.get(k, -1) <= at]:
            del live[key]
    return peak


def _reads(op: o.AnyOp) -> list[o.Tile]:
    """Tiles that an operation or its nested blocks read."""
    found = list(used(op))
    for inner in blocks(op):
        if not isinstance(op, o.Roles):
            for nested in inner.ops:
                found += _reads(nested)
    return found
